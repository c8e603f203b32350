"""Reading a store for figures: one array for each column, the reward's parts as a stream.

A million episodes are quick this way; summaries are read only of the few that are shown.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from errands.runs.episode import Summary
from errands.runs.store.base import Store

__all__ = ["STATUSES", "Columns", "read_columns", "summaries_of"]

STATUSES: Final = ("done", "truncated", "error")
"""By their code."""
FEW: Final = 20_000
"""Up to so many episodes are fetched by number; beyond, the summaries are read through."""

Array = npt.NDArray[Any]


class Columns(NamedTuple):
    """The episodes of a run, column by column, in order of number."""

    number: Array
    status: Array
    """Codes: the places in `STATUSES`."""
    reward: Array
    """NaN for an error."""
    steps: Array
    seconds: Array
    states: Array
    items: Array
    searches: Array
    tokens_in: Array
    tokens_out: Array
    cost: Array

    @property
    def failed(self) -> Array:
        """Which episodes are errors: they have no reward."""
        return np.isnan(self.reward)

    @property
    def rewards(self) -> Array:
        """The rewards of all that are not."""
        return np.asarray(self.reward[~self.failed])


def read_columns(store: Store) -> Columns:
    """All columns of a run."""
    columns = store.columns()
    return Columns(**{name: columns[name] for name in Columns._fields})


def summaries_of(store: Store, numbers: Array) -> Iterator[Summary]:
    """The summaries of some episodes, in order of number."""
    if not len(numbers):
        return
    chosen = set(numbers.tolist())
    if len(chosen) <= FEW:
        yield from (episode.summary for episode in store.episodes(sorted(chosen)))
    else:
        yield from (summary for summary in store.summaries() if summary.number in chosen)
