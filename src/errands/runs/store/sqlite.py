"""A run in one SQLite file, written by many processes at once.

A commit hands its bytes to the kernel, so it survives SIGKILL of every process; `fsync` has it
on disk too before `add` returns, for power loss. Who plays keeps episodes in a journal first
(`errands.runs.store.journal`) and commits many at once. Writers queue on a lock of a small file
beside the database, which the kernel frees when its holder dies: SQLite's own way of waiting is to
sleep and try again. The file must lie on a local disk.
"""

import contextlib
import errno
import fcntl
import os
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

from errands.atomic import to_disk
from errands.database import connect_sqlite, sqlite_application
from errands.runs.episode import FORMAT, Episode, RunInfo
from errands.runs.store.base import EpisodeWriter, Query, Store, StoreError
from errands.runs.store.journal import Entry, Journal, leftovers
from errands.runs.store.rows import COLUMNS, SUMMARY, pack, pack_body, summary_row, unpack

__all__ = ["SqliteStore", "already_there", "check_file", "checked_info", "explained"]

_APPLICATION: Final = 0x45525253
"""`ERRS`, in the header of every file that is a store."""
_WAIT: Final = 30.0
_COMMIT_SECONDS: Final = 0.1
"""A writer commits what it has with the first episode after so long; slow ones one by one."""
_COMMIT_BYTES: Final = 8 << 20
"""Or when it has so much."""

_TABLES: Final = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE run (info BLOB NOT NULL);
CREATE TABLE episodes (
  number INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  status TEXT NOT NULL,
  reward REAL,
  success INTEGER,
  steps INTEGER NOT NULL,
  seconds REAL NOT NULL,
  states INTEGER NOT NULL,
  items INTEGER NOT NULL,
  searches INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost REAL NOT NULL,
  owner TEXT NOT NULL,
  error TEXT NOT NULL,
  parts BLOB NOT NULL
);
CREATE TABLE trajectories (number INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""
_ADD: Final = (
    f"INSERT INTO episodes ({COLUMNS}) VALUES ({', '.join('?' * len(SUMMARY))})"
    " ON CONFLICT (number) DO NOTHING"
)
_ADD_BODY: Final = (
    "INSERT INTO trajectories (number, body) VALUES (?, ?) ON CONFLICT (number) DO NOTHING"
)


class SqliteStore(Store):
    """The episodes of one run, in a file. May be used by several threads, and after a fork."""

    _episodes = "episodes"
    _whole = "episodes JOIN trajectories USING (number)"
    _mark = "?"
    _infinity = "9e999"

    def __init__(self, path: Path, *, fsync: bool) -> None:
        """Use `create` or `open`."""
        self.path = path
        self._fsync = fsync
        self._guard: int | None = None
        self._forked = False
        self._inherited: list[sqlite3.Connection] = []
        self._open()
        _OPEN.add(self)
        try:
            self.info = checked_info(self.path, self._connection)
            self.gather()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], info: RunInfo, *, fsync: bool = False) -> Self:
        """A new store; its file appears whole or not at all."""
        path = Path(path).absolute()
        with explained(path):
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            os.close(handle)
            try:
                os.chmod(name, 0o666 & ~_umask())
                with contextlib.closing(connect_sqlite(name)) as made:
                    made.execute("PRAGMA journal_mode = WAL")
                    made.executescript(_TABLES)
                    made.execute("INSERT INTO run (info) VALUES (?)", (pack(info),))
                if fsync:
                    to_disk(name)
                _move_new(name, path)
                if fsync:
                    to_disk(path.parent)
            finally:
                for ending in ("", "-wal", "-shm", "-journal"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name + ending)
        return cls(path, fsync=fsync)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, fsync: bool = False) -> Self:
        """A store that is there already."""
        path = Path(path).absolute()
        check_file(path)
        return cls(path, fsync=fsync)

    @property
    def place(self) -> str:
        return str(self.path)

    def add(self, episode: Episode) -> bool:
        row = summary_row(episode.summary)
        body = pack_body(episode)
        with self._writing() as run:
            if run(_ADD, row).rowcount != 1:
                return False
            run(_ADD_BODY, (row[0], body))
            return True

    def writer(self) -> "SqliteWriter":
        with explained(self.path):
            return SqliteWriter(self, Journal(self.path, fsync=self._fsync))

    def gather(self) -> None:
        with explained(self.path):
            leftovers(self.path, self._add_all)

    def _add_all(self, entries: Sequence[Entry]) -> None:
        """All of them, or none; those that are there already change nothing."""
        if entries:
            with self._writing():
                many = self._connection.executemany
                many(_ADD, (row for row, _ in entries))
                many(_ADD_BODY, ((row[0], body) for row, body in entries))

    def drop(self, numbers: Iterable[int]) -> int:
        dropped = 0
        with self._writing() as run:
            for number in numbers:
                dropped += run("DELETE FROM episodes WHERE number = ?", (number,)).rowcount
                run("DELETE FROM trajectories WHERE number = ?", (number,))
        return dropped

    def close(self) -> None:
        """The last one to close tidies the file up; needed by nobody, after a kill neither."""
        if self._guard is None:
            return
        with self._mutex, explained(self.path):
            # The tidying must not meet another process that opens the file.
            fcntl.flock(self._guard, fcntl.LOCK_EX)
            self._connection.close()
            os.close(self._guard)
            self._guard = None

    def _open(self) -> None:
        """The connection of this process: none can be shared across a fork."""
        self._mutex = threading.Lock()
        with explained(self.path):
            check_file(self.path)
            there = os.stat(self.path)
            self._identity = there.st_dev, there.st_ino
            guard = _open_guard(self.path)
            try:
                self._connection = self._connect()
            except BaseException:
                os.close(guard)
                raise
            self._guard = guard

    def _leave(self) -> None:
        """In a forked child: let go of what belongs to the parent, without a word to SQLite."""
        if self._guard is not None:
            # Held on to, it would keep the lock of a parent that is killed while it writes.
            os.close(self._guard)
            self._guard = None
            self._inherited.append(self._connection)
            self._forked = True

    def _connect(self) -> sqlite3.Connection:
        # A finished run on a medium that cannot be written is read as it is.
        fixed = not os.access(self.path.parent, os.W_OK)
        fixed = fixed and not os.path.exists(f"{self.path}-wal")
        mode = "ro&immutable=1" if fixed else "rw"
        connection = connect_sqlite(self.path, mode, timeout=_WAIT)
        try:
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'OFF'}")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Any]:
        """One transaction; all of it is kept, or none."""
        if self._forked:
            self._open()
            self._forked = False
        with self._mutex, explained(self.path):
            if self._guard is None:
                raise StoreError(f"The store {self.path} is closed.")
            run = self._connection.execute
            fcntl.flock(self._guard, fcntl.LOCK_EX)
            try:
                self._check_there()
                run("BEGIN IMMEDIATE")
                try:
                    yield run
                    run("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        run("ROLLBACK")
                    raise
            finally:
                fcntl.flock(self._guard, fcntl.LOCK_UN)

    def _check_there(self) -> None:
        """A file that was removed can still be written by who has it open, for nobody to read."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != self._identity:
            raise StoreError(
                f"{self.path} was removed or replaced while the run was being written;"
                " put it back, or start a new run in another directory."
            )

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Query]:
        with explained(self.path), contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN")
            yield connection.execute


class SqliteWriter(EpisodeWriter):
    """Into the journal at once, into the database from time to time."""

    def __init__(self, store: SqliteStore, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._entries: list[Entry] = []
        self._bytes = 0
        self._committed = float("-inf")

    def write(self, episode: Episode) -> None:
        entry = summary_row(episode.summary), pack_body(episode)
        try:
            self._journal.append(entry)
        except OSError:
            with explained(self._journal.path):
                raise
        self._entries.append(entry)
        self._bytes += len(entry[1])
        now = time.monotonic()
        if now - self._committed > _COMMIT_SECONDS or self._bytes > _COMMIT_BYTES:
            self._commit()
            self._committed = now

    def close(self) -> None:
        try:
            self._commit()
        finally:
            self._journal.close()

    def _commit(self) -> None:
        if self._entries:
            self._store._add_all(self._entries)
            self._journal.clear()
            self._entries.clear()
            self._bytes = 0


_OPEN: Final[weakref.WeakSet[SqliteStore]] = weakref.WeakSet()


def _leave_all() -> None:
    for store in _OPEN:
        store._leave()


os.register_at_fork(after_in_child=_leave_all)


def check_file(path: Path) -> None:
    """Before anything is made beside a file that is something else."""
    if not path.is_file():
        raise StoreError(
            f"There is no run at {path}; name the directory that `errands run --out` wrote."
        )
    with explained(path):
        application = sqlite_application(path)
    if application is None:
        raise StoreError(f"{path} is no run of Errands (it is not an SQLite database).")
    if application != _APPLICATION:
        raise StoreError(f"{path} is a database, but no run of Errands.")


def checked_info(path: Path, connection: sqlite3.Connection) -> RunInfo:
    """The description of the run in a file, which may be something else."""
    with explained(path):
        run = connection.execute
        [application] = run("PRAGMA application_id").fetchone()
        [version] = run("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise StoreError(f"{path} is a database, but no run of Errands.")
        if version != FORMAT:
            raise StoreError(
                f"{path} was written by another version of Errands (format {version}); this one"
                f" reads format {FORMAT}: open it with that version."
            )
        _check_tables(connection)
        row = run("SELECT info FROM run").fetchone()
        if row is None or not isinstance(row[0], bytes):
            raise ValueError("it does not say what was played")
        info: RunInfo = unpack(row[0], RunInfo)
        if info.domain not in ("shop", "turk"):
            raise ValueError("what it says of its protocol makes no sense")
        return info


def _check_tables(connection: sqlite3.Connection) -> None:
    """Refuse what is worked out while it is read: a view may go on for ever, a column of a few
    bytes be a gigabyte."""
    run = connection.execute
    for kind, name, statement in run("SELECT type, name, sql FROM sqlite_schema"):
        if kind != "table" or not str(statement).upper().startswith("CREATE TABLE"):
            raise ValueError(f"it holds {name!r}, which is no table of a run")
    for table in ("run", "episodes", "trajectories"):
        if any(column[-1] for column in run(f"PRAGMA table_xinfo({table})")):
            raise ValueError(f"a column of {table} is worked out from others")


def _umask() -> int:
    # The only way to read it is to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _open_guard(path: Path) -> int:
    try:
        return os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        # Not the database itself: closing it would free SQLite's own locks on it.
        return os.open(path.parent, os.O_RDONLY)


def already_there(path: Path) -> StoreError:
    """A new run has no place here."""
    return StoreError(
        f"There is a run at {path} already; continue it with --resume, or name another directory."
    )


def _move_new(name: str, path: Path) -> None:
    """Rename, but never over a file that is there."""
    try:
        os.link(name, path)
    except FileExistsError:
        raise already_there(path) from None
    except OSError:
        # A disk without hard links; two runners at once are the business of the runner's lock.
        if os.path.exists(path):
            raise
        os.rename(name, path)


_SENTENCES: Final = {
    sqlite3.SQLITE_FULL: "{path} cannot grow: the disk is full; what was kept before is safe,"
    " free some space and continue with --resume.",
    sqlite3.SQLITE_NOTADB: "{path} is no run of Errands (it is not an SQLite database).",
    sqlite3.SQLITE_CORRUPT: "{path} is damaged ({why}); restore it from a copy, or play the run"
    " again.",
    sqlite3.SQLITE_READONLY: "{path} cannot be written ({why}); check its permissions.",
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened ({why}); check that its directory is there"
    " and may be written.",
    sqlite3.SQLITE_BUSY: "{path} is held by another program ({why}); close it and continue with"
    " --resume.",
    sqlite3.SQLITE_IOERR: "{path} cannot be read or written ({why}); what was kept before is safe"
    " as far as the disk is.",
}


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """What goes wrong below, as a sentence."""
    try:
        yield
    except sqlite3.Error as failure:
        code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        sentence = _SENTENCES.get(code & 0xFF, "{path} cannot be used ({why}).")
        raise StoreError(sentence.format(path=path, why=failure)) from failure
    except OSError as failure:
        if failure.errno == errno.ENOSPC:
            sentence = _SENTENCES[sqlite3.SQLITE_FULL]
            raise StoreError(sentence.format(path=path)) from failure
        raise StoreError(f"{path} cannot be opened or written ({failure.strerror}).") from failure
    except ValueError as failure:
        raise StoreError(
            f"{path} is damaged ({failure}); restore it from a copy, or play the run again."
        ) from failure
