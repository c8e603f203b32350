"""Building a catalogue, once, from WebShop's own files or from the generator.

Everything that costs time while an agent acts is done here: parsing, tagging nouns, analysing
texts, drawing prices, ordering goals. Products stream through; what is kept in memory is a few
numbers for each.
"""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from errands import __version__
from errands.errors import CatalogError, DataError
from errands.shop.atomic import atomic_directory
from errands.shop.catalog import FORMAT, Card, Manifest, Source, file_checksum
from errands.shop.generator import generate
from errands.shop.goal import SHUFFLE_SEED
from errands.shop.goal_store import Entry, GoalWriter
from errands.shop.index import IndexWriter
from errands.shop.nouns import NounTagger, nouns_from_file, tagger
from errands.shop.product import Product, Unusable, parse_product
from errands.shop.records import RecordsWriter, write_array
from errands.shop.source import JsonStream, stream_array, stream_object

__all__ = ["DEFAULT_TAGGER", "Progress", "build_catalog", "generate_catalog", "indexed_text"]

DEFAULT_TAGGER = "lexicon"

Progress = Callable[[str, int, int | None], None]
"""Told the stage, how much of it is done, and how much there is (None: unknown)."""


class Raw(NamedTuple):
    """One product's records in the three original formats."""

    record: Any
    mined: Any
    """Its entry in the attributes file, or None."""
    human: Any
    """Its entries in the file of human instructions, or None."""


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
    progress: Progress | None = None,
) -> Manifest:
    """Build a catalogue from the original WebShop files."""
    report: Progress = progress or (lambda stage, done, total: None)
    for path in (items, attributes, human, nouns):
        if path is not None and not path.is_file():
            raise DataError(
                f"{path} is not a file; expected a WebShop JSON file."
                " `errands data` says where such files are."
            )
    known = nouns_from_file(nouns) if nouns is not None else {}
    chosen = tagger(tagger_name)
    with atomic_directory(out, replace=replace) as work:
        scratch = work / "scratch"
        scratch.mkdir()
        sources: list[Source] = []
        lookup = _Lookup(scratch / "lookup.sqlite")
        for table, path in (("mined", attributes), ("human", human)):
            if path is not None:
                stream = JsonStream(path)
                lookup.fill(table, stream_object(stream))
                sources.append(Source(path.name, stream.bytes, stream.sha256))
        total = items.stat().st_size
        stream = JsonStream(items, lambda done: report("reading products", done, total))
        rows = (lookup.join(record) for record in stream_array(stream))

        def read() -> tuple[Source, ...]:
            item_source = Source(items.name, stream.bytes, stream.sha256)
            noun_source = [_source(nouns)] if nouns is not None else []
            return (item_source, *sources, *noun_source)

        manifest = _assemble(
            work,
            rows,
            tagger=chosen,
            known_nouns=known,
            seed=seed,
            made=lambda: ({"by": "build"}, read()),
            report=report,
        )
        lookup.close()
    return manifest


def generate_catalog(
    out: Path,
    *,
    products: int,
    seed: int = 1,
    tagger_name: str = DEFAULT_TAGGER,
    replace: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Build a catalogue of our own making; the same numbers give the same bytes anywhere."""
    if products < 1:
        raise CatalogError(f"{products} products were asked for; expected 1 or more.")
    report: Progress = progress or (lambda stage, done, total: None)
    chosen = tagger(tagger_name)

    def rows() -> Iterator[Raw]:
        for number, made in enumerate(generate(products, seed)):
            if number % 256 == 0:
                report("making products", number, products)
            yield Raw(made.record, made.attributes, made.human)
        report("making products", products, products)

    with atomic_directory(out, replace=replace) as work:
        (work / "scratch").mkdir()
        return _assemble(
            work,
            rows(),
            tagger=chosen,
            known_nouns={},
            seed=SHUFFLE_SEED,
            made=lambda: ({"by": "generate", "products": products, "seed": seed}, ()),
            report=report,
        )


def indexed_text(product: Product) -> str:
    """What the search engine sees of a product: of the bullets only the first."""
    options = ", and ".join(
        f"{name}: {', '.join(values)}" for name, values in product.options.items()
    )
    bullet = product.bullets[0] if product.bullets else ""
    return " ".join([product.title, product.description, bullet, options]).lower()


def _assemble(
    work: Path,
    rows: Iterable[Raw],
    *,
    tagger: NounTagger,
    known_nouns: Mapping[str, Sequence[str]],
    seed: int,
    made: Callable[[], tuple[dict[str, Any], tuple[Source, ...]]],
    report: Progress,
) -> Manifest:
    """Write all parts of a catalogue into `work`."""
    (work / "goals").mkdir()
    writers = {kind: GoalWriter(work / "goals" / kind) for kind in ("synthetic", "human")}
    index = IndexWriter(work / "scratch")
    rng = random.Random(seed)
    dropped: Counter[str] = Counter()
    asins: list[bytes] = []
    seen: set[bytes] = set()
    tagged = 0
    encode = msgspec.msgpack.Encoder().encode
    with RecordsWriter(work / "products") as products, RecordsWriter(work / "cards") as cards:
        for raw in rows:
            try:
                product = parse_product(raw.record, _mined_attributes(raw.mined))
                key = _asin_key(product.asin)
                if key in seen:
                    raise Unusable("asin seen before")
            except Unusable as reason:
                dropped[f"product: {reason}"] += 1
                continue
            seen.add(key)
            price = product.price
            if len(product.prices) == 2:
                price = rng.uniform(*product.prices)
            nouns = known_nouns.get(product.asin)
            if nouns is None:
                nouns = tagger.nouns(product.title)
                tagged += 1
            product = msgspec.structs.replace(product, price=price, nouns=tuple(nouns))
            row = len(asins)
            asins.append(key)
            products.append(encode(product))
            cards.append(encode(Card(product.asin, product.title, product.price_tag)))
            index.add(indexed_text(product))
            for kind, entry in _entries(raw, dropped):
                writers[kind].add(row, product, entry)
    if not asins:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in dropped.items())
        raise DataError(f"There is no usable product in the items file: {reasons or 'it is empty'}.")
    report("writing the index", 0, None)
    order = sorted(range(len(asins)), key=asins.__getitem__)
    numbers = np.empty(len(asins), np.uint32)
    numbers[order] = np.arange(len(asins), dtype=np.uint32)
    index.finish(work / "index", numbers)
    write_array(work / "rows.npy", np.array(order, np.uint32))
    write_array(work / "asins.npy", np.array([asins[row] for row in order]))
    report("ordering goals", 0, None)
    state = rng.getstate()
    for writer in writers.values():
        # Each goal set draws its caps as if it were the only one, as in the original.
        rng.setstate(state)
        writer.finish(rng)
    _remove(work / "scratch")
    report("checksums", 0, None)
    how, sources = made()
    how |= {"taken from a nouns file": len(asins) - tagged} if known_nouns else {}
    manifest = Manifest(
        format=FORMAT,
        errands=__version__,
        made=how,
        sources=sources,
        seed=seed,
        tagger=tagger.name if tagged else "file",
        products=len(asins),
        goals={kind: len(writer) for kind, writer in writers.items()},
        dropped=dict(sorted(dropped.items())),
        files={
            str(path.relative_to(work)): _source(path)
            for path in sorted(work.rglob("*"))
            if path.is_file()
        },
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (work / "manifest.json").write_bytes(text + b"\n")
    return manifest


def _entries(raw: Raw, dropped: Counter[str]) -> Iterator[tuple[str, Entry]]:
    """The goal entries of a product; what is unusable is counted."""
    mined = raw.mined if isinstance(raw.mined, Mapping) else {}
    instruction = mined.get("instruction")
    if instruction is not None:
        attributes = _texts(mined.get("instruction_attributes"))
        if isinstance(instruction, str) and attributes:
            yield "synthetic", Entry(instruction, attributes, None)
        else:
            dropped["synthetic instruction: no attributes"] += 1
    for held in raw.human if isinstance(raw.human, Sequence) else ():
        entry = held if isinstance(held, Mapping) else {}
        attributes = _texts(entry.get("instruction_attributes"))
        options = _texts(entry.get("instruction_options"))
        instruction = entry.get("instruction")
        if not isinstance(instruction, str) or attributes is None or options is None:
            dropped["human instruction: not of the expected form"] += 1
        elif not attributes:
            dropped["human instruction: no attributes"] += 1
        else:
            yield "human", Entry(instruction.strip("."), attributes, options)


def _texts(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _mined_attributes(mined: Any) -> tuple[str, ...] | None:
    return _texts(mined.get("attributes")) if isinstance(mined, Mapping) else None


def _asin_key(asin: str) -> bytes:
    key = asin.encode("utf-8", "surrogatepass")
    if b"\0" in key:
        raise Unusable("asin is not an id of at most 10 characters")
    return key


def _source(path: Path) -> Source:
    return Source(path.name, path.stat().st_size, file_checksum(path))


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


class _Lookup:
    """The side files by asin, in a scratch database: the attributes file alone can be 178 MB."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("pragma journal_mode = off")
        self._db.execute("pragma synchronous = off")
        self._encode = msgspec.json.Encoder().encode
        for table in ("mined", "human"):
            self._db.execute(f"create table {table} (asin text primary key, value blob)")

    def fill(self, table: str, members: Iterable[tuple[str, Any]]) -> None:
        self._db.execute("begin")
        # As in a JSON object, the last of equal names counts.
        self._db.executemany(
            f"insert or replace into {table} values (?, ?)",
            ((name, self._encode(value)) for name, value in members),
        )
        self._db.execute("commit")

    def join(self, record: Any) -> Raw:
        asin = record.get("asin") if isinstance(record, Mapping) else None
        return Raw(record, self._find("mined", asin), self._find("human", asin))

    def _find(self, table: str, asin: Any) -> Any:
        if not isinstance(asin, str):
            return None
        found = self._db.execute(f"select value from {table} where asin = ?", (asin,)).fetchone()
        return None if found is None else msgspec.json.decode(found[0])

    def close(self) -> None:
        self._db.close()


