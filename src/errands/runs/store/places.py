"""Places of runs as people write them: a directory, a file, or the URL of a database.

`RUNS/one` is a directory that holds `run.sqlite`; the file itself will do, too. A database is
`postgresql://user:password@host/name?run=ID`, or with `#ID` at its end.
"""

import os
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import msgspec

from errands.database import is_url, without_password
from errands.runs.episode import RunInfo
from errands.runs.store.base import Lock, Store, StoreError
from errands.runs.store.lock import RunLock
from errands.runs.store.postgres import PostgresLock, PostgresStore
from errands.runs.store.sqlite import SqliteStore, already_there, check_file

__all__ = [
    "FILE",
    "DatabaseAddress",
    "check_place",
    "create_run",
    "open_run",
    "read_place",
    "run_lock",
]

FILE: Final = "run.sqlite"
_OTHERS: Final = {
    "about.json": "a trained model",
    "manifest.json": "a catalogue",
    "plan.json": "an experiment",
}

Place = str | os.PathLike[str]


class DatabaseAddress(msgspec.Struct, frozen=True):
    """A database's URL, and which of its runs is meant."""

    url: str
    run: str | None
    shown: str
    """The URL without its password."""


def read_place(place: Place) -> Path | DatabaseAddress:
    """A place as written: the file of a run, or a database."""
    text = os.fspath(place)
    if not is_url(text, "A run", "a directory", StoreError):
        path = Path(text)
        try:
            named = path.is_file() or (path.suffix in (".sqlite", ".db") and not path.is_dir())
        except OSError as failure:
            raise StoreError(
                f"{text[:80]}... is no place for a run ({failure.strerror})."
            ) from None
        return path if named else path / FILE
    shown = without_password(text, StoreError)
    parts = urlsplit(text)
    settings = parse_qsl(parts.query, keep_blank_values=True)
    run = next((value for name, value in settings if name == "run"), None)
    run = run or unquote(parts.fragment) or None
    query = urlencode([(name, value) for name, value in settings if name != "run"])
    return DatabaseAddress(
        url=urlunsplit(("postgresql", parts.netloc, parts.path, query, "")),
        run=run,
        shown=shown,
    )


def check_place(place: Place, *, is_new: bool) -> None:
    """A file that is no run, or is one too many: said before anything is made beside it."""
    where = read_place(place)
    if isinstance(where, Path):
        if not is_new:
            check_file(where)
        elif where.exists():
            raise already_there(where)
        else:
            _refuse_others(where.parent)


def _refuse_others(folder: Path) -> None:
    """A run in the folder of something else would be taken for it, or hide it."""
    for name, what in _OTHERS.items():
        if (folder / name).exists():
            raise StoreError(f"{folder} is the folder of {what}; name a new one for the run.")


def create_run(place: Place, info: RunInfo, *, fsync: bool = False) -> Store:
    """A new run; a directory is made where there is none. In a database, which always writes to
    disk, the run gets the id that the place names."""
    where = read_place(place)
    if isinstance(where, Path):
        try:
            where.parent.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            raise StoreError(
                f"{where.parent} cannot be made for a run ({failure.strerror})."
            ) from None
        return SqliteStore.create(where, info, fsync=fsync)
    named = info if where.run is None else msgspec.structs.replace(info, id=where.run)
    return PostgresStore.create(where.url, named, place=where.shown)


def open_run(place: Place, *, fsync: bool = False) -> Store:
    """A run that is there already."""
    where = read_place(place)
    if isinstance(where, Path):
        return SqliteStore.open(where, fsync=fsync)
    return PostgresStore.open(where.url, where.run, place=where.shown)


def run_lock(place: Place) -> Lock:
    """Have a run for oneself, before it is made or opened."""
    where = read_place(place)
    if isinstance(where, Path):
        return RunLock(where.parent)
    if where.run is None:
        raise StoreError(
            f"{where.shown} does not say which run; choose a name and add it as ?run=NAME."
        )
    return PostgresLock(where.url, where.run, place=where.shown)
