"""Building a catalogue, once, from WebShop's own files or from the generator.

Products stream through; what is kept in memory is a few numbers for each.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from errands.errors import CatalogError, DataError
from errands.shop.assembly import Assembly, Progress, Raw, source_of
from errands.shop.atomic import atomic_directory
from errands.shop.catalog import Manifest, Source
from errands.shop.generator import generate
from errands.shop.goal import SHUFFLE_SEED
from errands.shop.nouns import nouns_from_file, tagger
from errands.shop.source import JsonStream, stream_array, stream_object

__all__ = ["DEFAULT_TAGGER", "build_catalog", "generate_catalog"]

DEFAULT_TAGGER = "lexicon"


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


def build_catalog(
    out: Path,
    *,
    items: Path,
    attributes: Path,
    human: Path | None = None,
    nouns: Path | None = None,
    tagger_name: str = DEFAULT_TAGGER,
    seed: int = SHUFFLE_SEED,
    replace: bool = False,
    progress: Progress = _silent,
) -> Manifest:
    """Build a catalogue from the original WebShop files."""
    for path in (items, attributes, human, nouns):
        if path is not None and not path.is_file():
            raise DataError(
                f"{path} is not a file; expected a WebShop JSON file."
                " `errands data` says where such files are."
            )
    known = {} if nouns is None else nouns_from_file(nouns)
    chosen = tagger(tagger_name)
    with atomic_directory(out, replace=replace) as work, contextlib.ExitStack() as stack:
        assembly = stack.enter_context(Assembly(work, tagger=chosen, known_nouns=known, seed=seed))
        lookup = stack.enter_context(contextlib.closing(_Lookup(work / "scratch" / "lookup")))
        sides = [
            lookup.fill(table, path)
            for table, path in (("mined", attributes), ("human", human))
            if path is not None
        ]
        total = items.stat().st_size
        stream = JsonStream(items, lambda done: progress("reading products", done, total))
        for record in stream_array(stream):
            assembly.add(lookup.join(record))
        for path, matched in ((attributes, assembly.with_mined), (human, assembly.with_human)):
            if path is not None and path.stat().st_size > 2 and not matched:
                raise DataError(
                    f"{path} says nothing about any of the products in {items}; expected a JSON"
                    " object with their asins as names."
                )
        products = Source(items.name, stream.bytes, stream.sha256)
        tagged = [] if nouns is None else [source_of(nouns)]
        return assembly.finish({"by": "build"}, (products, *sides, *tagged), progress)


def generate_catalog(
    out: Path,
    *,
    products: int,
    seed: int = 1,
    tagger_name: str = DEFAULT_TAGGER,
    replace: bool = False,
    progress: Progress = _silent,
) -> Manifest:
    """Build a catalogue of our own making; the same numbers give the same bytes anywhere."""
    if products < 1:
        raise CatalogError(f"{products} products were asked for; expected 1 or more.")
    chosen = tagger(tagger_name)
    with (
        atomic_directory(out, replace=replace) as work,
        Assembly(work, tagger=chosen, known_nouns={}, seed=SHUFFLE_SEED) as assembly,
    ):
        for number, made in enumerate(generate(products, seed), 1):
            assembly.add(Raw(made.record, made.attributes, made.human))
            if number % 256 == 0 or number == products:
                progress("making products", number, products)
        return assembly.finish({"by": "generate", "products": products, "seed": seed}, (), progress)


class _Lookup:
    """The side files by asin, in a scratch database: the attributes file alone can be 178 MB."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("pragma journal_mode = off")
        self._db.execute("pragma synchronous = off")
        for table in ("mined", "human"):
            self._db.execute(f"create table {table} (asin text primary key, value blob)")

    def fill(self, table: str, path: Path) -> Source:
        """Read a side file into a table; of equal names the last counts, as in JSON."""
        stream = JsonStream(path)
        members: Iterable[tuple[str, Any]] = stream_object(stream)
        encode = msgspec.json.Encoder().encode
        self._db.execute("begin")
        self._db.executemany(
            f"insert or replace into {table} values (?, ?)",
            ((name, encode(value)) for name, value in members),
        )
        self._db.execute("commit")
        return Source(path.name, stream.bytes, stream.sha256)

    def join(self, record: Any) -> Raw:
        """A product's record with what the side files say of it."""
        asin = record.get("asin") if isinstance(record, Mapping) else None
        return Raw(record, self._find("mined", asin), self._find("human", asin))

    def _find(self, table: str, asin: Any) -> Any:
        if not isinstance(asin, str):
            return None
        found = self._db.execute(f"select value from {table} where asin = ?", (asin,)).fetchone()
        return None if found is None else msgspec.json.decode(found[0])

    def close(self) -> None:
        self._db.close()
