"""What people did in the shop: counted, and as a run.

A session's steps are followed back from the purchase, and the actions on that way are done again
(see `errands.crowd.shopping.human_run`).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.crowd.shopping.assignments import (
    ShoppingSettings,
    read_results,
    read_settings,
    read_workers,
)
from errands.crowd.shopping.human_run import (
    DemonstrationExport,
    FinishedSession,
    NotReplayable,
    RejectedSession,
    SessionPath,
    human_protocol,
    path_to_purchase,
    rejection,
    write_run,
)
from errands.crowd.shopping.steps import about_shop, session_steps
from errands.crowd.shopping.worker_quality import ShoppingFigures, Worker, figures
from errands.crowd.store.database import ReadDatabase
from errands.errors import SettingError
from errands.runs.protocol import Protocol
from errands.shop.catalog.catalog import Catalog

__all__ = [
    "VISITOR",
    "Overview",
    "SessionFilter",
    "export_run",
    "finished_sessions",
    "read_overview",
]

VISITOR: Final = "visitor"
"""Somebody without an assignment."""


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to export."""

    experts: bool = False
    qualified: bool = False
    min_reward: float = 0.0
    include_trials: bool = False
    worker: int | None = None
    visitors: bool = False
    """Sessions without an assignment, too."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_reward <= 1.0:
            raise SettingError(f"min_reward={self.min_reward:g}: expected 0 to 1.")
        if self.visitors and (self.experts or self.qualified or self.worker is not None):
            raise SettingError("Visitors are no workers: neither experts nor qualified.")

    @property
    def description(self) -> str:
        """In words, for the run."""
        who = "experts" if self.experts else "qualified workers" if self.qualified else "workers"
        if self.worker is not None:
            who = f"worker {self.worker}"
        words = [who + (" and visitors" if self.visitors else "")]
        words.append("trials included" if self.include_trials else "without trials")
        if self.min_reward:
            words.append(f"rewards from {self.min_reward:g}")
        return ", ".join(words)


def _goal_set(about: dict[str, str]) -> tuple[str, int]:
    """The name and the size of a store's goal set."""
    name, _, count = about.get("goals", "").rpartition(" (")
    return name, int(count.rstrip(")") or 0) if name else 0


def finished_sessions(database: ReadDatabase, wanted: SessionFilter) -> list[FinishedSession]:
    """The finished sessions that pass a filter, in the order in which they began."""
    settings = read_settings(database, _goal_set(about_shop(database))[1])
    chosen = {
        worker.id
        for worker in read_workers(database, settings)
        if (not wanted.experts or worker.is_expert)
        and (not wanted.qualified or worker.status == "qualified")
        and wanted.worker in (None, worker.id)
    }
    if wanted.worker is not None and not chosen and not (wanted.experts or wanted.qualified):
        raise SettingError(f"There is no worker {wanted.worker}; `errands crowd info` lists them.")
    rows = database.rows(
        "SELECT s.number, s.name, s.goal, o.person, o.is_trial, s.began, s.reward, o.state"
        " FROM sessions s LEFT JOIN outings o ON o.session = s.number"
        " WHERE s.finished IS NOT NULL ORDER BY s.number"
    )
    sessions = []
    for number, name, goal, person, is_trial, began, reward, state in rows:
        if person is None:
            passes, worker = wanted.visitors, VISITOR
        else:
            passes = state == "done" and (wanted.include_trials or not is_trial)
            passes, worker = passes and person in chosen, f"w{person}"
        if passes and reward >= wanted.min_reward:
            sessions.append(
                FinishedSession(number, name, goal, worker, bool(is_trial), began, reward)
            )
    return sessions


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody, and the figures of people."""

    settings: ShoppingSettings
    finished: int
    open: int
    returned: int
    visitors: int
    """Finished sessions without an assignment."""
    paid: float
    all: ShoppingFigures
    """Of all assignments that are counted."""
    qualified: ShoppingFigures
    experts: ShoppingFigures
    include_trials: bool
    workers: list[Worker]


def read_overview(database: ReadDatabase, *, include_trials: bool = False) -> Overview:
    """What there is, and how good it is; trials are left out of figures unless they are asked
    for."""
    settings = read_settings(database, _goal_set(about_shop(database))[1])
    everybody = read_workers(database, settings, include_trials=include_trials)
    results = read_results(database)
    counted = [one for one in results if include_trials or not one.is_trial]
    passed = {worker.id for worker in everybody if worker.status == "qualified"}
    best = {worker.id for worker in everybody if worker.is_expert}
    states: dict[str, int] = dict(
        database.rows("SELECT state, count(*) FROM outings GROUP BY state")
    )
    [(visitors,)] = database.rows(
        "SELECT count(*) FROM sessions s WHERE s.finished IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM outings o WHERE o.session = s.number)"
    )
    return Overview(
        settings=settings,
        finished=states.get("done", 0),
        open=states.get("open", 0),
        returned=states.get("returned", 0),
        visitors=visitors,
        paid=sum(one.pay for one in results),
        all=figures(counted),
        qualified=figures(one for one in counted if one.worker in passed),
        experts=figures(one for one in counted if one.worker in best),
        include_trials=include_trials,
        workers=everybody,
    )


def export_run(
    database: ReadDatabase,
    out: str | Path,
    wanted: SessionFilter,
    *,
    catalog: str,
    goals: str | None = None,
    observation: str = "text_rich",
    on_episode: Callable[[], None] | None = None,
) -> DemonstrationExport:
    """Write the sessions that pass the filter as a run; `goals` is needed where they are a file."""
    protocol = _protocol_of(database, catalog, goals, observation)
    sessions = finished_sessions(database, wanted)
    if not sessions:
        raise SettingError(
            f"{database.place} has no finished session of {wanted.description};"
            " `errands crowd info` says what there is."
        )
    goal_set = Catalog.open(protocol.data).goals(protocol.goals)
    records = _goal_records(database)
    paths: list[SessionPath] = []
    unfit: list[RejectedSession] = []
    for one in sessions:
        try:
            if not _is_same_goal(records.get(one.goal), goal_set[one.goal]):
                raise NotReplayable(f"goal {one.goal} of this catalogue is another")
            paths.append((one, path_to_purchase(session_steps(database, one.session))))
        except NotReplayable as reason:
            unfit.append(rejection(one, reason))
    return write_run(str(out), protocol, paths, unfit, wanted.description, on_episode)


def _protocol_of(
    database: ReadDatabase, catalog: str, goals: str | None, observation: str
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
            " with --data."
        )
    name, count = _goal_set(about)
    named = name if goals is None else goals
    is_file = named not in opened.manifest.goals
    if is_file:
        named = str(Path(named).absolute())
    goal_set = opened.goals(named)
    # A file may have moved since; each goal is compared later.
    if len(goal_set) != count or not (is_file or goal_set.name == name):
        raise SettingError(
            f"{database.place} belongs to the goals {about['goals']}, not {goal_set.name}"
            f" ({len(goal_set)}); name the right ones with --goals."
        )
    return human_protocol(opened, named, observation, about["rules"])


def _goal_records(database: ReadDatabase) -> dict[int, Any]:
    rows = database.rows("SELECT number, record FROM goals")
    return {number: json.loads(record) for number, record in rows}


def _is_same_goal(record: Any, goal: Any) -> bool:
    return record is not None and record == json.loads(msgspec.json.encode(goal))
