"""Reading a store for figures: one array for each column.

A million episodes are quick this way; summaries are read only of the few that are shown.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from errands.runs.episode import Summary
from errands.runs.failures import FAILURES, failure_of
from errands.runs.store.base import Store

__all__ = ["PARTS", "STATUSES", "Array", "Columns", "read_columns", "summaries_of"]

STATUSES: Final = ("done", "truncated", "error")
"""By their code."""
PARTS: Final = {
    "r_type": "type",
    "r_att": "attributes",
    "r_option": "options",
    "r_price": "price",
}
"""The reward's parts in the shop, and what they are called."""
FEW: Final = 20_000
"""Up to so many episodes are fetched by number; beyond, the summaries are read through."""

Array = npt.NDArray[Any]

_DETAILS: Final = np.dtype(
    [
        ("number", np.int64),
        ("goal", np.int32),
        ("cluster", np.int32),
        ("failure", np.int8),
        ("invalid", np.int32),
        ("parts", np.float64, len(PARTS)),
    ]
)


_DETAILED: Final = ("goal", "cluster", "failure", "invalid", "parts")


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
    goal: Array
    """Codes: the places in `goals`."""
    cluster: Array
    """Codes: the places in `clusters`."""
    failure: Array
    """Codes: the places of names in the domain's `FAILURES`; -1 where nothing was lost."""
    invalid: Array
    """Actions that were not valid; -1 where the run does not say."""
    parts: Array
    """Shop: a column for each of `PARTS`; NaN where nothing was bought or it does not count."""
    goals: tuple[str, ...]
    """What was played: the keys of episodes, each once."""
    clusters: tuple[str, ...]
    """What episodes that depend on each other share: products, tasks, or goals."""
    unit: str
    """What a cluster is: a product, a task, or a goal where the run does not say more."""

    @property
    def failed(self) -> Array:
        """Which episodes are errors: they have no reward."""
        return np.isnan(self.reward)

    @property
    def rewards(self) -> Array:
        """The rewards of all that are not."""
        return np.asarray(self.reward[~self.failed])

    def of(self, which: Array) -> "Columns":
        """Some of the episodes."""
        rows = {name: getattr(self, name)[which] for name in _ROWS}
        return self._replace(**rows)


_ROWS: Final = tuple(name for name in Columns._fields if name not in ("goals", "clusters", "unit"))


def read_columns(store: Store) -> Columns:
    """All columns of a run."""
    columns = store.columns()
    reader = _DetailReader(store.info.domain)
    details = np.fromiter(reader.rows(store, columns), _DETAILS)
    if not np.array_equal(details["number"], columns["number"]):
        # A run that is being played: what came or went between the two readings is left out.
        _, here, there = np.intersect1d(
            columns["number"], details["number"], assume_unique=True, return_indices=True
        )
        columns = {name: column[here] for name, column in columns.items()}
        details = details[there]
    return Columns(
        **{name: columns[name] for name in Columns._fields if name in columns},
        **{name: np.ascontiguousarray(details[name]) for name in _DETAILED},
        goals=tuple(reader.goals),
        clusters=tuple(reader.clusters),
        unit=reader.unit,
    )


class _DetailReader:
    """Turns keys and parts into codes and numbers, row by row."""

    def __init__(self, domain: str) -> None:
        self.goals: dict[str, int] = {}
        self.clusters: dict[str, int] = {}
        self.unit = "product" if domain == "shop" else "task"
        self._domain = domain
        self._names = {name: code for code, name in enumerate(FAILURES.get(domain, ()))} | {"": -1}

    def rows(self, store: Store, columns: dict[str, Array]) -> Iterator[tuple[Any, ...]]:
        rewards = dict(zip(columns["number"].tolist(), columns["reward"].tolist(), strict=True))
        nothing = (np.nan,) * len(PARTS)
        for number, key, parts in store.details():
            goal = self.goals.setdefault(key, len(self.goals))
            cluster = self.clusters.setdefault(self._cluster(key, parts), len(self.clusters))
            failure = failure_of(self._domain, rewards.get(number, np.nan), parts)
            invalid = parts.get("invalid", -1)
            values = tuple(map(parts.get, PARTS)) if "r_type" in parts else nothing
            yield number, goal, cluster, self._names[failure], invalid, values

    def _cluster(self, key: str, parts: dict[str, Any]) -> str:
        cluster = parts.get("cluster")
        if isinstance(cluster, str):
            return cluster
        if self._domain == "turk":
            return key.rpartition("/")[0] or key
        self.unit = "goal"
        return key


def summaries_of(store: Store, numbers: Array) -> Iterator[Summary]:
    """The summaries of some episodes, in order of number."""
    if not len(numbers):
        return
    chosen = set(numbers.tolist())
    if len(chosen) <= FEW:
        yield from (episode.summary for episode in store.episodes(sorted(chosen)))
    else:
        yield from (summary for summary in store.summaries() if summary.number in chosen)
