"""The website's database as one SQLite file in WAL mode; others may read it while it is written.

A commit hands its bytes to the kernel, so they survive whoever kills the server; a durable one
has them on disk, too. A lock on a small file beside it, freed by the kernel, keeps a second
server out.
"""

import contextlib
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from errands.crowd.store.database import (
    VERSION,
    AlreadyExists,
    Database,
    ReadDatabase,
    Row,
    StorageError,
    check_version,
    migration,
    statements_of,
    storable,
)
from errands.database import ReadOnlyFile, connect_sqlite, sqlite_application

__all__ = ["SqliteDatabase", "SqliteReadDatabase"]

_APPLICATION: Final = 0x45525257
"""`ERRW`, in the header of every file that is such a database."""
_ID: Final = "INTEGER PRIMARY KEY AUTOINCREMENT"
_BACKLOG: Final = 20_000
"""Pages of the WAL that a commit itself would move, if nobody had tidied up for so long."""


class SqliteDatabase(Database):
    """A file; may be used by several threads."""

    def __init__(self, path: str, schema: str, migrations: Mapping[int, str]) -> None:
        self._path = Path(path).absolute()
        self.place = str(self._path)
        self._turn = threading.RLock()
        self._asking = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        with self._explained():
            self._check_file()
            self._lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                self._take_lock()
                # Who is who, and what people wrote, is nobody's business on a shared machine.
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
                self._connection = connect_sqlite(self._path)
                try:
                    self._prepare(schema, migrations)
                except BaseException:
                    self._connection.close()
                    raise
            except BaseException:
                os.close(self._lock)
                raise

    def _check_file(self) -> None:
        """Nothing is made beside a file that is something else."""
        if self._path.is_dir():
            raise StorageError(f"{self.place} is a directory; name a file in it with --store.")
        if not self._path.is_file() or not self._path.stat().st_size:
            return
        application = sqlite_application(self._path)
        if application is None:
            raise StorageError(
                f"{self.place} is no database of SQLite; name another file with --store."
            )
        # One that was killed when it was new has its number in the log beside it.
        is_new = application == 0 and os.path.exists(f"{self._path}-wal")
        if application != _APPLICATION and not is_new:
            raise StorageError(
                f"{self.place} is a database of something else; name another file with --store."
            )

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(
                f"{self.place} is being written by another server; name another file with --store."
            ) from None

    def _prepare(self, schema: str, migrations: Mapping[int, str]) -> None:
        run = self._connection.execute
        [application] = run("PRAGMA application_id").fetchone()
        [tables] = run("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != _APPLICATION:
            raise StorageError(
                f"{self.place} is a database of something else; name another file with --store."
            )
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA foreign_keys = ON")
        run(f"PRAGMA wal_autocheckpoint = {_BACKLOG}")
        if tables:
            [version] = run("PRAGMA user_version").fetchone()
            schema = migration(self.place, version, migrations, "file")
            if not schema:
                return
        run("BEGIN IMMEDIATE")
        for statement in statements_of(schema, _ID):
            run(statement)
        run(f"PRAGMA application_id = {_APPLICATION}")
        run(f"PRAGMA user_version = {VERSION}")
        run("COMMIT")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._turn, self._explained():
            return self._execute(statement, values)

    def run(self, statement: str, values: Sequence[Any] = (), *, durable: bool = True) -> list[Row]:
        with self._turn, self._explained(), self._as_durable(durable):
            return self._execute(statement, values)

    def run_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        with self._transaction(durable=True):
            self._connection.executemany(statement, (storable(one) for one in values))

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._asking, self._explained():
            if self._reader is None:
                self._reader = connect_sqlite(self._path, "ro")
            return self._reader.execute(statement, storable(values)).fetchall()

    def tidy(self) -> None:
        with self._explained(), contextlib.closing(connect_sqlite(self._path)) as other:
            other.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        with self._asking, self._turn, self._explained():
            if self._reader is not None:
                self._reader.close()
            # The last to leave tidies the log away.
            self._connection.close()
            os.close(self._lock)

    def _execute(self, statement: str, values: Sequence[Any]) -> list[Row]:
        return self._connection.execute(statement, storable(values)).fetchall()

    @contextlib.contextmanager
    def _transaction(self, durable: bool) -> Iterator[None]:
        with self._turn, self._explained(), self._as_durable(durable):
            run = self._connection.execute
            run("BEGIN IMMEDIATE")
            try:
                yield
                run("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    run("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _as_durable(self, durable: bool) -> Iterator[None]:
        if not durable:
            yield
            return
        self._connection.execute("PRAGMA synchronous = FULL")
        try:
            yield
        finally:
            self._connection.execute("PRAGMA synchronous = NORMAL")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError as failure:
            raise AlreadyExists(f"{self.place} has that already ({failure}).") from failure
        except (sqlite3.Error, OSError) as failure:
            raise StorageError(
                f"{self.place} cannot be used ({failure}); check its directory, its permissions"
                " and the disk, or name another file with --store."
            ) from failure


class SqliteReadDatabase(ReadDatabase):
    """A file as it is in this moment; whoever writes it goes on."""

    def __init__(self, path: str) -> None:
        where = Path(path).absolute()
        self.place = str(where)
        self._turn = threading.Lock()
        if not where.is_file():
            raise StorageError(
                f"There is no website's data at {where}; name the --store of `errands serve`."
            )
        try:
            self._file = ReadOnlyFile(where)
            run = self._file.connection.execute
            run("BEGIN")
            [application] = run("PRAGMA application_id").fetchone()
            [version] = run("PRAGMA user_version").fetchone()
            try:
                check_version(self.place, version if application == _APPLICATION else None)
            except StorageError:
                self._file.close()
                raise
        except sqlite3.Error as failure:
            raise StorageError(f"{where} cannot be read ({failure}).") from failure

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            with self._turn:
                answer = self._file.connection.execute(statement, storable(values)).fetchall()
        except sqlite3.Error as failure:
            raise StorageError(f"{self.place} cannot be read ({failure}).") from failure
        if self._file.has_changed():
            raise StorageError(f"{self.place} changed while it was read; read it once more.")
        return answer

    def close(self) -> None:
        self._file.close()
