"""Goals that a catalogue makes: counts, order, weights and draws as the original's."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import NO_CAP, price_phrase


def frozen(recorded: Path, kind: str) -> Any:
    return json.loads((recorded / f"goals-{kind}.json").read_text())


@pytest.mark.shared
@pytest.mark.parametrize(("kind", "count"), [("synthetic", 6910), ("human", 13)])
def test_goals_are_the_originals_in_its_order(
    catalog_1k: Catalog, recorded: Path, kind: str, count: int
) -> None:
    goals = catalog_1k.goals(kind)
    expected = frozen(recorded, kind)["goals"]
    assert len(goals) == len(expected) == count
    for index, held in enumerate(expected):
        goal = goals[index]
        options = goal.goal_options
        assert goal.asin == held["asin"]
        assert (options if isinstance(options, dict) else list(options)) == held["goal_options"]
        assert list(goal.attributes) == held["attributes"]
        assert goal.weight == pytest.approx(held["weight"], rel=1e-12)
        price = held["price_upper"]
        assert goal.instruction_text.removesuffix(price_phrase(goal.price_upper)) == held[
            "instruction_text"
        ].removesuffix(price_phrase(price))


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_prices_and_caps_are_drawn_as_the_original_draws_them(
    catalog_1k: Catalog, recorded: Path, kind: str
) -> None:
    """The recordings were made with the global generator seeded with 12345 before loading."""
    held = frozen(recorded, kind)
    goals = catalog_1k.goals(kind, seed=12345)
    assert [goals[i].price_upper for i in range(len(goals))] == [
        goal["price_upper"] for goal in held["goals"]
    ]
    assert [goals[i].instruction_text for i in range(len(goals))] == [
        goal["instruction_text"] for goal in held["goals"]
    ]
    assert {p.asin: goals.price(p) for p in catalog_1k} == pytest.approx(held["prices"])


@pytest.mark.shared
def test_golden_goals(catalog_1k: Catalog) -> None:
    synthetic = catalog_1k.goals("synthetic")
    assert [(synthetic[i].asin, synthetic[i].goal_options) for i in range(2)] == [
        ("B0743JKHBV", {"size": '28" x 28"'}),
        ("B09QCP4579", {"color": "black", "size": "3x-large"}),
    ]
    assert synthetic[2].asin == "B099WH1RTM"
    human = catalog_1k.goals("human")
    assert [(human[i].asin, human[i].goal_options) for i in range(3)] == [
        ("B09MW563KN", ("blue",)),
        ("B003I567W4", ("pecan",)),
        ("B07S7HDC88", ("black1901", "10.5")),
    ]


@pytest.mark.shared
def test_statistics_of_the_synthetic_goals(catalog_1k: Catalog) -> None:
    goals = [catalog_1k.goals("synthetic")[i] for i in range(6910)]
    assert Counter(len(goal.goal_options) for goal in goals) == {0: 185, 1: 538, 2: 4729, 3: 1458}
    assert sum(goal.price_upper == NO_CAP for goal in goals) == 15
    assert sum(goal.weight for goal in goals) == pytest.approx(80.8, abs=0.05)
    assert max(Counter(goal.asin for goal in goals).values()) == 558
    assert list(catalog_1k.goals("synthetic").cumulative)[-1] == pytest.approx(80.8, abs=0.05)


def test_caps_are_above_the_price_and_in_the_text(little: Catalog) -> None:
    for kind in ("synthetic", "human"):
        goals = little.goals(kind)
        for index in range(len(goals)):
            goal = goals[index]
            assert goals.price(little[goal.asin]) < goal.price_upper
            assert goal.instruction_text.endswith(price_phrase(goal.price_upper))


def test_another_seed_draws_other_caps_for_the_same_goals(little: Catalog) -> None:
    first, other, again = (little.goals("synthetic", seed) for seed in (None, 7, 7))
    assert other is again
    everything = range(len(first))
    assert [other[i].asin for i in everything] == [first[i].asin for i in everything]
    assert [other[i].price_upper for i in everything] != [first[i].price_upper for i in everything]
    assert little.goals("synthetic", little.manifest.seed) is first
