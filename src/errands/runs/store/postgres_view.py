"""Runs of a PostgreSQL database that are only looked at.

A server keeps readers and writers apart by itself. Many runs may be looked at at once, so none
holds a connection: each answer makes its own.
"""

import contextlib
from collections.abc import Iterator

from errands.database import connect_postgres
from errands.runs.episode import FORMAT, RunInfo
from errands.runs.store.base import StoreError
from errands.runs.store.postgres import PostgresStore, explained, holder, run_rows
from errands.runs.store.rows import unpack
from errands.runs.store.view import RunView

__all__ = ["PostgresView", "postgres_views"]


def postgres_views(
    url: str, run: str | None, place: str
) -> Iterator[tuple[str, "PostgresView | StoreError"]]:
    """The runs of a database by id, or the one that is named; a foreign one is an error."""
    with explained(place), contextlib.closing(connect_postgres(url)) as connection:
        rows = run_rows(connection, run)
    for number, id, version, info in rows:
        if version != FORMAT:
            yield id, StoreError(f"It was written by another version of Errands ({version}).")
            continue
        try:
            yield id, PostgresView(url, place, number, unpack(info, RunInfo))
        except ValueError as failure:
            yield id, StoreError(f"Its description is damaged ({failure}).")


class PostgresView(RunView, PostgresStore):
    """A store that is only read."""

    def __init__(self, url: str, place: str, run: int, info: RunInfo) -> None:
        self._url = url
        self._place = place
        self._take(run, info)

    def is_written(self) -> bool:
        with self._reading() as run:
            return holder(run, self.info.id) is not None

    def waiting(self) -> bool:
        """Never: what was kept is in the database at once."""
        return False

    def stamp(self) -> object:
        with self._reading() as run:
            return tuple(run(self._select("count(*), max(xmin::text::bigint)")))
