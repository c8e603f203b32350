"""Environments that a server provides: shops and form pages, by options that clients send.

Clients choose how to play, never where things lie: the catalogue, goal files and task folders
are the server's. What can be shared is: a thousand shops with the same options are a thousand
episodes and one of everything else.
"""

import dataclasses
import threading
from collections.abc import Collection
from functools import cache
from types import NoneType
from typing import Any, Final, Protocol, Union, get_args, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.envs.config import ShopConfig
from errands.envs.episode import ShopContext, ShopEpisode
from errands.envs.observations import SHOP_FORMATS, TURK_FORMATS
from errands.envs.screenshots import PICTURED, no_pictures
from errands.envs.turk import TurkEnv
from errands.envs.turk_config import TurkConfig
from errands.errors import SettingError
from errands.plugins import Registry
from errands.remote.messages import GoalsCall, TasksCall
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.shop.rewards.registry import RULES
from errands.shop.splits import split_indices
from errands.turk.drivers import Pages, no_browser
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.web.core.http_errors import episode_over, no_episode
from errands.web.core.limits import ServerLimits
from errands.web.env_api.sessions import SessionEnv, Turn

__all__ = [
    "EnvProvider",
    "ShopOptions",
    "ShopProvider",
    "ShopSessionEnv",
    "TurkOptions",
    "TurkProvider",
]

_MOST_CONTEXTS: Final = 32
"""So many different choices of options stay prepared."""


class EnvProvider(Protocol):
    """Makes environments of one domain for sessions."""

    def is_quick(self, settings: dict[str, Any]) -> bool:
        """Whether making an environment of these settings is quick."""
        ...

    def make_env(self, settings: dict[str, Any]) -> SessionEnv: ...

    def split(self, call: Any) -> dict[str, Any]:
        """What a split holds: the indices of goals (`GoalsCall`), or tasks with the number of
        their rows (`TasksCall`). It may take long."""
        ...

    def about(self) -> dict[str, Any]: ...


def client_options(
    name: str, config: type, *, hidden: Collection[str], **defaults: Any
) -> type[msgspec.Struct]:
    """The options of a config that clients may choose: all but those that only the server decides,
    as plain JSON values."""
    hints = get_type_hints(config)
    fields = []
    for option in dataclasses.fields(config):
        if option.name in hidden:
            continue
        default = defaults.get(option.name, option.default)
        plain = {kind for kind in get_args(hints[option.name]) if kind in (str, int, NoneType)}
        kind = Union[(*plain, type(default))] if plain else hints[option.name]
        fields.append((option.name, kind, default))
    return msgspec.defstruct(
        name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True, module=__name__
    )


ShopOptions: Any = client_options(
    "ShopOptions", ShopConfig, hidden={"catalog", "special_queries"}, goals=None
)
TurkOptions: Any = client_options(
    "TurkOptions", TurkConfig, hidden={"tasks", "prove"}, driver="auto"
)


class ShopProvider:
    """The shop."""

    def __init__(self, catalog: Catalog, goals: str | GoalSet, limits: ServerLimits) -> None:
        self._catalog = catalog
        self._goals = catalog.goals(goals)
        named = isinstance(goals, str) and goals in catalog.manifest.goals
        # Where the server keeps its files is nobody's business.
        self._goals_name = str(goals) if named else "own"
        self._limits = limits
        self._lock = threading.Lock()
        self._contexts: dict[Any, ShopContext] = {}
        self._splits: dict[tuple[str, str | None], NDArray[np.int64] | range] = {}
        """Those that were asked for; there are no more than goal sets and splits have names."""

    def is_quick(self, settings: dict[str, Any]) -> bool:
        options = _convert(settings, ShopOptions)
        # A disjoint split of a full-size catalogue takes seconds to find.
        return options in self._contexts or not (options.split or "").startswith("disjoint")

    def make_env(self, settings: dict[str, Any]) -> "ShopSessionEnv":
        options = _convert(settings, ShopOptions)
        context = self._contexts.get(options) or self._prepared(options)
        with self._lock:
            self._contexts.pop(options, None)
            self._contexts[options] = context
            for oldest in list(self._contexts)[:-_MOST_CONTEXTS]:
                del self._contexts[oldest]
        return ShopSessionEnv(context)

    def split(self, call: GoalsCall) -> dict[str, Any]:
        goals = self._goal_set(call.goals)
        key = call.goals or self._goals_name, call.split
        indices = self._splits.get(key)
        if indices is None:
            found = split_indices(call.split, goals)
            indices = found if isinstance(found, range) else np.array(found, np.int64)
            self._splits[key] = indices
        some = indices[call.offset : call.offset + call.limit]
        return {
            "goals": key[0],
            "split": call.split,
            "count": len(indices),
            "offset": call.offset,
            "indices": list(some) if isinstance(some, range) else some.tolist(),
        }

    def about(self) -> dict[str, Any]:
        return {
            "products": len(self._catalog),
            "catalog": self._catalog.manifest.checksum,
            "goals": {
                self._goals_name: len(self._goals),
                **{name: count for name, count in self._catalog.manifest.goals.items() if count},
            },
            "default_goals": self._goals_name,
            "settings": [field.name for field in msgspec.structs.fields(ShopOptions)],
        }

    def _prepared(self, options: Any) -> ShopContext:
        most = self._limits.history
        if options.num_prev_obs > most or options.num_prev_actions > most:
            raise SettingError(f"num_prev_obs and num_prev_actions are at most {most} here.")
        if options.rules not in RULES.names():
            # `module:attribute` here would let a client import what it likes.
            raise SettingError(f"rules={options.rules!r}: expected {', '.join(RULES.names())}.")
        _check_observation(SHOP_FORMATS, options.observation)
        chosen = msgspec.structs.asdict(options)
        goals = self._goal_set(chosen.pop("goals"))
        return ShopContext(ShopConfig(self._catalog, goals, **chosen))

    def _goal_set(self, name: str | None) -> GoalSet:
        if name is None or name == self._goals_name:
            return self._goals
        # A path here would let a client read the server's files.
        names = [kind for kind, count in self._catalog.manifest.goals.items() if count]
        if name not in names:
            expected = ", ".join(dict.fromkeys([self._goals_name, *names]))
            raise SettingError(f"There is no goal set {name!r} here; expected {expected}.")
        return self._catalog.goals(name)


@cache
def _shared_rng() -> np.random.Generator:
    """What draws the goals of all sessions that were never seeded: one of its own for each would
    take two kilobytes, and as long to make as a step."""
    return np.random.default_rng()


class ShopSessionEnv:
    """The shop of one session."""

    __slots__ = ("_context", "_episode", "_rng")
    is_slow = False

    def __init__(self, context: ShopContext) -> None:
        self._context = context
        self._episode: ShopEpisode | None = None
        self._rng = _shared_rng()

    @property
    def episode(self) -> ShopEpisode | None:
        """What is being played."""
        return self._episode

    def reset(self, seed: int | None, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if seed is not None:
            # As Gymnasium seeds an environment.
            self._rng = np.random.Generator(np.random.PCG64(seed))
        episode = self._context.begin(self._rng, options)
        self._episode = episode
        return episode.first()

    def step(self, action: str) -> Turn:
        episode = self._episode
        if episode is None:
            raise no_episode()
        if episode.over and (episode.truncated or self._context.locked):
            raise episode_over()
        return episode.step(action)

    def close(self) -> None:
        self._episode = None


class TurkProvider:
    """Form pages without a browser, for several threads at once."""

    def __init__(self, tasks: str) -> None:
        self._place = tasks
        self._pages = {
            "auto": Pages("auto", browser=no_browser, on_remark=lambda text: None),
            "dom": Pages("dom"),
        }
        self._tasks: dict[str, TaskSet] = {"all": load_tasks(tasks)}
        self._rows: dict[str, dict[str, int]] = {}
        """The number of rows of each task, by split; they are counted when first asked for."""

    def is_quick(self, settings: dict[str, Any]) -> bool:
        return False

    def make_env(self, settings: dict[str, Any]) -> "TurkSessionEnv":
        options = _convert(settings, TurkOptions)
        pages = self._pages.get(options.driver)
        if pages is None:
            raise SettingError(
                f"driver={options.driver!r}: this server has no browser, only 'auto' (tasks that"
                " are the same without one) and 'dom'."
            )
        _check_observation(TURK_FORMATS, options.observation)
        tasks = self._split_tasks(options.split)
        env = TurkEnv(tasks, pages=pages, **msgspec.structs.asdict(options))
        return TurkSessionEnv(env)

    def split(self, call: TasksCall) -> dict[str, Any]:
        rows = self._rows.get(call.split)
        if rows is None:
            tasks = self._split_tasks(call.split)
            rows = self._rows[call.split] = {task.name: len(task.instances) for task in tasks}
        listed = [{"task": name, "rows": count} for name, count in rows.items()]
        return {"split": call.split, "count": len(listed), "tasks": listed}

    def _split_tasks(self, split: str) -> TaskSet:
        tasks = self._tasks.get(split)
        if tasks is None:
            # Two threads may both have loaded it; all sessions have the same one.
            tasks = self._tasks.setdefault(split, load_tasks(self._place, split))
        return tasks

    def about(self) -> dict[str, Any]:
        return {
            "tasks": len(self._tasks["all"]),
            "settings": [field.name for field in msgspec.structs.fields(TurkOptions)],
        }


class TurkSessionEnv:
    """The form pages of one session."""

    __slots__ = ("_env", "_over")
    is_slow = True

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


def _check_observation(formats: Registry, name: str) -> None:
    """Refuse what needs a browser, and what this server has not: clients cannot bring their own."""
    expected = ", ".join(one for one in formats.names() if one not in PICTURED)
    no_pictures(name, f"needs a browser, which this server has not; expected {expected}")
    if name not in formats.names():
        raise SettingError(f"There is no observation format {name!r} here; expected {expected}.")


def _convert(settings: dict[str, Any], kind: Any) -> Any:
    for name, value in settings.items():
        # A module of the server is nothing that a client may have imported.
        if isinstance(value, str) and ":" in value:
            raise SettingError(f"{name}={value!r}: only names are taken here, no modules.")
    try:
        return msgspec.convert(settings, kind)
    except msgspec.ValidationError as failure:
        names = ", ".join(field.name for field in msgspec.structs.fields(kind))
        raise SettingError(f"Settings: {failure}; there are {names}.") from None
