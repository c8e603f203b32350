"""A catalogue: one directory with products, search index and goals, mapped and shared.

Opening reads the manifest and maps the files; it never reads the products. The same directory
opened twice in one process is one object, so any number of environments share it.

    catalog = Catalog.open("demo")
    catalog.search("red shoes")[0].asin
"""

import functools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from errands.errors import CatalogError, GoalError, SettingError
from errands.home import real
from errands.notebook import MOST_ROWS, notebook_table
from errands.shop.catalog.compression import CompressedRecords
from errands.shop.catalog.goal_store import StoredGoals
from errands.shop.catalog.manifest import read_manifest
from errands.shop.catalog.prices import Prices
from errands.shop.catalog.verification import Verify, damage, file_state, verify_files
from errands.shop.damage import UNREADABLE, damaged
from errands.shop.goals import GoalSet, read_goals
from errands.shop.product import Card, Product
from errands.shop.records import Records, map_array, view
from errands.shop.search.index import Index, RankedBatch

__all__ = ["Catalog", "Hit"]

REMEMBERED = 1024
"""Searches whose results a process keeps, 2 MB at most, and their queries."""
LONGEST_REMEMBERED = 1000
"""Characters of the longest query that is remembered."""


class Hit(NamedTuple):
    """One search result."""

    asin: str
    score: float


_opened: dict[Path, "Catalog"] = {}


class Catalog:
    """An open catalogue. Products are numbered in asin order; rows are in load order."""

    def __init__(self, folder: Path, *, remember: int = REMEMBERED) -> None:
        """Map the directory; use `Catalog.open`, which shares what is open already."""
        self.path = folder
        self.manifest = read_manifest(folder)
        self._inodes = self._read_inodes()
        try:
            self._check_sizes()
            self.index = Index(folder / "index")
            self._products = CompressedRecords(folder / "products")
            self._cards = Records(folder / "cards")
            self._asins = map_array(folder / "asins.npy", "S")
            self._rows = view(map_array(folder / "rows.npy", np.uint32))
            self._prices = Prices.open(folder, self._row)
            self._check_counts()
        except UNREADABLE as failure:
            raise damaged(folder, failure) from None
        self._find = functools.lru_cache(remember)(self._rank)
        self._decode = msgspec.msgpack.Decoder(Product).decode
        self._decode_card = msgspec.msgpack.Decoder(Card).decode
        self._goals: dict[tuple[str, int], GoalSet] = {}
        self._files: dict[tuple[str, int, int], GoalSet] = {}

    @classmethod
    def open(
        cls, catalog: "str | os.PathLike[str] | Catalog" = "demo", *, verify: Verify = "off"
    ) -> "Catalog":
        """Open a catalogue by directory, by name, or give back one that is open.

        `verify` compares its files with the checksums of when it was built: `full` reads them all,
        `quick` those that changed since they were last compared on this machine, `off` looks at
        their sizes alone.
        """
        if isinstance(catalog, Catalog):
            verify_files(catalog.path, verify)
            if verify != "off" and not catalog._has_its_files():
                raise damaged(catalog.path, "its files are others than when it was opened")
            return catalog
        from errands.shop.catalog.library import locate

        folder = locate(catalog)
        verify_files(folder, verify)
        shared = _opened.get(folder)
        if (
            shared is None
            or not shared.is_current()
            or (verify != "off" and not shared._has_its_files())
        ):
            shared = _opened[folder] = cls(folder)
        return shared

    def _has_its_files(self) -> bool:
        """Whether what was compared just now is what is mapped: a file may have been restored."""
        return self._inodes == self._read_inodes()

    def _read_inodes(self) -> dict[str, tuple[int, ...]]:
        """Which files they are, whatever is in them: what is mapped changes with its file."""
        states = {name: file_state(self.path / name) for name in self.manifest.files}
        return {name: state[:2] if state else () for name, state in states.items()}

    def _check_sizes(self) -> None:
        """Notice a file that was cut off, without reading it."""
        for name, expected in self.manifest.files.items():
            size = (self.path / name).stat().st_size
            if size != expected.bytes:
                raise ValueError(f"{name} has {size} bytes, not {expected.bytes}")

    def _check_counts(self) -> None:
        """Notice files that do not belong together: what is read later may rely on it."""
        for name, count in (
            ("products.npy", len(self._products)),
            ("cards.npy", len(self._cards)),
            ("asins.npy", len(self._asins)),
            ("rows.npy", len(self._rows)),
            ("prices.npy", len(self._prices)),
            ("index/norms.npy", self.index.documents),
        ):
            if count != self.manifest.products:
                raise ValueError(f"{name} has {count} products, not {self.manifest.products}")

    def is_current(self) -> bool:
        """Whether the directory still holds what was opened."""
        try:
            return read_manifest(self.path) == self.manifest
        except CatalogError:
            return False

    def __reduce__(self) -> tuple[Any, ...]:
        return Catalog.open, (str(self.path),)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"Catalog({str(self.path)!r}, products={len(self)})"

    def _repr_html_(self) -> str:
        goals = ", ".join(f"{count:,} {kind}" for kind, count in self.manifest.goals.items())
        rows = (
            (one.asin, one.title, f"${one.prices[0]:,.2f}", one.category)
            for one in map(self.product_at, range(min(len(self), MOST_ROWS // 2)))
        )
        caption = f"Catalogue {self.path}: {len(self):,} products; goals: {goals}"
        return notebook_table(caption, ["asin", "title", "price", "category"], rows, len(self))

    def __len__(self) -> int:
        return len(self._products)

    def __iter__(self) -> Iterator[Product]:
        """All products, in load order."""
        return map(self.product_at, range(len(self)))

    def __contains__(self, asin: object) -> bool:
        return isinstance(asin, str) and self.number(asin) >= 0

    def __getitem__(self, asin: str) -> Product:
        number = self.number(asin)
        if number < 0:
            raise KeyError(asin)
        return self.product(number)

    def number(self, asin: str) -> int:
        """The product's number, or -1."""
        key = asin.encode("utf-8", "surrogatepass")
        if len(key) > self._asins.dtype.itemsize:
            return -1
        number = int(np.searchsorted(self._asins, np.array(key, self._asins.dtype)))
        is_there = number < len(self._asins) and self._asins[number] == key
        return number if is_there else -1

    def number_of_name(self, name: str) -> int:
        """The product that pages call by a name, its id in small letters; or -1."""
        number = self.number(name.upper())
        return number if number >= 0 else self._spelled_otherwise.get(name, -1)

    @functools.cached_property
    def _spelled_otherwise(self) -> dict[str, int]:
        """Products whose ids are not all in capitals, by their names on pages."""
        asins = (asin.decode("utf-8", "surrogatepass") for asin in self._asins.tolist())
        return {asin.lower(): number for number, asin in enumerate(asins) if asin != asin.upper()}

    def product(self, number: int) -> Product:
        return self.product_at(self._row_at(number))

    def product_at(self, row: int) -> Product:
        """The product that was the row-th to be loaded."""
        try:
            product = self._decode(self._products[row])
            if len(product.prices) == 2:
                # Made a moment ago and nobody else's yet.
                msgspec.structs.force_setattr(product, "price", self._prices.at(row))
            elif not product.prices:
                raise ValueError(f"product {row} has no price")
        except UNREADABLE as failure:
            raise damaged(self.path, failure) from None
        return product

    def _row(self, asin: str) -> int:
        number = self.number(asin)
        if number < 0:
            raise damaged(self.path, f"asins.npy lacks {asin!r}")
        return self._row_at(number)

    def _row_at(self, number: int) -> int:
        """The row of a product by its number, which must be one of a product."""
        row: int = self._rows[number]
        if row >= len(self._rows):
            raise damaged(self.path, f"rows.npy has the row {row}")
        return row

    def card(self, number: int) -> Card:
        row = self._row_at(number)
        try:
            return self._decode_card(self._cards[row])
        except UNREADABLE as failure:
            raise damaged(self.path, failure) from None

    def find(self, query: str, k: int = 50) -> tuple[int, ...]:
        """The numbers of the best k products for a query, best first; the last queries are
        remembered, for a group of episodes often begins with the same."""
        if len(query) > LONGEST_REMEMBERED:
            return self._rank(query, k)
        return self._find(query, k)

    def find_batch(
        self, queries: Sequence[str], k: int, pool: Executor, helpers: int
    ) -> RankedBatch:
        """The same for many queries, ranked anew on so many threads of a pool and on the one that
        asks for the results."""
        return self.index.rank_batch(queries, k, pool, helpers)

    def _rank(self, query: str, k: int) -> tuple[int, ...]:
        return tuple(self.index.rank(query, k)[0].tolist())

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """The best k products for a query, in Lucene's order."""
        if not isinstance(query, str):
            raise SettingError(f"query={query!r}: expected the words to search for, as one text.")
        if not isinstance(k, int | np.integer) or k < 0:
            raise SettingError(f"k={k!r}: expected how many products to find, as 10.")
        numbers, scores = self.index.rank(query, k)
        return [
            Hit(self.card(number).asin, score)
            for number, score in zip(numbers.tolist(), scores.tolist(), strict=True)
        ]

    def goals(
        self, goals: "str | os.PathLike[str] | GoalSet" = "synthetic", seed: int | None = None
    ) -> GoalSet:
        """A goal set: `synthetic`, `human`, a frozen goal file, or one that is made already.

        `seed` draws the prices of `synthetic` or `human` goals anew; None keeps those that the
        catalogue was built with.
        """
        if not isinstance(goals, str | os.PathLike):
            return goals
        if goals not in self.manifest.goals:
            path = Path(goals)
            if not path.is_file():
                raise GoalError(
                    f"There is no goal set {str(goals)!r}; expected"
                    f" {' or '.join(map(repr, self.manifest.goals))}, or a goal file"
                    " (`errands catalog goals` writes one)."
                )
            return self._goal_file(path)
        kind = str(goals)
        if not self.manifest.goals[kind]:
            others = [name for name, count in self.manifest.goals.items() if count]
            if not others:
                raise GoalError(
                    f"{self.path} has no {kind} goals, nor any others; `errands search` and"
                    " `errands serve` work without. `errands mine assign` writes goals for"
                    " products, and a goal file can be named in place of synthetic ones."
                )
            raise GoalError(
                f"{self.path} has no {kind} goals; expected {' or '.join(map(repr, others))}."
            )
        seed = self.manifest.seed if seed is None else seed
        if (kind, seed) not in self._goals:
            redraw = None
            if seed != self.manifest.seed:
                redraw = self._prices, seed
            stem = self.path / "goals" / kind
            recipe = _open_goals, (str(self.path), kind, seed)
            try:
                opened = StoredGoals(stem, self.product_at, len(self), redraw, recipe)
                if len(opened) != self.manifest.goals[kind]:
                    raise ValueError(f"there are {len(opened)} {kind} goals")
            except (*UNREADABLE, LookupError) as failure:
                raise damaged(self.path, failure) from None
            self._goals[kind, seed] = opened
        return self._goals[kind, seed]

    def _goal_file(self, path: Path) -> GoalSet:
        """A frozen goal file, read once for all environments as long as it stays the same."""
        state = path.stat()
        key = str(real(path)), state.st_mtime_ns, state.st_size
        if key not in self._files:
            self._files[key] = read_goals(path, self.__getitem__)
        return self._files[key]

    def verify(self) -> list[str]:
        """What differs from the manifest's checksums: see `verification`."""
        return damage(self.path)


def _open_goals(path: str, kind: str, seed: int) -> GoalSet:
    return Catalog.open(path).goals(kind, seed)
