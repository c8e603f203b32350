"""Goals: a target product with the instruction an agent is given, and sets of them.

A goal's index is its place in its set, and that order is the original's: all goals in load
order, shuffled by a private generator with seed 233. Price caps and range prices come from
another private generator, so the same catalogue and seed give the same goals everywhere.
"""

import bisect
import functools
import itertools
import json
import math
import random
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, Self

import msgspec
import numpy as np

from errands.errors import GoalError
from errands.notebook import notebook_facts, notebook_table
from errands.shop.product import Product

__all__ = [
    "NO_CAP",
    "SHUFFLE_SEED",
    "SPLITS",
    "Goal",
    "GoalSet",
    "ListedGoals",
    "frozen_entries",
    "goals_table",
    "instruction_key",
    "option_choices",
    "price_cap",
    "price_phrase",
    "read_goals",
    "select_goals",
    "shuffled",
    "split_range",
    "weighted_index",
    "write_goals",
]

SHUFFLE_SEED: Final = 233
NO_CAP: Final = 1000000
LADDER: Final = tuple(10.0 * step for step in range(1, 100))
_PRICE: Final = re.compile(r",? and price lower than [\d.]+ dollars?\s*$")
SPLITS: Final[Mapping[str, tuple[int, int | None]]] = {
    "test": (0, 500),
    "eval": (500, 1500),
    "train": (1500, None),
}
"""Index ranges of the named splits; the end is exclusive, None is the end of the list."""


class Goal(msgspec.Struct, frozen=True):
    """What is wanted: only `instruction_text` is ever shown to an agent."""

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction_text: str
    attributes: tuple[str, ...]
    price_upper: float
    goal_options: tuple[str, ...] | dict[str, str]
    """Values (human goals) or name to value (synthetic goals); the reward sees the difference."""
    weight: float
    nouns: tuple[str, ...] = ()
    """Nouns of the target's title, as tagged when the catalogue was built."""

    def _repr_html_(self) -> str:
        return notebook_facts(
            "Goal",
            {
                "instruction": self.instruction_text,
                "product": f"{self.asin}: {self.name}",
                "attributes": self.attributes,
                "options": self.goal_options,
                "price below": "" if self.price_upper == NO_CAP else f"${self.price_upper:,.2f}",
            },
        )


class GoalSet(Protocol):
    """A sequence of goals with the prices that rewards use."""

    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Goal: ...

    def entries(self) -> tuple[Sequence[tuple[str, str]], Any]:
        """What the goals are made of: pairs of product id and words, and which is each goal's."""
        ...

    def products_of(self, indices: Sequence[int], /) -> Any:
        """A number for the product of each of these goals: an array."""
        ...

    def goals_of_products(self) -> Any:
        """How many goals each product has, by its number: an array."""
        ...

    @property
    def price(self) -> Callable[[Product], float]:
        """What a product costs when a reward is computed."""
        ...

    @property
    def cumulative(self) -> Sequence[float]:
        """0, then the running sum of the goals' weights."""
        ...


def goals_table(goals: GoalSet) -> str:
    """A goal set as a notebook shows it."""
    shown = ((index, goals[index]) for index in range(len(goals)))
    rows = ((index, goal.instruction_text, goal.asin) for index, goal in shown)
    caption = f"{len(goals):,} goals ({goals.name})"
    return notebook_table(caption, ["goal", "instruction", "product"], rows, len(goals))


def price_cap(price: float, rng: random.Random) -> float:
    """Draw the highest price that a goal allows for a product of this price."""
    first = bisect.bisect_right(LADDER, price)
    above = LADDER[first : first + 4]
    return max(rng.sample(above, 2)) if len(above) >= 2 else NO_CAP


def price_phrase(cap: float) -> str:
    """What an instruction says about the price."""
    return "" if cap == NO_CAP else f", and price lower than {cap:.2f} dollars"


def instruction_key(instruction: str) -> str:
    """An instruction, however it is written down.

    >>> instruction_key('I want a 3" hat., and price lower than 20.00 dollars')
    'i want a 3 hat'
    """
    text = _PRICE.sub("", instruction.lower()).replace('"', "").replace("'", "")
    return " ".join(text.split()).strip(" .")


def option_choices(options: Mapping[str, Sequence[str]]) -> int:
    """How many synthetic goals a product with these options gives."""
    count = 1
    for values in options.values():
        count *= len(values)
    return count


def option_choice(options: Mapping[str, Sequence[str]], number: int) -> dict[str, str]:
    """The number-th combination: names in alphabetical order, the last one turning fastest."""
    names = sorted(options)
    values: list[str] = []
    for name in reversed(names):
        number, at = divmod(number, len(options[name]))
        values.append(options[name][at])
    return dict(zip(names, reversed(values), strict=True))


def option_phrase(options: Mapping[str, str]) -> str:
    """What a synthetic instruction says about the options."""
    listed = ", and ".join(f"{name}: {value}" for name, value in options.items())
    return f" with {listed}" if listed else ""


def shuffled(count: int) -> tuple["array[int]", random.Random]:
    """The canonical order of so many goals, and the generator as the shuffle leaves it."""
    rng = random.Random(SHUFFLE_SEED)
    order = array("I", range(count))
    rng.shuffle(order)
    return order, rng


def weighted_index(cumulative: Sequence[float], uniform: Callable[[float, float], float]) -> int:
    """The original's weighted draw: because the sums begin with 0, index 0 never comes."""
    drawn = uniform(0, cumulative[-1])
    return min(bisect.bisect_right(cumulative, drawn), len(cumulative) - 2)


def split_range(name: str | None, count: int) -> range:
    """The goal indices of a named split of a list of `count` goals; None names them all."""
    if name is None:
        return range(count)
    if name not in SPLITS:
        raise GoalError(f"There is no split {name!r}; expected {', '.join(SPLITS)} or None.")
    first, end = SPLITS[name]
    indices = range(min(first, count), count if end is None else min(end, count))
    if not indices:
        raise GoalError(
            f"The split {name!r} is empty: it begins at goal {first} and there are only {count}"
            " goals. Use split=None, or a larger goal set."
        )
    return indices


class ListedPrices(msgspec.Struct, frozen=True):
    """What products cost where a list says so; others cost what the catalogue says."""

    prices: dict[str, float]

    def __call__(self, product: Product) -> float:
        return self.prices.get(product.asin, product.price)


class ListedGoals:
    """Goals held in memory: read from a file, filtered, or written by hand."""

    def __init__(self, name: str, goals: Iterable[Goal], price: Callable[[Product], float]) -> None:
        self.name = name
        self.price = price
        self._goals = tuple(goals)
        weights = [goal.weight for goal in self._goals]
        self.cumulative: Sequence[float] = [0.0, *itertools.accumulate(weights)]
        if not self._goals:
            raise GoalError(f"{name} has no goals; expected at least one.")

    def _repr_html_(self) -> str:
        return goals_table(self)

    def __len__(self) -> int:
        return len(self._goals)

    def __getitem__(self, index: int, /) -> Goal:
        return self._goals[index]

    def __iter__(self) -> Iterator[Goal]:
        return iter(self._goals)

    def entries(self) -> tuple[Sequence[tuple[str, str]], Any]:
        said = list(map(_entry, self))
        return said, range(len(said))

    @functools.cached_property
    def _product_numbers(self) -> Any:
        return np.unique([goal.asin for goal in self], return_inverse=True)[1]

    def products_of(self, indices: Sequence[int], /) -> Any:
        return self._product_numbers[list(indices)]

    def goals_of_products(self) -> Any:
        return np.bincount(self._product_numbers)

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def select_goals(
    goals: GoalSet,
    *,
    where: Callable[[int, Goal], bool] | None = None,
    limit: int | None = None,
) -> ListedGoals:
    """The goals that `where` accepts (given index and goal), then `limit` of them.

    The limit is the original's (-1 is none): weighted draws without repeats that go on from the
    shuffle's generator, in the order drawn.
    """
    chosen = [goals[i] for i in range(len(goals)) if where is None or where(i, goals[i])]
    if limit is not None and limit != -1 and limit < len(chosen):
        _, rng = shuffled(len(goals))
        cumulative = [0.0, *itertools.accumulate(goal.weight for goal in chosen)]
        last = len(chosen) - 1
        reachable = len({min(i + 1, last) for i, goal in enumerate(chosen) if goal.weight > 0})
        if not 0 < limit <= reachable:
            raise GoalError(f"limit={limit} was asked for; expected 1 to {reachable}.")
        drawn: dict[int, None] = {}
        while len(drawn) < limit:
            drawn[weighted_index(cumulative, rng.uniform)] = None
        chosen = [chosen[i] for i in drawn]
    return ListedGoals(goals.name, chosen, goals.price)


def write_goals(
    path: Path,
    goals: GoalSet,
    products: Iterable[Product],
    made: Mapping[str, Any] | None = None,
) -> None:
    """Freeze goals, and what each of the products costs, in one JSON file; `made` says how."""
    prices = {product.asin: goals.price(product) for product in products}
    listed = []
    for index in range(len(goals)):
        record = msgspec.to_builtins(goals[index])
        del record["nouns"]
        listed.append(record)
    frozen = {"goals": listed, "prices": prices, **({"made": made} if made else {})}
    path.write_text(json.dumps(frozen, ensure_ascii=False), encoding="utf-8")


def frozen_entries(path: Path) -> list[tuple[str, str]]:
    """The product and the words of each goal of a file, whatever catalogue it belongs to."""
    return [_entry(goal) for goal in _frozen(path).goals]


def _entry(goal: Goal) -> tuple[str, str]:
    return goal.asin, goal.instruction_text.removesuffix(price_phrase(goal.price_upper))


def _frozen(path: Path) -> "_FrozenGoals":
    try:
        raw: Any = json.loads(path.read_bytes())
    except OSError as failure:
        raise GoalError(f"The goal file {path} cannot be read ({failure.strerror}).") from None
    except (ValueError, RecursionError) as failure:
        raise GoalError(f"The goal file {path} is not JSON ({failure}).") from None
    try:
        return msgspec.convert(raw, _FrozenGoals)
    except ValueError as failure:  # Also a half of a surrogate pair where there is no text.
        raise GoalError(
            f"The goal file {path} does not have the expected form"
            f' {{"goals": [...], "prices": {{...}}}}: {failure}'
        ) from None


def read_goals(path: Path, products: Callable[[str], Product]) -> ListedGoals:
    """Read a frozen goal file; every target must be a product of the catalogue."""
    frozen = _frozen(path)
    goals = []
    for index, goal in enumerate(frozen.goals):
        try:
            target = products(goal.asin)
        except KeyError:
            raise GoalError(
                f"Goal {index} of {path} wants product {goal.asin}, which this catalogue does not"
                " have; goals belong to the catalogue they were made for."
            ) from None
        if not goal.attributes:
            raise GoalError(f"Goal {index} of {path} has no attributes; expected at least one.")
        if not (math.isfinite(goal.weight) and goal.weight >= 0):
            raise GoalError(f"Goal {index} of {path} has weight {goal.weight}; expected 0 or more.")
        goals.append(msgspec.structs.replace(goal, nouns=target.nouns))
    return ListedGoals(str(path), goals, ListedPrices(frozen.prices))


class _FrozenGoals(msgspec.Struct, frozen=True):
    goals: tuple[Goal, ...]
    prices: dict[str, float]
