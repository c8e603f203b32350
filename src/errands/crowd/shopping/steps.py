"""The log of the shop's website: who was sent for what, every step with its action, the purchase.

A step is committed before its page is sent: what a shopper has seen is in the log, whoever kills
the server. (Power loss may take the last moments.)

`docs/guides/website.md` describes the tables.
"""

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from errands.crowd.store.database import (
    Database,
    ReadDatabase,
    Row,
    Run,
    StorageError,
    select,
)

__all__ = [
    "TABLES",
    "LoggedPurchase",
    "LoggedStep",
    "SessionListener",
    "ShopSession",
    "StepLog",
    "about_shop",
    "find_session",
    "session_steps",
]

TABLES: Final = """
CREATE TABLE goals (number BIGINT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE sessions (
  number BIGINT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  goal BIGINT NOT NULL REFERENCES goals,
  began DOUBLE PRECISION NOT NULL,
  finished DOUBLE PRECISION,
  asin TEXT,
  options TEXT,
  price DOUBLE PRECISION,
  reward DOUBLE PRECISION,
  parts TEXT
);
CREATE TABLE steps (
  session BIGINT NOT NULL REFERENCES sessions,
  number BIGINT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  action TEXT NOT NULL,
  source BIGINT NOT NULL,
  exact INTEGER NOT NULL,
  page TEXT NOT NULL,
  address TEXT NOT NULL,
  PRIMARY KEY (session, number)
);
"""
_AT_ONCE: Final = 1000
"""Sessions that are removed while others wait."""
_STEP: Final = "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class LoggedStep(msgspec.Struct, frozen=True):
    """One page that a shopper came to, and how."""

    number: int
    """From 0, which is the search page that a session begins on."""
    at: float
    """Seconds since 1970."""
    action: str
    """`search[...]` or `click[...]`; `go[address]` where no action leads there; empty in step 0."""
    source: int
    """The step on whose page the action was done."""
    exact: bool
    """Whether the environment, given the action on that page, shows this one."""
    page: str
    address: str


class LoggedPurchase(msgspec.Struct, frozen=True):
    """The purchase that ended a session."""

    asin: str
    options: tuple[tuple[str, str], ...]
    price: float
    reward: float
    parts: dict[str, float | bool]


class ShopSession(msgspec.Struct, frozen=True):
    """One shopper."""

    number: int
    name: str
    goal: int
    began: float
    finished: float | None
    bought: LoggedPurchase | None


class SessionListener(Protocol):
    """Somebody who wants to know when certain sessions end."""

    def watches(self, session: int) -> bool:
        """Whether it is one of theirs: its purchase has to be on disk before its page is sent."""

    def is_wanted(self, asin: str) -> bool:
        """Whether somebody is out for that product now: to others its score is not told."""

    def finished(self, run: Run, session: int, at: float, bought: LoggedPurchase) -> None:
        """It ended; what is run now happens together with the purchase, or not at all."""


class StepLog:
    """The log in a database that this process writes; `about` says which shop its sessions
    belong to."""

    def __init__(self, database: Database, about: Mapping[str, str]) -> None:
        self._database = database
        self.watcher: SessionListener | None = None
        stored = about_shop(database)
        for name, value in about.items():
            if stored and stored.get(name) != value:
                raise StorageError(
                    f"{database.place} belongs to another shop (its {name} is"
                    f" {stored.get(name)}, not {value}); name another place with --store."
                )
        if not stored:
            pairs = [(f"shop.{name}", value) for name, value in about.items()]
            database.run_many("INSERT INTO about VALUES (?, ?)", pairs)

    def secret(self) -> str:
        """A secret of this store, made when it is first asked for: what it has signed holds as long
        as the store."""
        ask = "SELECT value FROM about WHERE name = 'site.secret'"
        if not self._database.rows(ask):
            made = ("site.secret", secrets.token_urlsafe(32))
            self._database.run("INSERT INTO about VALUES (?, ?)", made)
        [(secret,)] = self._database.rows(ask)
        return str(secret)

    def next_number(self) -> int:
        """The number that the next session gets."""
        [(number,)] = self._database.rows("SELECT coalesce(max(number), 0) + 1 FROM sessions")
        return int(number)

    def begin(
        self,
        session: ShopSession,
        goal: Any,
        first: LoggedStep,
        also: Callable[[Run], None] | None = None,
    ) -> None:
        """Note a new session, its goal's whole record and its first step; what is done `also`
        belongs to it, and all of it is on disk."""
        record = json.dumps(msgspec.to_builtins(goal), ensure_ascii=False)
        with self._database.writing(durable=also is not None) as run:
            run(
                "INSERT INTO goals VALUES (?, ?) ON CONFLICT (number) DO NOTHING",
                (session.goal, record),
            )
            run(
                "INSERT INTO sessions (number, name, goal, began) VALUES (?, ?, ?, ?)",
                (session.number, session.name, session.goal, session.began),
            )
            run(_STEP, _values(session.number, first))
            if also is not None:
                also(run)

    def append(self, session: int, *steps: LoggedStep) -> None:
        """Log steps, all or none; they are there when this returns."""
        rows = ", (?, ?, ?, ?, ?, ?, ?, ?)" * (len(steps) - 1)
        values = [value for step in steps for value in _values(session, step)]
        self._database.run(_STEP + rows, values, durable=False)

    def finish(self, session: int, step: LoggedStep, bought: LoggedPurchase) -> None:
        """Note the step that was the purchase, and what it was worth: both, or neither."""
        watcher = self.watcher if self.is_watched(session) else None
        with self._database.writing(durable=watcher is not None) as run:
            run(_STEP, _values(session, step))
            run(
                "UPDATE sessions SET finished = ?, asin = ?, options = ?, price = ?, reward = ?,"
                " parts = ? WHERE number = ?",
                (
                    step.at,
                    bought.asin,
                    json.dumps(dict(bought.options), ensure_ascii=False),
                    bought.price,
                    bought.reward,
                    json.dumps(bought.parts),
                    session,
                ),
            )
            if watcher is not None:
                watcher.finished(run, session, step.at, bought)

    def is_watched(self, session: int) -> bool:
        """Whether somebody wants to know when it ends."""
        return self.watcher is not None and self.watcher.watches(session)

    def unfinished(self) -> int:
        """Sessions that nobody was sent for: how many have not bought anything."""
        [(count,)] = self._database.rows(
            "SELECT count(*) FROM sessions s WHERE s.finished IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM outings o WHERE o.session = s.number)"
        )
        return int(count)

    def forget_idle(self, before: float) -> list[str]:
        """Remove some sessions that nobody was sent for, that began before that time and have taken
        no step since; their names. The last number stays, so that none is given twice."""
        with self._database.writing(durable=False) as run:
            idle = run(
                "SELECT s.number, s.name FROM sessions s WHERE s.finished IS NULL AND s.began < ?"
                " AND s.number < (SELECT max(number) FROM sessions)"
                " AND NOT EXISTS (SELECT 1 FROM outings o WHERE o.session = s.number)"
                " AND NOT EXISTS"
                " (SELECT 1 FROM steps t WHERE t.session = s.number AND t.number > 0)"
                f" ORDER BY s.number LIMIT {_AT_ONCE}",
                (before,),
            )
            return _removed(run, idle)

    def forget_gone(self, before: float, most: int) -> list[str]:
        """Remove so many sessions at most that nobody was sent for, have not ended and took their
        last step before that time, those who are away for longest first; their names."""
        with self._database.writing(durable=False) as run:
            gone = run(
                "SELECT number, name FROM (SELECT s.number, s.name,"
                " (SELECT t.at FROM steps t WHERE t.session = s.number"
                " ORDER BY t.number DESC LIMIT 1) AS seen FROM sessions s"
                " WHERE s.finished IS NULL AND s.began < ?"
                " AND s.number < (SELECT max(number) FROM sessions)"
                " AND NOT EXISTS (SELECT 1 FROM outings o WHERE o.session = s.number)) visits"
                " WHERE seen < ? ORDER BY seen, number LIMIT ?",
                (before, before, most),
            )
            return _removed(run, gone)

    def find(self, name: str) -> ShopSession | None:
        """The session of that name."""
        return find_session(self._database, name)

    def sessions(self) -> list[ShopSession]:
        """All sessions, in the order in which they began."""
        rows = self._database.rows(f"SELECT {_SESSION} FROM sessions ORDER BY number")
        return [_session(row) for row in rows]

    def steps(self, session: int) -> list[LoggedStep]:
        """The steps of a session, in their order."""
        return session_steps(self._database, session)


def _removed(run: Run, sessions: list[Row]) -> list[str]:
    """Remove sessions by number and name, with their steps; their names."""
    for number, _ in sessions:
        run("DELETE FROM steps WHERE session = ?", (number,))
        run("DELETE FROM sessions WHERE number = ?", (number,))
    return [name for _, name in sessions]


def about_shop(database: ReadDatabase) -> dict[str, str]:
    """Which shop a store belongs to: `catalogue` (a checksum), `goals` and `rules`."""
    rows = database.rows("SELECT name, value FROM about WHERE substr(name, 1, 5) = 'shop.'")
    return {name.removeprefix("shop."): value for name, value in rows}


def find_session(database: ReadDatabase, name: str) -> ShopSession | None:
    """The session of that name."""
    rows = database.rows(f"SELECT {_SESSION} FROM sessions WHERE name = ?", (name,))
    return _session(rows[0]) if rows else None


def session_steps(database: ReadDatabase, session: int) -> list[LoggedStep]:
    """The steps of a session, in their order."""
    return select(database.rows, LoggedStep, "steps WHERE session = ? ORDER BY number", (session,))


_SESSION: Final = "number, name, goal, began, finished, asin, options, price, reward, parts"


def _values(session: int, step: LoggedStep) -> Row:
    number, at, action, source, exact, page, address = msgspec.structs.astuple(step)
    return session, number, at, action, source, int(exact), page, address


def _session(row: tuple[Any, ...]) -> ShopSession:
    number, name, goal, began, finished, asin, options, price, reward, parts = row
    bought = None
    if finished is not None:
        chosen = tuple(json.loads(options).items())
        bought = LoggedPurchase(asin, chosen, price, reward, json.loads(parts))
    return ShopSession(number, name, goal, began, finished, bought)
