"""Where a run is kept: one contract, an SQLite file by default, a PostgreSQL database by URL."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from errands.errors import ErrandsError
from errands.runs.episode import Episode, RunInfo, Summary

__all__ = ["Store", "StoreError"]


class StoreError(ErrandsError):
    """A store cannot be opened, read or written; the sentence says why and what to do."""


class Store(Protocol):
    """The episodes of one run. What `add` has returned from survives the end of the process."""

    @property
    def info(self) -> RunInfo: ...

    def add(self, episode: Episode) -> bool:
        """Keep an episode; False where its number is there already, and nothing changes."""
        ...

    def numbers(self) -> set[int]:
        """The numbers of the episodes that are kept."""
        ...

    def summaries(self) -> Iterator[Summary]:
        """All episodes in order of number, without their steps; read as a stream."""
        ...

    def episode(self, number: int) -> Episode:
        """One episode, whole."""
        ...

    def episodes(self, numbers: Iterable[int] | None = None) -> Iterator[Episode]:
        """Whole episodes in order of number; None for all."""
        ...

    def drop(self, numbers: Iterable[int]) -> int:
        """Forget episodes (to play failed ones again); how many there were."""
        ...

    def close(self) -> None: ...
