"""What vector environments have in common: many episodes at once, played as texts (or pixels).

How a finished one starts again is declared in `metadata["autoreset_mode"]` and chosen by
`autoreset`: on the next step (default), in the same step, or by the caller with
`reset(options={"reset_mask": ...})`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from numpy.typing import NDArray

from errands.envs.episode import Info
from errands.envs.screenshots import PICTURED
from errands.envs.snapshots import Snapshot, SnapshotError
from errands.envs.spaces import ActionText, AnyText, observation_space
from errands.errors import ErrandsError, SettingError

__all__ = [
    "LocalVectorEnv",
    "Observations",
    "PlayedEpisode",
    "TextVectorEnv",
    "gathered",
    "reset_parts",
]

MODES: Final = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}

Observations = tuple[str, ...]


class TextVectorEnv(VectorEnv[Any, Sequence[str], NDArray[Any]]):
    """Many environments played as texts: how many, and how a finished one starts again."""

    metadata: dict[str, Any] = {  # noqa: RUF012
        "autoreset_mode": AutoresetMode.NEXT_STEP
    }

    def __init__(
        self, num_envs: int, autoreset: str | AutoresetMode, actions: AnyText | None = None
    ) -> None:
        """`actions` is what can be sent; the default is what a shop understands."""
        if num_envs < 1:
            raise SettingError(f"num_envs={num_envs} is not possible; expected 1 or more.")
        if isinstance(autoreset, AutoresetMode):
            autoreset = autoreset.name.lower()
        if autoreset not in MODES:
            raise SettingError(f"autoreset={autoreset!r}: expected {', '.join(MODES)}.")
        self._mode = MODES[autoreset]
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.num_envs = num_envs
        self.single_observation_space: Space[Any] = AnyText()
        self.single_action_space = actions or ActionText()
        self.observation_space: Space[Any] = Tuple([self.single_observation_space] * num_envs)
        self.action_space = Tuple([self.single_action_space] * num_envs)

    def _check_step(self, actions: Sequence[str], *, begun: bool) -> None:
        if len(actions) != self.num_envs:
            raise ErrandsError(f"{len(actions)} actions were given; expected {self.num_envs}.")
        self._check_begun(begun=begun)

    @staticmethod
    def _check_begun(*, begun: bool) -> None:
        if not begun:
            raise ErrandsError("The environment has no episodes yet; call reset() first.")


class PlayedEpisode(Protocol):
    """What a sub-environment plays."""

    @property
    def over(self) -> bool: ...
    def step(self, action: str, /) -> tuple[Any, float, bool, bool, Info]: ...


Episode = TypeVar("Episode", bound=PlayedEpisode)
Chosen = TypeVar("Chosen")
Read = TypeVar("Read")


class LocalVectorEnv(TextVectorEnv, ABC, Generic[Episode, Chosen, Read]):
    """Many episodes of this process, which share all that can be shared.

    A subclass says how an episode is chosen and begun, taken down and restored, in two steps each:
    whatever a caller may get wrong is found out in the first, before anything has changed.
    """

    def __init__(
        self, num_envs: int, autoreset: str | AutoresetMode, actions: AnyText | None = None
    ) -> None:
        super().__init__(num_envs, autoreset, actions)
        self._episodes: list[Episode] = []
        self._observations: list[Any] = []

    @abstractmethod
    def _choose(self, i: int, seed: int | None, options: Mapping[str, Any]) -> Chosen:
        """What sub-environment i plays next."""

    @abstractmethod
    def _begin(self, i: int, chosen: Chosen) -> tuple[Episode, Any, Info]:
        """Its episode, and the first page and info."""

    @abstractmethod
    def _saved(self, i: int) -> Snapshot:
        """The snapshot of sub-environment i."""

    @abstractmethod
    def _read(self, i: int, snapshot: Snapshot) -> Read:
        """What a snapshot says, checked."""

    @abstractmethod
    def _resume(self, i: int, read: Read) -> tuple[Episode, Any, Info]:
        """The episode of a snapshot, and the page and info it was left with."""

    def _order(self) -> Iterable[int]:
        """In which order sub-environments take a step: nobody can tell but by the clock."""
        return range(self.num_envs)

    def _show_as(self, observation: object) -> None:
        """Pages are shown in this format; the default are texts."""
        if observation in PICTURED:
            self.single_observation_space = observation_space(observation)
            self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def _show_each(self, pages: Sequence[Any]) -> Sequence[Any]:
        """The observations of some pages, one by one."""
        return pages

    def _show(self, pages: Sequence[Any]) -> Any:
        """The observation of everyone's page together."""
        space, seen = self.single_observation_space, self._show_each(pages)
        if isinstance(space, AnyText):
            return tuple(seen)
        room: Any = create_empty_array(space, len(seen), np.empty)
        return concatenate(space, seen, room)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is true."""
        begun = bool(self._episodes)
        places, seeds, each = reset_parts(seed, options, self.num_envs, begun=begun)
        chosen = {
            i: self._choose(i, seeds[i], {name: values[i] for name, values in each.items()})
            for i in places
        }
        return self._put({i: self._begin(i, one) for i, one in chosen.items()})

    def step(
        self, actions: Sequence[str]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """One action each."""
        self._check_step(actions, begun=bool(self._episodes))
        count = self.num_envs
        rewards = np.zeros(count, np.float64)
        terminations = np.zeros(count, bool)
        truncations = np.zeros(count, bool)
        infos: list[Info | None] = [None] * count
        final: dict[int, tuple[Any, Info]] = {}
        for i in self._order():
            episode = self._episodes[i]
            if episode.over and self._mode is AutoresetMode.NEXT_STEP:
                infos[i] = self._begin_again(i)
                continue
            seen, rewards[i], terminations[i], truncations[i], info = episode.step(actions[i])
            self._observations[i] = seen
            if episode.over and self._mode is AutoresetMode.SAME_STEP:
                final[i] = seen, info
                info = self._begin_again(i)
            infos[i] = info
        shown = self._show_each([seen for seen, _ in final.values()])
        for (i, (_, info)), seen in zip(final.items(), shown, strict=True):
            infos[i] = {**(infos[i] or {}), "final_obs": seen, "final_info": info}
        seen = self._show(self._observations)
        return seen, rewards, terminations, truncations, gathered(infos)

    def snapshot(self) -> list[Snapshot]:
        """A snapshot of every sub-environment, as a single environment gives it."""
        self._check_begun(begun=bool(self._episodes))
        return [self._saved(i) for i in range(self.num_envs)]

    def restore(self, snapshots: Sequence[Snapshot | None]) -> tuple[Any, dict[str, Any]]:
        """Go on where snapshots were taken, here or in a single environment; None leaves a
        sub-environment as it is. Gives what the last reset or step showed."""
        if not isinstance(snapshots, list | tuple):
            kind = type(snapshots).__name__
            raise SnapshotError(
                f"A {kind} was given; expected a list of {self.num_envs} snapshots."
            )
        if len(snapshots) != self.num_envs:
            raise SnapshotError(f"{len(snapshots)} snapshots were given; expected {self.num_envs}.")
        if not self._episodes and None in snapshots:
            raise SnapshotError("The environment has no episodes yet; expected no None.")
        read = {i: self._read(i, one) for i, one in enumerate(snapshots) if one is not None}
        return self._put({i: self._resume(i, one) for i, one in read.items()})

    def _begin_again(self, i: int) -> Info:
        chosen = self._choose(i, None, {})
        self._episodes[i], self._observations[i], info = self._begin(i, chosen)
        return info

    def _put(self, begun: Mapping[int, tuple[Episode, Any, Info]]) -> tuple[Any, dict[str, Any]]:
        if len(begun) == self.num_envs:
            self._episodes = [episode for episode, _, _ in begun.values()]
            self._observations = [""] * self.num_envs
        infos: list[Info | None] = [None] * self.num_envs
        for i, (episode, seen, info) in begun.items():
            self._episodes[i], self._observations[i], infos[i] = episode, seen, info
        return self._show(self._observations), gathered(infos)


def reset_parts(
    seed: int | Sequence[int | None] | None,
    options: Mapping[str, Any] | None,
    count: int,
    *,
    begun: bool,
) -> tuple[list[int], list[Any], dict[str, list[Any]]]:
    """What a reset of so many environments asks for: the places of those that begin anew,
    everyone's seed, and everyone's value of each option."""
    options = dict(options or {})
    mask = options.pop("reset_mask", None)
    chosen = np.ones(count, bool) if mask is None else np.asarray(mask, bool)
    if chosen.shape != (count,):
        raise ErrandsError(f"reset_mask must have {count} places, one for each environment.")
    if not begun and not chosen.all():
        raise ErrandsError("The first reset must be of all sub-environments.")
    each = {name: _one_each(value, count) for name, value in options.items()}
    return np.flatnonzero(chosen).tolist(), _one_each(seed, count, step=1), each


def _one_each(value: Any, count: int, step: int = 0) -> list[Any]:
    """A value for each sub-environment, of one value or of a sequence of them."""
    if value is None or isinstance(value, str) or np.ndim(value) == 0:
        return [value + i * step if step and value is not None else value for i in range(count)]
    if len(value) != count:
        raise ErrandsError(f"{len(value)} values were given; expected {count}.")
    return list(value)


_KINDS: Final[Mapping[str, tuple[Any, Any]]] = {
    "goal": (0, np.int64),
    "row": (0, np.int64),
    "valid_action": (False, np.bool_),
    "page_changed": (False, np.bool_),
    "score": (0.0, np.float64),
    "success": (False, np.bool_),
}
_OBJECT: Final = (None, np.object_)
"""Of the arrays of infos: what stands where there is nothing, and the type."""


def gathered(infos: Sequence[Info | None]) -> dict[str, Any]:
    """One dictionary of arrays, with masks, out of a dictionary for each sub-environment."""
    count = len(infos)
    columns: dict[str, tuple[list[Any], list[bool]]] = {}
    for i, info in enumerate(infos):
        for name, value in (info or {}).items():
            column = columns.get(name)
            if column is None:
                empty, _ = _KINDS.get(name, _OBJECT)
                column = columns[name] = [empty] * count, [False] * count
            column[0][i] = value
            column[1][i] = True
    gathered: dict[str, Any] = {}
    for name, (values, there) in columns.items():
        gathered[name] = np.fromiter(values, _KINDS.get(name, _OBJECT)[1], count)
        gathered[f"_{name}"] = np.array(there)
    return gathered
