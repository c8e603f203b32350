"""What people did, as a run of "human": done again in the environment, kept as any run is.

Only where every page follows from the one before and the same reward comes out, is a session a
demonstration; each of the others is named with its reason. The run's protocol picks the same
goals and is written beside it, so that agents can be run and compared on exactly these.
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
from errands.crowd.shopping.steps import LoggedStep
from errands.errors import ErrandsError, SettingError
from errands.runs.episode import Episode, RunInfo, digest
from errands.runs.episode_source import ShopSource
from errands.runs.play import PlayConfig, play
from errands.runs.protocol import Protocol
from errands.runs.runner import protocol_key
from errands.runs.store.places import create_run, read_place, run_lock
from errands.shop.catalog.catalog import Catalog

__all__ = [
    "PROTOCOL",
    "DemonstrationExport",
    "FinishedSession",
    "NotReplayable",
    "RejectedSession",
    "SessionPath",
    "count_people",
    "human_protocol",
    "path_to_purchase",
    "rejection",
    "write_run",
]

PROTOCOL: Final = "demonstrations"
_STEPS: Final = 100


class FinishedSession(NamedTuple):
    """A finished session."""

    session: int
    name: str
    goal: int
    worker: str
    """A pseudonym."""
    is_trial: bool
    began: float
    reward: float
    logged: float | None = None
    """The reward that somebody else's log says, who may have had other prices and rules."""


class RejectedSession(msgspec.Struct, frozen=True):
    """A finished session that is no demonstration."""

    session: str
    worker: str
    goal: int
    reason: str


class DemonstrationExport(msgspec.Struct, frozen=True, kw_only=True):
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
    unfit: tuple[RejectedSession, ...]
    protocol_file: str = ""
    """Agents can be run under it: `errands run FILE --agent rule`."""


class NotReplayable(ErrandsError):
    """A session is no demonstration."""


SessionPath = tuple[FinishedSession, Sequence[LoggedStep]]
"""A session, and the steps that led to its purchase."""


def path_to_purchase(steps: Sequence[LoggedStep]) -> list[LoggedStep]:
    """The steps that led to the purchase, the first page among them: back from the last one,
    each time to the page on which it was done."""
    if not steps:
        raise NotReplayable("no step was logged")
    here = steps[-1]
    back = [here]
    while here.number:
        if not here.exact:
            raise NotReplayable(
                f"step {here.number} ({here.action[:80]}) is no action of the environment"
            )
        if not 0 <= here.source < here.number:
            raise NotReplayable(f"step {here.number} says that it came from step {here.source}")
        here = steps[here.source]
        back.append(here)
    return back[::-1]


def rejection(one: FinishedSession, reason: object) -> RejectedSession:
    """Why a session is no demonstration."""
    return RejectedSession(one.name, one.worker, one.goal, str(reason).rstrip("."))


def write_run(
    out: str,
    protocol: Protocol,
    paths: Sequence[SessionPath],
    unfit: Sequence[RejectedSession],
    who: str,
    on_episode: Callable[[], None] | None = None,
) -> DemonstrationExport:
    """Replay every path, and keep those that lead where they led before.

    Rewards must be those that were logged; where the log is somebody else's (`logged`), they are
    those of this shop, and the logged ones are kept beside them.
    """
    unfit = list(unfit)
    fit: list[SessionPath] = []
    protocol = _protocol_for(protocol, paths)
    rules = PlayConfig(observations="none", seconds=None)
    with contextlib.closing(ShopSource(protocol)) as source:
        env = source.env()
        for number, (one, steps) in enumerate(paths):
            summary = play(source, env, _RecordedActions(steps), number, rules).summary
            if summary.status != "done":
                why = summary.error or "the purchase is not where the actions lead"
                unfit.append(rejection(one, why))
            elif one.logged is None and summary.reward != one.reward:
                why = f"its reward is {summary.reward}, and {one.reward} was logged"
                unfit.append(rejection(one, why))
            else:
                fit.append((one._replace(reward=summary.reward or 0.0), steps))
    if not fit:
        raise SettingError(
            f"None of the {len(unfit)} finished sessions can be done again;"
            f" the first: {unfit[0].reason}."
        )
    return _write(out, _protocol_for(protocol, fit), fit, tuple(unfit), who, on_episode)


def human_protocol(catalog: Catalog, goals: str, observation: str, rules: str) -> Protocol:
    """What people play under, before it is known what they played; with `observation` their pages
    are kept."""
    return Protocol(
        id=PROTOCOL,
        version=1,
        title="Demonstrations by people",
        domain="shop",
        data=str(catalog.path),
        goals=goals,
        observation=observation,
        rules=rules,
        source="people on the website",
    )


class _RecordedActions:
    """Does what a person did."""

    def __init__(self, steps: Sequence[LoggedStep]) -> None:
        self._actions = iter([step.action for step in steps[1:]])

    def begin(self, observation: Any, info: Any) -> None:
        """A person begins by looking."""

    def act(self, observation: Any, info: Any) -> str:
        action = next(self._actions, None)
        if action is None:
            raise NotReplayable("the actions are used up, and nothing has been bought")
        return action


def _protocol_for(protocol: Protocol, paths: Sequence[SessionPath]) -> Protocol:
    """The protocol with these goals, and steps enough for the longest path."""
    needs_attributes = any(step.page == "attributes" for _, steps in paths for step in steps)
    return msgspec.structs.replace(
        protocol,
        picked=tuple(one.goal for one, _ in paths),
        title=f"Shopping done by people: {len(paths):,}",
        max_steps=max([_STEPS, *(len(steps) for _, steps in paths)]),
        settings={"show_attrs": True} if needs_attributes else {},
    )


def _write(
    place: str,
    protocol: Protocol,
    fit: Sequence[SessionPath],
    unfit: tuple[RejectedSession, ...],
    who: str,
    on_episode: Callable[[], None] | None,
) -> DemonstrationExport:
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(contextlib.closing(ShopSource(protocol)))
        stack.enter_context(run_lock(place))
        info = _info(protocol, source, fit, unfit, who)
        store = stack.enter_context(contextlib.closing(create_run(place, info, fsync=True)))
        writer = stack.enter_context(store.writer())
        env = source.env()
        rules = PlayConfig(observations="full", seconds=None)
        for number, (one, steps) in enumerate(fit):
            episode = play(source, env, _RecordedActions(steps), number, rules)
            writer.write(_timed(episode, one, steps))
            if on_episode is not None:
                on_episode()
    score, success = _score_and_success([one.reward for one, _ in fit])
    return DemonstrationExport(
        place=place,
        run=info.id,
        protocol=info.protocol_key,
        kept=len(fit),
        workers=len({one.worker for one, _ in fit}),
        score=score,
        success=success,
        unfit=unfit,
        protocol_file=_write_protocol(place, protocol),
    )


def _timed(episode: Episode, one: FinishedSession, steps: Sequence[LoggedStep]) -> Episode:
    """The episode with the times that the person took, and who it was."""
    replace = msgspec.structs.replace
    times = [max(0.0, step.at - before.at) for before, step in itertools.pairwise(steps)]
    parts: dict[str, Any] = {
        **episode.summary.parts,
        "worker": one.worker,
        "session": digest(one.name)[:12],
        "is_trial": one.is_trial,
    }
    if one.logged is not None:
        parts["logged_reward"] = one.logged
    return replace(
        episode,
        summary=replace(episode.summary, seconds=sum(times), parts=parts),
        steps=tuple(
            replace(step, seconds=seconds)
            for step, seconds in zip(episode.steps, times, strict=True)
        ),
    )


def _info(
    protocol: Protocol,
    source: ShopSource,
    fit: Sequence[SessionPath],
    unfit: Sequence[RejectedSession],
    who: str,
) -> RunInfo:
    began = min(one.began for one, _ in fit)
    return RunInfo(
        id=uuid.uuid4().hex[:12],
        protocol=msgspec.to_builtins(msgspec.structs.replace(protocol, observation="")),
        protocol_key=protocol_key(protocol, protocol, source),
        domain="shop",
        agent="human",
        agent_settings={"who": who, "workers": len({one.worker for one, _ in fit})},
        observation=protocol.observation,
        episodes=len(fit),
        seed=0,
        observations="full",
        checksum=source.checksum,
        remarks=(*source.remarks, *_remarks([one for one, _ in fit], unfit)),
        versions={"errands": errands.__version__, "python": platform.python_version()},
        started=datetime.datetime.fromtimestamp(began, datetime.UTC).isoformat(timespec="seconds"),
    )


def _remarks(fit: Sequence[FinishedSession], unfit: Sequence[RejectedSession]) -> Iterator[str]:
    """What a reader of a report must know, without the full stop."""
    by_worker: dict[str, list[float]] = {}
    for one in fit:
        by_worker.setdefault(one.worker, []).append(one.reward)
    ranked = sorted(by_worker, key=lambda who: -sum(by_worker[who]) / len(by_worker[who]))
    best, last = ranked[0], ranked[-1]

    def result(who: str) -> str:
        score, success = _score_and_success(by_worker[who])
        return f"{who} with a score of {score:.1f} and a success rate of {success:.1f} %"

    collected = f"Collected from {count_people(len(by_worker))} on the website"
    if len(ranked) > 1:
        collected += f": the best is {result(best)}, the last {result(last)}"
    yield collected
    if unfit:
        yield (
            f"{len(unfit)} more finished sessions are left out, since their way to the purchase"
            " cannot be done again in the environment"
        )


def _score_and_success(rewards: Sequence[float]) -> tuple[float, float]:
    count = len(rewards)
    return 100 * sum(rewards) / count, 100 * sum(reward >= 1.0 for reward in rewards) / count


def count_people(count: int) -> str:
    """So many people, in words."""
    return "1 person" if count == 1 else f"{count:,} people"


def _write_protocol(place: str, protocol: Protocol) -> str:
    """The protocol as a file beside the run; a run in a database has none."""
    where = read_place(place)
    if not isinstance(where, Path):
        return ""
    usual = Protocol(id="", version=1, title="", domain="shop", data="")
    lines = [f"# Written {time.strftime('%Y-%m-%d', time.gmtime())} by `errands crowd`."]
    lines.append(f"[{protocol.id}]")
    needed = ("version", "title", "half", "data", "goals")
    for name, value in msgspec.to_builtins(protocol).items():
        if (
            name in ("id", "observation")
            or (name not in needed and getattr(usual, name) == value)
            or value is None
        ):
            continue
        lines.append(f"{name} = {_toml(value)}")
    path = where.parent / "protocol.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(item)}" for name, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
