"""Submissions of a project: found by filters, approved or rejected with a reason.

What is rejected is not paid and not counted; its instance goes to somebody else, and its worker
reads why. A decision can be changed, as far as the budget goes.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from errands.crowd.errors import NotFound
from errands.crowd.hits.assignments import Assignment
from errands.crowd.hits.projects import check_budget, count_taken
from errands.crowd.store.database import Database, Run, column_names, record_of, select, where
from errands.errors import SettingError

__all__ = [
    "PAGE",
    "STATUSES",
    "Decision",
    "ResultFilter",
    "ResultPage",
    "Reviews",
]

PAGE: Final = 25
"""Submissions on one page."""
LONGEST_REASON: Final = 1000
ResultStatus = Literal["submitted", "approved", "rejected"]
STATUSES: Final[tuple[ResultStatus, ...]] = ("submitted", "approved", "rejected")
_DONE: Final = "status IN ('submitted', 'imported')"
_COLUMNS: Final = column_names(Assignment)


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a submission is approved; a rejection needs a reason."""

    verdict: Literal["approved", "rejected"]
    reason: str = ""


class ResultFilter(msgspec.Struct, frozen=True):
    """Which submissions; None and empty: all."""

    worker: str = ""
    status: ResultStatus | None = None
    """`submitted`: by a worker, and not decided."""
    item: int | None = None
    text: str = ""
    """Somewhere in the answers."""


class ResultPage(msgspec.Struct, frozen=True):
    """One page of what was found."""

    total: int
    page: int
    """From 1."""
    pages: int
    results: list[Assignment]


class Reviews:
    """All submissions to all projects."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def page(self, project: int, chosen: ResultFilter, page: int = 1) -> ResultPage:
        """One page of the submissions that a filter leaves."""
        source, values = _source(project, chosen)
        [(total,)] = self._database.ask(f"SELECT count(*) FROM {source}", values)
        pages = max(1, -(-total // PAGE))
        page = min(max(1, page), pages)
        ordered = f"{source} ORDER BY item, id LIMIT ? OFFSET ?"
        results = select(
            self._database.ask, Assignment, ordered, (*values, PAGE, (page - 1) * PAGE)
        )
        return ResultPage(int(total), page, pages, results)

    def all(self, project: int, chosen: ResultFilter) -> list[Assignment]:
        """All submissions that a filter leaves, instance by instance."""
        source, values = _source(project, chosen)
        return select(self._database.ask, Assignment, f"{source} ORDER BY item, id", values)

    def workers(self, project: int) -> list[str]:
        """Who submitted, as results name them."""
        rows = self._database.ask(
            f"SELECT DISTINCT worker, person FROM assignments WHERE project = ? AND {_DONE}"
            " ORDER BY person, worker",
            (project,),
        )
        return [worker for worker, _ in rows]

    def decide(self, project: int, mark: str, decision: Decision, decider: int) -> Assignment:
        """Approve or reject a submission by its name in results, or change one's mind."""
        decided = self.decide_all(project, {mark: decision}, decider)
        if not decided:
            raise NotFound("There is no such submission in this project.")
        return decided[0]

    def approve_all(self, project: int, chosen: ResultFilter, decider: int) -> int:
        """Approve what waits among the submissions that a filter leaves; how many."""
        if chosen.status not in (None, "submitted"):
            return 0
        waiting = self.all(project, msgspec.structs.replace(chosen, status="submitted"))
        approved = Decision("approved")
        return len(self.decide_all(project, {one.mark: approved for one in waiting}, decider))

    def decide_all(
        self, project: int, decisions: Mapping[str, Decision], decider: int
    ) -> list[Assignment]:
        """All of these decisions, or none; those that change nothing, and names that are none of
        this project, are left out."""
        checked = {mark: _checked(decision) for mark, decision in decisions.items()}
        decided: list[Assignment] = []
        with self._database.writing() as run:
            for mark, decision in checked.items():
                decided += self._decide(run, project, mark, decision, decider)
        return decided

    def _decide(
        self, run: Run, project: int, mark: str, decision: Decision, decider: int
    ) -> Iterable[Assignment]:
        rows = run(
            f"SELECT {_COLUMNS} FROM assignments WHERE project = ? AND mark = ? AND {_DONE}",
            (project, mark),
        )
        if not rows:
            return []
        before = record_of(Assignment, rows[0])
        if (before.verdict, before.feedback) == (decision.verdict, decision.reason):
            return [before]
        if before.verdict == "rejected" and decision.verdict == "approved":
            check_budget(run, project, before.pay)
        [row] = run(
            "UPDATE assignments SET verdict = ?, feedback = ?, decided = ?, decider = ?"
            f" WHERE id = ? RETURNING {_COLUMNS}",
            (decision.verdict, decision.reason, self._clock(), decider, before.id),
        )
        places = (before.verdict == "rejected") - (decision.verdict == "rejected")
        if places:
            promised = before.pay if before.status == "submitted" else 0.0
            count_taken(run, project, before.item, places, places * promised)
        return [record_of(Assignment, row)]


def _checked(decision: Decision) -> Decision:
    reason = decision.reason.strip()
    if decision.verdict == "rejected" and not reason:
        raise SettingError("A rejection needs a reason, which the worker reads.")
    if len(reason) > LONGEST_REASON:
        raise SettingError(f"A reason has {LONGEST_REASON:,} characters at most.")
    return msgspec.structs.replace(decision, reason=reason)


def _source(project: int, chosen: ResultFilter) -> tuple[str, list[Any]]:
    """The table, with the clause of a filter."""
    is_waiting = chosen.status == "submitted"
    # Stored as JSON, which writes characters beyond ASCII as escapes; so is what is sought.
    sought = json.dumps(chosen.text.strip().lower())[1:-1] if chosen.text.strip() else None
    clause, values = where(
        {
            "project = ?": project,
            "worker = ?": chosen.worker or None,
            "verdict = ?": "" if is_waiting else chosen.status,
            "status = ?": "submitted" if is_waiting else None,
            "item = ?": chosen.item,
            "lower(answers) LIKE ? ESCAPE '!'": None if sought is None else f"%{_plain(sought)}%",
        }
    )
    return f"assignments {clause} AND {_DONE}", values


def _plain(text: str) -> str:
    """A text in which a pattern's signs stand for themselves."""
    for sign in "!%_":
        text = text.replace(sign, f"!{sign}")
    return text
