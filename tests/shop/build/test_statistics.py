"""The paper's figures, counted: against plain Python on real and on odd texts."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.build.hash_counter import HashCounter
from errands.shop.build.statistics import PAPER, Census, catalog_statistics
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import UNMINED

WORD = re.compile(r"\w+(?:['’]\w+)*")


@given(st.lists(st.text(st.sampled_from("ab'’_Z9é你 ✔-.İ\n😀\x00"), max_size=30), max_size=5))
def test_words_are_those_of_the_expression(texts: list[str]) -> None:
    tally, expected = HashCounter(), Counter[str]()
    for text in texts:
        words = WORD.findall(text.lower())
        assert tally.add_words(text) == len(words)
        expected.update(words)
    assert len(tally) == len(expected)
    for times in (0, 1, 2):
        assert tally.more_often_than(times) == sum(n > times for n in expected.values())


def test_a_tally_grows() -> None:
    tally = HashCounter()
    assert tally.add(f"value {n}" for n in range(50_000)) == 50_000
    tally.add(f"value {n}" for n in range(40_000, 90_000))
    tally.add(["", "", "value 1"])
    assert len(tally) == 90_001
    assert tally.more_often_than(1) == 10_002
    assert HashCounter().add([]) == 0


@pytest.mark.parametrize("kind", ["little", "catalog_1k"])
def test_figures_of_a_catalogue(kind: str, request: pytest.FixtureRequest) -> None:
    catalog: Catalog = request.getfixturevalue(kind)
    seen: list[tuple[int, int | None]] = []
    counted = catalog_statistics(catalog, lambda stage, done, total: seen.append((done, total)))
    products = list(catalog)
    texts = [text for p in products for text in (p.title, p.description, *p.bullets)]
    words = Counter(word for text in texts for word in WORD.findall(text.lower()))
    mined = [p.attributes for p in products if p.attributes != UNMINED]
    assert counted.products == len(products) == seen[-1][0] == seen[-1][1]
    assert counted.words_per_product == pytest.approx(words.total() / len(products))
    assert counted.vocabulary == sum(count > 10 for count in words.values())
    values = {value for p in products for held in p.options.values() for value in held}
    assert counted.option_values == len(values)
    assert counted.options_per_product == sum(len(p.options) for p in products) / len(products)
    assert counted.attributes == len({word for held in mined for word in held})
    assert counted.attributes_per_product == sum(map(len, mined)) / len(products)
    assert counted.subcategories == len({p.query for p in products})
    assert sum(counted.categories.values()) == pytest.approx(1)
    assert counted.human_goals == len(catalog.goals("human"))
    assert 10 < counted.words_per_human_goal < 25
    assert 50 < counted.human_vocabulary < counted.words_per_human_goal * counted.human_goals


def test_parts_are_counted_like_the_whole(little: Catalog) -> None:
    products = list(little)
    said = [words for _, words in little.goals("human").entries()[0]]
    census = Census()
    for part in (slice(0, 100), slice(100, None)):
        census.add_products(products[part])
        census.add_instructions(said[part])
    assert census.statistics(len(said)) == catalog_statistics(little)


def test_nothing_has_figures_too() -> None:
    empty = Census().statistics(0)
    assert (empty.products, empty.words_per_product, empty.words_per_human_goal) == (0, 0, 0)
    assert PAPER.products == 1_181_436
