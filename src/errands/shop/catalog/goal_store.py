"""Goals of a catalogue, kept as what they are made from rather than one by one.

A synthetic goal is an entry (a product's instruction) and one combination of the product's
options; a human goal is an entry alone. The store has the entries, their price caps and
weights, and the shuffled order; a goal is put together when it is asked for, so eight million
goals cost as little to open as eight.
"""

import bisect
import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from errands.errors import DamageError, DataError
from errands.shop.catalog.prices import Prices
from errands.shop.damage import UNREADABLE, damaged
from errands.shop.goals import (
    Goal,
    goals_table,
    option_choice,
    option_phrase,
    price_cap,
    price_phrase,
    shuffled,
)
from errands.shop.product import Product
from errands.shop.records import (
    Packed,
    Records,
    RecordsWriter,
    map_array,
    view,
    write_array,
)

__all__ = ["MOST_GOALS", "Entries", "Entry", "GoalWriter", "StoredGoals", "draw_caps"]

MOST_GOALS: Final = 2**32 - 1
"""Goals of one set: their places are kept in 32 bits."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One instruction about one product."""

    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...] | None
    """The wanted values of a human instruction; None where every combination is a goal."""


class Entries(NamedTuple):
    """Entries of one kind about the products of a chunk."""

    records: Packed
    places: NDArray[np.uint32]
    """Whose they are: places in the chunk."""
    choices: NDArray[np.uint64]
    """How many goals each gives."""
    names: list[str]
    """The distinct attributes, in the order in which they first occur."""
    ids: NDArray[np.uint32]
    """For each entry its attributes, as places in `names`."""
    counts: NDArray[np.uint32]
    """How many attributes each has."""

    def only(self, mask: NDArray[np.bool_]) -> "Entries":
        """Those of products that are kept, whose places are counted anew."""
        mine = mask[self.places]
        return self._replace(
            records=self.records.only(mine),
            places=(np.cumsum(mask) - 1)[self.places[mine]].astype(np.uint32),
            choices=self.choices[mine],
            ids=self.ids[np.repeat(mine, self.counts)],
            counts=self.counts[mine],
        )


def draw_caps(prices: Iterable[float], rng: random.Random) -> NDArray[np.float64]:
    """One price cap an entry, in load order."""
    return np.array([price_cap(price, rng) for price in prices], np.float64)


class GoalWriter:
    """Collects the entries of one goal set in load order."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._records = RecordsWriter(stem.with_name(stem.name + "-entries"))
        self._rows = array("I")
        self._choices = array("Q")
        self._names: dict[str, int] = {}
        self._ids = array("I")
        self._counts = array("I")

    def __len__(self) -> int:
        """How many goals the entries so far give."""
        return int(np.array(self._choices, np.uint64).sum())

    def take(self, row: int, entries: Entries) -> None:
        """Add the entries of a chunk whose first product has this row."""
        names = self._names
        numbers = [names.setdefault(name, len(names)) for name in entries.names]
        self._records.extend(entries.records)
        self._rows.frombytes((entries.places + np.uint32(row)).tobytes())
        self._choices.frombytes(entries.choices.tobytes())
        self._ids.frombytes(np.array(numbers, np.uint32)[entries.ids].tobytes())
        self._counts.frombytes(entries.counts.tobytes())

    def close(self) -> None:
        self._records.close()

    def finish(self, prices: NDArray[np.float64], rng: random.Random, *, weigh: bool) -> None:
        """Draw the caps from `rng`, shuffle, and write the set.

        `prices` are those of all products, by row. `weigh` makes goals with common attributes
        weigh less.
        """
        if len(self) > MOST_GOALS:
            raise DataError(
                f"The products' options can be combined in {len(self):,} ways or more, each of"
                f" them a goal; a catalogue has {MOST_GOALS:,} at most. Look for a product with"
                " very many options in the items file."
            )
        self._records.finish()
        rows = np.array(self._rows, np.uint32)
        choices = np.array(self._choices, np.uint64)
        first = np.concatenate([[np.uint64(0)], np.cumsum(choices, dtype=np.uint64)])
        weights = self._weights(choices) if weigh else np.ones(len(rows), np.float64)
        order = np.array(shuffled(len(self))[0], np.uint32)
        goal_weights = np.repeat(weights, choices.astype(np.int64))[order]
        cumulative = np.concatenate([[0.0], np.cumsum(goal_weights)])
        for suffix, values in (
            ("rows", rows),
            ("first", first),
            ("caps", draw_caps(prices[rows].tolist(), rng)),
            ("weights", weights),
            ("order", order),
            ("cumulative", cumulative),
        ):
            write_array(self._stem.with_name(f"{self._stem.name}-{suffix}.npy"), values)

    def _weights(self, choices: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Of each entry the mean of 1 / (goals with that attribute) over its attributes."""
        ids = np.array(self._ids, np.uint32)
        counts = np.array(self._counts, np.uint32)
        uses = np.zeros(len(self._names), np.uint64)
        np.add.at(uses, ids, np.repeat(choices, counts))
        # An attribute of no goal at all has an entry without goals: its weight is never used.
        shares = (1 / np.maximum(uses, 1).astype(np.float64))[ids]
        starts = np.cumsum(counts, dtype=np.int64) - counts
        totals = np.zeros(len(counts), np.float64)
        # One by one, in order: other ways to add give other last bits.
        for place in range(int(counts.max(initial=0))):
            having = counts > place
            totals[having] += shares[starts[having] + place]
        return totals / np.maximum(counts, 1)


class StoredGoals:
    """A mapped goal set of a catalogue with so many products; a ValueError or IndexError where its
    files do not belong together.

    `redraw`, the prices of a catalogue and a seed, draws all prices anew.
    `recipe` is how another process gets the same set: a function and its arguments.
    """

    def __init__(
        self,
        stem: Path,
        product_at: Callable[[int], Product],
        products: int,
        redraw: tuple[Prices, int] | None = None,
        recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    ) -> None:
        def opened(suffix: str, kind: DTypeLike) -> memoryview:
            return view(map_array(stem.with_name(f"{stem.name}-{suffix}.npy"), kind))

        self.name = stem.name
        self._folder = stem.parent.parent
        self._entries = Records(stem.with_name(stem.name + "-entries"))
        self._decode = msgspec.msgpack.Decoder(Entry).decode
        self._product_at = product_at
        self._products = products
        self._recipe = recipe
        self._rows = opened("rows", np.uint32)
        self._first = opened("first", np.uint64)
        self._caps = opened("caps", np.float64)
        self._weights = opened("weights", np.float64)
        self._order = opened("order", np.uint32)
        self._cumulative = opened("cumulative", np.float64)
        count, goals = len(self._entries), len(self._order)
        sizes = [len(each) for each in (self._rows, self._caps, self._weights)]
        if sizes != [count] * 3 or len(self._first) != count + 1:
            raise ValueError(f"goals/{stem.name} has {count} entries, but {sizes} rows of them")
        if self._first[0] or self._first[count] != goals or len(self._cumulative) != goals + 1:
            raise ValueError(f"goals/{stem.name} has {goals} goals, but other sums of them")
        self._prices: Prices | None = None
        if redraw is not None:
            prices, seed = redraw
            rng = random.Random(seed)
            self._prices = prices.drawn_anew(rng)
            self._caps = view(draw_caps(map(self._prices.at, self._rows), rng))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            raise TypeError("this goal set was opened by hand and cannot be sent elsewhere")
        return self._recipe

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def _repr_html_(self) -> str:
        return goals_table(self)

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: int, /) -> Goal:
        place = self._order[index]
        number = bisect.bisect_right(self._first, place) - 1
        try:
            entry = self._decode(self._entries[number])
            product = self._product_at(self._rows[number])
            cap = self._caps[number]
            instruction = entry.instruction
            options: tuple[str, ...] | dict[str, str]
            if entry.options is None:
                options = option_choice(product.options, place - self._first[number])
                instruction += option_phrase(options)
            else:
                options = entry.options
        except (*UNREADABLE, LookupError) as failure:
            raise self._damaged(failure) from None
        return Goal(
            asin=product.asin,
            category=product.category,
            query=product.query,
            name=product.title,
            product_category=product.product_category,
            instruction_text=instruction + price_phrase(cap),
            attributes=entry.attributes,
            price_upper=cap,
            goal_options=options,
            weight=self._weights[number],
            nouns=product.nouns,
        )

    def entries(self) -> tuple[Sequence[tuple[str, str]], Any]:
        made = [(self._product_at(row).asin, entry.instruction) for row, entry in self.told()]
        return made, self._entries_of(np.asarray(self._order))

    def products_of(self, indices: Sequence[int], /) -> NDArray[np.int64]:
        places = np.asarray(self._order)[np.asarray(indices, np.int64)]
        return self._product_rows()[self._entries_of(places)]

    def goals_of_products(self) -> NDArray[np.int64]:
        choices = np.diff(np.asarray(self._first).astype(np.int64))
        if choices.min(initial=0) < 0:
            raise self._damaged("first.npy of its goals is not in order")
        counts: NDArray[np.int64] = np.zeros(self._products, np.int64)
        np.add.at(counts, self._product_rows(), choices)
        return counts

    def told(self) -> Iterator[tuple[int, Entry]]:
        """Each entry, with the row of its product, in load order."""
        for number, row in enumerate(self._product_rows().tolist()):
            try:
                entry = self._decode(self._entries[number])
            except UNREADABLE as failure:
                raise self._damaged(failure) from None
            yield row, entry

    def _product_rows(self) -> NDArray[np.int64]:
        """The row of each entry's product."""
        rows = np.asarray(self._rows).astype(np.int64)
        if rows.max(initial=-1) >= self._products:
            raise self._damaged("rows.npy of its goals leads to no product")
        return rows

    def _entries_of(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """The entry of each goal, whose place in load order is known."""
        entries = np.searchsorted(np.asarray(self._first), places, "right") - 1
        if len(entries) and not 0 <= entries.min() <= entries.max() < len(self._entries):
            raise self._damaged("order.npy of its goals leads to no entry")
        return entries

    def _damaged(self, why: object) -> DamageError:
        return damaged(self._folder, why)

    @property
    def cumulative(self) -> Sequence[float]:
        return self._cumulative

    def price(self, product: Product) -> float:
        return product.price if self._prices is None else self._prices.of(product)
