"""Who does which instance: accepted, submitted, returned, skipped, or done elsewhere.

A worker does an instance at most once. Who asks next gets the lowest number that needs work and
that they have not done or skipped; what is accepted is kept for its worker until its time is up,
with what they have filled in so far. `errands.crowd.hits.reviews` approves what was submitted.
An assignment's key is all that its page in the frame knows: it opens nothing else.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from errands.crowd.errors import Conflict, NotFound
from errands.crowd.hits.project_workers import may_work
from errands.crowd.hits.projects import Item, Project, check_budget, count_taken, insert_many
from errands.crowd.hits.task_page import is_blank
from errands.crowd.store.database import (
    Database,
    Row,
    Run,
    column_names,
    record_of,
    select,
    select_one,
)
from errands.errors import SettingError

__all__ = [
    "TABLES",
    "Assignment",
    "Assignments",
    "Draft",
    "ImportedAnswers",
    "ProjectProgress",
    "Verdict",
    "WorkerShare",
]

TABLES: Final = """
CREATE TABLE assignments (
  id {id},
  key TEXT NOT NULL UNIQUE,
  mark TEXT NOT NULL,
  project BIGINT NOT NULL,
  item BIGINT NOT NULL,
  person BIGINT REFERENCES people,
  worker TEXT NOT NULL,
  status TEXT NOT NULL,
  accepted DOUBLE PRECISION,
  until DOUBLE PRECISION,
  submitted DOUBLE PRECISION,
  answers TEXT NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  draft TEXT NOT NULL DEFAULT '{}',
  verdict TEXT NOT NULL DEFAULT '',
  feedback TEXT NOT NULL DEFAULT '',
  decided DOUBLE PRECISION,
  decider BIGINT REFERENCES people,
  FOREIGN KEY (project, item) REFERENCES items (project, number)
);
CREATE INDEX assignments_of_items ON assignments (project, item);
CREATE INDEX assignments_of_people
  ON assignments (person, project, status, submitted, verdict, pay);
CREATE UNIQUE INDEX assignments_once ON assignments (project, item, person)
  WHERE status IN ('accepted', 'submitted');
CREATE INDEX assignments_open ON assignments (until) WHERE status = 'accepted';
CREATE TABLE skips (
  project BIGINT NOT NULL,
  item BIGINT NOT NULL,
  person BIGINT NOT NULL REFERENCES people,
  PRIMARY KEY (project, item, person)
);
"""

TO_VERSION_3: Final = """
ALTER TABLE assignments ADD COLUMN draft TEXT NOT NULL DEFAULT '{}';
ALTER TABLE assignments ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
ALTER TABLE assignments ADD COLUMN feedback TEXT NOT NULL DEFAULT '';
ALTER TABLE assignments ADD COLUMN decided DOUBLE PRECISION;
ALTER TABLE assignments ADD COLUMN decider BIGINT REFERENCES people;
"""

TO_VERSION_4: Final = """
DROP INDEX assignments_of_people;
CREATE INDEX assignments_of_people
  ON assignments (person, project, status, submitted, verdict, pay);
"""

Status = Literal["accepted", "submitted", "returned", "expired", "imported"]
Verdict = Literal["", "approved", "rejected"]
Draft = dict[str, list[str]]
"""What is filled in and not sent: the values of each field by its name."""
LARGEST_DRAFT: Final = 2**18
"""Characters, as it is stored."""
_LIVE: Final = "status IN ('accepted', 'submitted', 'imported')"
_DONE: Final = "status IN ('submitted', 'imported')"
_NOT_REJECTED: Final = "verdict <> 'rejected'"
_NEXT: Final = f"""
SELECT i.number, i.inputs FROM items i
WHERE i.project = ? AND i.taken = ?
  AND NOT EXISTS (SELECT 1 FROM assignments a WHERE a.project = i.project AND a.item = i.number
                  AND a.person = ? AND {_LIVE})
  AND NOT EXISTS (SELECT 1 FROM skips s WHERE s.project = i.project AND s.item = i.number
                  AND s.person = ?)
ORDER BY i.number LIMIT 1
"""
"""The first for a worker among the instances of which so many places are taken."""


class Assignment(msgspec.Struct, frozen=True):
    """One worker's try at one instance."""

    id: int
    key: str
    mark: str
    """Its name in files of results."""
    project: int
    item: int
    person: int | None
    worker: str
    status: Status
    accepted: float | None
    until: float | None
    submitted: float | None
    answers: dict[str, str]
    pay: float
    draft: Draft = {}
    verdict: Verdict = ""
    """Empty: nobody has decided yet."""
    feedback: str = ""
    """Why, for its worker."""
    decided: float | None = None
    decider: int | None = None


_COLUMNS: Final = column_names(Assignment)


class ImportedAnswers(msgspec.Struct, frozen=True):
    """Answers that were given elsewhere."""

    item: int
    answers: dict[str, str]
    mark: str = ""
    worker: str = ""
    accepted: float | None = None
    submitted: float | None = None


class ProjectProgress(msgspec.Struct, frozen=True):
    """How far a project is."""

    wanted: int
    """Assignments in all."""
    done: int
    accepted: int
    finished_items: int
    workers: int
    owed: float
    """Dollars, for all that is not rejected."""
    waiting: int
    """Submitted and not decided."""
    rejected: int
    """Not counted as done."""


class WorkerShare(msgspec.Struct, frozen=True):
    """What one worker did of a project."""

    worker: str
    person: int | None
    done: int
    earned: float
    seconds: float
    """In all, from accepting to submitting."""
    rejected: int


class Assignments:
    """All tries at all instances."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def upcoming(self, project: Project, person: int) -> Item | None:
        """The instance that a worker would get now; nothing is promised."""
        self._expire()
        if not project.is_offered or not may_work(self._database.rows, project.id, person):
            return None
        return _next(self._database.rows, project, person)

    def accept(self, project: Project, person: int, item: int | None = None) -> Assignment:
        """The next instance, or the one that was shown if it is still free, for a worker; the one
        they have accepted already, if they have not finished it."""
        open_one = self.open_one(project.id, person)
        if open_one is not None:
            return open_one
        if not project.is_open:
            raise Conflict("This project is closed; nothing can be accepted now.", "nothing_left")
        now = self._clock()
        with self._database.writing() as run:
            if not may_work(run, project.id, person):
                raise NotFound("There is no such work for you.")
            check_budget(run, project.id, project.pay)
            upcoming = _next(run, project, person)
            if upcoming is None:
                raise Conflict("There is nothing left to do here for you.", "nothing_left")
            number = upcoming.number
            if item is not None and item != number and _is_free(run, project, person, item):
                number = item
            key = secrets.token_urlsafe(24)
            [row] = run(
                "INSERT INTO assignments (key, mark, project, item, person, worker, status,"
                " accepted, until, answers, pay) VALUES (?, ?, ?, ?, ?, ?, 'accepted', ?, ?, ?, ?)"
                f" RETURNING {_COLUMNS}",
                (
                    *(key, _mark(key), project.id, number, person, f"W{person}", now),
                    *(now + 60.0 * project.minutes, "{}", project.pay),
                ),
            )
            count_taken(run, project.id, number, 1, project.pay)
        return record_of(Assignment, row)

    def submit(
        self, key: str, answers: Mapping[str, str], *, allow_empty: bool = False
    ) -> Assignment:
        """Take answers; on disk when this returns. A second submission changes nothing; one without
        any answer is refused (`empty`) unless it is allowed."""
        with self._database.writing() as run:
            before = select_one(run, Assignment, "assignments WHERE key = ?", (key,))
            if before is None or before.person is None:
                raise Conflict("There is no such assignment.")
            if before.status == "submitted":
                raise Conflict("The answers were received already; these change nothing.")
            if before.status == "returned":
                raise Conflict("This was returned; it takes no answers any more.")
            if before.status == "expired":
                _check_late(run, before)
            if not allow_empty:
                [(template,)] = run("SELECT template FROM projects WHERE id = ?", (before.project,))
                if is_blank(template, answers):
                    raise Conflict("Nothing has been filled in.", "empty")
            [row] = run(
                "UPDATE assignments SET status = 'submitted', submitted = ?, answers = ?,"
                f" draft = '{{}}' WHERE key = ? RETURNING {_COLUMNS}",
                (self._clock(), json.dumps(dict(answers)), key),
            )
            if before.status == "expired":
                count_taken(run, before.project, before.item, 1, before.pay)
        return record_of(Assignment, row)

    def save_draft(self, assignment: Assignment, draft: Draft) -> None:
        """Keep what is filled in so far, in place of what was kept before."""
        text = json.dumps(draft)
        if len(text) > LARGEST_DRAFT:
            raise SettingError(
                f"The draft has {len(text):,} characters; the most that is kept is"
                f" {LARGEST_DRAFT:,}."
            )
        kept = self._database.run(
            "UPDATE assignments SET draft = ? WHERE id = ? AND status IN ('accepted', 'expired')"
            " RETURNING id",
            (text, assignment.id),
            durable=False,
        )
        if not kept:
            raise Conflict("This takes no answers any more, so no draft is kept.")

    def resume(self, assignment: Assignment) -> Assignment:
        """Give a worker more time for what has expired, if nobody else is doing it."""
        with self._database.writing() as run:
            if assignment.status != "expired":
                raise Conflict("Only what has expired can be resumed.")
            _check_late(run, assignment)
            [(minutes,)] = run("SELECT minutes FROM projects WHERE id = ?", (assignment.project,))
            [row] = run(
                "UPDATE assignments SET status = 'accepted', until = ? WHERE id = ?"
                f" RETURNING {_COLUMNS}",
                (self._clock() + 60.0 * minutes, assignment.id),
            )
            count_taken(run, assignment.project, assignment.item, 1, assignment.pay)
        return record_of(Assignment, row)

    def return_(self, assignment: Assignment) -> None:
        """Return an instance for others to do; its worker is not asked again."""
        with self._database.writing() as run:
            gone = run(
                "UPDATE assignments SET status = 'returned' WHERE id = ? AND status = 'accepted'"
                " RETURNING person",
                (assignment.id,),
            )
            if not gone:
                raise Conflict("Only what is accepted and not yet submitted can be returned.")
            count_taken(run, assignment.project, assignment.item, -1, -assignment.pay)
            _skip(run, assignment.project, assignment.item, gone[0][0])

    def skip(self, project: int, item: int, person: int) -> None:
        """Leave an instance to others."""
        with self._database.writing() as run:
            if not run("SELECT 1 FROM items WHERE project = ? AND number = ?", (project, item)):
                raise NotFound("There is no such instance.")
            _skip(run, project, item, person)

    def unskip(self, project: int, person: int) -> None:
        """Ask again for what a worker has skipped or returned."""
        self._database.run("DELETE FROM skips WHERE project = ? AND person = ?", (project, person))

    def skipped(self, project: int, person: int) -> int:
        [(count,)] = self._database.rows(
            "SELECT count(*) FROM skips WHERE project = ? AND person = ?", (project, person)
        )
        return int(count)

    def by_key(self, key: str) -> Assignment | None:
        """Whose key that is, if its worker may still come in."""
        active = "(SELECT id FROM people WHERE is_active = 1)"
        return self._one(f"key = ? AND person IN {active}", (key,))

    def of_worker(self, id: int, person: int) -> Assignment | None:
        """An assignment by its number, if it is this worker's."""
        return self._one("id = ? AND person = ?", (id, person))

    def open_one(self, project: int, person: int) -> Assignment | None:
        """What a worker has accepted in a project and not finished."""
        return self._one(
            "project = ? AND person = ? AND status = 'accepted' ORDER BY id LIMIT 1",
            (project, person),
        )

    def _one(self, condition: str, values: tuple[Any, ...]) -> Assignment | None:
        self._expire()
        return select_one(self._database.rows, Assignment, f"assignments WHERE {condition}", values)

    def done_by(self, person: int) -> dict[int, tuple[int, float]]:
        """How much of each project a worker has done, and what it earned them."""
        rows = self._database.rows(
            f"SELECT project, count(*), coalesce(sum(CASE WHEN {_NOT_REJECTED} THEN pay END), 0)"
            " FROM assignments WHERE person = ? AND status = 'submitted' GROUP BY project",
            (person,),
        )
        return {project: (count, pay) for project, count, pay in rows}

    def last_of(self, project: int, person: int, most: int) -> list[Assignment]:
        """What a worker submitted last, the newest first."""
        return select(
            self._database.rows,
            Assignment,
            "assignments WHERE project = ? AND person = ? AND status = 'submitted'"
            " ORDER BY submitted DESC, id DESC LIMIT ?",
            (project, person, most),
        )

    def done(self, project: int) -> list[Assignment]:
        """All answers of a project, instance by instance."""
        return select(
            self._database.ask,
            Assignment,
            f"assignments WHERE project = ? AND {_DONE} ORDER BY item, id",
            (project,),
        )

    def shared_answers(self, project: int) -> Iterator[tuple[int, dict[str, str]]]:
        """What was answered and not rejected, instance by instance, where more than one worker may
        have answered: without all that is noted about it, as there may be very many."""
        rows = self._database.ask(
            "SELECT a.item, a.answers FROM items i JOIN assignments a"
            " ON a.project = i.project AND a.item = i.number"
            f" WHERE i.project = ? AND i.taken > 1 AND {_DONE} AND {_NOT_REJECTED}"
            " ORDER BY a.item, a.id",
            (project,),
        )
        return ((item, json.loads(text)) for item, text in rows)

    def progress(self, project: Project) -> ProjectProgress:
        self._expire()
        good = f"{_DONE} AND {_NOT_REJECTED}"
        [(done, accepted, workers, owed, waiting, rejected)] = self._database.ask(
            f"SELECT count(CASE WHEN {good} THEN 1 END),"
            " count(CASE WHEN status = 'accepted' THEN 1 END),"
            f" count(DISTINCT CASE WHEN {good} THEN worker END),"
            f" coalesce(sum(CASE WHEN status = 'submitted' AND {_NOT_REJECTED} THEN pay END), 0),"
            " count(CASE WHEN status = 'submitted' AND verdict = '' THEN 1 END),"
            f" count(CASE WHEN {_DONE} AND verdict = 'rejected' THEN 1 END)"
            " FROM assignments WHERE project = ?",
            (project.id,),
        )
        [(finished,)] = self._database.ask(
            f"SELECT count(*) FROM (SELECT item FROM assignments WHERE project = ? AND {good}"
            " GROUP BY item HAVING count(*) >= ?) whole",
            (project.id, project.wanted),
        )
        wanted = project.wanted * project.items
        return ProjectProgress(
            wanted, done, accepted, finished, workers, float(owed), waiting, rejected
        )

    def shares(self, project: int) -> list[WorkerShare]:
        """What each worker did, in the order of their names in the results."""
        rows = self._database.ask(
            f"SELECT worker, person, count(*),"
            f" coalesce(sum(CASE WHEN {_NOT_REJECTED} THEN pay END), 0),"
            " coalesce(sum(submitted - accepted), 0),"
            " count(CASE WHEN verdict = 'rejected' THEN 1 END) FROM assignments"
            f" WHERE project = ? AND {_DONE} GROUP BY worker, person ORDER BY person, worker",
            (project,),
        )
        return [WorkerShare(*row) for row in rows]

    def import_answers(self, project: int, records: Iterable[ImportedAnswers]) -> int:
        """Answers from elsewhere, as finished assignments; how many were new.

        The same file brought in twice is there once: a record's name, or else its content and how
        often that came before in the file, says which one it is.
        """
        with self._database.writing() as run:
            # Inside, so that the same file sent twice at once is there once, too.
            known = {
                mark
                for (mark,) in run("SELECT mark FROM assignments WHERE project = ?", (project,))
            }
            rows = list(_imported(project, records, known))
            insert_many(
                run,
                "INSERT INTO assignments (key, mark, project, item, worker, status, accepted,"
                " submitted, answers, pay) VALUES",
                rows,
            )
            for _, _, _, item, *_ in rows:
                # Who did it elsewhere was promised nothing here.
                count_taken(run, project, item, 1, 0.0)
        return len(rows)

    def _expire(self) -> None:
        late, values = "status = 'accepted' AND until <= ?", (self._clock(),)
        if not self._database.rows(f"SELECT 1 FROM assignments WHERE {late} LIMIT 1", values):
            return
        with self._database.writing() as run:
            for project, item, pay in run(
                f"UPDATE assignments SET status = 'expired' WHERE {late}"
                " RETURNING project, item, pay",
                values,
            ):
                count_taken(run, project, item, -1, -pay)


def _imported(
    project: int, records: Iterable[ImportedAnswers], known: set[str]
) -> Iterator[list[Any]]:
    """The rows of records that are not known; they are known from then on."""
    seen: dict[str, int] = {}
    for record in records:
        mark = record.mark
        if not mark:
            content = json.dumps([record.item, record.worker, record.answers])
            seen[content] = seen.get(content, 0) + 1
            mark = _mark(f"{content} {seen[content]}")
        if mark in known:
            continue
        known.add(mark)
        yield [
            *(f"import {secrets.token_urlsafe(24)}", mark, project, record.item),
            *(record.worker or "import", "imported", record.accepted, record.submitted),
            *(json.dumps(record.answers), 0.0),
        ]


def _next(run: Run, project: Project, person: int) -> Item | None:
    """The instance with the lowest number that needs work and that a worker may have. Only those
    that need work are looked at: by how many have taken them so far, as the index has them."""
    found: list[Row] = []
    taken = -1
    while True:
        [(more,)] = run(
            "SELECT min(taken) FROM items WHERE project = ? AND taken > ? AND taken < ?",
            (project.id, taken, project.wanted),
        )
        if more is None:
            break
        taken = more
        found += run(_NEXT, (project.id, taken, person, person))
    return record_of(Item, min(found)) if found else None


def _is_free(run: Run, project: Project, person: int, item: int) -> bool:
    """Whether a worker may have an instance that they were shown."""
    if not run("SELECT 1 FROM items WHERE project = ? AND number = ?", (project.id, item)):
        return False
    return _has_room(run, project.id, item, person)


def _check_late(run: Run, one: Assignment) -> None:
    """Refuse what came too late: somebody else is doing it, or their pay is no longer there."""
    assert one.person is not None
    if not _has_room(run, one.project, one.item, one.person):
        raise Conflict("Its time was up, and somebody else is doing it now.")
    check_budget(run, one.project, one.pay)


def _has_room(run: Run, project: int, item: int, person: int) -> bool:
    """Whether an instance needs work that is not this worker's."""
    tries = run(
        f"SELECT person, verdict FROM assignments WHERE project = ? AND item = ? AND {_LIVE}",
        (project, item),
    )
    [(wanted,)] = run("SELECT wanted FROM projects WHERE id = ?", (project,))
    taken = sum(verdict != "rejected" for _, verdict in tries)
    return taken < wanted and person not in (other for other, _ in tries)


def _skip(run: Run, project: int, item: int, person: int) -> None:
    run("INSERT INTO skips VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (project, item, person))


def _mark(text: str) -> str:
    """A name like Mechanical Turk's, which tells nothing of what it was made from."""
    return hashlib.sha256(f"assignment {text}".encode()).hexdigest()[:30].upper()
