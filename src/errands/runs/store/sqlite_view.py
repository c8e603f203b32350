"""An SQLite run that is only looked at, also while a runner writes it.

Every answer has a connection of its own that cannot write. A file without a log beside it is
complete and is read as it is, so that looking leaves no files behind; one with a log is being
written, or was when its writer was killed.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from errands.database import ReadOnlyFile, fingerprint
from errands.runs.episode import Episode, Summary
from errands.runs.store.base import StoreError
from errands.runs.store.lock import is_held
from errands.runs.store.rows import SUMMARY, summary_of
from errands.runs.store.sqlite import SqliteStore, explained
from errands.runs.store.view import EpisodeFilter, Totals, conditions, ordering

__all__ = ["SqliteView"]

_COLUMNS: Final = ", ".join(SUMMARY)
_TOTALS: Final = (
    "SELECT count(*), total(status = 'error'), total(status = 'truncated'), total(seconds),"
    " total(cost) FROM episodes"
)
_REWARDS: Final = (
    "SELECT reward, count(*) FROM episodes WHERE status != 'error' AND reward IS NOT NULL"
    " GROUP BY reward ORDER BY reward"
)


class SqliteView(SqliteStore):
    """A store that is only read. Threads may share it; a fork, too, for nothing is held open."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._fsync = False
        self._guard = None
        self._forked = False
        self._inherited = []
        if not self.path.is_file():
            raise StoreError(f"There is no run at {self.path}.")
        with explained(self.path), contextlib.closing(ReadOnlyFile(self.path)) as file:
            self._connection = file.connection
            self._info = self._checked_info()

    def totals(self) -> Totals:
        with self._reading() as run:
            kept, errors, truncated, seconds, cost = run(_TOTALS).fetchone()
            return Totals(
                kept=kept,
                errors=int(errors),
                truncated=int(truncated),
                rewards=tuple(run(_REWARDS)),
                seconds=seconds,
                cost=cost,
            )

    def count(self, chosen: EpisodeFilter) -> int:
        where, given = _where(chosen)
        with self._reading() as run:
            [found] = run(f"SELECT count(*) FROM episodes {where}", given).fetchone()
            return int(found)

    def some(self, chosen: EpisodeFilter, offset: int, limit: int) -> Sequence[Summary]:
        where, given = _where(chosen)
        order = ordering(chosen)
        # Without the wide columns there is little to sort.
        inner = f"SELECT number FROM episodes {where} {order} LIMIT ? OFFSET ?"
        query = f"SELECT {_COLUMNS} FROM episodes WHERE number IN ({inner}) {order}"
        with self._reading() as run:
            return [summary_of(row) for row in run(query, (*given, limit, offset))]

    def latest(self, limit: int) -> Sequence[Summary]:
        # Workers take numbers in order, so the highest are the newest, but for a few.
        return self.some(EpisodeFilter(descending=True), 0, limit)

    def find(self, number: int) -> Episode | None:
        with self._reading() as run:
            found = run("SELECT 1 FROM episodes WHERE number = ?", (number,)).fetchone()
        return None if found is None else self.episode(number)

    def neighbours(self, number: int) -> tuple[int | None, int | None]:
        with self._reading() as run:
            [before] = run(
                "SELECT max(number) FROM episodes WHERE number < ?", (number,)
            ).fetchone()
            [after] = run("SELECT min(number) FROM episodes WHERE number > ?", (number,)).fetchone()
            return before, after

    def is_written(self) -> bool:
        return is_held(self.path.parent)

    def waiting(self) -> bool:
        mark = f"{self.path.name}.kept-"
        with os.scandir(self.path.parent) as entries:
            return any(entry.name.startswith(mark) and entry.stat().st_size for entry in entries)

    def stamp(self) -> object:
        return fingerprint(self.path), fingerprint(f"{self.path}-wal")

    def add(self, episode: Episode) -> NoReturn:
        self._refuse()

    def writer(self) -> NoReturn:
        self._refuse()

    def gather(self) -> None:
        """Nothing: what is left lies for whoever plays on."""

    def drop(self, numbers: Iterable[int]) -> NoReturn:
        self._refuse()

    def close(self) -> None:
        """Nothing is held."""

    def _refuse(self) -> NoReturn:
        raise StoreError(f"{self.path} was opened to look at; nothing can be written to it.")

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Any]:
        with explained(self.path):
            with contextlib.closing(ReadOnlyFile(self.path)) as file:
                file.connection.execute("BEGIN")
                yield file.connection.execute
            if file.has_changed():
                raise StoreError(f"{self.path} changed while it was read; read it once more.")


def _where(chosen: EpisodeFilter) -> tuple[str, tuple[object, ...]]:
    tests, given = conditions(chosen, "?")
    return f"WHERE {' AND '.join(tests)}" if tests else "", tuple(given)
