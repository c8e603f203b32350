"""Reading a store for figures: one array for each column, the reward's parts as a stream.

Any store can be read through its summaries. One that offers `columns()` or `parts()` is asked
for these instead, which is what makes a million episodes quick; `errors()` is asked for, too.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from errands.runs.episode import Summary
from errands.runs.store import Store

__all__ = [
    "STATUSES",
    "Columns",
    "failed_summaries",
    "keys_of",
    "part_rows",
    "read_columns",
    "summaries_of",
]

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


@runtime_checkable
class HasColumns(Protocol):
    """A store that can give all columns at once; `status` as codes or as names."""

    def columns(self) -> Mapping[str, Array]: ...


@runtime_checkable
class HasParts(Protocol):
    """A store that can give the rewards' parts without the rest."""

    def parts(self) -> Iterable[tuple[int, dict[str, Any]]]: ...


@runtime_checkable
class HasErrors(Protocol):
    """A store that can give the summaries of failed episodes without looking at the others."""

    def errors(self) -> Iterable[Summary]: ...


_FLOATS: Final = frozenset({"reward", "seconds", "cost"})


def read_columns(store: Store) -> Columns:
    """All columns of a run."""
    if isinstance(store, HasColumns):
        given = {name: np.asarray(column) for name, column in store.columns().items()}
        given["status"] = _codes(given["status"])
        given["reward"] = given["reward"].astype(np.float64, copy=False)
        columns = Columns(**{name: given[name] for name in Columns._fields})
    else:
        columns = _streamed(store)
    if len(columns.number) > 1 and not np.all(np.diff(columns.number) > 0):
        order = np.argsort(columns.number, kind="stable")
        columns = Columns(*(column[order] for column in columns))
    return columns


def _codes(status: Array) -> Array:
    if status.dtype.kind in "iu":
        return status.astype(np.int8)
    codes = np.zeros(len(status), dtype=np.int8)
    for code, name in enumerate(STATUSES):
        codes[status.astype(str) == name] = code
    return codes


def _streamed(store: Store) -> Columns:
    held = {name: array("d" if name in _FLOATS else "q") for name in Columns._fields}
    for summary in store.summaries():
        for name, column in held.items():
            if name == "status":
                column.append(STATUSES.index(summary.status))
            elif name == "reward":
                # An error has no reward, whatever the row may say.
                failed = summary.status == "error" or summary.reward is None
                column.append(float("nan") if failed else summary.reward)  # type: ignore[arg-type]
            else:
                column.append(getattr(summary, name))
    return Columns(**{name: np.array(column) for name, column in held.items()})


def part_rows(store: Store) -> Iterator[tuple[int, dict[str, Any]]]:
    """The parts of every episode that has any, by its number."""
    if isinstance(store, HasParts):
        yield from store.parts()
    else:
        yield from ((summary.number, summary.parts) for summary in store.summaries())


def summaries_of(store: Store, numbers: Array) -> Iterator[Summary]:
    """The summaries of some episodes, in order of number."""
    if not len(numbers):
        return
    wanted = set(numbers.tolist())
    if len(wanted) <= FEW and isinstance(store, HasColumns):
        yield from (episode.summary for episode in store.episodes(sorted(wanted)))
    else:
        yield from (summary for summary in store.summaries() if summary.number in wanted)


def failed_summaries(store: Store, columns: Columns) -> Iterator[Summary]:
    """The summaries of all episodes that failed, in order of number."""
    if isinstance(store, HasErrors):
        yield from store.errors()
    else:
        yield from summaries_of(store, columns.number[columns.failed])


def keys_of(store: Store, numbers: Array) -> dict[int, str]:
    """What these episodes played."""
    return {summary.number: summary.key for summary in summaries_of(store, numbers)}
