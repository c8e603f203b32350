"""Runs in a PostgreSQL database, for many machines that write into one place.

The tables are made on first use and hold any number of runs, each under its id. A connection
that was lost is made again once; what `add` has returned from is on the server's disk.
"""

import contextlib
import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from errands.database import connect_postgres, import_psycopg, one_line, take_lock
from errands.runs.episode import FORMAT, Episode, RunInfo
from errands.runs.store.base import EpisodeWriter, Lock, Query, Store, StoreError
from errands.runs.store.rows import COLUMNS, SUMMARY, Row, pack, pack_body, summary_row, unpack

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresLock", "PostgresStore", "explained", "holder", "run_rows"]

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
_ADD: Final = f"""
WITH added AS (
  INSERT INTO errands_episodes (run, {COLUMNS}) VALUES (%s{", %s" * len(SUMMARY)})
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
_HOLDER: Final = """
SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid::bigint = %s AND l.objid::bigint = %s AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

T = TypeVar("T")
Finder = Callable[["psycopg.Connection"], tuple[int, RunInfo]]


class PostgresStore(Store):
    """The episodes of one run, in a database. May be used by several threads, and after a fork."""

    _episodes = "errands_episodes"
    _whole = "errands_episodes JOIN errands_trajectories USING (run, number)"
    _mark = "%s"
    _infinity = "'infinity'"

    def __init__(self, url: str, place: str, find: "Finder") -> None:
        """Use `create` or `open`. `place` is the URL as people may see it."""
        self._url = url
        self._place = place
        self._inherited: list[Any] = []
        self._begin()
        try:
            self._take(*self._do(find))
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
    def place(self) -> str:
        return f"{self._place}?run={self.info.id}"

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
            query: Any = self._one()
            return bool(connection.execute(query, (row[0],)).fetchone() == (*row, body))

        return self._do(insert)

    def writer(self) -> "PostgresWriter":
        return PostgresWriter(self)

    def gather(self) -> None:
        """Nothing: what was kept is in the database at once."""

    def drop(self, numbers: Iterable[int]) -> int:
        listed = sorted(set(numbers))
        return self._do(lambda c: c.execute(_DROP, (self._run, listed)).rowcount)

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

    def _take(self, run: int, info: RunInfo) -> None:
        """What was found in the database: the run's own number, and its description."""
        self._run, self.info = run, info
        self._own = f"run = {run}"

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Query]:
        """Rows come as a stream, on a connection of their own."""
        with explained(self._place):
            connection = connect_postgres(self._url, autocommit=False)

            def run(query: str, values: Sequence[object] = ()) -> Iterator[Row]:
                with connection.cursor(name="errands", binary=True) as cursor:
                    cursor.itersize = 5_000
                    cursor.execute(cast(Any, query), values)
                    yield from cursor

            with contextlib.closing(connection):
                yield run


class PostgresWriter(EpisodeWriter):
    """Every episode at once: the way to the server is longer than the commit."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def write(self, episode: Episode) -> None:
        self._store.add(episode)

    def close(self) -> None:
        """Nothing is held back."""


class PostgresLock(Lock):
    """One runner at a time in a run of a database; ends with the connection that holds it."""

    def __init__(self, url: str, id: str, *, place: str = "the database") -> None:
        key = _lock_key(id)
        with explained(place):
            name = f"process {os.getpid()} on {socket.gethostname()}"
            self._connection = connect_postgres(url, application_name=name[:60])
            try:
                if not take_lock(self._connection, _LOCKS, key):
                    name = holder(self._connection.execute, id) or "unknown"
                    raise StoreError(
                        f"another runner ({name}) is at work on the run {id!r} in {place}; wait for"
                        " it, or choose another id."
                    )
            except BaseException:
                self._connection.close()
                raise

    def release(self) -> None:
        self._connection.close()


def _lock_key(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=4).digest()) >> 1


def holder(run: Query, id: str) -> str | None:
    """Who holds the lock of a run."""
    return next((name for (name,) in run(_HOLDER, (_LOCKS, _lock_key(id)))), None)


def _lost_errors() -> tuple[type[Exception], ...]:
    import psycopg

    return psycopg.OperationalError, psycopg.InterfaceError


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


def run_rows(connection: "psycopg.Connection", id: str | None) -> list[Row]:
    """Number, id, format and description of all runs, or of the one with this id."""
    there = connection.execute("SELECT to_regclass('errands_runs')").fetchone()
    if there == (None,):
        return []
    return connection.execute(
        "SELECT run, id, format, info FROM errands_runs WHERE %s::text IS NULL OR id = %s"
        " ORDER BY run DESC",
        (id, id),
    ).fetchall()


def _find(connection: "psycopg.Connection", id: str | None, place: str) -> tuple[int, RunInfo]:
    rows = run_rows(connection, id)
    if not rows:
        what = "runs" if id is None else f"run {id!r}"
        raise StoreError(f"There is no {what} in {place}; start one with `errands run --out`.")
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
