"""Demonstrations: what people did in the shop, as a run that trainers and reports read.

A session's steps are followed back from the purchase, and the actions on that way are done again
in the environment. Only where every page follows from the one before and the same reward comes
out, is it a demonstration; each of the others is named with its reason. The run is one of "human"
under a protocol that picks the same goals, which is written beside it, so that agents can be run
and compared on exactly these.
"""

import contextlib
import datetime
import itertools
import json
import platform
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

import errands
from errands.crowd.database import Reading
from errands.crowd.outings import read_settings, read_workers
from errands.crowd.steps import Step, session_steps
from errands.errors import ErrandsError, SettingError
from errands.runs.episode import Episode, RunInfo, digest
from errands.runs.play import Rules, play
from errands.runs.protocol import Protocol
from errands.runs.run_place import create_run, read_place, run_lock
from errands.runs.runner import protocol_key
from errands.runs.store import Store
from errands.runs.world import ShopWorld
from errands.shop.catalog import Catalog

__all__ = [
    "PROTOCOL",
    "VISITOR",
    "Candidate",
    "Exported",
    "Unfit",
    "Wanted",
    "about_shop",
    "candidates",
    "export_run",
    "way",
]

PROTOCOL: Final = "demonstrations"
VISITOR: Final = "visitor"
"""Who came without being sent."""
_STEPS: Final = 100


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions are asked for."""

    experts: bool = False
    qualified: bool = False
    min_reward: float = 0.0
    include_trials: bool = False
    worker: int | None = None
    visitors: bool = False
    """Those of people whom nobody sent, too."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_reward <= 1.0:
            raise SettingError(f"min_reward={self.min_reward:g}: expected 0 to 1.")
        if self.visitors and (self.experts or self.qualified or self.worker is not None):
            raise SettingError("Visitors are no workers: neither experts nor qualified.")

    @property
    def said(self) -> str:
        """In words, for the run."""
        who = "experts" if self.experts else "qualified workers" if self.qualified else "workers"
        if self.worker is not None:
            who = f"worker {self.worker}"
        words = [who + (" and visitors" if self.visitors else "")]
        words.append("trials included" if self.include_trials else "without trials")
        if self.min_reward:
            words.append(f"rewards from {self.min_reward:g}")
        return ", ".join(words)


class Candidate(NamedTuple):
    """A finished session that is asked for."""

    session: int
    name: str
    goal: int
    worker: str
    """A pseudonym."""
    is_trial: bool
    began: float
    reward: float


class Unfit(msgspec.Struct, frozen=True):
    """A finished session that is no demonstration."""

    session: str
    worker: str
    goal: int
    reason: str


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an export."""

    place: str
    run: str
    """The run's id."""
    protocol: str
    """Its key."""
    kept: int
    workers: int
    score: float
    """The mean reward, times 100."""
    success: float
    """In percent."""
    unfit: tuple[Unfit, ...]
    protocol_file: str = ""
    """Agents can be run under it: `errands run FILE --agent rule`."""


class NoWay(ErrandsError):
    """A session is no demonstration."""


def about_shop(database: Reading) -> dict[str, str]:
    """Which shop a store belongs to: `catalogue` (a checksum), `goals` and `rules`."""
    rows = database.rows("SELECT name, value FROM about WHERE substr(name, 1, 5) = 'shop.'")
    return {name[5:]: value for name, value in rows}


def goal_set(about: dict[str, str]) -> tuple[str, int]:
    """The name and the size of a store's goal set."""
    name, _, count = about.get("goals", "").rpartition(" (")
    return name, int(count.rstrip(")") or 0) if name else 0


def candidates(database: Reading, wanted: Wanted) -> list[Candidate]:
    """The finished sessions that are asked for, in the order in which they began."""
    settings = read_settings(database, goal_set(about_shop(database))[1])
    chosen = {
        worker.id
        for worker in read_workers(database, settings)
        if (not wanted.experts or worker.is_expert)
        and (not wanted.qualified or worker.standing == "qualified")
        and wanted.worker in (None, worker.id)
    }
    if wanted.worker is not None and not chosen and not (wanted.experts or wanted.qualified):
        raise SettingError(
            f"There is no worker {wanted.worker}; `errands demonstrations info` lists them."
        )
    rows = database.rows(
        "SELECT s.number, s.name, s.goal, o.person, o.is_trial, s.began, s.reward, o.state"
        " FROM sessions s LEFT JOIN outings o ON o.session = s.number"
        " WHERE s.finished IS NOT NULL ORDER BY s.number"
    )
    found = []
    for number, name, goal, person, is_trial, began, reward, state in rows:
        if reward < wanted.min_reward:
            continue
        if person is None:
            if wanted.visitors:
                found.append(Candidate(number, name, goal, VISITOR, False, began, reward))
        elif person in chosen and state == "done" and (wanted.include_trials or not is_trial):
            found.append(Candidate(number, name, goal, f"w{person}", bool(is_trial), began, reward))
    return found


def way(steps: Sequence[Step]) -> list[Step]:
    """The steps that led to the purchase, the first page among them: back from the last one,
    each time to the page on which it was done."""
    if not steps:
        raise NoWay("no step was logged")
    here = steps[-1]
    back = [here]
    while here.number:
        if not here.exact:
            raise NoWay(f"step {here.number} ({here.action[:80]}) is no action of the environment")
        if not 0 <= here.source < here.number:
            raise NoWay(f"step {here.number} says that it came from step {here.source}")
        here = steps[here.source]
        back.append(here)
    return back[::-1]


def export_run(
    database: Reading,
    out: str | Path,
    wanted: Wanted,
    *,
    catalog: str,
    goals: str | None = None,
    observation: str = "text_rich",
    on_episode: Callable[[], None] | None = None,
) -> Exported:
    """Write what was asked for as a run; `goals` is needed where they come from a file."""
    protocol = _first_protocol(database, catalog, goals, observation)
    found = candidates(database, wanted)
    if not found:
        raise SettingError(
            f"{database.place} has no finished session of {wanted.said};"
            " `errands demonstrations info` says what there is."
        )
    ways: list[tuple[Candidate, list[Step]]] = []
    unfit: list[Unfit] = []

    def refuse(one: Candidate, reason: object) -> None:
        unfit.append(Unfit(one.name, one.worker, one.goal, str(reason).rstrip(".")))

    for one in found:
        try:
            ways.append((one, way(session_steps(database, one.session))))
        except NoWay as reason:
            refuse(one, reason)
    protocol = _fitting(protocol, ways)
    fit = []
    rules = Rules(observations="none", seconds=None)
    with contextlib.closing(ShopWorld(protocol)) as world:
        env = world.env()
        records = _goal_records(database)
        for number, (one, steps) in enumerate(ways):
            if not _is_same_goal(records.get(one.goal), world.goals[one.goal]):
                refuse(one, f"goal {one.goal} of this catalogue is another")
                continue
            summary = play(world, env, _Again(steps), number, rules).summary
            if summary.status != "done":
                refuse(one, summary.error or "the purchase is not where the actions lead")
            elif summary.reward != one.reward:
                refuse(one, f"its reward is {summary.reward}, and {one.reward} was logged")
            else:
                fit.append((one, steps))
    if not fit:
        raise SettingError(
            f"None of the {len(unfit)} finished sessions can be done again;"
            f" the first: {unfit[0].reason}."
        )
    protocol = _fitting(protocol, fit)
    return _kept(str(out), protocol, fit, tuple(unfit), wanted, on_episode)


class _Again:
    """Does what a person did."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._actions = iter([step.action for step in steps[1:]])

    def begin(self, observation: Any, info: Any) -> None:
        """A person begins by looking."""

    def act(self, observation: Any, info: Any) -> str:
        action = next(self._actions, None)
        if action is None:
            raise NoWay("the actions are used up, and nothing has been bought")
        return action


def _first_protocol(
    database: Reading, catalog: str, goals: str | None, observation: str
) -> Protocol:
    """Checked: the catalogue and the goals are those that people shopped in and for."""
    about = about_shop(database)
    if not about:
        raise SettingError(f"{database.place} belongs to no shop: nobody has shopped there.")
    opened = Catalog.open(catalog)
    checksum = opened.manifest.checksum
    if checksum != about["catalogue"]:
        raise SettingError(
            f"{database.place} belongs to a catalogue with the checksum"
            f" {about['catalogue'][:12]}, and {catalog} has {checksum[:12]}; name the right one"
            " with --catalog."
        )
    named = goal_set(about)[0] if goals is None else goals
    held = opened.goals(named)
    if f"{held.name} ({len(held)})" != about["goals"]:
        raise SettingError(
            f"{database.place} belongs to the goals {about['goals']}, not {held.name}"
            f" ({len(held)}); name the right ones with --goals."
        )
    return Protocol(
        id=PROTOCOL,
        version=1,
        title="Demonstrations by people",
        half="shop",
        data=str(opened.path),
        goals=named,
        observation=observation,
        rules=about["rules"],
        source="people on the website",
    )


def _fitting(protocol: Protocol, ways: Sequence[tuple[Candidate, Sequence[Step]]]) -> Protocol:
    """The protocol with these goals, and room for the longest way."""
    needs_attributes = any(step.page == "attributes" for _, steps in ways for step in steps)
    return msgspec.structs.replace(
        protocol,
        picked=tuple(one.goal for one, _ in ways),
        title=f"{len(ways):,} demonstrations by people",
        max_steps=max([_STEPS, *(len(steps) for _, steps in ways)]),
        settings={"show_attrs": True} if needs_attributes else {},
    )


def _goal_records(database: Reading) -> dict[int, Any]:
    rows = database.rows("SELECT number, record FROM goals")
    return {number: json.loads(record) for number, record in rows}


def _is_same_goal(record: Any, goal: Any) -> bool:
    return record is not None and record == json.loads(msgspec.json.encode(goal))


def _kept(
    place: str,
    protocol: Protocol,
    fit: Sequence[tuple[Candidate, Sequence[Step]]],
    unfit: tuple[Unfit, ...],
    wanted: Wanted,
    on_episode: Callable[[], None] | None,
) -> Exported:
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(contextlib.closing(ShopWorld(protocol)))
        stack.enter_context(run_lock(place))
        info = _info(protocol, world, fit, unfit, wanted)
        store = stack.enter_context(contextlib.closing(create_run(place, info, fsync=True)))
        _fill(store, world, fit, on_episode)
    rewards = [one.reward for one, _ in fit]
    return Exported(
        place=place,
        run=info.id,
        protocol=info.protocol_key,
        kept=len(fit),
        workers=len({one.worker for one, _ in fit}),
        score=100 * sum(rewards) / len(fit),
        success=100 * sum(reward >= 1.0 for reward in rewards) / len(fit),
        unfit=unfit,
        protocol_file=_write_protocol(place, protocol),
    )


def _fill(
    store: Store,
    world: ShopWorld,
    fit: Sequence[tuple[Candidate, Sequence[Step]]],
    on_episode: Callable[[], None] | None,
) -> None:
    env = world.env()
    rules = Rules(observations="full", seconds=None)
    with store.keeper() as keeper:
        for number, (one, steps) in enumerate(fit):
            keeper.keep(_timed(play(world, env, _Again(steps), number, rules), one, steps))
            if on_episode is not None:
                on_episode()


def _timed(episode: Episode, one: Candidate, steps: Sequence[Step]) -> Episode:
    """The episode with the times that the person took, and who it was."""
    replace = msgspec.structs.replace
    taken = [max(0.0, step.at - before.at) for before, step in itertools.pairwise(steps)]
    who = {"worker": one.worker, "session": digest(one.name)[:12], "is_trial": one.is_trial}
    return replace(
        episode,
        summary=replace(
            episode.summary, seconds=sum(taken), parts={**episode.summary.parts, **who}
        ),
        steps=tuple(
            replace(step, seconds=seconds)
            for step, seconds in zip(episode.steps, taken, strict=True)
        ),
    )


def _info(
    protocol: Protocol,
    world: ShopWorld,
    fit: Sequence[tuple[Candidate, Sequence[Step]]],
    unfit: Sequence[Unfit],
    wanted: Wanted,
) -> RunInfo:
    began = min(one.began for one, _ in fit)
    return RunInfo(
        id=uuid.uuid4().hex[:12],
        protocol=msgspec.to_builtins(protocol),
        protocol_key=protocol_key(protocol, protocol, world),
        half="shop",
        agent="human",
        agent_settings={"who": wanted.said, "workers": len({one.worker for one, _ in fit})},
        episodes=len(fit),
        seed=0,
        observations="full",
        checksum=world.checksum,
        remarks=(*world.remarks, *_remarks([one for one, _ in fit], unfit)),
        versions={"errands": errands.__version__, "python": platform.python_version()},
        started=datetime.datetime.fromtimestamp(began, datetime.UTC).isoformat(timespec="seconds"),
    )


def _remarks(fit: Sequence[Candidate], unfit: Sequence[Unfit]) -> Iterator[str]:
    """What a reader of a report must know, without the full stop."""
    by_worker: dict[str, list[float]] = {}
    for one in fit:
        by_worker.setdefault(one.worker, []).append(one.reward)
    ranked = sorted(by_worker, key=lambda who: -sum(by_worker[who]) / len(by_worker[who]))
    best, last = ranked[0], ranked[-1]

    def told(who: str) -> str:
        rewards = by_worker[who]
        score = 100 * sum(rewards) / len(rewards)
        success = 100 * sum(reward >= 1.0 for reward in rewards) / len(rewards)
        return f"{who} with a score of {score:.1f} and a success rate of {success:.1f} %"

    said = f"Collected from {len(by_worker)} people on the website"
    if len(ranked) > 1:
        said += f": the best is {told(best)}, the last {told(last)}"
    yield said
    if unfit:
        yield (
            f"{len(unfit)} more finished errands are left out, since their way to the purchase"
            " cannot be done again in the environment"
        )


def _write_protocol(place: str, protocol: Protocol) -> str:
    """The protocol as a file beside the run; a run in a database has none."""
    where = read_place(place)
    if not isinstance(where, Path):
        return ""
    usual = Protocol(id="", version=1, title="", half="shop", data="")
    lines = [f"# Written {time.strftime('%Y-%m-%d', time.gmtime())} by `errands demonstrations`."]
    lines.append(f"[{protocol.id}]")
    needed = ("version", "title", "half", "data", "goals")
    for name, value in msgspec.to_builtins(protocol).items():
        if name == "id" or (name not in needed and getattr(usual, name) == value) or value is None:
            continue
        lines.append(f"{name} = {_toml(value)}")
    path = where.parent / "protocol.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(held)}" for name, held in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
