"""Where a run is kept: an SQLite file by default, a PostgreSQL database by URL.

Both are read by the same SQL, which is here; each writes in its own way. What differs is said by
a few class attributes: the tables, the mark of a value, and how infinity is written.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self

import numpy as np

from errands.notebook import notebook_facts
from errands.runs.episode import Episode, RunInfo, Summary
from errands.runs.store.rows import (
    COLUMNS,
    STATUSES,
    Row,
    StoreError,
    columns_of,
    summary_of,
    unescape,
    unpack,
    unpack_body,
)

__all__ = ["EpisodeWriter", "Lock", "Query", "Store", "StoreError"]

Query = Callable[..., Iterator[Row]]
"""Runs an SQL text, with values for its marks, and gives its rows."""

_CODES = " ".join(f"WHEN '{status}' THEN {code}" for code, status in enumerate(STATUSES))


class EpisodeWriter(ABC):
    """Keeps the episodes of one process that plays, one after the other."""

    @abstractmethod
    def write(self, episode: Episode) -> None:
        """The episode survives the end of the process when this returns. Readers may see it a
        moment later; one whose number is in the store already changes nothing."""

    @abstractmethod
    def close(self) -> None:
        """Now readers see all of them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lock(ABC):
    """A run that belongs to one runner, until it is released or its holder is gone."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What workers must inherit to hold the lock too: `pass_fds` of those that are started."""
        return ()

    @abstractmethod
    def release(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Store(ABC):
    """The episodes of one run. What `add` has returned from survives the end of the process."""

    info: RunInfo

    _episodes: ClassVar[str]
    """The table of summaries."""
    _whole: ClassVar[str]
    """That table, joined with the one of trajectories."""
    _mark: ClassVar[str]
    _infinity: ClassVar[str]
    _own = "true"
    """The test that a row is of this run."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, for people: a path, or a URL without its password."""

    @abstractmethod
    def add(self, episode: Episode) -> bool:
        """Keep an episode; False where its number is there already, and nothing changes."""

    @abstractmethod
    def writer(self) -> EpisodeWriter:
        """The fast way to keep many episodes."""

    @abstractmethod
    def gather(self) -> None:
        """Take in what writers left whose processes are gone; opening a store does it too."""

    @abstractmethod
    def drop(self, numbers: Iterable[int]) -> int:
        """Forget episodes (to play failed ones again); how many there were."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Query]:
        """A view of one moment, whatever is added meanwhile."""

    def _repr_html_(self) -> str:
        figures = self.columns()
        rewards = figures["reward"]
        played = rewards[~np.isnan(rewards)]
        score = f"{100 * played.mean():.1f}" if len(played) else "none"
        return notebook_facts(
            f"Run {self.place}",
            {
                "protocol": self.info.protocol_key,
                "agent": self.info.agent,
                "episodes": f"{len(rewards):,} of {self.info.episodes:,}",
                "errors": len(rewards) - len(played),
                "mean reward x 100, without errors": score,
                "with reward 1": int((played == 1).sum()),
                "remarks": self.info.remarks,
            },
        )

    def numbers(self) -> set[int]:
        """The numbers of the episodes that are kept."""
        with self._reading() as run:
            return {number for (number,) in run(self._select("number"))}

    def summaries(self) -> Iterator[Summary]:
        """All episodes in order of number, without their steps; read as a stream."""
        with self._reading() as run:
            yield from map(summary_of, run(f"{self._select(COLUMNS)} ORDER BY number"))

    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """The figures of all episodes in order of number, an array each: `number`, `status` (0
        done, 1 truncated, 2 error), `reward` (NaN for an error), `steps`, `seconds`, `states`,
        `items`, `searches`, `tokens_in`, `tokens_out`, `cost`."""
        figures = self._select(
            f"number, CASE status {_CODES} END, coalesce(reward, {self._infinity}), steps, seconds,"
            " states, items, searches, tokens_in, tokens_out, cost"
        )
        with self._reading() as run:
            return columns_of(run(f"{figures} ORDER BY number"))

    def parts(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and reward's parts of all episodes in order of number; read as a stream."""
        with self._reading() as run:
            for number, parts in run(f"{self._select('number, parts')} ORDER BY number"):
                yield number, unpack(parts, dict[str, Any])

    def details(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Number, key and parts of all episodes in order of number; read as a stream."""
        with self._reading() as run:
            for number, key, parts in run(f"{self._select('number, key, parts')} ORDER BY number"):
                yield number, unescape(key), unpack(parts, dict[str, Any])

    def episode(self, number: int) -> Episode:
        """One episode, whole."""
        [episode] = self.episodes([number])
        return episode

    def find(self, number: int) -> Episode | None:
        """One episode, whole, if it is kept."""
        with self._reading() as run:
            return next(map(_episode, run(self._one(), (number,))), None)

    def episodes(self, numbers: Iterable[int] | None = None) -> Iterator[Episode]:
        """Whole episodes in order of number; None for all. Read as a stream."""
        with self._reading() as run:
            if numbers is None:
                everything = self._select(f"{COLUMNS}, body", self._whole)
                yield from map(_episode, run(f"{everything} ORDER BY number"))
                return
            for number in sorted(set(numbers)):
                rows = list(run(self._one(), (number,)))
                if not rows:
                    raise StoreError(f"There is no episode {number} in {self.place}.")
                yield _episode(rows[0])

    def _select(self, columns: str, table: str = "") -> str:
        return f"SELECT {columns} FROM {table or self._episodes} WHERE {self._own}"

    def _one(self) -> str:
        """The query for one whole episode."""
        return f"{self._select(f'{COLUMNS}, body', self._whole)} AND number = {self._mark}"


def _episode(row: Row) -> Episode:
    return unpack_body(summary_of(row[:-1]), row[-1])
