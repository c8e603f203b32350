"""A catalogue: one directory with products, search index and goals, mapped and shared.

Opening reads the manifest and maps the files; it never reads the products. The same directory
opened twice in one process is one object, so any number of environments share it.

    catalog = Catalog.open("demo")
    catalog.search("red shoes")[0].asin
"""

import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from errands.errors import CatalogError, GoalError, SettingError
from errands.notebook import MOST_ROWS, notebook_table
from errands.shop.catalog.compression import CompressedRecords
from errands.shop.catalog.goal_store import StoredGoals
from errands.shop.catalog.prices import Prices
from errands.shop.goals import GoalSet, read_goals
from errands.shop.product import Card, Product
from errands.shop.records import Records, map_array, view
from errands.shop.search.index import Index

__all__ = ["FORMAT", "Catalog", "Hit", "Manifest", "SourceFile", "damage"]

REMEMBERED = 1024
"""Searches whose results a process keeps, 2 MB at most, and their queries."""
LONGEST_REMEMBERED = 1000
"""Characters of the longest query that is remembered."""

FORMAT = 3
"""Version of the directory's layout; a catalogue of another version is built anew."""


class SourceFile(msgspec.Struct, frozen=True):
    """A file that a catalogue was built from."""

    name: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What a catalogue is, and the checksums that prove it."""

    format: int
    errands: str
    """The version that built it."""
    made: dict[str, Any]
    """How: the sources, or the generator and its seed."""
    sources: tuple[SourceFile, ...]
    seed: int
    """Of the generator that drew range prices and price caps."""
    tagger: str
    products: int
    goals: dict[str, int]
    dropped: dict[str, int]
    """Records left out, by reason."""
    contents: dict[str, str]
    """Checksums of what compressed records hold, by the name that their files share."""
    files: dict[str, SourceFile]

    @property
    def difficulty(self) -> str | None:
        """Of a generated catalogue (one without a word on it is easy); None for any other."""
        return self.made.get("difficulty", "easy") if self.made.get("by") == "generate" else None

    @property
    def checksum(self) -> str:
        """One checksum for all that is in it, however records are compressed; the index is made of
        the products alone, and no part of it."""
        plain = {
            name: file.sha256
            for name, file in self.files.items()
            if name.partition(".")[0] not in self.contents and not name.startswith("index/")
        }
        lines = [f"{name} {sha256}" for name, sha256 in sorted({**plain, **self.contents}.items())]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


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
        try:
            self._check_sizes()
            self.index = Index(folder / "index")
            self._products = CompressedRecords(folder / "products")
            self._cards = Records(folder / "cards")
            self._asins = map_array(folder / "asins.npy")
            self._rows = view(map_array(folder / "rows.npy"))
            self._prices = Prices.open(folder, self._row)
        except (OSError, ValueError, EOFError, msgspec.DecodeError) as failure:
            raise CatalogError(
                f"{folder} is damaged ({failure}); `errands catalog verify {folder}` says which"
                " files are, building it again mends them."
            ) from None
        self._find = functools.lru_cache(remember)(self._rank)
        self._decode = msgspec.msgpack.Decoder(Product).decode
        self._decode_card = msgspec.msgpack.Decoder(Card).decode
        self._goals: dict[tuple[str, int], GoalSet] = {}
        self._files: dict[tuple[str, int, int], GoalSet] = {}

    @classmethod
    def open(cls, catalog: "str | os.PathLike[str] | Catalog" = "demo") -> "Catalog":
        """Open a catalogue by directory, by name, or give back one that is open."""
        if isinstance(catalog, Catalog):
            return catalog
        from errands.shop.catalog.library import locate

        folder = locate(catalog)
        shared = _opened.get(folder)
        if shared is None or not shared.is_current():
            shared = _opened[folder] = cls(folder)
        return shared

    def _check_sizes(self) -> None:
        """Notice a file that was cut off, without reading it."""
        for name, expected in self.manifest.files.items():
            size = (self.path / name).stat().st_size
            if size != expected.bytes:
                raise ValueError(f"{name} has {size} bytes, not {expected.bytes}")

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

    def product(self, number: int) -> Product:
        return self.product_at(self._rows[number])

    def product_at(self, row: int) -> Product:
        """The product that was the row-th to be loaded."""
        product = self._decode(self._products[row])
        if len(product.prices) == 2:
            # Made a moment ago and nobody else's yet.
            msgspec.structs.force_setattr(product, "price", self._prices.at(row))
        return product

    def _row(self, asin: str) -> int:
        row: int = self._rows[self.number(asin)]
        return row

    def card(self, number: int) -> Card:
        return self._decode_card(self._cards[self._rows[number]])

    def find(self, query: str, k: int = 50) -> tuple[int, ...]:
        """The numbers of the best k products for a query, best first; the last queries are
        remembered, for a group of episodes often begins with the same."""
        if len(query) > LONGEST_REMEMBERED:
            return self._rank(query, k)
        return self._find(query, k)

    def find_each(
        self, queries: Sequence[str], k: int, pool: Executor, threads: int
    ) -> list[tuple[int, ...]]:
        """The same for many queries at once, ranked anew on so many threads of a pool."""
        return [tuple(each.tolist()) for each in self.index.rank_each(queries, k, pool, threads)]

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
            self._goals[kind, seed] = StoredGoals(stem, self.product_at, redraw, recipe)
        return self._goals[kind, seed]

    def _goal_file(self, path: Path) -> GoalSet:
        """A frozen goal file, read once for all environments as long as it stays the same."""
        state = path.stat()
        key = str(path.resolve()), state.st_mtime_ns, state.st_size
        if key not in self._files:
            self._files[key] = read_goals(path, self.__getitem__)
        return self._files[key]

    def verify(self) -> list[str]:
        """What differs from the manifest's checksums: see `damage`."""
        return damage(self.path)


def _open_goals(path: str, kind: str, seed: int) -> GoalSet:
    return Catalog.open(path).goals(kind, seed)


def damage(folder: Path) -> list[str]:
    """One sentence for each file that is not as it was built; empty if all is well."""
    problems = []
    for name, expected in read_manifest(folder).files.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif path.stat().st_size != expected.bytes:
            problems.append(f"{name} has {path.stat().st_size} bytes, not {expected.bytes}")
        elif file_checksum(path) != expected.sha256:
            problems.append(f"{name} has another checksum than when it was built")
    return problems


def file_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: Path) -> Manifest:
    try:
        raw = msgspec.json.decode((folder / "manifest.json").read_bytes())
        if raw.get("format") == FORMAT:
            return msgspec.convert(raw, Manifest)
    except OSError:
        raise CatalogError(
            f"{folder} is not a catalogue (it has no manifest.json); expected a directory made by"
            " `errands catalog build` or `errands catalog generate`."
        ) from None
    except (msgspec.DecodeError, msgspec.ValidationError, AttributeError) as failure:
        raise CatalogError(
            f"{folder}/manifest.json is damaged ({failure}); build the catalogue again."
        ) from None
    raise CatalogError(
        f"{folder} has catalogue format {raw.get('format')!r}, this version reads {FORMAT};"
        " build the catalogue again with `errands catalog build`."
    )
