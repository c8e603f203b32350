"""Digests: all that a catalogue keeps of a chunk of products, and why others are left out."""

import pickle
from typing import Any

import msgspec
import zstandard

from errands.shop.build.chunk import REASONS, Raw, Recipe, build_chunk, samples
from errands.shop.catalog.goal_store import Entry
from errands.shop.product import Card, Product
from errands.shop.records import Packed

RECIPE = Recipe("lexicon", None, b"")


def record(asin: Any, **changes: Any) -> dict[str, Any]:
    return {
        "asin": asin, "name": "Red Lamp", "full_description": "A lamp.",
        "small_description": ["bright"], "pricing": "$10.00 - $30.00",
        "customization_options": {"Color": [{"value": "Red"}, {"value": "Blue"}]},
        "category": "garden", "query": "Lamps", "product_category": "Home", "images": ["x.jpg"],
        **changes,
    }  # fmt: skip


MINED = {"attributes": ["soft"], "instruction": "Find", "instruction_attributes": ["soft", "new"]}
RAWS = [
    Raw(record("B1"), MINED, None),
    Raw(record("B\0"), None, None),
    Raw(record(5), None, None),
    Raw(record("B2", pricing="$5"), None, [{"instruction": "x", "instruction_attributes": ["a"],
                                           "instruction_options": []}, 7]),
]  # fmt: skip


def cut(records: Packed) -> list[bytes]:
    ends = records.lengths.cumsum()
    return [records.data[end - n : end] for n, end in zip(records.lengths, ends, strict=True)]


def test_a_chunk() -> None:
    made = pickle.loads(pickle.dumps(build_chunk(RAWS, RECIPE)))
    assert made.asins.tolist() == [b"B1", b"B2"]
    assert made.dropped == {"product: asin is not an id of at most 10 characters": 2}
    expand = zstandard.ZstdDecompressor().decompress
    products = [msgspec.msgpack.decode(expand(held), type=Product) for held in cut(made.products)]
    assert [product.nouns for product in products] == [("red", "lamp")] * 2
    assert products[0].price == 10.0
    assert products[0].attributes == ("soft",)
    cards = [msgspec.msgpack.decode(held, type=Card) for held in cut(made.cards)]
    assert cards[0] == Card("B1", "Red Lamp", "$10.0 to $30.0")
    assert made.prices.tolist() == [10.0, 5.0]
    assert made.ranges.tolist() == [0]
    assert made.range_ends.tolist() == [30.0]
    assert "bright" in made.terms.terms
    assert len(made.terms.counts) == 2
    synthetic, human = made.entries
    assert synthetic.places.tolist() == [0]
    assert synthetic.choices.tolist() == [2]
    assert [synthetic.names[number] for number in synthetic.ids] == ["soft", "new"]
    assert human.places.tolist() == [1]
    assert msgspec.msgpack.decode(human.records.data, type=Entry).instruction == "x"
    noted = zip(made.notes.tolist(), (REASONS[reason] for reason in made.reasons), strict=True)
    assert list(noted) == [(1, REASONS[0]), (1, REASONS[2])]
    assert made.mined.tolist() == [True, False]
    assert made.human.tolist() == [False, True]
    assert made.tagged.all()


def test_the_checksum_is_of_what_a_record_holds() -> None:
    plain = build_chunk(RAWS, RECIPE)
    dictionary = zstandard.train_dictionary(2000, samples(RAWS, RECIPE) * 300).as_bytes()
    helped = build_chunk(RAWS, Recipe("lexicon", None, dictionary))
    assert helped.products.data != plain.products.data
    assert helped.contents.tolist() == plain.contents.tolist()


def test_no_product_at_all() -> None:
    made = build_chunk([Raw("x", None, None)], RECIPE)
    assert len(made.asins) == 0
    assert made.dropped == {"product: record is not an object": 1}
