"""Runs in a PostgreSQL database, for many machines that write into one place.

The tables are made on first use and hold any number of runs, each under its id. A connection
that was lost is made again once; what `add` has returned from is on the server's disk.
"""

import contextlib
import functools
import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

import numpy as np

from errands.database import connect_postgres, import_psycopg, one_line
from errands.runs.episode import FORMAT, Episode, RunInfo, Summary
from errands.runs.store.base import StoreError
from errands.runs.store.rows import (
    STATUSES,
    SUMMARY,
    columns_of,
    pack,
    pack_body,
    summary_of,
    summary_row,
    unpack,
    unpack_body,
)

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresLock", "PostgresStore", "explained", "is_locked"]

_LOCKS: Final = 0x45525253
"""Our own range of the server's advisory locks."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS errands_runs (
  run serial PRIMARY KEY,
  id text NOT NULL UNIQUE,
  format integer NOT NULL,
  info bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS errands_episodes (
  run integer NOT NULL REFERENCES errands_runs,
  number bigint NOT NULL,
  key text NOT NULL,
  status text NOT NULL,
  reward float8,
  success smallint,
  steps integer NOT NULL,
  seconds float8 NOT NULL,
  states integer NOT NULL,
  items integer NOT NULL,
  searches integer NOT NULL,
  tokens_in bigint NOT NULL,
  tokens_out bigint NOT NULL,
  cost float8 NOT NULL,
  owner text NOT NULL,
  error text NOT NULL,
  parts bytea NOT NULL,
  PRIMARY KEY (run, number)
);
CREATE TABLE IF NOT EXISTS errands_trajectories (
  run integer NOT NULL REFERENCES errands_runs,
  number bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (run, number)
);
"""
_COLUMNS: Final = ", ".join(SUMMARY)
_ADD: Final = f"""
WITH added AS (
  INSERT INTO errands_episodes (run, {_COLUMNS}) VALUES (%s{", %s" * len(SUMMARY)})
  ON CONFLICT (run, number) DO NOTHING RETURNING run, number
)
INSERT INTO errands_trajectories (run, number, body)
SELECT run, number, %s::bytea FROM added
"""
_DROP: Final = """
WITH dropped AS (
  DELETE FROM errands_episodes WHERE run = %s AND number = ANY(%s) RETURNING run, number
)
DELETE FROM errands_trajectories t USING dropped d WHERE t.run = d.run AND t.number = d.number
"""
_SUMMARIES: Final = f"SELECT {_COLUMNS} FROM errands_episodes WHERE run = %s ORDER BY number"
_WHOLE: Final = (
    f"SELECT {', '.join('e.' + name for name in SUMMARY)}, t.body FROM errands_episodes e"
    " JOIN errands_trajectories t ON t.run = e.run AND t.number = e.number WHERE e.run = %s"
)
_CODES: Final = " ".join(f"WHEN '{status}' THEN {code}" for code, status in enumerate(STATUSES))
_FIGURES: Final = (
    f"SELECT number, CASE status {_CODES} END, coalesce(reward, 'infinity'), steps, seconds,"
    " states, items, searches, tokens_in, tokens_out, cost FROM errands_episodes"
    " WHERE run = %s ORDER BY number"
)
_HOLDER: Final = """
SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid::bigint = %s AND l.objid::bigint = %s AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

T = TypeVar("T")
Finder = Callable[["psycopg.Connection"], tuple[int, RunInfo]]


class PostgresStore:
    """The episodes of one run, in a database. May be used by several threads, and after a fork."""

    def __init__(self, url: str, place: str, find: "Finder") -> None:
        """Use `create` or `open`. `place` is the URL as people may see it."""
        self._url = url
        self._place = place
        self._inherited: list[Any] = []
        self._begin()
        try:
            self._run, self._info = self._do(find)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, url: str, info: RunInfo, *, place: str = "the database") -> Self:
        """A new run, under its id."""
        if not info.id or not info.id.isprintable():
            raise StoreError(f"A run cannot be called {info.id!r}; expected letters and digits.")
        return cls(url, place, lambda connection: (_make(connection, info, place), info))

    @classmethod
    def open(cls, url: str, id: str | None = None, *, place: str = "the database") -> Self:
        """A run that is there already; without an id, the only one."""
        return cls(url, place, lambda connection: _find(connection, id, place))

    @property
    def info(self) -> RunInfo:
        return self._info

    @property
    def place(self) -> str:
        return f"{self._place}?run={self._info.id}"

    def add(self, episode: Episode) -> bool:
        row = summary_row(episode.summary)
        body = pack_body(episode)
        tries = 0

        def insert(connection: "psycopg.Connection") -> bool:
            nonlocal tries
            tries += 1
            if connection.execute(_ADD, (self._run, *row, body)).rowcount == 1:
                return True
            if tries == 1:
                return False
            # The first try may have been kept, and only its answer lost.
            return bool(_one(connection, self._run, row[0]) == (*row, body))

        return self._do(insert)

    def writer(self) -> "PostgresWriter":
        return PostgresWriter(self)

    def gather(self) -> None:
        """Nothing: what was kept is in the database at once."""

    def drop(self, numbers: Iterable[int]) -> int:
        wanted = sorted(set(numbers))
        return self._do(lambda c: c.execute(_DROP, (self._run, wanted)).rowcount)

    def numbers(self) -> set[int]:
        query = "SELECT number FROM errands_episodes WHERE run = %s"
        return {number for (number,) in self._stream(query)}

    def summaries(self) -> Iterator[Summary]:
        with explained(self.place):
            yield from map(summary_of, self._stream(_SUMMARIES))

    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        return columns_of(self._stream(_FIGURES), -1)

    def parts(self) -> Iterator[tuple[int, dict[str, Any]]]:
        query = "SELECT number, parts FROM errands_episodes WHERE run = %s ORDER BY number"
        with explained(self.place):
            for number, parts in self._stream(query):
                yield number, unpack(parts, dict[str, Any])

    def episode(self, number: int) -> Episode:
        [episode] = self.episodes([number])
        return episode

    def episodes(self, numbers: Iterable[int] | None = None) -> Iterator[Episode]:
        with explained(self.place):
            if numbers is None:
                for *row, body in self._stream(f"{_WHOLE} ORDER BY e.number"):
                    yield unpack_body(summary_of(tuple(row)), body)
                return
            for number in sorted(set(numbers)):
                found = self._do(functools.partial(_one, run=self._run, number=number))
                if found is None:
                    raise StoreError(f"There is no episode {number} in {self.place}.")
                yield unpack_body(summary_of(found[:-1]), found[-1])

    def close(self) -> None:
        if self._pid == os.getpid() and self._connection is not None:
            self._connection.close()
        self._closed = True

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._connection: psycopg.Connection | None = None
        self._closed = False

    def _do(self, work: "Callable[[psycopg.Connection], T]") -> T:
        """Work on the connection of this process; once more on a new one if it was lost."""
        if self._pid != os.getpid():
            self._inherited.append(self._connection)
            self._begin()
        with self._mutex, explained(self._place):
            if self._closed:
                raise StoreError(f"The store {self._place} is closed.")
            if self._connection is not None:
                try:
                    return work(self._connection)
                except _lost_errors():
                    if not self._connection.broken:
                        raise
                    self._connection.close()
                    self._connection = None
                    # The second try below knows that it is one: see `add`.
            self._connection = connect_postgres(self._url)
            return work(self._connection)

    def _stream(self, query: str) -> Iterator[Any]:
        """Rows as they come, on a connection of their own: a view of one moment."""
        with explained(self._place):
            connection = connect_postgres(self._url, autocommit=False)
            with (
                contextlib.closing(connection),
                connection.cursor(name="errands", binary=True) as cursor,
            ):
                cursor.itersize = 5_000
                cursor.execute(cast(Any, query), (self._run,))
                yield from cursor


class PostgresWriter:
    """Every episode at once: the way to the server is longer than the commit."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def write(self, episode: Episode) -> None:
        self._store.add(episode)

    def close(self) -> None:
        """Nothing is held back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PostgresLock:
    """One runner at a time in a run of a database; ends with the connection that holds it."""

    def __init__(self, url: str, id: str, *, place: str = "the database") -> None:
        key = _lock_key(id)
        with explained(place):
            name = f"process {os.getpid()} on {socket.gethostname()}"
            self._connection = connect_postgres(url, application_name=name[:60])
            try:
                taken = self._connection.execute(
                    "SELECT pg_try_advisory_lock(%s, %s)", (_LOCKS, key)
                ).fetchone()
                if taken is None or not taken[0]:
                    found = self._connection.execute(_HOLDER, (_LOCKS, key)).fetchone()
                    raise StoreError(
                        f"another runner ({found[0] if found else 'unknown'}) is at work on the"
                        f" run {id!r} in {place}; wait for it, or choose another id."
                    )
            except BaseException:
                self._connection.close()
                raise

    @property
    def descriptors(self) -> tuple[int, ...]:
        """None: the server, not a file, keeps this lock."""
        return ()

    def release(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _lock_key(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=4).digest()) >> 1


def is_locked(connection: "psycopg.Connection", id: str) -> bool:
    """Whether a runner holds the lock of a run."""
    return connection.execute(_HOLDER, (_LOCKS, _lock_key(id))).fetchone() is not None


def _lost_errors() -> tuple[type[Exception], ...]:
    import psycopg

    return psycopg.OperationalError, psycopg.InterfaceError


def _one(connection: "psycopg.Connection", run: int, number: int) -> Any:
    query = f"{_WHOLE} AND e.number = %s"
    return connection.execute(cast(Any, query), (run, number)).fetchone()


def _make(connection: "psycopg.Connection", info: RunInfo, place: str) -> int:
    with connection.transaction():
        # Two machines that make tables at once would trip over each other.
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (_LOCKS,))
        connection.execute(_TABLES)
        found = connection.execute(
            "INSERT INTO errands_runs (id, format, info) VALUES (%s, %s, %s)"
            " ON CONFLICT (id) DO NOTHING RETURNING run",
            (info.id, FORMAT, pack(info)),
        ).fetchone()
    if found is None:
        raise StoreError(
            f"There is a run {info.id!r} in {place} already; continue it with --resume, or choose"
            " another id."
        )
    run: int = found[0]
    return run


def _find(connection: "psycopg.Connection", id: str | None, place: str) -> tuple[int, RunInfo]:
    there = connection.execute("SELECT to_regclass('errands_runs') IS NOT NULL").fetchone()
    rows: list[Any] = []
    if there is not None and there[0]:
        rows = connection.execute(
            "SELECT run, id, format, info FROM errands_runs"
            " WHERE %s::text IS NULL OR id = %s ORDER BY run DESC LIMIT 6",
            (id, id),
        ).fetchall()
    if not rows:
        wanted = "runs" if id is None else f"run {id!r}"
        raise StoreError(f"There is no {wanted} in {place}; start one with `errands run --out`.")
    if len(rows) > 1:
        names = ", ".join(row[1] for row in rows[:5]) + (" and more" if len(rows) > 5 else "")
        raise StoreError(f"{place} has several runs; name one as ?run=ID: {names}.")
    [(run, name, version, info)] = rows
    if version != FORMAT:
        raise StoreError(
            f"The run {name!r} in {place} was written by another version of Errands (format"
            f" {version}); this one reads format {FORMAT}: open it with that version."
        )
    return run, unpack(info, RunInfo)


@contextlib.contextmanager
def explained(place: str) -> Iterator[None]:
    """What goes wrong below, as a sentence; that psycopg is missing, too."""
    psycopg = import_psycopg("A run", StoreError)
    try:
        yield
    except psycopg.errors.DiskFull as failure:
        raise StoreError(
            f"The disk of {place} is full; what was kept before is safe, free some space and"
            " continue with --resume."
        ) from failure
    except psycopg.OperationalError as failure:
        raise StoreError(f"{place} cannot be reached ({one_line(failure)}).") from failure
    except psycopg.Error as failure:
        raise StoreError(f"{place} refused ({one_line(failure)}).") from failure
    except ValueError as failure:
        raise StoreError(f"{place} holds a damaged run ({failure}).") from failure
