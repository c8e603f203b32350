"""Splits that share neither product nor words."""

import pytest

from errands.errors import GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import ListedGoals, price_phrase, split_range
from errands.shop.splits import DISJOINT, side, split_indices


def _words(goal):
    return goal.instruction_text.removesuffix(price_phrase(goal.price_upper))


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_disjoint_splits_share_no_product_and_no_words(kind):
    goals = Catalog.open("demo").goals(kind)
    parts = {name: split_indices(name, goals) for name in DISJOINT}
    sets = [set(indices) for indices in parts.values()]
    assert all(len(part) > 20 for part in sets)
    assert sum(map(len, sets)) == len(set.union(*sets)) <= len(goals)
    products = [{goals[index].asin for index in part} for part in sets]
    words = [{_words(goals[index]) for index in part} for part in sets]
    for one in range(3):
        for other in range(one):
            assert not products[one] & products[other]
            assert not words[one] & words[other]


def test_a_products_side_never_changes():
    # Scores depend on it: another hash would be another split.
    assert [side(asin) for asin in ("B0743JKHBV", "B09QCP4579", "B099WH1RTM", "é\ud800")] == [
        2,
        1,
        2,
        0,
    ]


def test_the_same_words_about_two_products_are_on_one_side_only():
    stored = Catalog.open("demo").goals("human")
    import msgspec

    template = stored[0]
    ids = {}
    number = 0
    while len(ids) < 3:
        ids.setdefault(side(f"P{number}"), f"P{number}")
        number += 1
    goals = ListedGoals(
        "twins",
        [msgspec.structs.replace(template, asin=ids[part]) for part in (2, 1, 0)],
        lambda product: 1.0,
    )
    assert split_indices("disjoint-test", goals) == [2]
    for name in ("disjoint-eval", "disjoint-train"):
        with pytest.raises(GoalError, match="is empty"):
            split_indices(name, goals)


def test_the_originals_splits_are_ranges_and_unknown_ones_are_named():
    goals = Catalog.open("demo").goals("human")
    assert split_indices("test", goals) == split_range("test", len(goals))
    assert split_indices(None, goals) == range(len(goals))
    with pytest.raises(GoalError, match="disjoint-train"):
        split_indices("dev", goals)
