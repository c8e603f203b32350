"""Runs of a PostgreSQL database that are only looked at.

A server keeps readers and writers apart by itself. Many runs may be looked at at once, so none
holds a connection: each answer makes its own.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

from errands.database import connect_postgres
from errands.runs.episode import FORMAT, Episode, RunInfo, Summary
from errands.runs.store.base import StoreError
from errands.runs.store.postgres import PostgresStore, explained, is_locked
from errands.runs.store.rows import SUMMARY, summary_of, unpack
from errands.runs.store.view import EpisodeFilter, Totals, conditions, ordering

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresView", "postgres_views"]

T = TypeVar("T")

_COLUMNS: Final = ", ".join(SUMMARY)
_TOTALS: Final = (
    "SELECT count(*), count(*) FILTER (WHERE status = 'error'),"
    " count(*) FILTER (WHERE status = 'truncated'), coalesce(sum(seconds), 0),"
    " coalesce(sum(cost), 0) FROM errands_episodes WHERE run = %s"
)
_REWARDS: Final = (
    "SELECT reward, count(*) FROM errands_episodes WHERE run = %s AND status != 'error'"
    " AND reward IS NOT NULL GROUP BY reward ORDER BY reward"
)
_STAMP: Final = "SELECT count(*), max(xmin::text::bigint) FROM errands_episodes WHERE run = %s"
_BESIDE: Final = (
    "SELECT max(number) FILTER (WHERE number < %s), min(number) FILTER (WHERE number > %s)"
    " FROM errands_episodes WHERE run = %s"
)


def postgres_views(
    url: str, run: str | None, place: str
) -> Iterator[tuple[str, "PostgresView | StoreError"]]:
    """The runs of a database by id, or the one that is named; a foreign one is an error."""
    with explained(place), contextlib.closing(connect_postgres(url)) as connection:
        there = connection.execute("SELECT to_regclass('errands_runs') IS NOT NULL").fetchone()
        rows: Sequence[Any] = ()
        if there is not None and there[0]:
            rows = connection.execute(
                "SELECT run, id, format, info FROM errands_runs WHERE %s::text IS NULL OR id = %s",
                (run, run),
            ).fetchall()
    for number, id, version, info in rows:
        if version != FORMAT:
            yield id, StoreError(f"It was written by another version of Errands ({version}).")
            continue
        try:
            yield id, PostgresView(url, place, number, unpack(info, RunInfo))
        except ValueError as failure:
            yield id, StoreError(f"Its description is damaged ({failure}).")


class PostgresView(PostgresStore):
    """A store that is only read."""

    def __init__(self, url: str, place: str, run: int, info: RunInfo) -> None:
        self._url = url
        self._place = place
        self._inherited = []
        self._begin()
        self._run, self._info = run, info

    def totals(self) -> Totals:
        def work(connection: "psycopg.Connection") -> Totals:
            found = connection.execute(_TOTALS, (self._run,)).fetchone()
            assert found is not None
            kept, errors, truncated, seconds, cost = found
            rewards = connection.execute(_REWARDS, (self._run,)).fetchall()
            return Totals(
                kept=kept,
                errors=errors,
                truncated=truncated,
                rewards=tuple((float(reward), count) for reward, count in rewards),
                seconds=seconds,
                cost=cost,
            )

        return self._do(work)

    def count(self, chosen: EpisodeFilter) -> int:
        where, given = self._where(chosen)
        query = f"SELECT count(*) FROM errands_episodes WHERE {where}"
        return int(self._row(query, given)[0])

    def some(self, chosen: EpisodeFilter, offset: int, limit: int) -> Sequence[Summary]:
        where, given = self._where(chosen)
        query = (
            f"SELECT {_COLUMNS} FROM errands_episodes WHERE {where} {ordering(chosen)}"
            " LIMIT %s OFFSET %s"
        )

        def work(connection: "psycopg.Connection") -> list[Summary]:
            rows = connection.execute(cast(Any, query), (*given, limit, offset)).fetchall()
            return [summary_of(row) for row in rows]

        return self._do(work)

    def latest(self, limit: int) -> Sequence[Summary]:
        return self.some(EpisodeFilter(descending=True), 0, limit)

    def find(self, number: int) -> Episode | None:
        query = "SELECT count(*) FROM errands_episodes WHERE run = %s AND number = %s"
        return self.episode(number) if self._row(query, (self._run, number))[0] else None

    def neighbours(self, number: int) -> tuple[int | None, int | None]:
        before, after = self._row(_BESIDE, (number, number, self._run))
        return before, after

    def is_written(self) -> bool:
        return self._do(functools.partial(is_locked, id=self._info.id))

    def waiting(self) -> bool:
        """Never: what was kept is in the database at once."""
        return False

    def stamp(self) -> object:
        return tuple(self._row(_STAMP, (self._run,)))

    def add(self, episode: Episode) -> NoReturn:
        self._refuse()

    def writer(self) -> NoReturn:
        self._refuse()

    def drop(self, numbers: Iterable[int]) -> NoReturn:
        self._refuse()

    def close(self) -> None:
        """Nothing is held."""

    def _refuse(self) -> NoReturn:
        raise StoreError(f"{self.place} was opened to look at; nothing can be written to it.")

    def _where(self, chosen: EpisodeFilter) -> tuple[str, tuple[object, ...]]:
        tests, given = conditions(chosen, "%s")
        return " AND ".join(["run = %s", *tests]), (self._run, *given)

    def _row(self, query: str, given: tuple[object, ...]) -> Any:
        return self._do(lambda connection: connection.execute(cast(Any, query), given).fetchone())

    def _do(self, work: "Callable[[psycopg.Connection], T]") -> T:
        with explained(self._place), contextlib.closing(connect_postgres(self._url)) as connection:
            return work(connection)
