"""Shopping assignments: workers who shop for a goal, and what came of it.

An assignment is a session of the shop that belongs to a worker. It begins when they accept it, and
ends with the purchase, or is returned; one that lasts too long expires. Each worker has one at a
time. The first ones are a trial (see `errands.crowd.shopping.worker_quality`). None begins until an
administrator has opened it; what is promised and earned never exceeds the budget.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np

from errands.crowd.budget import MOST_BUDGET, covers
from errands.crowd.errors import Conflict
from errands.crowd.shopping.steps import LoggedPurchase
from errands.crowd.shopping.worker_quality import (
    BAR,
    TRIALS,
    ShoppingResult,
    Worker,
    WorkerStatus,
    WorkerVerdict,
    status_of,
    workers,
)
from errands.crowd.store.database import Database, ReadDatabase, Run, select, where
from errands.errors import ErrandsError, SettingError
from errands.shop.goals import SPLITS, GoalSet
from errands.shop.splits import DISJOINT, split_indices
from errands.shop.urls import parse

__all__ = [
    "CLOSED",
    "PAY",
    "SPLIT_NAMES",
    "TABLES",
    "ShoppingAssignment",
    "ShoppingAssignments",
    "ShoppingSettings",
    "WrongCode",
    "committed",
    "completion_code",
    "default_settings",
    "read_assignments",
    "read_results",
    "read_settings",
    "read_workers",
]

TABLES: Final = """
CREATE TABLE outings (
  number {id},
  session BIGINT NOT NULL UNIQUE REFERENCES sessions,
  person BIGINT NOT NULL REFERENCES people,
  goal BIGINT NOT NULL,
  is_trial INTEGER NOT NULL,
  state TEXT NOT NULL,
  began DOUBLE PRECISION NOT NULL,
  ended DOUBLE PRECISION,
  offered DOUBLE PRECISION NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  reward DOUBLE PRECISION,
  steps BIGINT NOT NULL,
  states BIGINT NOT NULL,
  items BIGINT NOT NULL,
  searches BIGINT NOT NULL,
  coded DOUBLE PRECISION
);
CREATE UNIQUE INDEX outings_open ON outings (person) WHERE state = 'open';
CREATE INDEX outings_of ON outings (person, number);
CREATE TABLE verdicts (
  number {id},
  person BIGINT NOT NULL REFERENCES people,
  verdict TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL
);
"""

CLOSED: Final = "There is no shopping to do at the moment."
PAY: Final = 0.7
"""Dollars for an assignment, as the paper paid."""
SPLIT_NAMES: Final = ("all", *SPLITS, *DISJOINT)
_SETTINGS: Final = "outings.settings"
_TRIES: Final = 200
"""Draws before all goals are looked through."""
_DRAW: Final = 0x6F757469
"""Sets the draws of assignments apart from those of anonymous sessions."""

State = Literal["open", "done", "returned"]
Number = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class WrongCode(ErrandsError):
    """A completion code that belongs to none of the worker's assignments."""


class ShoppingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the admin decides."""

    is_open: bool = False
    """Whether new assignments begin."""
    split: str = "all"
    """Which goals assignments are about."""
    trial_split: str = "all"
    """Which goals trials are about."""
    per_goal: Number = 1
    """How many people get the same goal, until all goals have been given out."""
    hours: Annotated[float, msgspec.Meta(gt=0, le=100_000)] = 24.0
    """After so long an open assignment may expire."""
    pay: Annotated[float, msgspec.Meta(ge=0, le=10_000)] = PAY
    """Dollars for each that is finished."""
    budget: Annotated[float, msgspec.Meta(ge=0, le=MOST_BUDGET)] = 0.0
    """Dollars for all of them."""
    trials: Annotated[int, msgspec.Meta(ge=0, le=1000)] = TRIALS
    bar: Annotated[float, msgspec.Meta(ge=0, le=1)] = BAR
    """The average reward of the trial has to be above it."""


class ShoppingAssignment(msgspec.Struct, frozen=True):
    """One session in which a worker shops for a goal."""

    number: int
    session: int
    name: str
    """Of the session, as in its addresses."""
    person: int
    goal: int
    is_trial: bool
    state: State
    began: float
    ended: float | None
    offered: float
    """The pay that was promised."""
    pay: float
    """What was earned: the offer, once it is done."""
    reward: float | None
    steps: int
    states: int
    items: int
    searches: int
    coded: float | None
    """When the completion code was handed in."""


def default_settings(goals: int) -> ShoppingSettings:
    """What is set before anybody has set anything: no goal for testing is given away, if there
    are enough others."""
    if goals > SPLITS["train"][0] + 500:
        return ShoppingSettings(split="train", trial_split="eval")
    return ShoppingSettings()


def completion_code(session: str) -> str:
    """What a worker hands in to prove that a session was finished, as the original has it.

    >>> completion_code("ABC")
    '3C01BDBB26'
    """
    return hashlib.sha1(session.encode(), usedforsecurity=False).hexdigest()[:10].upper()


def read_settings(database: ReadDatabase, goals: int) -> ShoppingSettings:
    """The settings; `goals` is how many the shop has."""
    rows = database.rows("SELECT value FROM about WHERE name = ?", (_SETTINGS,))
    return (
        msgspec.json.decode(rows[0][0], type=ShoppingSettings) if rows else default_settings(goals)
    )


def read_assignments(
    database: ReadDatabase,
    *,
    person: int | None = None,
    session: int | None = None,
    after: int = 0,
    before: int | None = None,
    most: int | None = None,
    newest: bool = False,
) -> list[ShoppingAssignment]:
    """Assignments by number, or the newest first."""
    clause, values = where(
        {"number > ?": after, "number < ?": before, "person = ?": person, "session = ?": session}
    )
    named = "(SELECT o.*, s.name FROM outings o JOIN sessions s ON s.number = o.session) named"
    order = "DESC" if newest else "ASC"
    limit = "" if most is None else f" LIMIT {int(most)}"
    source = f"{named} {clause} ORDER BY number {order}{limit}"
    return select(database.rows, ShoppingAssignment, source, values)


def read_results(database: ReadDatabase) -> list[ShoppingResult]:
    """Every finished assignment, in the order in which they were finished."""
    timed = "(SELECT o.*, person AS worker, ended - began AS seconds FROM outings o) timed"
    done = f"{timed} WHERE state = 'done' ORDER BY ended, number"
    return select(database.rows, ShoppingResult, done)


def read_workers(
    database: ReadDatabase, settings: ShoppingSettings, *, include_trials: bool = True
) -> list[Worker]:
    """Every worker, and how well they do."""
    names: dict[int, str] = dict(
        database.rows("SELECT id, name FROM people WHERE role = 'worker' ORDER BY id")
    )
    verdicts: dict[int, WorkerVerdict] = dict(
        database.rows("SELECT person, verdict FROM verdicts ORDER BY number")
    )
    return workers(
        names,
        read_results(database),
        verdicts,
        trials=settings.trials,
        bar=settings.bar,
        include_trials=include_trials,
    )


class ShoppingAssignments:
    """All shopping assignments of one shop."""

    def __init__(
        self,
        database: Database,
        goals: GoalSet,
        *,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.database = database
        self.goals = goals
        self._seed = seed
        self._clock = clock
        self._splits: dict[str, Sequence[int]] = {}
        self._sessions = {
            session for (session,) in database.rows("SELECT session FROM outings")
        }  # those of workers, whatever became of them

    def settings(self) -> ShoppingSettings:
        return read_settings(self.database, len(self.goals))

    @property
    def is_offered(self) -> bool:
        """Whether new ones can begin: they are open, and the budget covers another."""
        return _is_offered(self.database.rows, self.settings())

    def set_settings(self, settings: ShoppingSettings) -> None:
        """Change what the admin decides; a split that the shop does not have is an error, and a
        budget below what is promised or earned."""
        spent = committed(self.database)
        if not covers(settings.budget, 0.0, spent):
            raise SettingError(
                f"${spent:,.2f} are promised or earned already; the budget cannot be less."
            )
        for split in (settings.split, settings.trial_split):
            self._indices(split)
        self.database.run(
            "INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = ?",
            (_SETTINGS, *[msgspec.json.encode(settings).decode()] * 2),
        )

    def decide(self, person: int, verdict: WorkerVerdict) -> None:
        """What the admin says of a worker; earlier decisions stay on record."""
        self.database.run(
            "INSERT INTO verdicts (person, verdict, at) VALUES (?, ?, ?)",
            (person, verdict, self._clock()),
        )

    def of(self, person: int) -> list[ShoppingAssignment]:
        """A worker's own, in their order."""
        return read_assignments(self.database, person=person)

    def status(self, person: int) -> WorkerStatus:
        """Whether somebody is on trial, qualified or refused."""
        verdicts = self.database.rows(
            "SELECT verdict FROM verdicts WHERE person = ? ORDER BY number DESC LIMIT 1", (person,)
        )
        verdict: WorkerVerdict = verdicts[0][0] if verdicts else "results"
        settings = self.settings()
        rows = self.database.rows(
            "SELECT reward FROM outings WHERE person = ? AND state = 'done' ORDER BY ended, number",
            (person,),
        )
        return status_of(verdict, [reward for (reward,) in rows], settings.trials, settings.bar)

    def begin(
        self, person: int, start: Callable[[int, Callable[[Run, int], None]], Any]
    ) -> ShoppingAssignment:
        """A new assignment: `start` begins a session for a goal, and notes the two together."""
        settings = self.settings()
        self.expire(settings)
        if not _is_offered(self.database.rows, settings):
            raise Conflict(CLOSED, "closed")
        own = self.of(person)
        if any(one.state == "open" for one in own):
            raise Conflict("You have an open assignment already; finish or return it.")
        if self.status(person) == "refused":
            raise Conflict("There is no more shopping for you: the trial was not passed.")
        is_trial = sum(one.state == "done" for one in own) < settings.trials
        goal = self._draw_goal(settings, is_trial, {one.goal for one in own})
        sessions: list[int] = []

        def note(run: Run, session: int) -> None:
            # Here, where nobody else can spend the same.
            if not _is_offered(run, settings):
                raise Conflict(CLOSED, "closed")
            sessions.append(session)
            # Before the first page is sent, so that no purchase goes unnoticed.
            run(
                "INSERT INTO outings (session, person, goal, is_trial, state, began, offered, pay,"
                " steps, states, items, searches) VALUES (?, ?, ?, ?, 'open', ?, ?, 0, 0, 0, 0, 0)",
                (session, person, goal, int(is_trial), self._clock(), settings.pay),
            )

        start(goal, note)
        self._sessions.update(sessions)
        return self.of(person)[-1]

    def return_(self, person: int) -> None:
        """End the open assignment of somebody without a purchase; another gets its goal."""
        returned = self.database.run(
            "UPDATE outings SET state = 'returned', ended = ? WHERE person = ? AND state = 'open'"
            " RETURNING number",
            (self._clock(), person),
        )
        if not returned:
            raise Conflict("There is no assignment to return.")

    def expire(self, settings: ShoppingSettings) -> int:
        """End assignments that last too long; how many."""
        now = self._clock()
        expired = self.database.run(
            "UPDATE outings SET state = 'returned', ended = ? WHERE state = 'open' AND began < ?"
            " RETURNING number",
            (now, now - 3600 * settings.hours),
        )
        return len(expired)

    def submit_code(self, person: int, code: str) -> ShoppingAssignment:
        """Take a completion code; it must be of an assignment of theirs, and is taken once."""
        plain = "".join(code.split()).upper()
        matching = [one for one in self.of(person) if completion_code(one.name) == plain]
        if not matching:
            raise WrongCode(
                f"{code[:40]!r} is not the code of one of your assignments; it has ten characters"
                " and is shown after the purchase."
            )
        [assignment] = matching
        if assignment.state == "returned":
            raise Conflict("That assignment was returned, so it does not count.")
        if assignment.state != "done":
            raise Conflict("That assignment is not finished: nothing has been bought yet.")
        coded = self.database.run(
            "UPDATE outings SET coded = ? WHERE number = ? AND coded IS NULL RETURNING number",
            (self._clock(), assignment.number),
        )
        if not coded:
            raise Conflict("That code was submitted before; it counts once.")
        return assignment

    def watches(self, session: int) -> bool:
        return session in self._sessions

    def is_wanted(self, asin: str) -> bool:
        """Whether a worker is shopping for that product now."""
        rows = self.database.rows("SELECT goal FROM outings WHERE state = 'open'")
        return any(self.goals[goal].asin == asin for (goal,) in rows)

    def finished(self, run: Run, session: int, at: float, bought: LoggedPurchase) -> None:
        """A session has ended with a purchase; if it was an assignment, it is done and paid."""
        rows = run("SELECT action, page, address FROM steps WHERE session = ?", (session,))
        steps, states, items, searches = _count(rows)
        run(
            "UPDATE outings SET state = 'done', ended = ?, reward = ?, pay = offered, steps = ?,"
            " states = ?, items = ?, searches = ? WHERE session = ? AND state = 'open'",
            (at, bought.reward, steps, states, items, searches, session),
        )

    def finish_missed(self) -> None:
        """Finish assignments whose purchases were made while crowd work was not served."""
        rows = self.database.rows(
            "SELECT s.number, s.finished, s.reward FROM outings o JOIN sessions s"
            " ON s.number = o.session WHERE o.state = 'open' AND s.finished IS NOT NULL"
        )
        for session, at, reward in rows:
            with self.database.writing() as run:
                self.finished(run, session, at, LoggedPurchase("", (), 0.0, reward, {}))

    def _indices(self, split: str) -> Sequence[int]:
        if split not in SPLIT_NAMES:
            raise SettingError(
                f"There is no split {split[:40]!r}; expected {', '.join(SPLIT_NAMES)}."
            )
        if split not in self._splits:
            self._splits[split] = split_indices(None if split == "all" else split, self.goals)
        return self._splits[split]

    def _draw_goal(self, settings: ShoppingSettings, is_trial: bool, seen: set[int]) -> int:
        """A goal that this worker has not had; drawn by the seed and the outing's number."""
        [(number,)] = self.database.rows("SELECT coalesce(max(number), 0) + 1 FROM outings")
        rng = np.random.default_rng([self._seed, _DRAW, number])
        indices = self._indices(settings.trial_split if is_trial else settings.split)
        used: dict[int, int] = {}
        if not is_trial:
            used = dict(
                self.database.rows(
                    "SELECT goal, count(*) FROM outings WHERE state <> 'returned' GROUP BY goal"
                )
            )
        for _ in range(_TRIES):
            goal = int(indices[int(rng.integers(len(indices)))])
            if goal not in seen and used.get(goal, 0) < settings.per_goal:
                return goal
        left = [goal for goal in indices if goal not in seen]
        if not left:
            raise Conflict("You have done every assignment there is; none is left.")
        # Either few are free, or all have been given out and another round begins.
        least = min(used.get(goal, 0) for goal in left)
        most = max(least, settings.per_goal - 1)
        free = [goal for goal in left if used.get(goal, 0) <= most]
        return int(free[int(rng.integers(len(free)))])


def committed(database: ReadDatabase) -> float:
    """Dollars that are promised or earned."""
    return _committed(database.rows)


def _committed(run: Run) -> float:
    [(total,)] = run(
        "SELECT coalesce(sum(CASE state WHEN 'open' THEN offered WHEN 'done' THEN pay END), 0)"
        " FROM outings"
    )
    return float(total)


def _is_offered(run: Run, settings: ShoppingSettings) -> bool:
    return settings.is_open and covers(settings.budget, _committed(run), settings.pay)


def _count(rows: Sequence[Sequence[Any]]) -> tuple[int, int, int, int]:
    """Steps, distinct pages, distinct products and searches of a session."""
    addresses = {address for _, _, address in rows}
    items = set()
    for _, page, address in rows:
        parts = parse(address) if page == "item" else None
        if parts is not None:
            items.add(parts.asin)
    searches = sum(action.startswith("search[") for action, _, _ in rows)
    return len(rows) - 1, len(addresses), len(items), searches
