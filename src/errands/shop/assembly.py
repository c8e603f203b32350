"""Putting a catalogue together, product by product, in the directory it will be.

Everything that would cost time while an agent acts is done here: reading prices and options,
tagging nouns, analysing texts, drawing prices, ordering goals.
"""

import contextlib
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from errands import __version__
from errands.errors import DataError
from errands.shop.catalog import FORMAT, Card, Manifest, Source, file_checksum
from errands.shop.goal_store import Entry, GoalWriter
from errands.shop.index import IndexWriter, collect_terms
from errands.shop.nouns import NounTagger
from errands.shop.product import Product, Unusable, parse_product
from errands.shop.records import RecordsWriter, write_array

__all__ = ["Assembly", "Progress", "Raw", "indexed_text", "source_of"]

Progress = Callable[[str, int, int | None], None]
"""Told the stage, how much of it is done, and how much there is (None: unknown)."""


class Raw(NamedTuple):
    """One product's records in the three original formats."""

    record: Any
    mined: Any
    """Its entry in the attributes file, or None."""
    human: Any
    """Its entries in the file of human instructions, or None."""


def indexed_text(product: Product) -> str:
    """What the search engine sees of a product: of the bullets only the first."""
    options = ", and ".join(
        f"{name}: {', '.join(values)}" for name, values in product.options.items()
    )
    bullet = product.bullets[0] if product.bullets else ""
    return " ".join([product.title, product.description, bullet, options]).lower()


class Assembly:
    """A catalogue on its way; use as a context manager."""

    def __init__(
        self,
        work: Path,
        *,
        tagger: NounTagger,
        known_nouns: Mapping[str, Sequence[str]],
        seed: int,
    ) -> None:
        self._work = work
        self._tagger = tagger
        self._known_nouns = known_nouns
        self._seed = seed
        self._rng = random.Random(seed)
        self._dropped: Counter[str] = Counter()
        self._asins: list[bytes] = []
        self._seen: set[bytes] = set()
        self._tagged = 0
        self.with_mined = 0
        self.with_human = 0
        """Products of which the side files say something."""
        self._encode = msgspec.msgpack.Encoder().encode

    def __enter__(self) -> "Assembly":
        with contextlib.ExitStack() as stack:
            self._scratch = self._work / "scratch"
            self._scratch.mkdir(exist_ok=True)
            (self._work / "goals").mkdir()
            self._goals = {
                kind: stack.enter_context(
                    contextlib.closing(GoalWriter(self._work / "goals" / kind))
                )
                for kind in ("synthetic", "human")
            }
            self._index = stack.enter_context(contextlib.closing(IndexWriter(self._scratch)))
            self._products = stack.enter_context(
                contextlib.closing(RecordsWriter(self._work / "products"))
            )
            self._cards = stack.enter_context(
                contextlib.closing(RecordsWriter(self._work / "cards"))
            )
            self._open = stack.pop_all()
        return self

    def __exit__(self, *failure: object) -> None:
        self._open.close()

    def add(self, raw: Raw) -> None:
        """Take in one product, or count why it cannot be one."""
        try:
            product = parse_product(raw.record, _mined_attributes(raw.mined))
            key = _asin_key(product.asin)
            if key in self._seen:
                raise Unusable("asin seen before")
        except Unusable as reason:
            self._dropped[f"product: {reason}"] += 1
            return
        row = len(self._asins)
        self._seen.add(key)
        self._asins.append(key)
        price = product.price
        if len(product.prices) == 2:
            price = self._rng.uniform(*product.prices)
        product = msgspec.structs.replace(product, price=price, nouns=self._nouns(product))
        self._products.append(self._encode(product))
        self._cards.append(self._encode(Card(product.asin, product.title, product.price_tag)))
        self._index.add(collect_terms([indexed_text(product)]))
        if raw.mined is None:
            self._dropped["synthetic instruction: product not in the attributes file"] += 1
        self.with_mined += raw.mined is not None
        self.with_human += raw.human is not None
        for kind, entry in _entries(raw, self._dropped):
            self._goals[kind].add(row, product, entry)

    def finish(
        self, made: dict[str, Any], sources: tuple[Source, ...], report: Progress
    ) -> Manifest:
        """Write what needs all products: index, goals, manifest."""
        if not self._asins:
            reasons = ", ".join(f"{why} ({count:,})" for why, count in self._dropped.items())
            raise DataError(f"The items file has no usable product: {reasons or 'it is empty'}.")
        self._products.finish()
        self._cards.finish()
        report("writing the index", 0, None)
        asins = np.array(self._asins)
        order = np.argsort(asins).astype(np.uint32)
        numbers = np.empty(len(asins), np.uint32)
        numbers[order] = np.arange(len(asins), dtype=np.uint32)
        self._index.finish(self._work / "index", numbers)
        write_array(self._work / "rows.npy", order)
        write_array(self._work / "asins.npy", asins[order])
        report("ordering goals", 0, None)
        state = self._rng.getstate()
        for goals in self._goals.values():
            # Each goal set draws its caps as if it were the only one, as in the original.
            self._rng.setstate(state)
            goals.finish(self._rng)
        self._open.close()
        shutil.rmtree(self._scratch)
        report("checksums", 0, None)
        if self._known_nouns:
            made = {**made, "products in the nouns file": len(asins) - self._tagged}
        manifest = Manifest(
            format=FORMAT,
            errands=__version__,
            made=made,
            sources=sources,
            seed=self._seed,
            tagger=self._tagger.name if self._tagged else "file",
            products=len(asins),
            goals={kind: len(goals) for kind, goals in self._goals.items()},
            dropped=dict(sorted(self._dropped.items())),
            files={
                str(path.relative_to(self._work)): source_of(path)
                for path in sorted(self._work.rglob("*"))
                if path.is_file()
            },
        )
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        (self._work / "manifest.json").write_bytes(text + b"\n")
        return manifest

    def _nouns(self, product: Product) -> tuple[str, ...]:
        known = self._known_nouns.get(product.asin)
        if known is not None:
            return tuple(known)
        self._tagged += 1
        return tuple(self._tagger.nouns(product.title))


def source_of(path: Path) -> Source:
    """A file's name, size and checksum."""
    return Source(path.name, path.stat().st_size, file_checksum(path))


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
    for held in raw.human if isinstance(raw.human, list) else ():
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
