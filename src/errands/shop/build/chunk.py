"""What can be made of some products without knowing the others: any process can do it.

`build_chunk` reads the records of a chunk of products and gives all that a catalogue keeps of them
in a few blobs and arrays, ready to be sent through a pipe: compressed records, cards, search
terms, goal entries. `CatalogWriter` puts chunks together in order.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.shop.build.side_file import SideFile
from errands.shop.catalog.compression import compressor
from errands.shop.catalog.goal_store import MOST_GOALS, Entries, Entry
from errands.shop.goals import option_choices
from errands.shop.product import Card, Product, Unusable, parse_product
from errands.shop.records import Packed
from errands.shop.rewards.nouns import tagger
from errands.shop.search.index import TermChunk
from errands.shop.search.terms import collect_terms

__all__ = [
    "KINDS",
    "REASONS",
    "BuiltChunk",
    "Raw",
    "Recipe",
    "build_chunk",
    "indexed_text",
    "samples",
]

KINDS: Final = ("synthetic", "human")
"""The goal sets of a catalogue."""

REASONS: Final = (
    "synthetic instruction: product not in the attributes file",
    "synthetic instruction: no attributes",
    "human instruction: not of the expected form",
    "human instruction: no attributes",
)
"""Why a product gives no goal; noted by number."""
_NOT_MINED, _NO_MINED_ATTRIBUTES, _BAD_FORM, _NO_ATTRIBUTES = range(len(REASONS))


LIKENESS: Final = 64
"""Bytes of a product's likeness."""


class Raw(NamedTuple):
    """One product's records in the three original formats."""

    record: Any
    mined: Any
    """Its entry in the attributes file, or None."""
    human: Any
    """Its entries in the file of human instructions, or None."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How products are read; the same for all chunks of a catalogue."""

    tagger: str
    nouns: SideFile | None
    """Nouns that are known by asin; the tagger finds the others."""
    dictionary: bytes


class BuiltChunk(NamedTuple):
    """What a catalogue keeps of a chunk of products, in load order."""

    asins: NDArray[np.bytes_]
    products: Packed
    """Compressed."""
    contents: NDArray[np.bytes_]
    """A checksum of each record before it was compressed."""
    cards: Packed
    likeness: NDArray[np.bytes_]
    """Texts by which products that are alike come together when they are sorted."""
    terms: TermChunk
    prices: NDArray[np.float64]
    """Of a range the lower end: what it costs is drawn later."""
    ranges: NDArray[np.uint32]
    """Places of the products with a price range."""
    range_ends: NDArray[np.float64]
    """The higher ends of these ranges."""
    entries: tuple[Entries, ...]
    """Goal entries of each kind."""
    notes: NDArray[np.uint32]
    """Places of products, one for each reason that follows."""
    reasons: NDArray[np.uint8]
    mined: NDArray[np.bool_]
    """Whether the attributes file says something of the product."""
    human: NDArray[np.bool_]
    tagged: NDArray[np.bool_]
    """Whether the tagger was asked for the product's nouns."""
    dropped: dict[str, int]
    """Records that are no products, by reason."""


def indexed_text(product: Product) -> str:
    """What the search engine sees of a product: of the bullets only the first."""
    options = ", and ".join(
        [f"{name}: {', '.join(values)}" for name, values in product.options.items()]
    )
    bullet = product.bullets[0] if product.bullets else ""
    return " ".join((product.title, product.description, bullet, options)).lower()


def _likeness(product: Product) -> bytes:
    """What kind of thing a product is, then how it is called."""
    text = f"{product.category}\n{product.query}\n{product.title}"
    return text[:LIKENESS].encode("utf-8", "surrogatepass")[:LIKENESS]


def build_chunk(raws: Sequence[Raw], recipe: Recipe) -> BuiltChunk:
    """Build a chunk of products."""
    dropped: Counter[str] = Counter()
    usable, tagged = _usable(raws, recipe, dropped)
    encode = msgspec.msgpack.Encoder().encode
    compress = _compressor(recipe.dictionary)
    records: list[bytes] = []
    cards: list[bytes] = []
    ranges, range_ends = array("I"), array("d")
    notes, reasons = array("I"), array("B")
    collected = [_Collected(), _Collected()]
    for place, (product, raw) in enumerate(usable):
        records.append(encode(product))
        cards.append(encode(Card(product.asin, product.title, product.price_tag)))
        if len(product.prices) == 2:
            ranges.append(place)
            range_ends.append(product.prices[1])
        for kind, made in _entries(raw):
            if isinstance(made, Entry):
                choices = 1
                if made.options is None:
                    # One more than there may be is enough to be refused.
                    choices = min(option_choices(product.options), MOST_GOALS + 1)
                collected[kind].add(place, made, choices, encode(made))
            else:
                notes.append(place)
                reasons.append(made)
    return BuiltChunk(
        asins=np.array(
            [product.asin.encode("utf-8", "surrogatepass") for product, _ in usable], "S"
        ),
        products=Packed.of([compress(record) for record in records]),
        contents=np.frombuffer(b"".join(hashlib.sha256(one).digest() for one in records), "S32"),
        cards=Packed.of(cards),
        likeness=np.array([_likeness(product) for product, _ in usable], f"S{LIKENESS}"),
        terms=collect_terms(indexed_text(product) for product, _ in usable),
        prices=np.array([product.price for product, _ in usable], np.float64),
        ranges=np.array(ranges, np.uint32),
        range_ends=np.array(range_ends, np.float64),
        entries=tuple(kind.entries() for kind in collected),
        notes=np.array(notes, np.uint32),
        reasons=np.array(reasons, np.uint8),
        mined=np.array([raw.mined is not None for _, raw in usable], np.bool_),
        human=np.array([raw.human is not None for _, raw in usable], np.bool_),
        tagged=np.array(tagged, np.bool_),
        dropped=dict(dropped),
    )


def samples(raws: Iterable[Raw], recipe: Recipe) -> list[bytes]:
    """Records as they are before they are compressed, to train a dictionary on."""
    usable, _ = _usable(raws, recipe, Counter())
    encode = msgspec.msgpack.Encoder().encode
    return [encode(product) for product, _ in usable]


def _usable(
    raws: Iterable[Raw], recipe: Recipe, dropped: Counter[str]
) -> tuple[list[tuple[Product, Raw]], list[bool]]:
    """The products among some records, and whether it was the tagger that found their nouns.

    The other records are counted under their reasons.
    """
    usable: list[tuple[Product, Raw]] = []
    for raw in raws:
        try:
            product = parse_product(raw.record, _mined_attributes(raw.mined))
            if "\0" in product.asin:
                raise Unusable("asin is not an id of at most 10 characters")
        except Unusable as reason:
            dropped[f"product: {reason}"] += 1
        else:
            usable.append((product, raw))
    known: list[Any] = [None] * len(usable)
    if recipe.nouns is not None:
        known = recipe.nouns.find([product.asin for product, _ in usable])
    find = _tagger(recipe.tagger).nouns
    for (product, _), said in zip(usable, known, strict=True):
        nouns = find(product.title) if said is None else [noun.lower() for noun in said]
        # Made a moment ago and nobody else's yet.
        msgspec.structs.force_setattr(product, "nouns", tuple(nouns))
    return usable, [said is None for said in known]


_tagger = lru_cache(4)(tagger)
_compressor = lru_cache(4)(compressor)


class _Collected:
    """The entries of one kind in a chunk, on their way."""

    def __init__(self) -> None:
        self._places, self._choices = array("I"), array("Q")
        self._names: dict[str, int] = {}
        self._ids, self._counts = array("I"), array("I")
        self._records: list[bytes] = []

    def add(self, place: int, entry: Entry, choices: int, record: bytes) -> None:
        names = self._names
        self._places.append(place)
        self._choices.append(choices)
        self._ids.extend([names.setdefault(name, len(names)) for name in entry.attributes])
        self._counts.append(len(entry.attributes))
        self._records.append(record)

    def entries(self) -> Entries:
        return Entries(
            Packed.of(self._records),
            np.array(self._places, np.uint32),
            np.array(self._choices, np.uint64),
            list(self._names),
            np.array(self._ids, np.uint32),
            np.array(self._counts, np.uint32),
        )


def _entries(raw: Raw) -> Iterator[tuple[int, Entry | int]]:
    """The goal entries of a product, or why there is none, by kind."""
    if raw.mined is None:
        yield 0, _NOT_MINED
    mined = raw.mined if isinstance(raw.mined, Mapping) else {}
    instruction = mined.get("instruction")
    if instruction is not None:
        attributes = _texts(mined.get("instruction_attributes"))
        if isinstance(instruction, str) and attributes:
            yield 0, Entry(instruction, attributes, None)
        else:
            yield 0, _NO_MINED_ATTRIBUTES
    for one in raw.human if isinstance(raw.human, list) else ():
        entry = one if isinstance(one, Mapping) else {}
        attributes = _texts(entry.get("instruction_attributes"))
        options = _texts(entry.get("instruction_options"))
        instruction = entry.get("instruction")
        if not isinstance(instruction, str) or attributes is None or options is None:
            yield 1, _BAD_FORM
        elif not attributes:
            yield 1, _NO_ATTRIBUTES
        else:
            yield 1, Entry(instruction.strip("."), attributes, options)


def _texts(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _mined_attributes(mined: Any) -> tuple[str, ...] | None:
    return _texts(mined.get("attributes")) if isinstance(mined, Mapping) else None
