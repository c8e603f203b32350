"""Where the website keeps everything: one SQLite file, or a PostgreSQL database by its URL.

    with open_store("site.sqlite", tables) as database:
        database.run("INSERT INTO notes VALUES (?, ?)", (1, "kept"))

Statements are written once, in the SQL that both understand, with `?` for values. A database
belongs to one server at a time. What `run` and `writing` have returned from survives a kill of
the server; unless they were told otherwise, it is on disk, too.
"""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Final, Self, TypeVar, get_origin

import msgspec

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
    "column_names",
    "open_read_only",
    "open_store",
    "record_of",
    "select",
    "select_one",
    "shown",
    "storable",
    "where",
]

VERSION: Final = 4
"""Raised whenever tables change. An older database is brought up to date when it is opened for
writing, where the changes since its version are known; any other is refused by name."""

NO_MIGRATIONS: Final[Mapping[int, str]] = {}

Row = tuple[Any, ...]
Run = Callable[..., list[Row]]
"""A statement and its values; the rows it answers."""
T = TypeVar("T", bound=msgspec.Struct)


class StorageError(ErrandsError):
    """The website's database cannot be opened, read or written."""


class AlreadyExists(StorageError):
    """A row like that is there already."""


class ReadDatabase(ABC):
    """A database that is read."""

    place: str
    """As people may see it: without a password."""

    @abstractmethod
    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a question is answered."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Database(ReadDatabase):
    """One database, which this process may write. Every statement is whole or not at all."""

    @abstractmethod
    def run(self, statement: str, values: Sequence[Any] = (), *, durable: bool = True) -> list[Row]:
        """One statement, committed. `durable=False` does not wait for the disk: the kernel, or
        the database's server, has it, so killing this process loses nothing."""

    @abstractmethod
    def run_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """One statement with many rows of values: all of them, or none."""

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Run]:
        """All statements that are run inside, or none of them."""

        def run(statement: str, values: Sequence[Any] = ()) -> list[Row]:
            with self._explained():
                return self._execute(statement, values)

        with self._transaction(durable):
            yield run

    @abstractmethod
    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a question about very many rows is answered. No other statement waits for it; it is
        for another thread than that of the server's event loop."""

    def tidy(self) -> None:
        """Housekeeping that may wait for the disk; for another thread."""

    @abstractmethod
    def _execute(self, statement: str, values: Sequence[Any]) -> list[Row]: ...

    @abstractmethod
    def _transaction(self, durable: bool) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _explained(self) -> AbstractContextManager[None]:
        """Errors of the database as ours."""


def open_store(place: str, schema: str, migrations: Mapping[int, str] = NO_MIGRATIONS) -> Database:
    """A database with these tables; what is not there yet is made. `migrations` has the statements
    that lead from a version to the next one."""
    if _is_file(place):
        from errands.crowd.store.sqlite import SqliteDatabase

        return SqliteDatabase(place, schema, migrations)
    from errands.crowd.store.postgres import PostgresDatabase

    return PostgresDatabase(place, shown(place), schema, migrations)


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


def migration(place: str, version: int | None, migrations: Mapping[int, str], another: str) -> str:
    """The statements that bring a database up to date; empty where it is. `another` is what else
    could be named, if that is not possible."""
    steps = range(VERSION if version is None else version, VERSION)
    if version is None or version > VERSION or any(step not in migrations for step in steps):
        raise StorageError(
            f"{place} has version {version}, this program writes {VERSION}; name another {another}"
            " with --store."
        )
    return "\n".join(migrations[step] for step in steps)


def check_version(place: str, version: int | None) -> None:
    """Refuse to read a database of another version."""
    if version is not None and version < VERSION:
        raise StorageError(
            f"{place} was written by an older version; start `errands serve --store {place}` once,"
            " which brings it up to date."
        )
    if version != VERSION:
        raise StorageError(
            f"{place} is not what this version of `errands serve` writes; name its --store."
        )


def statements_of(schema: str, id_column: str) -> Iterator[str]:
    """The statements that make tables, one by one; none of ours has a semicolon inside."""
    pieces = schema.replace("{id}", id_column).split(";")
    return (piece.strip() for piece in pieces if piece.strip())


def column_names(kind: type[msgspec.Struct]) -> str:
    """The columns that hold a record: they are called as its fields are."""
    return ", ".join(kind.__struct_fields__)


def record_of(kind: type[T], row: Row) -> T:
    """A row of `column_names` as a record; lists, mappings and records in it are stored as JSON."""
    values = dict(zip(kind.__struct_fields__, row, strict=True))
    for name in _json_fields(kind):
        values[name] = json.loads(values[name])
    # Not strict: truth is stored as 0 or 1.
    return msgspec.convert(values, kind, strict=False)


@cache
def _json_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    fields = msgspec.structs.fields(kind)
    return tuple(
        field.name
        for field in fields
        if get_origin(field.type) in (list, dict, tuple)
        or (isinstance(field.type, type) and issubclass(field.type, msgspec.Struct))
    )


def select(run: Run, kind: type[T], source: str, values: Sequence[Any] = ()) -> list[T]:
    """The records that a table, and the clauses after its name, give."""
    return [
        record_of(kind, row) for row in run(f"SELECT {column_names(kind)} FROM {source}", values)
    ]


def select_one(run: Run, kind: type[T], source: str, values: Sequence[Any] = ()) -> T | None:
    """The first of them, if there is any."""
    return next(iter(select(run, kind, source, values)), None)


def where(conditions: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A clause of those conditions that have a value, and the values.

    >>> where({"person = ?": 3, "status = ?": None})
    ('WHERE person = ?', [3])
    """
    chosen = {text: value for text, value in conditions.items() if value is not None}
    return f"WHERE {' AND '.join(chosen)}" if chosen else "", list(chosen.values())
