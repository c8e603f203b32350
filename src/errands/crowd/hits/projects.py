"""Projects that requesters have published: a template, its instances, and how it is to be done.

A project that pays needs a budget, which only an administrator gives: without one nobody can accept
anything, and all that is promised and earned never exceeds it.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from errands.crowd.budget import checked_budget, covers
from errands.crowd.errors import Conflict
from errands.crowd.store.database import Database, Run, select, select_one, where
from errands.errors import SettingError, TaskError

__all__ = [
    "TABLES",
    "Item",
    "Project",
    "Projects",
    "Terms",
    "check_budget",
    "checked_hosts",
    "count_taken",
    "insert_many",
]

TABLES: Final = """
CREATE TABLE projects (
  id {id},
  owner BIGINT NOT NULL REFERENCES people,
  name TEXT NOT NULL,
  about TEXT NOT NULL,
  template TEXT NOT NULL,
  columns TEXT NOT NULL,
  wanted BIGINT NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  minutes BIGINT NOT NULL,
  hosts TEXT NOT NULL,
  task TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  made DOUBLE PRECISION NOT NULL,
  budget DOUBLE PRECISION NOT NULL DEFAULT 0,
  is_restricted INTEGER NOT NULL DEFAULT 0,
  items BIGINT NOT NULL DEFAULT 0,
  committed DOUBLE PRECISION NOT NULL DEFAULT 0
);
CREATE TABLE items (
  project BIGINT NOT NULL REFERENCES projects,
  number BIGINT NOT NULL,
  inputs TEXT NOT NULL,
  taken BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (project, number)
);
CREATE INDEX items_by_taken ON items (project, taken, number);
"""
_COMMITTED: Final = (
    "coalesce((SELECT sum(a.pay) FROM assignments a WHERE a.project = {} AND (a.status = 'accepted'"
    " OR (a.status = 'submitted' AND a.verdict <> 'rejected'))), 0)"
)
"""Dollars that are promised or earned."""
TO_VERSION_3: Final = f"""
ALTER TABLE projects ADD COLUMN budget DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN is_restricted INTEGER NOT NULL DEFAULT 0;
UPDATE projects SET budget = {_COMMITTED.format("projects.id")};
"""

LONGEST_NAME: Final = 120
LONGEST_ABOUT: Final = 2000
MOST_WANTED: Final = 1000
MOST_PAY: Final = 1000.0
MOST_MINUTES: Final = 7 * 24 * 60
MOST_HOSTS: Final = 50
_AT_ONCE: Final = 200
TO_VERSION_4: Final = f"""
ALTER TABLE projects ADD COLUMN items BIGINT NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN committed DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN taken BIGINT NOT NULL DEFAULT 0;
UPDATE projects SET
  items = (SELECT count(*) FROM items i WHERE i.project = projects.id),
  committed = {_COMMITTED.format("projects.id")};
UPDATE items SET taken = (SELECT count(*) FROM assignments a WHERE a.project = items.project
  AND a.item = items.number AND a.status IN ('accepted', 'submitted', 'imported')
  AND a.verdict <> 'rejected');
CREATE INDEX items_by_taken ON items (project, taken, number);
"""

_HOST = re.compile(r"(?=.{4,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a requester decides about a project."""

    name: str
    about: str = ""
    wanted: int = 1
    """How many workers do each instance."""
    pay: float = 0.0
    """Dollars for each instance."""
    minutes: int = 60
    """How long an accepted instance waits for its answers."""
    hosts: list[str] = []
    """Where pictures of the task may come from."""
    is_restricted: bool = False
    """Whether only workers who are assigned to it may do it."""


class Project(msgspec.Struct, frozen=True):
    """Crowd work."""

    id: int
    owner: int
    name: str
    about: str
    columns: list[str]
    wanted: int
    pay: float
    minutes: int
    hosts: list[str]
    task: str
    """The task folder it was taken from; empty where it was uploaded."""
    is_open: bool
    made: float
    items: int
    """How many instances there are."""
    is_restricted: bool = False
    budget: float = 0.0
    """Dollars that an administrator allows to be spent."""
    committed: float = 0.0
    """Dollars that are promised or earned."""

    @property
    def can_pay(self) -> bool:
        """Whether the budget covers another instance."""
        return covers(self.budget, self.committed, self.pay)

    @property
    def is_offered(self) -> bool:
        """Whether instances can be accepted."""
        return self.is_open and self.can_pay


class Item(msgspec.Struct, frozen=True):
    """One instance."""

    number: int
    """From 0, in the order of the table."""
    inputs: dict[str, str]


class Projects:
    """All crowd work."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def publish(
        self,
        owner: int,
        terms: Terms,
        template: str,
        columns: Sequence[str],
        inputs: Iterable[Mapping[str, str]],
        *,
        task: str = "",
        budget: float = 0.0,
    ) -> Project:
        """A new project, open at once as far as its budget goes: all of it, or nothing."""
        terms, budget = checked(terms), checked_budget(budget)
        texts = [json.dumps(dict(one)) for one in inputs]
        if not texts:
            raise TaskError("The task has no rows; expected one for each instance.")
        with self._database.writing() as run:
            [(id,)] = run(
                "INSERT INTO projects (owner, name, about, template, columns, wanted, pay,"
                " minutes, hosts, task, is_open, made, budget, is_restricted, items)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?) RETURNING id",
                (
                    *(owner, terms.name, terms.about, template, json.dumps(list(columns))),
                    *(terms.wanted, terms.pay, terms.minutes, json.dumps(terms.hosts)),
                    *(task, self._clock(), budget, int(terms.is_restricted), len(texts)),
                ),
            )
            rows = [(id, number, text) for number, text in enumerate(texts)]
            insert_many(run, "INSERT INTO items (project, number, inputs) VALUES", rows)
        made = self.project(id)
        assert made is not None
        return made

    def change(self, id: int, terms: Terms) -> Project | None:
        """Other terms; what was accepted keeps its time and its pay."""
        terms = checked(terms)
        self._database.run(
            "UPDATE projects SET name = ?, about = ?, wanted = ?, pay = ?, minutes = ?, hosts = ?,"
            " is_restricted = ? WHERE id = ?",
            (
                *(terms.name, terms.about, terms.wanted, terms.pay, terms.minutes),
                *(json.dumps(terms.hosts), int(terms.is_restricted), id),
            ),
        )
        return self.project(id)

    def set_open(self, id: int, is_open: bool) -> None:
        """Let workers accept instances, or not; what they have accepted they may submit."""
        self._database.run("UPDATE projects SET is_open = ? WHERE id = ?", (int(is_open), id))

    def set_budget(self, id: int, budget: float) -> None:
        """Let a project spend so much in all; not less than what is promised or earned."""
        budget = checked_budget(budget)
        with self._database.writing() as run:
            # Counted anew: a sum to which something is added again and again is not exact for ever.
            [(committed,)] = run(f"SELECT {_COMMITTED.format('?')}", (id,))
            if not covers(budget, 0.0, committed):
                raise Conflict(
                    f"${committed:,.2f} are promised or earned already; the budget cannot be less."
                )
            run(
                "UPDATE projects SET budget = ?, committed = ? WHERE id = ?",
                (budget, committed, id),
            )

    def project(self, id: int) -> Project | None:
        return select_one(self._database.rows, Project, "projects WHERE id = ?", (id,))

    def all(self, owner: int | None = None, *, only_open: bool = False) -> list[Project]:
        """All, or those of one requester, in the order in which they were published."""
        clause, values = where({"owner = ?": owner, "is_open = ?": 1 if only_open else None})
        return select(self._database.rows, Project, f"projects {clause} ORDER BY id", values)

    def template(self, id: int) -> str:
        [(text,)] = self._database.rows("SELECT template FROM projects WHERE id = ?", (id,))
        return str(text)

    def item(self, project: int, number: int) -> Item | None:
        return select_one(
            self._database.rows, Item, "items WHERE project = ? AND number = ?", (project, number)
        )

    def items(self, project: int) -> list[Item]:
        return select(
            self._database.rows, Item, "items WHERE project = ? ORDER BY number", (project,)
        )


def check_budget(run: Run, id: int, pay: float) -> None:
    """Refuse what a project's budget does not cover; inside the transaction that would spend it."""
    [(budget, committed)] = run("SELECT budget, committed FROM projects WHERE id = ?", (id,))
    if not covers(budget, committed, pay):
        raise Conflict(
            f"The project's budget of ${budget:,.2f} does not cover another ${pay:,.2f}; an"
            " administrator can raise it.",
            "no_budget",
        )


def count_taken(run: Run, project: int, item: int, places: int, dollars: float) -> None:
    """Note that so many more (or fewer) assignments take a place of an instance, and what they are
    promised; inside the transaction that makes it so. Whoever asks for work is then told without
    a look at all that was ever done."""
    run(
        "UPDATE items SET taken = taken + ? WHERE project = ? AND number = ?",
        (places, project, item),
    )
    if dollars:
        run("UPDATE projects SET committed = committed + ? WHERE id = ?", (dollars, project))


def insert_many(run: Run, before: str, rows: Sequence[Sequence[Any]]) -> None:
    """Rows of one width, hundreds in a statement: inside a transaction, and soon done."""
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        places = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
        run(f"{before} {places}", [value for row in some for value in row])


def checked(terms: Terms) -> Terms:
    """The terms, made tidy; those that are not possible are refused."""
    name = " ".join(terms.name.split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise SettingError(f"A project needs a name of 1 to {LONGEST_NAME} characters.")
    if len(terms.about) > LONGEST_ABOUT:
        raise SettingError(f"The description may have {LONGEST_ABOUT:,} characters at most.")
    if not 1 <= terms.wanted <= MOST_WANTED:
        raise SettingError(f"Workers per instance: expected 1 to {MOST_WANTED:,}.")
    if not 0 <= terms.pay <= MOST_PAY:
        raise SettingError(f"Pay: expected 0 to {MOST_PAY:,.0f} dollars.")
    if not 1 <= terms.minutes <= MOST_MINUTES:
        raise SettingError(f"Minutes: expected 1 to {MOST_MINUTES:,}.")
    return msgspec.structs.replace(
        terms, name=name, about=terms.about.strip(), hosts=checked_hosts(terms.hosts)
    )


def checked_hosts(hosts: Iterable[str]) -> list[str]:
    """Names of hosts, each once; a policy is made of them, so nothing else may pass.

    >>> checked_hosts(["Pictures.example.org"])
    ['pictures.example.org']
    """
    tidy = list(dict.fromkeys(host.strip().lower() for host in hosts if host.strip()))
    for host in tidy:
        if _HOST.fullmatch(host) is None:
            raise SettingError(
                f"{host[:80]!r} is no host's name; expected one like pictures.example.org."
            )
    if len(tidy) > MOST_HOSTS:
        raise SettingError(f"At most {MOST_HOSTS} hosts of pictures.")
    return tidy
