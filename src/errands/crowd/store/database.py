"""Where the website keeps everything: one SQLite file, or a PostgreSQL database by its URL.

    with open_store("site.sqlite", tables) as database:
        database.run("INSERT INTO notes VALUES (?, ?)", (1, "kept"))

Statements are written once, in the SQL that both understand, with `?` for values. A database
belongs to one server at a time. What `run` and `writing` have returned from survives a kill of
the server; unless they were told otherwise, it is on disk, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, Self

from errands.database import is_url, without_password
from errands.errors import ErrandsError

__all__ = [
    "VERSION",
    "AlreadyExists",
    "Database",
    "ReadDatabase",
    "Row",
    "Run",
    "StorageError",
    "open_read_only",
    "open_store",
    "shown",
    "storable",
]

VERSION: Final = 2
"""Raised whenever tables change; a database of another version is refused by name."""

Row = tuple[Any, ...]
Run = Callable[..., list[Row]]
"""A statement and its values; the rows it answers."""


class StorageError(ErrandsError):
    """The website's database cannot be opened, read or written."""


class AlreadyExists(StorageError):
    """A row like that is there already."""


class ReadDatabase(Protocol):
    """A database that is read."""

    place: str
    """As people may see it: without a password."""

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a question is answered."""

    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class Database(ReadDatabase, Protocol):
    """One database, which this process may write. Every statement is whole or not at all."""

    def run(self, statement: str, values: Sequence[Any] = (), *, durable: bool = True) -> list[Row]:
        """One statement, committed. `durable=False` does not wait for the disk: the kernel, or
        the database's server, has it, so killing this process loses nothing."""

    def run_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """One statement with many rows of values: all of them, or none."""

    def writing(self, *, durable: bool = True) -> AbstractContextManager[Run]:
        """All statements that are run inside, or none of them."""

    def tidy(self) -> None:
        """Housekeeping that may wait for the disk; for another thread."""


def open_store(place: str, schema: str) -> Database:
    """A database with these tables; what is not there yet is made."""
    if _is_file(place):
        from errands.crowd.store.sqlite import SqliteDatabase

        return SqliteDatabase(place, schema)
    from errands.crowd.store.postgres import PostgresDatabase

    return PostgresDatabase(place, shown(place), schema)


def open_read_only(place: str) -> ReadDatabase:
    """A database that is there already, as it is in this moment; a server may go on writing it."""
    if _is_file(place):
        from errands.crowd.store.sqlite import SqliteReadDatabase

        return SqliteReadDatabase(place)
    from errands.crowd.store.postgres import PostgresReadDatabase

    return PostgresReadDatabase(place, shown(place))


def _is_file(place: str) -> bool:
    return not is_url(place, "The site's data", "a file", StorageError)


def shown(place: str) -> str:
    """A place as people may see it: a URL without its password."""
    return without_password(place, StorageError) if "://" in place else place


def storable(values: Sequence[Any]) -> list[Any]:
    """Values as both databases take them: PostgreSQL knows no NUL, neither knows half a pair."""
    return [_storable(value) if isinstance(value, str) else value for value in values]


def _storable(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def pieces(statements: str) -> Iterator[str]:
    """Statements one by one; none of ours has a semicolon inside."""
    return (one.strip() for one in statements.split(";") if one.strip())
