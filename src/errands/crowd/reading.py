"""Reading a website's database beside the server that writes it.

    with reading("site.sqlite") as source:
        source.rows("SELECT count(*) FROM people")

Nothing is written, no lock is taken: a running server does not notice.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from errands.crowd.database import VERSION, Row, StorageError, shown

__all__ = ["Readable", "reading"]


class Readable(Protocol):
    """Something that answers questions: a database, or one opened by `reading`."""

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...


class _Reader(NamedTuple):
    ask: Callable[[str, Sequence[Any]], list[Row]]

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return self.ask(statement, values)


def reading(place: str) -> "contextlib.AbstractContextManager[Readable]":
    """A database that exists already, for reading only."""
    scheme, colon, _ = place.partition("://")
    if not colon:
        return _reading_file(Path(place))
    if scheme not in ("postgresql", "postgres"):
        raise StorageError(
            f"There is no site's data at {scheme}://; expected a file, or postgresql://..."
        )
    return _reading_server(place)


@contextlib.contextmanager
def _reading_file(path: Path) -> Iterator[Readable]:
    from errands.crowd.sqlite_database import APPLICATION

    if not path.is_file():
        raise StorageError(
            f"{path} is not a file; expected what `errands serve` was given with --store."
        )
    try:
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10)) as connection:
            [application] = connection.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION:
                raise StorageError(f"{path} is not the data of a site; name what serve made.")
            [version] = connection.execute("PRAGMA user_version").fetchone()
            _check_version(str(path), str(version))
            # One moment for all questions, whatever is written meanwhile.
            connection.execute("BEGIN")
            yield _Reader(lambda said, values: connection.execute(said, values).fetchall())
    except sqlite3.Error as failure:
        raise StorageError(f"{path} cannot be read ({failure}).") from failure


@contextlib.contextmanager
def _reading_server(url: str) -> Iterator[Readable]:
    try:
        import psycopg
    except ImportError:
        raise StorageError(
            "A website's data in PostgreSQL needs psycopg; run pip install 'errands[postgres]'."
        ) from None
    from errands.crowd.postgres_database import SCHEMA_NAME, translated

    place = shown(url)
    try:
        with psycopg.connect(url, connect_timeout=10) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            found = connection.execute(
                "SELECT to_regclass(%s)", (f"{SCHEMA_NAME}.about",)
            ).fetchone()
            if found is None or found[0] is None:
                raise StorageError(f"{place} has no data of a site; name what serve was given.")
            connection.execute(f"SET LOCAL search_path TO {SCHEMA_NAME}")
            row = connection.execute("SELECT value FROM about WHERE name = 'version'").fetchone()
            _check_version(place, str(row[0]) if row else "none")
            yield _Reader(
                lambda said, values: connection.execute(translated(said), values).fetchall()
            )
    except psycopg.Error as failure:
        line = " ".join(str(failure).split()) or type(failure).__name__
        raise StorageError(f"{place} cannot be read ({line}).") from failure


def _check_version(place: str, version: str) -> None:
    if version != str(VERSION):
        raise StorageError(
            f"{place} has version {version}, this program reads {VERSION}; use the program that"
            " made it."
        )
