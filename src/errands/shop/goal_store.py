"""Goals of a catalogue, kept as what they are made from rather than one by one.

A synthetic goal is an entry (a product's instruction) and one combination of the product's
options; a human goal is an entry alone. The store has the entries, their price caps and
weights, and the shuffled order; a goal is put together when it is asked for, so eight million
goals cost as little to open as eight.
"""

import bisect
import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.shop.goal import (
    Goal,
    option_choice,
    option_choices,
    option_phrase,
    price_cap,
    price_phrase,
    shuffled,
)
from errands.shop.product import Product
from errands.shop.records import Records, RecordsWriter, map_array, view, write_array

__all__ = ["Entry", "GoalWriter", "StoredGoals", "draw_caps"]


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One instruction about one product."""

    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...] | None
    """The wanted values of a human instruction; None where every combination is a goal."""


def draw_caps(prices: Sequence[float], rng: random.Random) -> NDArray[np.float64]:
    """One price cap an entry, in load order."""
    return np.array([price_cap(price, rng) for price in prices], np.float64)


class GoalWriter:
    """Collects the entries of one goal set in load order."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._records = RecordsWriter(stem.with_name(stem.name + "-entries"))
        self._encode = msgspec.msgpack.Encoder().encode
        self._rows = array("I")
        self._prices = array("d")
        self._first = array("Q", [0])
        self._uses: Counter[str] = Counter()
        self._attributes: list[tuple[str, ...]] = []
        self._names: dict[str, str] = {}

    def __len__(self) -> int:
        """How many goals the entries so far give."""
        return self._first[-1]

    def add(self, row: int, product: Product, entry: Entry) -> None:
        choices = option_choices(product.options) if entry.options is None else 1
        self._records.append(self._encode(entry))
        self._rows.append(row)
        self._prices.append(product.price)
        self._first.append(self._first[-1] + choices)
        names = self._names
        attributes = tuple(names.setdefault(name, name) for name in entry.attributes)
        self._attributes.append(attributes)
        if entry.options is None:
            for attribute in attributes:
                self._uses[attribute] += choices

    def close(self) -> None:
        self._records.close()

    def finish(self, rng: random.Random) -> None:
        """Draw the caps from `rng`, shuffle, and write the set."""
        self._records.finish()
        first = np.array(self._first, np.uint64)
        weights = np.array([self._weight(names) for names in self._attributes], np.float64)
        order = np.array(shuffled(len(self))[0], np.uint32)
        goal_weights = np.repeat(weights, np.diff(first).astype(np.int64))[order]
        cumulative = np.concatenate([[0.0], np.cumsum(goal_weights)])
        for suffix, values in (
            ("rows", np.array(self._rows, np.uint32)),
            ("first", first),
            ("caps", draw_caps(self._prices, rng)),
            ("weights", weights),
            ("order", order),
            ("cumulative", cumulative),
        ):
            write_array(self._stem.with_name(f"{self._stem.name}-{suffix}.npy"), values)

    def _weight(self, attributes: tuple[str, ...]) -> float:
        if not self._uses:
            return 1.0
        # An attribute of no goal at all has an entry without goals: its weight is never used.
        return sum(1 / max(self._uses[name], 1) for name in attributes) / len(attributes)


class StoredGoals:
    """A mapped goal set of a catalogue.

    `redraw`, the products with two prices in load order and a seed, draws all prices anew.
    `recipe` is how another process gets the same set: a function and its arguments.
    """

    def __init__(
        self,
        stem: Path,
        product_at: Callable[[int], Product],
        redraw: tuple[Iterable[Product], int] | None = None,
        recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    ) -> None:
        def opened(suffix: str) -> memoryview:
            return view(map_array(stem.with_name(f"{stem.name}-{suffix}.npy")))

        self.name = stem.name
        self._entries = Records(stem.with_name(stem.name + "-entries"))
        self._decode = msgspec.msgpack.Decoder(Entry).decode
        self._product_at = product_at
        self._recipe = recipe
        self._rows = opened("rows")
        self._first = opened("first")
        self._caps = opened("caps")
        self._weights = opened("weights")
        self._order = opened("order")
        self._cumulative = opened("cumulative")
        self._drawn: dict[str, float] = {}
        if redraw is not None:
            ranges, seed = redraw
            rng = random.Random(seed)
            self._drawn = {product.asin: rng.uniform(*product.prices) for product in ranges}
            owners = (product_at(row) for row in self._rows)
            self._caps = view(draw_caps([self.price(owner) for owner in owners], rng))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            raise TypeError("this goal set was opened by hand and cannot be sent elsewhere")
        return self._recipe

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: int, /) -> Goal:
        place = self._order[index]
        number = bisect.bisect_right(self._first, place) - 1
        entry = self._decode(self._entries[number])
        product = self._product_at(self._rows[number])
        cap = self._caps[number]
        instruction = entry.instruction
        wanted: tuple[str, ...] | dict[str, str]
        if entry.options is None:
            wanted = option_choice(product.options, place - self._first[number])
            instruction += option_phrase(wanted)
        else:
            wanted = entry.options
        return Goal(
            asin=product.asin,
            category=product.category,
            query=product.query,
            name=product.title,
            product_category=product.product_category,
            instruction_text=instruction + price_phrase(cap),
            attributes=entry.attributes,
            price_upper=cap,
            goal_options=wanted,
            weight=self._weights[number],
            nouns=product.nouns,
        )

    def entries(self) -> tuple[Sequence[tuple[str, str]], Any]:
        made = [
            (self._product_at(row).asin, self._decode(self._entries[number]).instruction)
            for number, row in enumerate(self._rows)
        ]
        return made, np.searchsorted(np.asarray(self._first), np.asarray(self._order), "right") - 1

    def told(self) -> Iterator[tuple[int, Entry]]:
        """Each entry, with the row of its product, in load order."""
        for number, row in enumerate(self._rows):
            yield row, self._decode(self._entries[number])

    @property
    def cumulative(self) -> Sequence[float]:
        return self._cumulative

    def price(self, product: Product) -> float:
        return self._drawn.get(product.asin, product.price) if self._drawn else product.price
