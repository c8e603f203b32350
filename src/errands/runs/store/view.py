"""Looking at a run without touching it: what a reader may ask beside what every store can tell.

Nothing is written, no lock of a runner is taken, and what dead processes left is let lie for
whoever plays on. Only as many episodes are read as are asked for, in an order that the database
makes: a run may have millions.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NoReturn

import msgspec

from errands.runs.episode import Episode, Status, Summary
from errands.runs.store.base import Store, StoreError
from errands.runs.store.rows import COLUMNS, summary_of

__all__ = ["ORDERS", "EpisodeFilter", "Order", "RunView", "Totals"]

Order = Literal["number", "reward", "steps", "seconds", "cost"]
ORDERS: Final[tuple[Order, ...]] = ("number", "reward", "steps", "seconds", "cost")


class EpisodeFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which episodes are asked for, and in which order; equals come by number."""

    status: Status | None = None
    least: float | None = None
    """No reward below this; episodes without a reward are left out."""
    most: float | None = None
    order: Order = "number"
    descending: bool = False


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a few numbers."""

    kept: int
    errors: int
    truncated: int
    rewards: tuple[tuple[float, int], ...]
    """Each reward that came, ascending, and how often; of all that are no errors."""
    seconds: float
    cost: float


class RunView(Store):
    """A store that is only looked at; what would write says no. It holds nothing open."""

    @abstractmethod
    def is_written(self) -> bool:
        """Whether a runner is at work on it."""

    @abstractmethod
    def waiting(self) -> bool:
        """Whether finished episodes lie beside the database that a later opening takes in."""

    @abstractmethod
    def stamp(self) -> object:
        """Equal for as long as nothing was added."""

    def totals(self) -> Totals:
        columns = "status, reward, count(*), sum(seconds), sum(cost)"
        with self._reading() as run:
            groups = list(run(f"{self._select(columns)} GROUP BY status, reward"))
        statuses: Counter[str] = Counter()
        rewards: Counter[float] = Counter()
        for status, reward, count, _, _ in groups:
            statuses[status] += count
            if status != "error" and reward is not None:
                rewards[float(reward)] += count
        return Totals(
            kept=statuses.total(),
            errors=statuses["error"],
            truncated=statuses["truncated"],
            rewards=tuple(sorted(rewards.items())),
            seconds=math.fsum(seconds for *_, seconds, _ in groups),
            cost=math.fsum(cost for *_, cost in groups),
        )

    def count(self, chosen: EpisodeFilter) -> int:
        """How many episodes are chosen."""
        query, values = self._chosen("count(*)", chosen)
        with self._reading() as run:
            [[count]] = run(query, values)
            return int(count)

    def some(self, chosen: EpisodeFilter, offset: int, limit: int) -> Sequence[Summary]:
        """A stretch of the chosen ones."""
        # What has no reward comes last.
        way = "DESC" if chosen.descending else "ASC"
        order = f"ORDER BY number {way}"
        if chosen.order != "number":
            order = f"ORDER BY {chosen.order} IS NULL, {chosen.order} {way}, number"
        # Without the wide columns there is little to sort.
        numbers, values = self._chosen("number", chosen)
        numbers += f" {order} LIMIT {self._mark} OFFSET {self._mark}"
        query = f"{self._select(COLUMNS)} AND number IN ({numbers}) {order}"
        with self._reading() as run:
            return [summary_of(row) for row in run(query, (*values, limit, offset))]

    def latest(self, limit: int) -> Sequence[Summary]:
        """The episodes that were kept last, the newest first."""
        # Workers take numbers in order, so the highest are the newest, but for a few.
        return self.some(EpisodeFilter(descending=True), 0, limit)

    def neighbours(self, number: int) -> tuple[int | None, int | None]:
        """The numbers kept before and after one."""
        with self._reading() as run:
            [[before]] = run(f"{self._select('max(number)')} AND number < {self._mark}", (number,))
            [[after]] = run(f"{self._select('min(number)')} AND number > {self._mark}", (number,))
            return before, after

    def _chosen(self, columns: str, chosen: EpisodeFilter) -> tuple[str, list[object]]:
        """The query for columns of the chosen episodes, and its values."""
        tests = {"status =": chosen.status, "reward >=": chosen.least, "reward <=": chosen.most}
        used = {test: value for test, value in tests.items() if value is not None}
        where = "".join(f" AND {test} {self._mark}" for test in used)
        return self._select(columns) + where, list(used.values())

    def add(self, episode: Episode) -> NoReturn:
        self._refuse()

    def writer(self) -> NoReturn:
        self._refuse()

    def drop(self, numbers: Iterable[int]) -> NoReturn:
        self._refuse()

    def gather(self) -> None:
        """Nothing: what is left lies for whoever plays on."""

    def close(self) -> None:
        """Nothing is held."""

    def _refuse(self) -> NoReturn:
        raise StoreError(f"{self.place} was opened to look at; nothing can be written to it.")
