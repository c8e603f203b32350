"""Where the search engine puts the wanted product when the instruction itself is the query.

The shape of the WebShop paper's figure 2: how many goals find their product on the first page
of results, on the next four, or not among the 50 results at all. It says how far searching for
the instruction can carry, whatever the agent.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from errands.errors import CatalogError, GoalError
from errands.reports.statistics.columns import Columns, summaries_of
from errands.reports.statistics.estimate import named_rng
from errands.reports.statistics.figures import Bin
from errands.runs.store.base import Store
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.library import BUILT_IN, demo_folder
from errands.shop.goals import Goal, price_phrase

__all__ = ["RESULTS", "Ranks", "goal_numbers", "query_of", "rank_goals", "run_ranks"]

RESULTS: Final = 50
PAGE: Final = 10
MOST_GOALS: Final = 1000


class Ranks(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of a set of goals, or why there are none."""

    data: str
    goals: str
    """Which goals of that catalogue."""
    counted: int = 0
    drawn: bool = False
    """Whether these are some of the run's goals, sampled, and not all of them."""
    bins: tuple[Bin, ...] = ()
    first: float | None = None
    """Share of goals whose product is the first result."""
    not_found: float | None = None
    """Share not among the results."""
    remark: str = ""


def query_of(goal: Goal) -> str:
    """An instruction without what it says about the price."""
    return goal.instruction_text.removesuffix(price_phrase(goal.price_upper))


def goal_numbers(keys: Sequence[str]) -> tuple[int, ...]:
    """The distinct goals among episode keys (`goal N`), ascending."""
    numbers = (key.removeprefix("goal ") for key in keys if key.startswith("goal "))
    return tuple(sorted({int(number) for number in numbers if number.isdigit()}))


def rank_goals(catalog: Catalog, goals: str, numbers: Sequence[int]) -> list[int | None]:
    """The rank of each goal's product, from 1; None where it is not among the results."""
    listed = catalog.goals(goals)
    ranks: list[int | None] = []
    for number in numbers:
        goal = listed[number]
        results = catalog.find(query_of(goal), RESULTS)
        wanted = catalog.number(goal.asin)
        ranks.append(results.index(wanted) + 1 if wanted in results else None)
    return ranks


def run_ranks(store: Store, columns: Columns, *, seed: int = 0) -> Ranks:
    """The ranks of the goals that a run played."""
    protocol = store.info.protocol
    data, goals = str(protocol.get("data", "")), str(protocol.get("goals", "synthetic"))
    try:
        if data in BUILT_IN and not demo_folder(data).exists():
            raise CatalogError("Opening it would build it.")
        catalog = Catalog.open(data)
        numbers, drawn = _looked_up(store, columns, seed)
        return _binned(data, goals, rank_goals(catalog, goals, numbers), drawn)
    except CatalogError:
        remark = f"The catalogue {data!r} is not on this machine, so ranks were not computed."
    except (GoalError, IndexError):
        remark = f"The catalogue {data!r} on this machine has not the run's goals: no ranks."
    return Ranks(data=data, goals=goals, remark=remark)


def _looked_up(store: Store, columns: Columns, seed: int) -> tuple[tuple[int, ...], bool]:
    """The goals to look up, and whether they are a draw."""
    numbers, rng = columns.number, named_rng(seed, "rank goals")
    # Episodes may share goals, so a few more than needed are looked at.
    some = len(numbers) > 3 * MOST_GOALS
    if some:
        numbers = np.sort(rng.choice(numbers, 3 * MOST_GOALS, replace=False))
    goals = goal_numbers([summary.key for summary in summaries_of(store, numbers)])
    if len(goals) > MOST_GOALS:
        return tuple(sorted(rng.choice(goals, MOST_GOALS, replace=False).tolist())), True
    return goals, some


def _binned(data: str, goals: str, ranks: Sequence[int | None], drawn: bool) -> Ranks:
    count = len(ranks)
    if not count:
        return Ranks(data=data, goals=goals, remark="The run has no episodes with a goal.")
    known = [rank for rank in ranks if rank is not None]
    bins = []
    for start in range(0, RESULTS, PAGE):
        inside = sum(start < rank <= start + PAGE for rank in known)
        bins.append(Bin(f"{start + 1}-{start + PAGE}", inside, inside / count))
    missing = count - len(known)
    bins.append(Bin(f"{RESULTS}+", missing, missing / count))
    return Ranks(
        data=data,
        goals=goals,
        counted=count,
        drawn=drawn,
        bins=tuple(bins),
        first=sum(rank == 1 for rank in known) / count,
        not_found=missing / count,
    )
