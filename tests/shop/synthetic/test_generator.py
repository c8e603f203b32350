"""Generated products: the same everywhere, readable by the shop, and with the right statistics.

The statistics are of the difficulty `easy`; test_difficulty.py has what the others change.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from errands.shop.build.statistics import PAPER, Census
from errands.shop.product import Product, parse_product
from errands.shop.synthetic.difficulty import DIFFICULTIES, EASY, Difficulty
from errands.shop.synthetic.generator import (
    MOST_PRODUCTS,
    GeneratedProduct,
    generate,
    human_goals,
    make_product,
)
from errands.shop.synthetic.wordbank import wordbank

RECORDED = "a41221e8be7ebbd0d01e402cc76fff81d1916ecb13da7241483389c416ecd78a"
"""The first 200 products of the catalogue of 5,000 with seed 1. A change moves published scores."""

FULL = 1_181_436

DIGEST = """
import hashlib, json
from errands.shop.synthetic.difficulty import EASY
from errands.shop.synthetic.generator import make_product
made = [make_product(n, seed=1, products=5000, difficulty=EASY) for n in range(200)]
rows = [[one.record, one.attributes, one.human] for one in made]
print(hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def made() -> list[GeneratedProduct]:
    return list(generate(5000, seed=1, difficulty=EASY))


@pytest.fixture(scope="module")
def products(made: list[GeneratedProduct]) -> list[Product]:
    return [parse_product(one.record, one.attributes["attributes"]) for one in made]


def test_the_same_products_as_ever(made: list[GeneratedProduct]) -> None:
    rows = [[one.record, one.attributes, one.human] for one in made[:200]]
    text = json.dumps(rows, ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == RECORDED


def test_the_same_products_with_other_hashes() -> None:
    environment = dict(os.environ, PYTHONHASHSEED="4321", LC_ALL="C")
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env=environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == RECORDED


def test_order_does_not_matter(made: list[GeneratedProduct]) -> None:
    for number in (4999, 0, 2500, 17):
        assert make_product(number, seed=1, products=5000, difficulty=EASY) == made[number]


def test_seeds_differ(made: list[GeneratedProduct]) -> None:
    other = make_product(0, seed=2, products=5000, difficulty=EASY)
    assert other.record["asin"] != made[0].record["asin"]
    assert other.record["name"] != made[0].record["name"]


def test_numbers_outside_the_catalogue_are_refused() -> None:
    with pytest.raises(ValueError, match="product 5 is not in a catalogue of 5 products"):
        make_product(5, seed=1, products=5)
    with pytest.raises(ValueError, match="a catalogue has 1 to"):
        make_product(0, seed=1, products=MOST_PRODUCTS + 1)
    with pytest.raises(ValueError, match="but 0 were asked for"):
        make_product(0, seed=1, products=0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 60, 1000])
@pytest.mark.parametrize("difficulty", DIFFICULTIES.values(), ids=DIFFICULTIES)
def test_small_catalogues(size: int, difficulty: Difficulty) -> None:
    made = list(generate(size, seed=3, difficulty=difficulty))
    assert len({one.record["asin"] for one in made}) == size
    assert sum(len(one.human) for one in made) == human_goals(size)
    for one in made:
        parse_product(one.record, one.attributes["attributes"])


def test_ids_look_real_and_are_distinct(made: list[GeneratedProduct]) -> None:
    asins = [one.record["asin"] for one in made]
    assert len(set(asins)) == len(asins)
    assert all(re.fullmatch(r"B0[789][0-9A-Z]{7}", asin) for asin in asins)
    assert asins != sorted(asins)


def test_records_have_the_original_form(made: list[GeneratedProduct]) -> None:
    for one in made:
        record = one.record
        assert re.fullmatch(r"(\$[\d,]+\.\d\d( - \$[\d,]+\.\d\d)?)?", record["pricing"])
        assert isinstance(record["small_description"], list)
        assert 3 <= len(record["product_category"].split(" › ")) <= 5
        assert record["images"]
        assert all(image.startswith("picture:") for image in record["images"])
        assert "  " not in record["name"]
        assert not re.search(r"[{}]|%\(|%s", json.dumps(record["name"]))


def test_values_of_a_group_are_distinct(products: list[Product]) -> None:
    for product in products:
        for values in product.options.values():
            assert len(set(values)) == len(values) > 1


def test_human_goals_ask_for_what_exists(
    made: list[GeneratedProduct], products: list[Product]
) -> None:
    for one, product in zip(made, products, strict=True):
        known = {f"{name}: {value}" for name, values in product.options.items() for value in values}
        bare = {value for values in product.options.values() for value in values}
        for goal in one.human:
            assert goal["asin"] == product.asin
            assert goal["instruction_attributes"]
            assert set(goal["instruction_attributes"]) <= set(product.attributes)
            assert goal["attributes"] == list(product.attributes)
            assert set(goal["instruction_options"]) <= bare
            assert goal["options"] == [""] or set(goal["options"]) <= known
            assert goal["instruction"] == goal["instruction"].lower().strip()
            assert "{" not in goal["instruction"]


def test_synthetic_instructions_name_their_attributes(made: list[GeneratedProduct]) -> None:
    for one in made:
        if "instruction" in one.attributes:
            text = one.attributes["instruction"]
            assert text.startswith("Find me ")
            assert one.record["query"] in text
            assert one.attributes["instruction_attributes"]
            assert all(word in text for word in one.attributes["instruction_attributes"])


def test_the_bank_has_the_size_of_the_paper() -> None:
    bank = wordbank()
    assert len(bank.attributes) == 670
    assert len(bank.subcategories) == 313
    assert len({kind.query for kind in bank.subcategories}) == 313
    assert {word.name for kind in bank.subcategories for word in kind.attributes} == set(
        bank.attributes
    )
    assert len(set(bank.phrasing["templates"])) >= 60


def test_invented_words_are_distinct() -> None:
    coinage = wordbank().coinage
    words = [coinage.word(pool, rank) for pool in coinage.ends for rank in range(60_000)]
    assert len(set(words)) == len(words)


def test_statistics_of_the_default_catalogue(
    made: list[GeneratedProduct], products: list[Product]
) -> None:
    goals = [goal for one in made for goal in one.human]
    assert len(goals) == human_goals(5000) >= 2000
    combinations = 0
    for one, product in zip(made, products, strict=True):
        if "instruction" in one.attributes:
            count = 1
            for values in product.options.values():
                count *= len(values)
            combinations += count
    assert combinations >= 3000
    words = [len(goal["instruction"].split()) for goal in goals]
    assert sum(words) / len(words) == pytest.approx(15.9, rel=0.1)
    assert sum(bool(goal["instruction_options"]) for goal in goals) > len(goals) / 2
    attributes = sum(len(product.attributes) for product in products)
    assert attributes / len(products) == pytest.approx(3.1, rel=0.1)
    assert len({product.query for product in products}) == 313
    assert len({product.title for product in products}) > 4990
    shares = Counter(product.category for product in products)
    assert min(shares.values()) > 500
    empty = sum(not product.description for product in products)
    assert empty / len(products) == pytest.approx(0.3, abs=0.05)


def test_statistics_at_full_size() -> None:
    """A sample has the averages; what must be counted whole is in docs/guides/catalogs.md."""
    census = Census()
    for start in range(0, FULL, 400_000):
        made = [
            make_product(n, seed=1, products=FULL, difficulty=EASY)
            for n in range(start, start + 400_000, 400)
            if n < FULL
        ]
        census.add_products(parse_product(m.record, m.attributes["attributes"]) for m in made)
    counted = census.statistics(0)
    assert counted.words_per_product == pytest.approx(PAPER.words_per_product, rel=0.03)
    assert counted.options_per_product == pytest.approx(PAPER.options_per_product, rel=0.05)
    assert counted.attributes_per_product == pytest.approx(PAPER.attributes_per_product, rel=0.03)
    assert counted.subcategories == PAPER.subcategories
    assert human_goals(FULL) == PAPER.human_goals


def test_attributes_can_be_discovered(made: list[GeneratedProduct]) -> None:
    """Most attributes are said in the text, word for word or nearly."""
    said = total = 0
    for one in made[:1000]:
        record = one.record
        text = " ".join((record["name"], record["full_description"], *record["small_description"]))
        text = text.lower()
        for attribute in one.attributes["attributes"]:
            total += 1
            said += all(word.rstrip("s") in text for word in attribute.split())
    assert 0.75 < said / total < 0.99


def test_near_twins_exist(made: list[GeneratedProduct]) -> None:
    """Another product of the same kind has the same attributes, for many but not for all."""
    cores = Counter(
        (one.record["query"], tuple(sorted(one.attributes["attributes"])))
        for one in made
        if one.attributes["attributes"]
    )
    shared = sum(count for count in cores.values() if count > 1)
    assert 0.2 < shared / sum(cores.values()) < 0.9
    assert max(cores.values()) < 20
