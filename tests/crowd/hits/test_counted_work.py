"""What work is left, and what is promised, is counted as it changes: no request looks at all that
was ever done, and long questions hold nobody up."""

import contextlib
import random
import sqlite3
import threading

import pytest

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.errors import Conflict
from errands.crowd.hits.assignments import Assignment, Assignments, ImportedAnswers
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.hits.reviews import Decision, ResultFilter, Reviews
from errands.crowd.store.database import Database
from errands.crowd.store.sqlite import SqliteDatabase

COUNTED = """
SELECT i.number, (SELECT count(*) FROM assignments a WHERE a.project = i.project
  AND a.item = i.number AND a.status IN ('accepted', 'submitted', 'imported')
  AND a.verdict <> 'rejected') FROM items i WHERE i.project = ? ORDER BY i.number
"""
PROMISED = """
SELECT coalesce(sum(pay), 0) FROM assignments WHERE project = ?
  AND (status = 'accepted' OR (status = 'submitted' AND verdict <> 'rejected'))
"""
FIRST = """
SELECT min(i.number) FROM items i WHERE i.project = ?
  AND (SELECT count(*) FROM assignments a WHERE a.project = i.project AND a.item = i.number
       AND a.status IN ('accepted', 'submitted', 'imported') AND a.verdict <> 'rejected') < ?
  AND NOT EXISTS (SELECT 1 FROM assignments a WHERE a.project = i.project AND a.item = i.number
                  AND a.person = ? AND a.status IN ('accepted', 'submitted', 'imported'))
  AND NOT EXISTS (SELECT 1 FROM skips s WHERE s.project = i.project AND s.item = i.number
                  AND s.person = ?)
"""
"""As it was asked before anything was counted."""


class Crowd:
    """Some workers and one project, and everything that can happen to it."""

    def __init__(self, database: Database, items: int, wanted: int) -> None:
        self.now = 0.0
        self.database = database
        people = Accounts(database, self.clock)
        self.owner = people.invite("Rita", "requester").person.id
        self.workers = [people.invite(name, "worker").person.id for name in ("Ann", "Bob", "Cem")]
        self.projects = Projects(database, self.clock)
        self.work = Assignments(database, self.clock)
        self.reviews = Reviews(database, self.clock)
        inputs = [{"n": str(number)} for number in range(items)]
        terms = Terms("N", wanted=wanted, pay=0.1, minutes=1)
        self.id = self.projects.publish(
            *(self.owner, terms, '<input name="a">', ["n"], inputs), budget=100.0
        ).id

    def clock(self) -> float:
        return self.now

    @property
    def project(self) -> Project:
        project = self.projects.project(self.id)
        assert project is not None
        return project

    def tries(self, status: str) -> list[Assignment]:
        rows = self.database.rows(
            "SELECT id, person FROM assignments WHERE status = ? AND person IS NOT NULL", (status,)
        )
        found = (self.work.of_worker(id, person) for id, person in rows)
        return [one for one in found if one is not None and one.status == status]

    def happen(self, rng: random.Random) -> None:
        """One thing."""
        person = rng.choice(self.workers)
        what = rng.randrange(9)
        status = ("accepted", "submitted", "expired")[0 if what in (1, 2) else what % 3]
        if what < 1 or not (some := self.tries(status)):
            self.work.accept(self.project, person)
            return
        one = rng.choice(some)
        if what in (1, 5) and status != "submitted":
            self.work.submit(one.key, {"a": "x"})
        elif what == 2:
            self.work.return_(one)
        elif what == 3:
            self.now += 45
        elif status == "expired":
            self.work.resume(one)
        elif status == "submitted":
            verdict = rng.choice([Decision("approved"), Decision("rejected", "no")])
            self.reviews.decide(self.id, one.mark, verdict, self.owner)
        else:
            records = [ImportedAnswers(rng.randrange(4), {"a": str(rng.random())})]
            self.work.import_answers(self.id, records)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_counted_is_what_there_is(database: Database, seed: int) -> None:
    rng = random.Random(seed)
    crowd = Crowd(database, 12, 2)
    happened = 0
    for _ in range(150):
        with contextlib.suppress(Conflict):
            crowd.happen(rng)
            happened += 1
        for person in crowd.workers:
            upcoming = crowd.work.upcoming(crowd.project, person)
            [(first,)] = database.rows(FIRST, (crowd.id, 2, person, person))
            assert first == (None if upcoming is None else upcoming.number)
        kept = database.rows(
            "SELECT number, taken FROM items WHERE project = ? ORDER BY number", (crowd.id,)
        )
        assert kept == database.rows(COUNTED, (crowd.id,))
        [(promised,)] = database.rows(PROMISED, (crowd.id,))
        assert crowd.project.committed == pytest.approx(promised)
    assert happened > 60
    statuses = {status for (status,) in database.rows("SELECT DISTINCT status FROM assignments")}
    assert statuses >= {"accepted", "submitted", "returned", "expired", "imported"}


class Steps:
    """How many steps SQLite's machine takes for statements."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.count = 0
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self.count += 1
        return 0


def test_accepting_does_not_look_at_what_is_done(database: Database) -> None:
    if not isinstance(database, SqliteDatabase):
        pytest.skip("SQLite counts its steps")
    steps = Steps(database._connection)
    took = []
    for done in (10, 1000):
        crowd = Crowd(database, 1100, 1)
        records = [ImportedAnswers(item, {"a": "x"}) for item in range(done)]
        crowd.work.import_answers(crowd.id, records)
        before = steps.count
        assert crowd.project.items == 1100
        one = crowd.work.accept(crowd.project, crowd.workers[0])
        assert one.item == done
        crowd.work.submit(one.key, {"a": "x"})
        assert crowd.work.upcoming(crowd.project, crowd.workers[0]) is not None
        took.append(steps.count - before)
    assert took[1] < 1.5 * took[0]


def test_long_questions_and_others_do_not_wait_for_each_other(database: Database) -> None:
    crowd = Crowd(database, 5, 2)
    crowd.work.submit(crowd.work.accept(crowd.project, crowd.workers[0]).key, {"a": "x"})
    answers = []

    def look() -> None:
        answers.append(len(crowd.work.shares(crowd.id)))
        answers.append(crowd.reviews.page(crowd.id, ResultFilter()).total)

    with database.writing() as run:
        # While somebody else is in the middle of writing.
        run("UPDATE projects SET about = 'x'")
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(10)
        assert answers == [1, 1]
