"""Who may work on a project: everybody who was invited, those assigned to it, those who joined it.

A project can have a join link, to be posted where workers are (Prolific and the like). Who follows
it gets an account that sees this project and nothing else, until there are as many people as the
link allows. A participant's ID from elsewhere joins once.
"""

import secrets
import time
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from errands.crowd.accounts.accounts import LONGEST_NAME, Invitation, add_guest
from errands.crowd.errors import Conflict, NotFound
from errands.crowd.hits.projects import insert_many
from errands.crowd.store.database import Database, Run, select_one
from errands.errors import SettingError

__all__ = ["MOST_PEOPLE", "TABLES", "JoinLink", "ProjectWorkers", "may_work"]

TABLES: Final = """
CREATE TABLE project_workers (
  project BIGINT NOT NULL REFERENCES projects,
  person BIGINT NOT NULL REFERENCES people,
  participant TEXT NOT NULL,
  joined DOUBLE PRECISION,
  PRIMARY KEY (project, person)
);
CREATE UNIQUE INDEX project_participants ON project_workers (project, participant)
  WHERE participant <> '';
CREATE TABLE join_links (
  project BIGINT PRIMARY KEY REFERENCES projects,
  code TEXT NOT NULL UNIQUE,
  most BIGINT NOT NULL,
  completion TEXT NOT NULL
);
"""

MOST_PEOPLE: Final = 10_000
LONGEST_COMPLETION: Final = 80
_LINKS: Final = (
    "(SELECT l.*, (SELECT count(*) FROM project_workers w WHERE w.project = l.project"
    " AND w.joined IS NOT NULL) AS joined FROM join_links l) counted"
)


class JoinLink(msgspec.Struct, frozen=True):
    """The way into a project for people without an invitation."""

    project: int
    code: str
    most: int
    """People who may join in all, by this and earlier links of the project."""
    completion: str
    """The code that those who are done are shown; empty: none."""
    joined: int

    @property
    def is_full(self) -> bool:
        return self.joined >= self.most


class ProjectWorkers:
    """Who is assigned to which project, and the join links."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def may_work(self, project: int, person: int) -> bool:
        return may_work(self._database.rows, project, person)

    def assigned(self, project: int) -> list[int]:
        """Workers whom the requester has assigned."""
        rows = self._database.rows(
            "SELECT person FROM project_workers WHERE project = ? AND joined IS NULL"
            " ORDER BY person",
            (project,),
        )
        return [person for (person,) in rows]

    def assign(self, project: int, people: Iterable[int]) -> None:
        """Assign these workers and no others; those who joined stay."""
        chosen = sorted(set(people))
        with self._database.writing() as run:
            known = {
                person
                for (person,) in run("SELECT id FROM people WHERE role = 'worker' AND is_guest = 0")
            }
            for person in chosen:
                if person not in known:
                    raise NotFound(f"There is no worker W{person} who could be assigned.")
            run("DELETE FROM project_workers WHERE project = ? AND joined IS NULL", (project,))
            insert_many(
                run,
                "INSERT INTO project_workers (project, person, participant) VALUES",
                [(project, person, "") for person in chosen],
            )

    def link(self, project: int) -> JoinLink | None:
        return select_one(self._database.rows, JoinLink, f"{_LINKS} WHERE project = ?", (project,))

    def by_code(self, code: str) -> JoinLink | None:
        return select_one(self._database.rows, JoinLink, f"{_LINKS} WHERE code = ?", (code,))

    def set_link(self, project: int, most: int, completion: str = "") -> JoinLink:
        """Open a link for so many people, or change it; its code stays."""
        completion = " ".join(completion.split())
        if not 1 <= most <= MOST_PEOPLE:
            raise SettingError(f"People who may join: expected 1 to {MOST_PEOPLE:,}.")
        if len(completion) > LONGEST_COMPLETION or not completion.isprintable():
            raise SettingError(f"A completion code has {LONGEST_COMPLETION} characters at most.")
        self._database.run(
            "INSERT INTO join_links VALUES (?, ?, ?, ?) ON CONFLICT (project) DO UPDATE"
            " SET most = excluded.most, completion = excluded.completion",
            (project, secrets.token_urlsafe(9), most, completion),
        )
        link = self.link(project)
        assert link is not None
        return link

    def end_link(self, project: int) -> None:
        """Nobody joins by it any more; those who did stay."""
        self._database.run("DELETE FROM join_links WHERE project = ?", (project,))

    def join(self, code: str, participant: str = "") -> Invitation:
        """An account for somebody who follows a link; on disk when this returns."""
        participant = " ".join(participant.split())
        if len(participant) > LONGEST_NAME or not participant.isprintable():
            raise SettingError(f"A participant's ID has {LONGEST_NAME} characters at most.")
        with self._database.writing() as run:
            link = select_one(run, JoinLink, f"{_LINKS} WHERE code = ?", (code,))
            if link is None:
                raise NotFound("This link leads nowhere; ask for a new one.")
            if participant and run(
                "SELECT 1 FROM project_workers WHERE project = ? AND participant = ?",
                (link.project, participant),
            ):
                raise Conflict(
                    "Somebody with this ID has joined already. If that was you, open the page that"
                    " you got then, in the same browser.",
                    "joined",
                )
            if link.is_full:
                raise Conflict("All places are taken; nobody else can join now.", "full")
            now = self._clock()
            invited = add_guest(run, participant or f"Participant {link.joined + 1}", now)
            run(
                "INSERT INTO project_workers VALUES (?, ?, ?, ?)",
                (link.project, invited.person.id, participant, now),
            )
        return invited

    def has_joined(self, project: int, person: int) -> bool:
        return bool(
            self._database.rows(
                "SELECT 1 FROM project_workers WHERE project = ? AND person = ?"
                " AND joined IS NOT NULL",
                (project, person),
            )
        )


def may_work(run: Run, project: int, person: int) -> bool:
    """Whether a project is for a worker: it is for all who were invited, or they belong to it."""
    return bool(
        run(
            "SELECT 1 FROM projects p, people w WHERE p.id = ? AND w.id = ?"
            " AND ((p.is_restricted = 0 AND w.is_guest = 0) OR EXISTS (SELECT 1"
            " FROM project_workers j WHERE j.project = p.id AND j.person = w.id))",
            (project, person),
        )
    )
