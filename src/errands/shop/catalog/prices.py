"""What products cost: one price a row, drawn once for those that have a range.

A drawn price lies beside the product's record, not in it: records are made by any process, and
prices are drawn in load order.
"""

import random
from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from errands.shop.product import Product
from errands.shop.records import map_array, view, write_array

__all__ = ["Prices", "PricesWriter"]


class PricesWriter:
    """Collects prices in load order and draws those of ranges, the same for the same seed."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._prices = array("d")
        self._rows = array("I")
        self._low, self._high = array("d"), array("d")

    def take(
        self,
        prices: NDArray[np.float64],
        ranges: NDArray[np.uint32],
        range_ends: NDArray[np.float64],
    ) -> None:
        """Add the prices of a chunk; those at the places `ranges` are lower ends."""
        first = len(self._prices)
        self._prices.frombytes(prices.tobytes())
        for place, high in zip(ranges.tolist(), range_ends.tolist(), strict=True):
            row = first + place
            low = self._prices[row]
            self._rows.append(row)
            self._low.append(low)
            self._high.append(high)
            self._prices[row] = self._rng.uniform(low, high)

    def finish(self, folder: Path) -> NDArray[np.float64]:
        """Write them; gives the prices by row."""
        prices = np.array(self._prices, np.float64)
        write_array(folder / "prices.npy", prices)
        write_array(folder / "range-rows.npy", np.array(self._rows, np.uint32))
        ends = np.array([self._low, self._high], np.float64)
        write_array(folder / "range-ends.npy", ends)
        return prices


class Prices:
    """The mapped prices of a catalogue."""

    def __init__(
        self,
        prices: NDArray[np.float64],
        rows: NDArray[np.uint32],
        ends: NDArray[np.float64],
        row_of: Callable[[str], int],
    ) -> None:
        self.at: Callable[[int], float] = view(prices).__getitem__
        """The price of a product by its row."""
        self._prices = prices
        self._rows = rows
        self._ends = ends
        self._row_of = row_of

    @classmethod
    def open(cls, folder: Path, row_of: Callable[[str], int]) -> "Prices":
        """Map the prices of a catalogue; `row_of` finds the row of an asin."""
        return cls(
            map_array(folder / "prices.npy", np.float64),
            map_array(folder / "range-rows.npy", np.uint32),
            map_array(folder / "range-ends.npy", np.float64, 2),
            row_of,
        )

    def __len__(self) -> int:
        return len(self._prices)

    def of(self, product: Product) -> float:
        """What a product of the catalogue costs."""
        return self.at(self._row_of(product.asin)) if len(product.prices) == 2 else product.price

    def drawn_anew(self, rng: random.Random) -> "Prices":
        """The same products, with other prices where there are ranges."""
        prices = np.array(self._prices)
        low, high = self._ends.tolist()
        prices[self._rows] = [rng.uniform(*ends) for ends in zip(low, high, strict=True)]
        return Prices(prices, self._rows, self._ends, self._row_of)
