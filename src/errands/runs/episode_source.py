"""The source of a protocol: its data, opened, and the episodes that are played in it, in order.

What differs between the two domains is here; whoever plays sees a numbered list of episodes, each
with a key and the options that reset an environment to it.
"""

import hashlib
import json
import os
import random
from collections.abc import Callable, Sequence
from typing import Any
from typing import Protocol as Contract

import gymnasium
import msgspec

from errands.envs.observations import (
    SHOP_FORMATS,
    TURK_FORMATS,
    Observation,
    observation_key,
)
from errands.envs.screenshots import PICTURED, Camera
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import CatalogError, TaskError
from errands.home import data_dir
from errands.runs.protocol import Protocol, ProtocolError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import shuffled
from errands.shop.navigation import ITEM
from errands.shop.rewards.registry import rules_key
from errands.shop.rewards.rules import RewardRules
from errands.shop.splits import split_indices
from errands.turk.drivers import Pages
from errands.turk.scoring.metrics import RULES, SUBMITTED
from errands.turk.tasks.loader import load_tasks

__all__ = ["EpisodeSource", "ShopSource", "Track", "TurkSource", "open_source"]

Env = gymnasium.Env[Any, Any]


class Track(Contract):
    """Follows one episode, for its trajectory's figures."""

    def saw(self, env: Any, observation: Any, action: str) -> None:
        """A page is shown, after an action (empty: at the beginning)."""
        ...

    def figures(self) -> dict[str, Any]:
        """`states`, `items` and `searches`."""
        ...

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        """What the reward is made of."""
        ...


class EpisodeSource(Contract):
    """All that can be played under a protocol."""

    protocol: Protocol
    checksum: str
    """Of the data that the episodes come from."""
    remarks: tuple[str, ...]
    keys: Sequence[str]
    """What each episode plays, by number."""
    key: str
    """The protocol's id and version, the data, and all that departs from the protocol."""
    waits: bool
    """Whether a step may take long enough to hold up other episodes of the same thread."""

    def env(self) -> Env:
        """A new environment; all of them share the data."""
        ...

    def options(self, number: int) -> dict[str, Any]:
        """What resets an environment to an episode."""
        ...

    def track(self) -> Track: ...

    def close(self) -> None: ...


def open_source(
    protocol: Protocol,
    rules: RewardRules | None = None,
    observation: Observation | None = None,
) -> EpisodeSource:
    """Open what a protocol plays; its checksum is checked where it has one.

    `rules` are an object that the shop is rewarded by, and `observation` one that shows the pages,
    where the protocol only says its name.
    """
    source: EpisodeSource = (
        ShopSource(protocol, rules, observation)
        if protocol.domain == "shop"
        else TurkSource(protocol, observation)
    )
    if protocol.checksum and not source.checksum.startswith(protocol.checksum):
        checksum = source.checksum[:16]
        source.close()
        raise ProtocolError(
            f"The protocol {protocol.id!r} is for data with the checksum {protocol.checksum[:16]},"
            f" and {protocol.data!r} has {checksum}: other data would give other scores."
        )
    return source


def _env(kind: Callable[..., Env], protocol: Protocol, **options: Any) -> Env:
    """An environment with the protocol's own settings, which may make no sense to it."""
    settings = {name: value for name, value in protocol.settings.items() if name != "driver"}
    try:
        return kind(**options, **settings)
    except TypeError as failure:
        if not settings:
            raise
        raise ProtocolError(
            f"The protocol {protocol.id!r} has settings that the {protocol.domain} domain cannot"
            f" use: {str(failure).removesuffix('.')}."
        ) from None


class ShopSource:
    """Goals of a catalogue."""

    def __init__(
        self,
        protocol: Protocol,
        rules: RewardRules | None = None,
        observation: Observation | None = None,
    ) -> None:
        self.protocol = protocol
        self.rules: str | RewardRules = protocol.rules if rules is None else rules
        self.observation = protocol.observation if observation is None else observation
        try:
            self.catalog = Catalog.open(protocol.data)
        except CatalogError as failure:
            raise ProtocolError(
                f"The protocol {protocol.id!r} needs the catalogue {protocol.data!r}: {failure}"
                " `errands data` says how to get the originals; --data names another catalogue."
            ) from None
        self.goals = self.catalog.goals(protocol.goals)
        if protocol.picked:
            count = len(self.goals)
            wrong = next((goal for goal in protocol.picked if not 0 <= goal < count), None)
            if wrong is not None:
                raise ProtocolError(
                    f"The protocol {protocol.id!r} picks goal {wrong}, and there are 0 to"
                    f" {count - 1}."
                )
            self.indices: Sequence[int] = protocol.picked[: protocol.episodes]
        elif protocol.shuffle_workers:
            self.indices = _legacy_order(
                len(self.goals), protocol.shuffle_workers, protocol.seed, protocol.episodes or 500
            )
        else:
            self.indices = split_indices(protocol.split or None, self.goals)[: protocol.episodes]
        self.keys: Sequence[str] = [f"goal {index}" for index in self.indices]
        self.remarks: tuple[str, ...] = tuple(filter(None, [protocol.warning]))
        self.checksum = self.catalog.manifest.checksum
        if protocol.goals not in self.catalog.manifest.goals:  # A goal file adds its own.
            listed = hashlib.sha256(self.checksum.encode())
            for index in self.indices:
                listed.update(msgspec.json.encode(self.goals[index]))
            self.checksum = listed.hexdigest()
        self.key = f"{protocol.id}@{protocol.version} data:{self.checksum[:12]}"
        # Other words, or other rules or pages of the same name, would give other scores.
        shown = observation_key(SHOP_FORMATS, self.observation)
        self.key = " ".join(filter(None, [self.key, rules_key(self.rules), shown]))
        self.waits = protocol.observation in PICTURED
        self.camera = Camera()

    def env(self) -> Env:
        protocol = self.protocol
        return _env(
            ShopEnv,
            protocol,
            catalog=self.catalog,
            goals=self.goals,
            observation=self.observation,
            rules=self.rules,
            max_steps=protocol.max_steps,
            camera=self.camera,
        )

    def options(self, number: int) -> dict[str, Any]:
        return {"goal": self.indices[number]}

    def track(self) -> Track:
        return _ShopTrack()

    def close(self) -> None:
        """A catalogue is shared by the whole process; a browser is not."""
        self.camera.close()


def _legacy_order(count: int, workers: int, seed: int, episodes: int) -> list[int]:
    """Goals as workers that each shuffle the load order with a seed of their own would meet them.

    Worker `w` shuffles with seed + w; the workers take turns, and each plays its list from the
    beginning. Places in the load order are turned into ours, which is one fixed shuffle of it.
    """
    ours = {place: index for index, place in enumerate(shuffled(count)[0])}
    lists = []
    for worker in range(workers):
        order = list(range(count))
        random.Random(seed + worker).shuffle(order)
        lists.append(order)
    turns = [(number % workers, number // workers) for number in range(episodes)]
    return [ours[lists[worker][at]] for worker, at in turns if at < count]


class _ShopTrack:
    """Counts pages, products and searches."""

    def __init__(self) -> None:
        self._states: set[tuple[str, str, int, int, Any]] = set()
        self._items: set[int] = set()
        self._searches = 0
        self._last: Any = None

    def saw(self, env: Any, observation: Any, action: str) -> None:
        state = env.episode.page.state
        if state is self._last:
            return
        self._last = state
        self._states.add((state.page, state.query, state.number, state.product, state.options))
        if state.page == ITEM:
            self._items.add(state.product)
        elif action.startswith("search["):
            self._searches += 1

    def figures(self) -> dict[str, Any]:
        return {
            "states": len(self._states),
            "items": len(self._items),
            "searches": self._searches,
        }

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        return dict(info.get("reward_parts", {}))


class TurkSource:
    """Instances of tasks, one of each task in turn, so that any beginning covers all tasks."""

    waits = True

    def __init__(self, protocol: Protocol, observation: Observation | None = None) -> None:
        self.protocol = protocol
        self.observation = protocol.observation if observation is None else observation
        self.tasks = self._load(protocol)
        self.tasks.keep = len(self.tasks)
        chosen: list[list[tuple[str, int]]] = []
        total = hashlib.sha256()
        for name in self._names():
            try:
                task = self.tasks.task(name)
            except TaskError:
                continue
            count = len(task.instances)
            rng = random.Random(f"{protocol.seed}/{name}")
            rows = sorted(rng.sample(range(count), min(protocol.per_task or count, count)))
            for row in rows:
                instance = task.instances[row]
                labels = json.dumps([list(pair) for pair in instance.labels.items()])
                total.update(f"{instance.id}\n{labels}\n".encode())
            total.update(task.template_hash.encode())
            chosen.append([(name, row) for row in rows])
        self._episodes = _in_turn(chosen)[: protocol.episodes]
        if not self._episodes:
            raise ProtocolError(
                f"The protocol {protocol.id!r} finds none of its tasks in {self.tasks.place}"
                f"{self.tasks.left_out and '; ' + self.tasks.left_out}."
            )
        self.keys: Sequence[str] = [f"{name}/{row}" for name, row in self._episodes]
        self.checksum = total.hexdigest()
        remarks = [protocol.warning]
        self.key = f"{protocol.id}@{protocol.version} data:{self.checksum[:12]}"
        if shown := observation_key(TURK_FORMATS, self.observation):
            self.key += f" {shown}"
        broken = {*self.tasks.broken} & {*(protocol.tasks or self.tasks.broken)}
        absent = {*self.tasks.missing, *broken}
        if absent:
            self.key += f" without:{len(absent)}"
            tasks = "1 task is" if len(absent) == 1 else f"{len(absent)} tasks are"
            remarks.append(f"{tasks} absent: {', '.join(sorted(absent))}")
        remarks.append(self.tasks.left_out)
        self.remarks: tuple[str, ...] = tuple(filter(None, remarks))
        self.pages = Pages(
            str(protocol.settings.get("driver", "auto")), submits=protocol.rules == SUBMITTED
        )

    @staticmethod
    def _load(protocol: Protocol) -> Any:
        place = os.path.expanduser(protocol.data)
        kept = data_dir(protocol.data)
        if protocol.data != "demo" and not os.path.exists(place) and kept.is_dir():
            place = str(kept)
        try:
            return load_tasks(place, protocol.split or "all")
        except TaskError as failure:
            raise ProtocolError(
                f"The protocol {protocol.id!r} needs the tasks {protocol.data!r}: {failure}"
                " `errands data` says how to get the originals; --data names another folder."
            ) from None

    def _names(self) -> Sequence[str]:
        chosen = self.protocol.tasks
        unknown = [name for name in chosen if name not in self.tasks]
        if unknown:
            raise ProtocolError(
                f"The protocol {self.protocol.id!r} names the task {unknown[0]!r}, which"
                f" {self.tasks.place} does not have."
            )
        return chosen or self.tasks.names

    def env(self) -> Env:
        protocol = self.protocol
        return _env(
            TurkEnv,
            protocol,
            tasks=self.tasks,
            observation=self.observation,
            rules=protocol.rules,
            max_steps=protocol.max_steps,
            pages=self.pages,
        )

    def options(self, number: int) -> dict[str, Any]:
        name, row = self._episodes[number]
        return {"task": name, "row": row}

    def track(self) -> Track:
        return _TurkTrack()

    def close(self) -> None:
        self.pages.close()


def _in_turn(lists: Sequence[Sequence[tuple[str, int]]]) -> list[tuple[str, int]]:
    """The first of each list, then the second of each, and so on."""
    longest = max(map(len, lists), default=0)
    return [one[at] for at in range(longest) for one in lists if at < len(one)]


class _TurkTrack:
    """Remembers how long the page was, and takes the fields' scores."""

    def __init__(self) -> None:
        self._chars = 0

    def saw(self, env: Any, observation: Any, action: str) -> None:
        if not self._chars:
            text = observation.get("html", "") if isinstance(observation, dict) else observation
            self._chars = len(text) if isinstance(text, str) else 0

    def figures(self) -> dict[str, Any]:
        return {}

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        return {
            "task": info["task"],
            "row": info["row"],
            "page_chars": self._chars,
            "fields": [
                [field.name, field.type, *(field.scores.get(rules) for rules in RULES)]
                for field in env.scored
            ],
        }
