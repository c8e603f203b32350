"""SQLite files and PostgreSQL servers, as runs and the website both use them.

Each of them has an error of its own, which is passed in where a sentence is the same for both.
"""

import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from errands.errors import ErrandsError
from errands.extras import install_command

if TYPE_CHECKING:
    import psycopg

__all__ = [
    "ReadOnlyFile",
    "connect_postgres",
    "connect_sqlite",
    "fingerprint",
    "import_psycopg",
    "is_url",
    "one_line",
    "sqlite_application",
    "take_lock",
    "without_password",
]

_TRIES: Final = 5
_LEAVING: Final = 3.0
"""Seconds in which a server notices that the client who held a lock is gone."""
_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_AT: Final = 68
_HEADER: Final = 100
"""Bytes of the header of an SQLite file, and where in it the application's number is."""


def is_url(place: str, what: str, expected: str, error: type[ErrandsError]) -> bool:
    """Whether a place is a database's URL, and not a path; other kinds of URLs are refused."""
    scheme, colon, _ = place.partition("://")
    if colon and scheme not in ("postgresql", "postgres"):
        raise error(
            f"{what} cannot be kept at {scheme}://; expected {expected}, or postgresql://..."
        )
    return bool(colon)


def without_password(url: str, error: type[ErrandsError]) -> str:
    """A database's URL as people may see it."""
    try:
        parts = urlsplit(url)
        user = f"{parts.username}@" if parts.username else ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError as failure:
        raise error(f"The URL of the database cannot be read ({failure}).") from None
    return f"postgresql://{user}{parts.hostname or ''}{port}{parts.path}"


def import_psycopg(what: str, error: type[ErrandsError]) -> Any:
    """The module psycopg, which is installed with an extra."""
    try:
        import psycopg
    except ImportError:
        raise error(
            f"{what} in PostgreSQL needs psycopg; run {install_command('postgres')}."
        ) from None
    return psycopg


def connect_postgres(url: str, *, autocommit: bool = True, **settings: Any) -> "psycopg.Connection":
    """A connection to a server; unless told otherwise, each statement is a transaction."""
    import psycopg

    try:
        # Keep-alives find a server that vanished without a word.
        return psycopg.connect(
            url,
            autocommit=autocommit,
            connect_timeout=10,
            keepalives_idle=30,
            keepalives_count=3,
            **settings,
        )
    except UnicodeError as failure:
        # A name with an empty part, or a long one, is not asked for.
        raise psycopg.OperationalError(f"there is no such host: {failure}") from None


def take_lock(connection: "psycopg.Connection", *key: int) -> bool:
    """Take an advisory lock for as long as a connection lives; False where somebody else has it.

    A client that has left, closed or killed, may hold it for another moment.
    """
    until = time.monotonic() + _LEAVING
    statement = f"SELECT pg_try_advisory_lock({', '.join(['%s'] * len(key))})"
    while connection.execute(cast(Any, statement), key).fetchone() != (True,):
        if time.monotonic() >= until:
            return False
        time.sleep(0.05)
    return True


def one_line(failure: Exception) -> str:
    """A server's message, which may have several lines, as part of a sentence."""
    return " ".join(str(failure).split()) or type(failure).__name__


def connect_sqlite(
    path: str | os.PathLike[str], mode: str = "rwc", *, timeout: float = 5.0
) -> sqlite3.Connection:
    """A connection to a file that threads may share, without transactions of its own accord.
    `mode` is that of SQLite's URIs; `timeout` are the seconds to wait for other writers."""
    return sqlite3.connect(
        f"{Path(path).absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )


def sqlite_application(path: Path) -> int | None:
    """What a file's header says it is a database of, without opening it as one, which would leave
    files beside it; None where it is no database of SQLite's."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        return None
    return int.from_bytes(header[_APPLICATION_AT : _APPLICATION_AT + 4], "big")


class ReadOnlyFile:
    """An SQLite file that is read without leaving a trace, while somebody else may write it.

    Without a log beside it, the file is complete and is read as it is, so that no files are left
    behind. Such a file is not locked: once it was read, `has_changed` says if it was written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fingerprint = fingerprint(path)
        self.connection = self._connect()

    def has_changed(self) -> bool:
        """Whether what was read may be half old and half new."""
        return self._is_complete and fingerprint(self._path) != self._fingerprint

    def close(self) -> None:
        self.connection.close()

    def _connect(self) -> sqlite3.Connection:
        for tried in range(_TRIES):
            self._is_complete = not os.path.exists(f"{self._path}-wal")
            mode = "ro&immutable=1" if self._is_complete else "ro"
            connection = connect_sqlite(self._path, mode)
            try:
                connection.execute("PRAGMA query_only = ON")
                connection.execute("PRAGMA schema_version").fetchone()
                return connection
            except sqlite3.OperationalError:
                # The last writer tidies its log away in this moment.
                connection.close()
                if tried == _TRIES - 1:
                    raise
                time.sleep(0.02 * 2**tried)
            except BaseException:
                connection.close()
                raise
        raise AssertionError("unreachable")


def fingerprint(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """Changes with the file; None where there is none."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_ino, there.st_size, there.st_mtime_ns
