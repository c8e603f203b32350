"""Attributes given to products, and instructions."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.errors import CatalogError, DataError
from errands.mining.assignment import AttributeAssignment
from errands.mining.own_shop import give_out
from errands.shop.build.builder import build_catalog
from errands.shop.catalog.catalog import Catalog

USES = {
    "easy clean": "which is",
    "lead free": "which is",
    "wide handle": "has",
    "dry skin": "good for",
    "coffee mug": "is a",
    "dishwasher": "has",
}


def _record(asin: str, title: str, *bullets: str, **more: Any) -> dict[str, Any]:
    return {
        "asin": asin,
        "name": title,
        "full_description": "",
        "small_description": list(bullets),
        "pricing": "$5.00",
        "customization_options": "",
        "category": "kitchen",
        "query": " Mugs ",
        "product_category": "Home › Mugs",
        "images": ["https://a.example/x.jpg"],
        **more,
    }


def test_attributes_are_found_as_they_were_mined() -> None:
    given = AttributeAssignment(USES)
    record = _record(
        "A", "Coffee mug", "Easy to clean, a wide 3 handle", "easy. clean", "EASY-CLEAN"
    )
    assert given.of(record) == ["coffee mug", "easy clean", "wide handle"]
    assert given.of(_record("B", "Clean and easy", "leads to freedom")) == []
    assert AttributeAssignment(USES).of(_record("C", "Into the dishwasher")) == ["dishwasher"]
    assert AttributeAssignment(USES, fields=("title",)).of(record) == ["coffee mug"]


def test_an_instruction_in_the_words_of_synthetic_goals() -> None:
    given = AttributeAssignment(USES)
    entry = given.entry(
        _record("A", "Coffee mug", "For dry skin", "A wide handle", "Lead free", "easy to clean")
    )
    assert entry["attributes"] == [
        "coffee mug",
        "dry skin",
        "wide handle",
        "lead free",
        "easy clean",
    ]
    assert entry["instruction"] == "Find me lead free mugs with wide handle for dry skin"
    # What a product is, nobody asks for; and nobody asks for everything.
    assert entry["instruction_attributes"] == ["lead free", "wide handle", "dry skin"]


def test_an_instruction_says_it_as_the_product_does() -> None:
    given = AttributeAssignment(
        {**USES, "star rated": "which is", "handmade nepal": "which is"}, most=9
    )
    entry = given.entry(
        _record("A", "5 Star Rated", "Easy to clean", "Lead-free", "Handmade in Nepal")
    )
    assert (
        entry["instruction"]
        == "Find me 5 star rated, easy to clean, lead-free, handmade in nepal mugs"
    )
    assert entry["instruction_attributes"] == [
        "star rated",
        "easy clean",
        "lead free",
        "handmade nepal",
    ]


def test_nobody_asks_for_what_the_kind_says_or_for_half_of_two_things() -> None:
    uses = {"coffee mug": "has", "dust air": "has", "dry skin": "good for", "dry hair": "good for"}
    given = AttributeAssignment(uses, least=1)
    said = given.entry(_record("A", "Coffee mug", "Filters dust and air", "dry skin", "dry hair"))
    # "mugs" is the kind, dust and air are two things, and dry was asked for.
    assert said["instruction_attributes"] == ["dry skin"]
    assert said["attributes"] == ["coffee mug", "dust air", "dry skin", "dry hair"]
    said = given.entry(_record("B", "Mug", "dust and air", "has dust-air"))
    assert said["instruction"] == "Find me mugs with dust-air"


def test_too_little_and_too_much_to_ask_for() -> None:
    one = _record("A", "Coffee mug, easy to clean")
    assert AttributeAssignment(USES).entry(one) == {"attributes": ["coffee mug", "easy clean"]}
    assert (
        AttributeAssignment(USES, least=1).entry(one)["instruction"] == "Find me easy to clean mugs"
    )
    rich = _record("A", "Easy to clean, lead free, wide handle, dry skin")
    assert AttributeAssignment(USES, most=2).entry(rich)["instruction_attributes"] == [
        "easy clean",
        "lead free",
    ]
    assert "instruction" not in AttributeAssignment(USES).entry({**rich, "query": " "})
    assert "instruction" not in AttributeAssignment(USES).entry({**rich, "query": None})


def test_it_counts() -> None:
    given = AttributeAssignment(USES)
    records = [
        _record("A", "easy to clean, lead free"),
        _record("B", "lead free"),
        _record("C", "x"),
    ]
    assert [asin for asin, _ in given.entries(records)] == ["A", "B", "C"]
    made = given.made
    assert (made.products, made.with_attributes, made.with_instruction) == (3, 2, 1)
    assert made.given == 3
    assert made.used == {"easy clean": 1, "lead free": 2}


def test_the_file_builds_a_catalogue(tmp_path: Path) -> None:
    items, out = tmp_path / "items.json", tmp_path / "attributes.json"
    items.write_text(
        json.dumps([_record("A", "Easy to clean, lead free mug"), _record("B", "A mug")])
    )
    give_out(items, USES, out)
    build_catalog(tmp_path / "shop", items=items, attributes=out)
    catalog = Catalog.open(tmp_path / "shop")
    goals = catalog.goals("synthetic")
    assert len(goals) == 1
    assert goals[0].instruction_text.startswith("Find me easy to clean, lead free mugs")
    assert catalog["A"].attributes == ("easy clean", "lead free")
    assert catalog["B"].attributes == ()


def test_nothing_is_replaced_unasked_and_nothing_kept_is_said(tmp_path: Path) -> None:
    items, out = tmp_path / "items.json", tmp_path / "attributes.json"
    items.write_text(json.dumps([_record("A", "Easy to clean")]))
    out.write_text("mine")
    with pytest.raises(CatalogError, match="--force"):
        give_out(items, USES, out)
    assert out.read_text() == "mine"
    with pytest.raises(DataError, match="errands mine review"):
        give_out(items, {}, out, replace=True)


def test_it_asks_for_what_a_product_has_not_for_what_it_mentions() -> None:
    uses = {"damp cloth": "has", "steel frame": "has", "garden furniture": "has"}
    ranks = dict.fromkeys(uses, 1)
    given = AttributeAssignment(uses, least=1, ranks=ranks)
    said = given.entry(
        _record(
            "A", "Mug", "Wipe with a damp cloth", "matches garden furniture", "has a steel frame"
        )
    )
    assert said["instruction"] == "Find me mugs with steel frame"
    # They stay attributes: a search for them may find it.
    assert said["attributes"] == ["damp cloth", "garden furniture", "steel frame"]


def test_labels_and_lists_of_ingredients_are_not_asked_for() -> None:
    uses = {"leaf extract": "has", "cpu family": "has"}
    given = AttributeAssignment(uses, least=1, ranks=dict.fromkeys(uses, 1))
    listed = ", ".join(
        ["aqua", "glycerin", "parfum", "citric acid", "kaolin"] * 3 + ["leaf extract"]
    )
    assert "instruction" not in given.entry(_record("A", "Mug", listed, "CPU family: Zed"))
    assert "instruction" in given.entry(_record("B", "Mug", "leaf extract", "With a cpu family"))


def test_for_what_lasts_is_for_nothing() -> None:
    uses = {"long lasting": "which is", "easy assembly": "which is"}
    given = AttributeAssignment(uses, least=1)
    said = given.entry(_record("A", "Mug", "for long-lasting color", "for easy assembly"))
    assert said["instruction"] == "Find me long-lasting mugs for easy assembly"


def test_a_word_on_its_own_must_be_said_of_the_product() -> None:
    given = AttributeAssignment({"wooden": "which is"}, least=1)
    assert given.entry(_record("A", "Wooden mug"))["instruction"] == "Find me wooden mugs"
    assert given.entry(_record("B", "Mug", "A wooden mug for tea"))["instruction"]
    assert "instruction" not in given.entry(_record("C", "Stand for wooden mugs", query="Stands"))
    assert "instruction" not in given.entry(_record("D", "Mug", "goes with wooden trays"))


def test_food_for_wet_dogs_is_wet_food() -> None:
    given = AttributeAssignment({"wet dog": "good for", "dry skin": "good for"}, least=1)
    assert "instruction" not in given.entry(_record("A", "Wet dog food"))
    assert given.entry(_record("B", "Dry skin soap"))["instruction"] == "Find me mugs for dry skin"
