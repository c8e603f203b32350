"""Where a run is kept: one contract, an SQLite file by default, a PostgreSQL database by URL."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self

import numpy as np

from errands.errors import ErrandsError
from errands.runs.episode import Episode, RunInfo, Summary

__all__ = ["EpisodeWriter", "Lock", "Store", "StoreError"]


class StoreError(ErrandsError):
    """A store cannot be opened, read or written; the sentence says why and what to do."""


class EpisodeWriter(Protocol):
    """Keeps the episodes of one process that plays, one after the other."""

    def write(self, episode: Episode) -> None:
        """The episode survives the end of the process when this returns. Readers may see it a
        moment later; one whose number is in the store already changes nothing."""
        ...

    def close(self) -> None:
        """Now readers see all of them."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Store(Protocol):
    """The episodes of one run. What `add` has returned from survives the end of the process."""

    @property
    def info(self) -> RunInfo: ...

    @property
    def place(self) -> str:
        """Where it is, for people: a path, or a URL without its password."""
        ...

    def add(self, episode: Episode) -> bool:
        """Keep an episode; False where its number is there already, and nothing changes."""
        ...

    def writer(self) -> EpisodeWriter:
        """The fast way to keep many episodes."""
        ...

    def gather(self) -> None:
        """Take in what keepers left whose processes are gone; opening a store does it too."""
        ...

    def numbers(self) -> set[int]:
        """The numbers of the episodes that are kept."""
        ...

    def summaries(self) -> Iterator[Summary]:
        """All episodes in order of number, without their steps; read as a stream."""
        ...

    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """The figures of all episodes in order of number, an array each: `number`, `status` (0
        done, 1 truncated, 2 error), `reward` (NaN for an error), `steps`, `seconds`, `states`,
        `items`, `searches`, `tokens_in`, `tokens_out`, `cost`."""
        ...

    def parts(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and reward's parts of all episodes in order of number; read as a stream."""
        ...

    def episode(self, number: int) -> Episode:
        """One episode, whole."""
        ...

    def episodes(self, numbers: Iterable[int] | None = None) -> Iterator[Episode]:
        """Whole episodes in order of number; None for all. Read as a stream."""
        ...

    def drop(self, numbers: Iterable[int]) -> int:
        """Forget episodes (to play failed ones again); how many there were."""
        ...

    def close(self) -> None: ...


class Lock(Protocol):
    """A run that belongs to one runner, until it is released or its holder is gone."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What workers must inherit to hold the lock too."""
        ...

    def release(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
