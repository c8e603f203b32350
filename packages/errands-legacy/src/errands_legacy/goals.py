"""Which goals a server has and in which order, and the generator that names random sessions.

The order is the original's, shuffled with seed 233, whatever `seed` an environment is given. In
verl-agent it depends on the environment's seed, so that training and validation, whose seeds
differ, share goals; `shuffle="seed"`, or `seed` in the variable `ERRANDS_LEGACY_SHUFFLE`, does as
verl-agent does, and warns.
"""

import itertools
import os
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, Self

import numpy as np

from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import (
    SHUFFLE_SEED,
    Goal,
    GoalSet,
    select_goals,
    shuffled,
    weighted_index,
)
from errands.shop.product import Product
from errands_legacy.records import goal_record

__all__ = [
    "SHUFFLE_VARIABLE",
    "GoalFilter",
    "ReorderedGoals",
    "choose_goals",
    "draw_index",
    "in_load_order",
    "random_session",
    "restart_random",
]

SHUFFLE_VARIABLE: Final = "ERRANDS_LEGACY_SHUFFLE"
LEAK: Final = (
    "The order of the goals depends on the environment's seed, as in verl-agent: environments with"
    " other seeds, those of validation too, number the same goals differently, so that training and"
    f" validation share goals. Unset {SHUFFLE_VARIABLE} (or shuffle=) for the fixed order."
)
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"

GoalFilter = Callable[[int, Mapping[str, Any]], bool]


class ReorderedGoals:
    """The goals of a set in another order."""

    def __init__(self, goals: GoalSet, order: Sequence[int]) -> None:
        self.name = goals.name
        self._goals = goals
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: int, /) -> Goal:
        return self._goals[self._order[index]]

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def entries(self) -> tuple[Sequence[tuple[str, str]], Any]:
        said, places = self._goals.entries()
        return said, [places[place] for place in self._order]

    def products_of(self, indices: Sequence[int], /) -> Any:
        return self._goals.products_of([self._order[index] for index in indices])

    def goals_of_products(self) -> Any:
        return np.bincount(self.products_of(range(len(self))))

    @property
    def price(self) -> Callable[[Product], float]:
        return self._goals.price

    @cached_property
    def cumulative(self) -> Sequence[float]:
        weights = (self[index].weight for index in range(len(self)))
        return [0.0, *itertools.accumulate(weights)]


def in_load_order(goals: GoalSet) -> ReorderedGoals:
    """The goals of a catalogue as they were before the fixed shuffle."""
    order, _ = shuffled(len(goals))
    place_of = sorted(range(len(order)), key=order.__getitem__)
    return ReorderedGoals(goals, place_of)


def choose_goals(
    catalog: Catalog,
    goals: "str | os.PathLike[str] | GoalSet",
    *,
    seed: int | None = None,
    shuffle: str | None = None,
    where: GoalFilter | None = None,
    limit: int = -1,
) -> GoalSet:
    """The goals of a server: a set of the catalogue or a goal file, filtered, then limited.

    Random sessions begin where the shuffle left the generator, as in the original; but it draws
    the limited goals with it, too.
    """
    if where is not None and not callable(where):
        raise SettingError(
            f"filter_goals={where!r}: expected a function of an index and a goal, or None for all."
        )
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise SettingError(f"limit_goals={limit!r}: expected a number of goals, or -1 for all.")
    shuffle = shuffle or os.environ.get(SHUFFLE_VARIABLE) or "fixed"
    if shuffle not in ("fixed", "seed"):
        raise SettingError(
            f"shuffle={shuffle!r}: expected 'fixed' or, as verl-agent has it, 'seed' (also by the"
            f" variable {SHUFFLE_VARIABLE})."
        )
    if shuffle == "seed" and goals in ("synthetic", "human"):
        warnings.warn(LEAK, UserWarning, stacklevel=4)
        chosen: GoalSet = _shuffled_by(catalog, str(goals), 42 if seed is None else seed)
    else:
        chosen = catalog.goals(goals)
    restart_random(len(chosen))
    if where is None and limit == -1:
        return chosen
    accepts = None
    if where is not None:
        accepts = lambda index, goal: bool(where(index, goal_record(goal)))  # noqa: E731
    return select_goals(chosen, where=accepts, limit=limit)


@lru_cache(64)
def _shuffled_by(catalog: Catalog, kind: str, seed: int) -> ReorderedGoals:
    """verl-agent's goals: prices and caps drawn with the seed, then shuffled with it, too."""
    drawn = in_load_order(catalog.goals(kind, seed))
    order = list(range(len(drawn)))
    random.Random(seed).shuffle(order)
    return ReorderedGoals(drawn, order)


_random = random.Random(SHUFFLE_SEED)
"""What the original takes from Python's global generator, which we leave alone."""


def restart_random(count: int) -> None:
    """As the original's servers leave the generator: seeded, and `count` goals shuffled."""
    _random.setstate(_state_after(count))


@lru_cache(64)
def _state_after(count: int) -> Any:
    return shuffled(count)[1].getstate()


def random_session() -> str:
    """A name for a session that has none."""
    return "".join(_random.choices(LETTERS, k=10))


def draw_index(cumulative: Sequence[float]) -> int:
    """The goal of a session that names none."""
    return weighted_index(cumulative, _random.uniform)
