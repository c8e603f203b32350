"""Many shops at once, in one process: `gymnasium.make_vec("errands/Shop-v0", num_envs=N)`.

All sub-environments share the catalogue, the goals and the config; each owns one episode.
How a finished one starts again is declared in `metadata["autoreset_mode"]` and chosen by
`autoreset`: on the next step (default), in the same step, or by the caller with
`reset(options={"reset_mask": ...})`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from errands.envs.config import ShopConfig, config_from
from errands.envs.episode import Info, ShopContext, ShopEpisode
from errands.envs.screenshots import no_pictures
from errands.envs.spaces import ActionText, AnyText
from errands.errors import ErrandsError, SettingError

__all__ = ["Observations", "ShopVectorEnv", "TextVectorEnv", "gathered", "reset_parts"]

MODES = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}

Observations = tuple[str, ...]


class TextVectorEnv(VectorEnv[Observations, Sequence[str], NDArray[Any]]):
    """Many shops played as texts: how many, and how a finished one starts again."""

    metadata: dict[str, Any] = {  # noqa: RUF012
        "autoreset_mode": AutoresetMode.NEXT_STEP
    }

    def __init__(self, num_envs: int, autoreset: str | AutoresetMode) -> None:
        if num_envs < 1:
            raise SettingError(f"num_envs={num_envs} is not possible; expected 1 or more.")
        if isinstance(autoreset, AutoresetMode):
            autoreset = autoreset.name.lower()
        if autoreset not in MODES:
            raise SettingError(f"autoreset={autoreset!r}: expected {', '.join(MODES)}.")
        self._mode = MODES[autoreset]
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.num_envs = num_envs
        self.single_observation_space = AnyText()
        self.single_action_space = ActionText()
        self.observation_space = Tuple([self.single_observation_space] * num_envs)
        self.action_space = Tuple([self.single_action_space] * num_envs)

    def _check_step(self, actions: Sequence[str], *, begun: bool) -> None:
        if len(actions) != self.num_envs:
            raise ErrandsError(f"{len(actions)} actions were given; expected {self.num_envs}.")
        if not begun:
            raise ErrandsError("The environment has no episodes yet; call reset() first.")


class ShopVectorEnv(TextVectorEnv):
    """N customers in one shop; takes the options of `ShopConfig`, `num_envs` and `autoreset`.

    Observations are a tuple of texts, actions a sequence of texts. `infos` are arrays with a
    place for each sub-environment (and a mask under `_key`). `reset(seed=s)` seeds
    sub-environment i with s + i, so it plays what a single environment seeded so would;
    `reset(options={"goal": [...]})` takes one index, or one for each.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        config: ShopConfig | None = None,
        autoreset: str | AutoresetMode = "next_step",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(num_envs, autoreset)
        config = config_from(ShopConfig, config, (), options)
        no_pictures(
            config.observation,
            "is for single environments, and this one plays many as texts; for pixels take"
            " gymnasium.make_vec(..., vectorization_mode='sync')",
        )
        self.context = ShopContext(config)
        self._rngs: list[np.random.Generator] = [
            np.random.default_rng(seed) for seed in np.random.SeedSequence().spawn(num_envs)
        ]
        self._episodes: list[ShopEpisode] = []
        self._observations: list[str] = []

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is true."""
        begun = bool(self._episodes)
        places, seeds, each = reset_parts(seed, options, self.num_envs, begun=begun)
        started: dict[int, ShopEpisode] = {}
        for i in places:
            if seeds[i] is not None:
                self._rngs[i] = np.random.Generator(np.random.PCG64(seeds[i]))
            options_here = {name: values[i] for name, values in each.items()}
            started[i] = self.context.begin(self._rngs[i], options_here)
        # Only now, so that a wrong goal leaves everything as it was.
        if len(started) == self.num_envs:
            self._episodes = list(started.values())
            self._observations = [""] * self.num_envs
        infos: list[Info | None] = [None] * self.num_envs
        for i, episode in started.items():
            self._episodes[i] = episode
            self._observations[i], infos[i] = episode.first()
        return tuple(self._observations), gathered(infos)

    def step(
        self, actions: Sequence[str]
    ) -> tuple[Observations, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """One action each."""
        self._check_step(actions, begun=bool(self._episodes))
        count = self.num_envs
        rewards = np.zeros(count, np.float64)
        terminations = np.zeros(count, bool)
        truncations = np.zeros(count, bool)
        infos: list[Info | None] = [None] * count
        for i, action in enumerate(actions):
            episode = self._episodes[i]
            if episode.over and self._mode is AutoresetMode.NEXT_STEP:
                infos[i] = self._begin(i)
                continue
            seen, rewards[i], terminations[i], truncations[i], info = episode.step(action)
            self._observations[i] = seen
            if episode.over and self._mode is AutoresetMode.SAME_STEP:
                info = {**self._begin(i), "final_obs": seen, "final_info": info}
            infos[i] = info
        return tuple(self._observations), rewards, terminations, truncations, gathered(infos)

    def _begin(self, i: int) -> Info:
        self._episodes[i] = episode = self.context.begin(self._rngs[i], None)
        self._observations[i], info = episode.first()
        return info


def reset_parts(
    seed: int | Sequence[int | None] | None,
    options: Mapping[str, Any] | None,
    count: int,
    *,
    begun: bool,
) -> tuple[list[int], list[Any], dict[str, list[Any]]]:
    """What a reset of so many shops asks for: the places of those that begin anew, everyone's
    seed, and everyone's value of each option."""
    options = dict(options or {})
    mask = options.pop("reset_mask", None)
    chosen = np.ones(count, bool) if mask is None else np.asarray(mask, bool)
    if chosen.shape != (count,):
        raise ErrandsError(f"reset_mask must have {count} places, one for each shop.")
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


def gathered(infos: Sequence[Info | None]) -> dict[str, Any]:
    """One dictionary of arrays, with masks, out of a dictionary for each sub-environment."""
    gathered: dict[str, Any] = {}
    for i, info in enumerate(infos):
        for name, value in (info or {}).items():
            if name not in gathered:
                empty, kind = (0, np.int64) if name == "goal" else (None, object)
                gathered[name] = np.full(len(infos), empty, kind)
                gathered[f"_{name}"] = np.zeros(len(infos), bool)
            gathered[name][i] = value
            gathered[f"_{name}"][i] = True
    return gathered
