"""The log of the shop's website: who was sent for what, every step with its action, the purchase.

One SQLite file in WAL mode. A step is committed before its page is sent, and a commit hands its
bytes to the kernel: what a shopper has seen is in the log, whoever kills the server. (Power loss
may take the last moments, never more.) Others may read the file while it is written.

`docs/site.md` describes the tables.
"""

import contextlib
import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import ErrandsError

__all__ = ["Bought", "Session", "Step", "StepLog", "StepLogError"]

_APPLICATION: Final = 0x45525257
"""`ERRW`, in the header of every file that is such a log."""
_VERSION: Final = 1

_TABLES: Final = f"""
BEGIN;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE goals (number INTEGER PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  goal INTEGER NOT NULL REFERENCES goals,
  began REAL NOT NULL,
  finished REAL,
  asin TEXT,
  options TEXT,
  price REAL,
  reward REAL,
  parts TEXT
);
CREATE TABLE steps (
  session INTEGER NOT NULL REFERENCES sessions,
  number INTEGER NOT NULL,
  at REAL NOT NULL,
  action TEXT NOT NULL,
  source INTEGER NOT NULL,
  exact INTEGER NOT NULL,
  page TEXT NOT NULL,
  address TEXT NOT NULL,
  PRIMARY KEY (session, number)
) WITHOUT ROWID;
COMMIT;
"""
_BACKLOG: Final = 20_000
"""Pages of the WAL that a commit itself would move, if nobody had tidied up for so long."""
_STEP: Final = "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class StepLogError(ErrandsError):
    """The log cannot be opened, read or written."""


class Step(msgspec.Struct, frozen=True):
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


class Bought(msgspec.Struct, frozen=True):
    """The purchase that ended a session."""

    asin: str
    options: tuple[tuple[str, str], ...]
    price: float
    reward: float
    parts: dict[str, float | bool]


class Session(msgspec.Struct, frozen=True):
    """One shopper."""

    number: int
    name: str
    goal: int
    began: float
    finished: float | None
    bought: Bought | None


class StepLog:
    """A log that this process writes; `about` says which shop its sessions belong to."""

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        self.path = path.absolute()
        with self._explained():
            self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self._take_lock()
                self._connection = sqlite3.connect(
                    self.path, isolation_level=None, check_same_thread=False
                )
                try:
                    self._prepare(about)
                except BaseException:
                    self._connection.close()
                    raise
            except BaseException:
                os.close(self._lock)
                raise

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StepLogError(
                f"{self.path} is being written by another server; name another file with --log."
            ) from None

    def _prepare(self, about: Mapping[str, str]) -> None:
        run = self._connection.execute
        [application] = run("PRAGMA application_id").fetchone()
        [tables] = run("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != _APPLICATION:
            raise StepLogError(
                f"{self.path} is a database of something else; name another file with --log."
            )
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run(f"PRAGMA wal_autocheckpoint = {_BACKLOG}")
        if not tables:
            self._connection.executescript(_TABLES)
            self._connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            return
        [version] = run("PRAGMA user_version").fetchone()
        if version != _VERSION:
            raise StepLogError(
                f"{self.path} has version {version}, this program writes {_VERSION}; name another"
                " file with --log."
            )
        held = dict(run("SELECT name, value FROM about").fetchall())
        for name, value in about.items():
            if held.get(name) != value:
                raise StepLogError(
                    f"{self.path} belongs to another shop (its {name} is {held.get(name)}, not"
                    f" {value}); name another file with --log."
                )

    def next_number(self) -> int:
        """The number that the next session gets."""
        with self._explained():
            [number] = self._connection.execute(
                "SELECT ifnull(max(number), 0) + 1 FROM sessions"
            ).fetchone()
        return int(number)

    def begin(self, session: Session, goal: Any, first: Step) -> None:
        """Note a new session, its goal's whole record and its first step."""
        record = json.dumps(msgspec.to_builtins(goal), ensure_ascii=False)
        with self._writing() as run:
            run("INSERT OR IGNORE INTO goals VALUES (?, ?)", (session.goal, record))
            run(
                "INSERT INTO sessions (number, name, goal, began) VALUES (?, ?, ?, ?)",
                (session.number, session.name, session.goal, session.began),
            )
            run(_STEP, (session.number, *msgspec.structs.astuple(first)))

    def append(self, session: int, step: Step) -> None:
        """Note a step; it is there when this returns."""
        with self._explained():
            self._connection.execute(_STEP, (session, *msgspec.structs.astuple(step)))

    def finish(self, session: int, step: Step, bought: Bought) -> None:
        """Note the step that was the purchase, and what it was worth: both, or neither."""
        with self._writing() as run:
            run(_STEP, (session, *msgspec.structs.astuple(step)))
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

    def find(self, name: str) -> Session | None:
        """The session of that name."""
        with self._explained():
            row = self._connection.execute(
                f"SELECT {_SESSION} FROM sessions WHERE name = ?", (name,)
            ).fetchone()
        return None if row is None else _session(row)

    def sessions(self) -> list[Session]:
        """All sessions, in the order in which they began."""
        with self._explained():
            rows = self._connection.execute(f"SELECT {_SESSION} FROM sessions ORDER BY number")
            return [_session(row) for row in rows]

    def steps(self, session: int) -> list[Step]:
        """The steps of a session, in their order."""
        with self._explained():
            rows = self._connection.execute(
                "SELECT number, at, action, source, exact, page, address FROM steps"
                " WHERE session = ? ORDER BY number",
                (session,),
            )
            return [
                Step(number, at, action, source, bool(exact), page, address)
                for number, at, action, source, exact, page, address in rows
            ]

    def tidy(self) -> None:
        """Move what is in the WAL to the database; for another thread, as disks take their time."""
        with self._explained(), contextlib.closing(sqlite3.connect(self.path)) as other:
            other.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        with self._explained():
            self._connection.close()
            os.close(self._lock)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Any]:
        """All that is run inside, or nothing of it."""
        with self._explained():
            run = self._connection.execute
            run("BEGIN IMMEDIATE")
            try:
                yield run
                run("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    run("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as failure:
            raise StepLogError(
                f"The log {self.path} cannot be used ({failure}); check its directory, its"
                " permissions and the disk, or name another file with --log."
            ) from failure


_SESSION: Final = "number, name, goal, began, finished, asin, options, price, reward, parts"


def _session(row: tuple[Any, ...]) -> Session:
    number, name, goal, began, finished, asin, options, price, reward, parts = row
    bought = None
    if finished is not None:
        chosen = tuple(json.loads(options).items())
        bought = Bought(asin, chosen, price, reward, json.loads(parts))
    return Session(number, name, goal, began, finished, bought)
