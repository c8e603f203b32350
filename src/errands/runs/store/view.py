"""Looking at a run without touching it: what a reader may ask beside what every store can tell.

Nothing is written, no lock of a runner is taken, and what dead processes left is let lie for
whoever plays on. Only as many episodes are read as are asked for, in an order that the database
makes: a run may have millions.
"""

from collections.abc import Sequence
from typing import Final, Literal, Protocol

import msgspec

from errands.runs.episode import Episode, Status, Summary
from errands.runs.store.base import Store

__all__ = ["ORDERS", "EpisodeFilter", "Order", "RunView", "Totals", "conditions", "ordering"]

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


def conditions(chosen: EpisodeFilter, mark: str) -> tuple[list[str], list[object]]:
    """The tests of a query for them, and their values; `mark` stands for a value."""
    tests: list[str] = []
    given: list[object] = []
    for test, value in (
        ("status =", chosen.status),
        ("reward >=", chosen.least),
        ("reward <=", chosen.most),
    ):
        if value is not None:
            tests.append(f"{test} {mark}")
            given.append(value)
    return tests, given


def ordering(chosen: EpisodeFilter) -> str:
    """The order of a query for them; what has no reward comes last."""
    way = "DESC" if chosen.descending else "ASC"
    if chosen.order == "number":
        return f"ORDER BY number {way}"
    return f"ORDER BY {chosen.order} IS NULL, {chosen.order} {way}, number"


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a few numbers."""

    kept: int
    errors: int
    truncated: int
    rewards: tuple[tuple[float, int], ...]
    """Each reward that came, ascending, and how often; of all that are no errors."""
    seconds: float
    cost: float


class RunView(Store, Protocol):
    """A store that is only looked at; what would write says no."""

    def totals(self) -> Totals: ...

    def count(self, chosen: EpisodeFilter) -> int:
        """How many episodes are chosen."""
        ...

    def some(self, chosen: EpisodeFilter, offset: int, limit: int) -> Sequence[Summary]:
        """A stretch of the chosen ones."""
        ...

    def latest(self, limit: int) -> Sequence[Summary]:
        """The episodes that were kept last, the newest first."""
        ...

    def find(self, number: int) -> Episode | None:
        """One episode, whole, if it is kept."""
        ...

    def neighbours(self, number: int) -> tuple[int | None, int | None]:
        """The numbers kept before and after one."""
        ...

    def is_written(self) -> bool:
        """Whether a runner is at work on it."""
        ...

    def waiting(self) -> bool:
        """Whether finished episodes lie beside the database that a later opening takes in."""
        ...

    def stamp(self) -> object:
        """Equal for as long as nothing was added."""
        ...
