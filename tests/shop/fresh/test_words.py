"""What products are called and how attributes are said, where no word bank knows."""

import pytest

from errands.shop.catalog.catalog import Catalog
from errands.shop.fresh.words import words_for
from errands.shop.product import Product
from errands.shop.rewards.nouns import tagger


def _product(title: str, category: str = "", query: str = "things", *attributes: str) -> Product:
    return Product(
        asin="B1", title=title, description="", bullets=(), prices=(5.0,), options={},
        option_images={}, image="", category="c", query=query, product_category=category,
        attributes=attributes, price=5.0, nouns=tuple(tagger("lexicon").nouns(title)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("title", "category", "query", "names"),
    [
        # The noun that the category ends in, with what stands before it.
        ("Acme Wooden Console Table, 60 Inch", "Home › Console Tables", "tables", "console table"),
        ("100% PURE Glossy Locks: Repair Shampoo (13.5 Fl Oz)", "Hair › Shampoos", "x", "shampoo"),
        # No such noun: the last one before the first break.
        ("Saireed UL Listed 2 Prong Power Cord for JBL Bar", "Audio › Cables", "x", "power cord"),
        # No noun at all: what one searches for.
        ("XJ-900 3000", "", "desk lamps & bulbs", "desk lamps"),
        ("", "", "", "product"),
    ],
)
def test_names(title: str, category: str, query: str, names: str) -> None:
    found = words_for(_product(title, category, query)).names
    assert names in {name.text for name in found}


def test_what_it_has_is_not_what_it_is() -> None:
    said = words_for(_product("Cozy Short Sleeve 3D Graphic Shirt", "", "x", "short sleeve"))
    assert all(name.text.endswith("shirt") for name in said.names)


def test_a_brand_is_no_common_word() -> None:
    assert words_for(_product("Saireed Power Cord")).brand == "Saireed"
    assert words_for(_product("Wooden Table")).brand == ""


@pytest.mark.parametrize(
    ("attribute", "way"),
    [
        ("easy rinse", "easy to rinse"),
        ("lead free", "that is lead free"),
        ("sewing room", "for my sewing room"),
        ("oily skin", "for oily skin"),
        ("shirts men", "for men"),
        ("brushed brass", "made of brushed brass"),
        ("sand proof", "that is sand proof"),
        ("carrying handle", "with a carrying handle"),
        ("deep pockets", "with deep pockets"),
        ("wobble", "with a wobble"),
    ],
)
def test_unknown_attributes(attribute: str, way: str) -> None:
    said = words_for(_product("Acme Chair", "", "x", attribute)).attributes[0]
    assert said.name == attribute
    assert any(way in one for one in (*said.before, *said.clauses))


def test_some_attributes_cannot_be_said() -> None:
    said = words_for(_product("Acme Chair", "", "x", "", " ", "long " * 30, "soft"))
    assert [one.name for one in said.attributes] == ["soft"]


def test_kinds_are_names() -> None:
    said = words_for(
        _product("Acme Oak Table", "Home › Tables", "tables", "sofa table", "oak legs")
    )
    assert said.kinds == {"sofa table"}


def test_the_generators_own_products(little: Catalog) -> None:
    """Their sub-category's names, and the clauses that the word bank has for their attributes."""
    from errands.shop.synthetic.wordbank import wordbank

    bank = wordbank()
    kinds = {kind.query: kind for kind in bank.subcategories}
    for product in little:
        said = words_for(product)
        kind = kinds[product.query]
        assert said.names == kind.names
        assert {*said.attributes} <= {*kind.attributes, *bank.special[kind.category]}
