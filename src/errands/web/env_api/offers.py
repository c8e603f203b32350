"""What a server offers: shops and desks, made from settings that clients send.

Clients choose how to play, never where things lie: the catalogue, goal files and task folders
are the server's. What can be shared is: a thousand shops with the same settings are a thousand
episodes and one of everything else.
"""

import threading
from typing import Any, Final, Protocol, TypeVar

import msgspec
import numpy as np

from errands.envs.episode import OBSERVATIONS, Episode, Shopping
from errands.envs.screenshots import no_pictures
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.turk.drivers import Pages
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.web.core.http_errors import episode_over, no_episode
from errands.web.core.limits import Limits
from errands.web.env_api.sessions import Player, Turn

__all__ = ["DeskOffer", "DeskSettings", "Offer", "ShopOffer", "ShopSettings"]

_KEPT: Final = 32
"""So many different settings stay prepared."""


class Offer(Protocol):
    """Something that players can be made of."""

    def at_hand(self, settings: dict[str, Any]) -> bool:
        """Whether making a player of these settings is quick."""
        ...

    def player(self, settings: dict[str, Any]) -> Player: ...

    def about(self) -> dict[str, Any]: ...


class ShopSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`ShopEnv`'s arguments, but for those that only the server decides."""

    goals: str | None = None
    split: str | None = None
    observation: str = "text"
    rules: str = "released"
    max_steps: int | None = None
    search_anywhere: bool = True
    num_prev_obs: int = 0
    num_prev_actions: int = 0
    show_attrs: bool = False
    goal_draw: str = "released"
    marks: str = "released"
    after_purchase: str = "locked"


class ShopOffer:
    """The shop."""

    def __init__(self, catalog: Catalog, goals: str | GoalSet, limits: Limits) -> None:
        self._catalog = catalog
        self._goals = catalog.goals(goals)
        named = isinstance(goals, str) and goals in catalog.manifest.goals
        # Where the server keeps its files is nobody's business.
        self._goals_name = str(goals) if named else "own"
        self._limits = limits
        self._lock = threading.Lock()
        self._kept: dict[ShopSettings, Shopping] = {}

    def at_hand(self, settings: dict[str, Any]) -> bool:
        wanted = _convert(settings, ShopSettings)
        # A disjoint split of a full-size catalogue takes seconds to find.
        return wanted in self._kept or not (wanted.split or "").startswith("disjoint")

    def player(self, settings: dict[str, Any]) -> "Shopper":
        wanted = _convert(settings, ShopSettings)
        shopping = self._kept.get(wanted) or self._prepared(wanted)
        with self._lock:
            self._kept.pop(wanted, None)
            self._kept[wanted] = shopping
            for oldest in list(self._kept)[:-_KEPT]:
                del self._kept[oldest]
        return Shopper(shopping)

    def about(self) -> dict[str, Any]:
        return {
            "products": len(self._catalog),
            "catalog": self._catalog.manifest.checksum,
            "goals": {
                self._goals_name: len(self._goals),
                **{name: count for name, count in self._catalog.manifest.goals.items() if count},
            },
            "default_goals": self._goals_name,
            "settings": [field.name for field in msgspec.structs.fields(ShopSettings)],
        }

    def _prepared(self, wanted: ShopSettings) -> Shopping:
        most = self._limits.history
        if wanted.num_prev_obs > most or wanted.num_prev_actions > most:
            raise SettingError(f"num_prev_obs and num_prev_actions are at most {most} here.")
        expected = ", ".join(OBSERVATIONS)
        no_pictures(
            wanted.observation,
            f"needs a browser, which this server has not; expected {expected}",
        )
        arguments = msgspec.structs.asdict(wanted)
        name = arguments.pop("goals")
        return ShopEnv(self._catalog, self._goal_set(name), **arguments).setting

    def _goal_set(self, name: str | None) -> GoalSet:
        if name is None or name == self._goals_name:
            return self._goals
        # A path here would let a client read the server's files.
        held = [kind for kind, count in self._catalog.manifest.goals.items() if count]
        if name not in held:
            expected = ", ".join(dict.fromkeys([self._goals_name, *held]))
            raise SettingError(f"There is no goal set {name!r} here; expected {expected}.")
        return self._catalog.goals(name)


class Shopper:
    """One customer."""

    __slots__ = ("_episode", "_rng", "_shopping")
    aside = False

    def __init__(self, shopping: Shopping) -> None:
        self._shopping = shopping
        self._episode: Episode | None = None
        self._rng: np.random.Generator | None = None

    def reset(self, seed: int | None, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if seed is not None:
            # As Gymnasium seeds an environment.
            self._rng = np.random.Generator(np.random.PCG64(seed))
        elif self._rng is None:
            self._rng = np.random.default_rng()
        episode = self._shopping.begin(self._rng, options)
        self._episode = episode
        return episode.first()

    def step(self, action: str) -> Turn:
        episode = self._episode
        if episode is None:
            raise no_episode()
        if episode.over and (episode.truncated or self._shopping.locked):
            raise episode_over()
        return episode.step(action)

    def close(self) -> None:
        self._episode = None


class DeskSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`TurkEnv`'s arguments, but for those that only the server decides."""

    split: str = "all"
    driver: str = "dom"
    observation: str = "html"
    fields: str = "given"
    rules: str = "paper"
    max_steps: int | None = None


class DeskOffer:
    """The paperwork, on pages without a browser; all of it happens in one thread."""

    def __init__(self, tasks: str) -> None:
        self._place = tasks
        self._pages = Pages("dom")
        self._tasks: dict[str, TaskSet] = {"all": load_tasks(tasks)}

    def at_hand(self, settings: dict[str, Any]) -> bool:
        return False

    def player(self, settings: dict[str, Any]) -> "Clerk":
        wanted = _convert(settings, DeskSettings)
        if wanted.driver != "dom":
            raise SettingError(f"driver={wanted.driver!r}: this server has no browser, only 'dom'.")
        if "screenshot" in wanted.observation:
            raise SettingError(
                f"observation={wanted.observation!r} needs a browser, which this server has not;"
                " expected html, relevant or text."
            )
        tasks = self._tasks.get(wanted.split)
        if tasks is None:
            tasks = load_tasks(self._place, wanted.split)
        env = TurkEnv(
            tasks,
            wanted.split,
            observation=wanted.observation,
            fields=wanted.fields,
            rules=wanted.rules,
            max_steps=wanted.max_steps,
            pages=self._pages,
        )
        self._tasks[wanted.split] = tasks
        return Clerk(env)

    def about(self) -> dict[str, Any]:
        return {
            "tasks": len(self._tasks["all"]),
            "settings": [field.name for field in msgspec.structs.fields(DeskSettings)],
        }


class Clerk:
    """One desk."""

    __slots__ = ("_env", "_over")
    aside = True

    def __init__(self, env: TurkEnv) -> None:
        self._env = env
        self._over = False

    def reset(self, seed: int | None, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        seen = self._env.reset(seed=seed, options=options)
        self._over = False
        return seen

    def step(self, action: str) -> Turn:
        if self._env.instance is None:
            raise no_episode()
        if self._over:
            raise episode_over()
        turn = self._env.step(action)
        self._over = turn[2] or turn[3]
        return turn

    def close(self) -> None:
        self._env.close()


Kind = TypeVar("Kind", ShopSettings, DeskSettings)


def _convert(settings: dict[str, Any], kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(settings, kind)
    except msgspec.ValidationError as failure:
        names = ", ".join(field.name for field in msgspec.structs.fields(kind))
        raise SettingError(f"Settings: {failure}; there are {names}.") from None
