"""The source of a protocol: its data, opened, and the episodes that are played in it, in order.

What differs between the two domains is here; whoever plays sees a numbered list of episodes, each
with a key and the options that reset an environment to it.
"""

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload
from typing import Protocol as Contract

import gymnasium
import msgspec

from errands.agents.oracles.choice_oracle import is_perfect
from errands.envs.observations import (
    DEFAULT_OBSERVATIONS,
    SHOP_FORMATS,
    TURK_FORMATS,
    Observation,
    observation_key,
)
from errands.envs.screenshots import PICTURED, Camera
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import CatalogError, DamageError, TaskError
from errands.home import data_dir
from errands.progress import Progress, silent
from errands.runs.failures import FieldLoss, ShopTrace, shop_failure, turk_failure
from errands.runs.identity import (
    DIFFICULTY,
    OTHER_DATA,
    describe_catalog,
    is_meant_catalog,
    is_meant_tasks,
    other_data_remark,
    other_data_title,
)
from errands.runs.protocol import Protocol, ProtocolError
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.verification import Verify
from errands.shop.goals import GoalSet, shuffled
from errands.shop.navigation import ITEM, RESULTS, State
from errands.shop.rewards.registry import rules_key
from errands.shop.rewards.rules import RewardRules
from errands.shop.splits import overlap_remark, split_indices
from errands.turk.drivers import Pages
from errands.turk.effects.first_use import prove_on_first_use
from errands.turk.proofs import Proof, own_proofs
from errands.turk.scoring.metrics import RULES, SUBMITTED
from errands.turk.tasks.loader import load_tasks

__all__ = ["EpisodeSource", "ShopSource", "Track", "TurkSource", "open_source"]

Env = gymnasium.Env[Any, Any]
T = TypeVar("T")


class Track(Contract):
    """Follows one episode, for its trajectory's figures."""

    def saw(self, env: Any, observation: Any, action: str, info: Mapping[str, Any]) -> None:
        """A page is shown, after an action (empty: at the beginning)."""
        ...

    def figures(self) -> dict[str, Any]:
        """`states`, `items` and `searches`."""
        ...

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        """What the reward is made of; `invalid`, how many actions were not valid; and `failure`,
        what cost an episode below 1 (`errands.runs.failures`). Also the episode's `cluster`, where
        it is at hand."""
        ...


class EpisodeSource(Contract):
    """All that can be played under a protocol."""

    protocol: Protocol
    title: str
    """What is played: the protocol's title, unless the data is not what that means."""
    observation: Observation
    """What agents are shown: no part of the key."""
    observation_version: str
    """`name@version` of a format that is not ours."""
    checksum: str
    """Of the data that the episodes come from."""
    verified: str
    """How the data's files were compared with it: `full`, `quick` or `off`; empty where the
    checksum is of what was read."""
    remarks: tuple[str, ...]
    keys: Sequence[str]
    """What each episode plays, by number; of a protocol that repeats, the list again and again."""
    clusters: Sequence[str]
    """What episodes that depend on each other share, by number: a product's id, a task's name."""
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
    verify: Verify = "quick",
) -> EpisodeSource:
    """Open what a protocol plays; its checksum is checked where it has one.

    A catalogue's files are compared with that checksum as `verify` says: see `Catalog.open`.

    `rules` are an object that the shop is rewarded by, where the protocol only says its name.
    `observation` is what the agent is shown; without it what an agent is shown that reads anything.
    """
    source: EpisodeSource = (
        ShopSource(protocol, rules, observation, verify)
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


def _shown(protocol: Protocol, observation: Observation | None) -> tuple[Observation, str]:
    """What agents are shown, and its version."""
    if observation is None:
        observation = protocol.observation or DEFAULT_OBSERVATIONS[protocol.domain]
    formats = SHOP_FORMATS if protocol.domain == "shop" else TURK_FORMATS
    return observation, observation_key(formats, observation).removeprefix("observation:")


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
        verify: Verify = "quick",
    ) -> None:
        self.protocol = protocol
        self.verified: str = verify
        self.rules: str | RewardRules = protocol.rules if rules is None else rules
        self.observation, self.observation_version = _shown(protocol, observation)
        try:
            self.catalog = Catalog.open(protocol.data, verify=verify)
        except DamageError:
            raise
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
            chosen = split_indices(protocol.split or None, self.goals)
            if protocol.per_product is not None:
                chosen = _few_of_each(chosen, self.goals, protocol.per_product, protocol.seed)
            self.indices = chosen[: protocol.episodes]
        self.keys: Sequence[str] = [f"goal {index}" for index in self.indices] * protocol.repeat
        self.clusters: Sequence[str] = _GoalProducts(self.goals, self.indices, len(self.keys))
        self.checksum = self.catalog.manifest.checksum
        if protocol.goals not in self.catalog.manifest.goals:  # A goal file adds its own.
            listed = hashlib.sha256(self.checksum.encode())
            for index in self.indices:
                listed.update(msgspec.json.encode(self.goals[index]))
            self.checksum = listed.hexdigest()
        self.key = f"{protocol.id}@{protocol.version} data:{self.checksum[:12]}"
        if self.catalog.manifest.difficulty is not None:
            self.key += f" {DIFFICULTY}{self.catalog.manifest.difficulty}"
        remarks = [protocol.warning, overlap_remark(protocol.split, self.goals)]
        self.title = protocol.title
        meant = protocol.identity
        if meant is not None and not is_meant_catalog(meant, self.catalog, self.goals):
            self.key += f" {OTHER_DATA}"
            described = describe_catalog(self.catalog, protocol.data)
            self.title = other_data_title(protocol, described)
            remarks.append(other_data_remark(protocol, described))
        self.remarks: tuple[str, ...] = tuple(filter(None, remarks))
        # Other words, or other rules of the same name, would give other scores.
        self.key = " ".join(filter(None, [self.key, rules_key(self.rules)]))
        self.waits = self.observation in PICTURED
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
        return {"goal": self.indices[number % len(self.indices)]}

    def wanted(self) -> Iterator[tuple[str, str]]:
        """The product and the instruction of each goal that is played."""
        for index in self.indices:
            goal = self.goals[index]
            yield goal.asin, goal.instruction_text

    def track(self) -> Track:
        return _ShopTrack()

    def close(self) -> None:
        """A catalogue is shared by the whole process; a browser is not."""
        self.camera.close()


class _GoalProducts(Sequence[str]):
    """The products that goals want, looked up when asked for: there may be millions of goals."""

    def __init__(self, goals: GoalSet, indices: Sequence[int], count: int) -> None:
        self._goals = goals
        self._indices = indices
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int, /) -> str: ...
    @overload
    def __getitem__(self, number: slice, /) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice, /) -> str | Sequence[str]:
        if isinstance(number, slice):
            return [self[at] for at in range(self._count)[number]]
        at = range(self._count)[number]
        return self._goals[self._indices[at % len(self._indices)]].asin


def _few_of_each(indices: Sequence[int], goals: GoalSet, most: int, seed: int) -> list[int]:
    """At most so many goals of each product, drawn by the seed; one of each product in turn."""
    by_product: dict[str, list[int]] = {}
    for index in indices:
        by_product.setdefault(goals[index].asin, []).append(index)
    drawn = [
        sorted(random.Random(f"{seed}/{asin}").sample(found, min(most, len(found))))
        for asin, found in by_product.items()
    ]
    return _in_turn(drawn)


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


class _ActionCount:
    """Counts actions, those that were not valid, and how often the last one had no effect."""

    def __init__(self) -> None:
        self.steps = -1  # The first page is shown before any action.
        self.invalid = self.idle = 0
        self.last = ""

    def saw(self, action: str, info: Mapping[str, Any]) -> None:
        self.steps += 1
        self.invalid += not info["valid_action"]
        self.idle = 0 if info["page_changed"] else self.idle + 1 if action == self.last else 1
        self.last = action


class _ShopTrack:
    """Counts pages, products and searches, and sees whether the wanted product is among results."""

    def __init__(self) -> None:
        self._states: list[State] = []
        self._items: set[int] = set()
        self._searches = 0
        self._found = False
        self._last: Any = None
        self._actions = _ActionCount()

    def saw(self, env: Any, observation: Any, action: str, info: Mapping[str, Any]) -> None:
        self._actions.saw(action, info)
        page = env.episode.page
        state = page.state
        if state is self._last:
            return
        self._last = state
        self._states.append(state)
        kind = state.page
        if kind == ITEM:
            if state.product not in self._items:
                self._items.add(state.product)
                # At once: products are large, and not kept for a look at the end.
                self._found = self._found or is_perfect(env.episode, state.product, page.product)
            return
        if kind == RESULTS and not self._found:
            wanted = env.episode.goal.asin
            # Few pages have a link of that name, and one look tells which.
            if wanted.lower() in page.clicks:
                self._found = any(card.asin == wanted for card in page.cards)
        if action.startswith("search["):
            self._searches += 1

    def figures(self) -> dict[str, Any]:
        pages = {(s.page, s.query, s.number, s.product, s.options) for s in self._states}
        return {
            "states": len(pages),
            "items": len(self._items),
            "searches": self._searches,
        }

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        episode = env.episode
        bought = info.get("reward_parts", {})
        actions = self._actions
        parts = {**bought, "invalid": actions.invalid, "cluster": episode.goal.asin}
        if info["score"] < 1.0:
            trace = ShopTrace(
                self._found, actions.steps, actions.invalid, actions.last, actions.idle
            )
            parts["failure"] = shop_failure(info["score"], bought, trace)
        return parts


class TurkSource:
    """Instances of tasks, one of each task in turn, so that any beginning covers all tasks."""

    waits = True
    verified = ""

    def __init__(self, protocol: Protocol, observation: Observation | None = None) -> None:
        self.protocol = protocol
        self.observation, self.observation_version = _shown(protocol, observation)
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
        self._episodes *= protocol.repeat
        self.keys: Sequence[str] = [f"{name}/{row}" for name, row in self._episodes]
        self.clusters: Sequence[str] = [name for name, _ in self._episodes]
        self.checksum = total.hexdigest()
        remarks = [protocol.warning]
        self.key = f"{protocol.id}@{protocol.version} data:{self.checksum[:12]}"
        self.title = protocol.title
        if (
            protocol.identity is not None
            and protocol.identity.tasks
            and not is_meant_tasks(protocol.split, self.tasks)
        ):
            self.key += f" {OTHER_DATA}"
            described = f"{Path(protocol.data).name} ({len(self.tasks.names)} tasks)"
            self.title = other_data_title(protocol, described)
            remarks.append(other_data_remark(protocol, described))
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

    def prove(
        self,
        numbers: Sequence[int],
        seconds: float,
        progress: Progress = silent,
        on_remark: Callable[[str], None] | None = None,
    ) -> tuple[Proof, ...]:
        """Find out which of the tasks of these episodes need no browser, where nobody knows yet;
        gives the proofs that another machine may not have."""
        names = dict.fromkeys(self.options(number)["task"] for number in numbers)
        tasks = [(self.tasks.task(name), self.tasks.split_of(name)) for name in names]
        prove_on_first_use(tasks, self.pages, seconds, progress=progress, on_remark=on_remark)
        return own_proofs(task.template_hash for task, _ in tasks)

    def close(self) -> None:
        self.pages.close()


def _in_turn(lists: Sequence[Sequence[T]]) -> list[T]:
    """The first of each list, then the second of each, and so on."""
    longest = max(map(len, lists), default=0)
    return [one[at] for at in range(longest) for one in lists if at < len(one)]


class _TurkTrack:
    """Remembers how long the page was, and takes the fields' scores."""

    def __init__(self) -> None:
        self._chars = 0
        self._actions = _ActionCount()

    def saw(self, env: Any, observation: Any, action: str, info: Mapping[str, Any]) -> None:
        self._actions.saw(action, info)
        if not self._chars:
            text = observation.get("html", "") if isinstance(observation, dict) else observation
            self._chars = len(text) if isinstance(text, str) else 0

    def figures(self) -> dict[str, Any]:
        return {}

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        parts = {
            "task": info["task"],
            "row": info["row"],
            "page_chars": self._chars,
            "fields": [
                [field.name, field.type, *(field.scores.get(rules) for rules in RULES)]
                for field in env.scored
            ],
            "invalid": self._actions.invalid,
        }
        if info["score"] < 1.0:
            parts["failure"] = turk_failure(
                info["score"],
                [
                    FieldLoss(field.type, not any(map(str.strip, field.values)), score)
                    for field in env.scored
                    if (score := field.scores.get(env.rules)) is not None
                ],
                is_submitted=not env.truncated,
                steps=self._actions.steps,
                invalid=self._actions.invalid,
            )
        return parts
