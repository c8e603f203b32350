"""Goals: caps, order, weights, splits, and frozen files."""

import copy
import json
import pickle
import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from errands.errors import GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import (
    NO_CAP,
    SPLITS,
    Goal,
    ListedGoals,
    option_choice,
    option_choices,
    price_cap,
    price_phrase,
    read_goals,
    select_goals,
    shuffled,
    split_range,
    weighted_index,
    write_goals,
)

GOAL = Goal("B1", "c", "q", "n", "a › b", "text", ("x",), 40.0, ("red",), 1.0)


def test_caps_are_the_second_to_fourth_step_above_the_price() -> None:
    rng = random.Random(1)
    drawn = Counter(price_cap(25.0, rng) for _ in range(6000))
    assert set(drawn) == {40.0, 50.0, 60.0}
    assert drawn[40.0] / 6000 == pytest.approx(1 / 6, abs=0.03)
    assert drawn[60.0] / 6000 == pytest.approx(1 / 2, abs=0.03)


@pytest.mark.parametrize("price", [980.0, 990.0, 5000.0])
def test_the_dearest_products_have_no_cap(price: float) -> None:
    assert price_cap(price, random.Random(1)) == NO_CAP
    assert price_phrase(NO_CAP) == ""


def test_the_last_cap() -> None:
    assert price_cap(975.0, random.Random(1)) == 990.0
    assert price_cap(40.0, random.Random(3)) > 50.0
    assert price_phrase(60.0) == ", and price lower than 60.00 dollars"


def test_option_combinations_turn_the_last_name_fastest() -> None:
    options = {"size": ("s", "m"), "color": ("red", "blue")}
    assert option_choices(options) == 4
    assert [option_choice(options, number) for number in range(4)] == [
        {"color": "red", "size": "s"},
        {"color": "red", "size": "m"},
        {"color": "blue", "size": "s"},
        {"color": "blue", "size": "m"},
    ]
    assert option_choices({}) == 1
    assert option_choice({}, 0) == {}
    assert option_choices({"size": ()}) == 0


def test_the_order_is_that_of_a_private_generator() -> None:
    state = random.getstate()
    expected = list(range(13))
    random.seed(233)
    random.shuffle(expected)
    random.setstate(state)
    assert list(shuffled(13)[0]) == expected
    assert random.getstate() == state


def test_weighted_index_of_the_original() -> None:
    rng = random.Random(24)
    cumulative = [0.0]
    for _ in range(50):
        cumulative.append(cumulative[-1] + rng.randint(0, 10))
    assert [weighted_index(cumulative, rng.uniform) for _ in range(3)] == [44, 15, 36]


def test_weighted_index_never_gives_the_first_and_twice_the_last() -> None:
    rng = random.Random(0)
    drawn = Counter(weighted_index([0, 1, 2, 3, 4], rng.uniform) for _ in range(8000))
    assert drawn[0] == 0
    assert drawn[3] / 8000 == pytest.approx(0.5, abs=0.03)


def test_splits_are_disjoint_and_cover_everything() -> None:
    for count in (1501, 6910, 12087):
        ranges = [split_range(name, count) for name in SPLITS]
        assert [index for held in ranges for index in held] == list(range(count))
    assert split_range("test", 13) == range(13)
    assert split_range(None, 7) == range(7)


def test_empty_and_unknown_splits_are_explained() -> None:
    with pytest.raises(GoalError, match="begins at goal 500 and there are only 13"):
        split_range("eval", 13)
    with pytest.raises(GoalError, match="There is no split 'dev'; expected test, eval, train"):
        split_range("dev", 13)


def test_a_file_comes_back_as_it_was_written(little: Catalog, tmp_path: Path) -> None:
    for kind in ("synthetic", "human"):
        goals = little.goals(kind)
        path = tmp_path / f"{kind}.json"
        write_goals(path, goals, little)
        again = read_goals(path, little.__getitem__)
        assert len(again) == len(goals)
        assert all(again[i] == goals[i] for i in range(len(goals)))
        assert list(again.cumulative) == pytest.approx(list(goals.cumulative))
        assert all(again.price(product) == goals.price(product) for product in little)


def test_prices_of_a_file_are_those_that_count(little: Catalog, tmp_path: Path) -> None:
    product = little.product(0)
    goal = {**msgspec.to_builtins(GOAL), "asin": product.asin}
    path = tmp_path / "goals.json"
    path.write_text(json.dumps({"goals": [goal], "prices": {product.asin: 1234.5}}))
    goals = little.goals(path)
    assert goals.price(product) == 1234.5
    assert goals.price(little.product(1)) == little.product(1).price
    assert goals[0].nouns == product.nouns


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "does not have the expected form"),
        ('{"goals": [], "prices": {}}', "has no goals"),
        ('{"goals": [{}], "prices": {}}', "does not have the expected form"),
        ('{"goals": [], "prices": "\\ud800"}', "does not have the expected form"),
        (
            json.dumps({"goals": [msgspec.to_builtins(GOAL)], "prices": {}}),
            "wants product B1, which this catalogue does not have",
        ),
    ],
)
def test_bad_files_are_one_sentence(
    little: Catalog, tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "goals.json"
    path.write_text(text)
    with pytest.raises(GoalError, match=complaint):
        read_goals(path, little.__getitem__)


def test_a_missing_set_is_one_sentence(little: Catalog) -> None:
    with pytest.raises(GoalError, match="There is no goal set 'humna'; expected 'synthetic' or"):
        little.goals("humna")


def listed(weights: list[float]) -> ListedGoals:
    goals = [msgspec.structs.replace(GOAL, asin=f"B{i}", weight=w) for i, w in enumerate(weights)]
    return ListedGoals("listed", goals, lambda product: product.price)


def test_filter_and_limit() -> None:
    goals = listed([1.0] * 20)
    even = select_goals(goals, where=lambda index, goal: index % 2 == 0)
    assert [goal.asin for goal in even] == [f"B{i}" for i in range(0, 20, 2)]
    few = select_goals(goals, limit=5)
    assert len({goal.asin for goal in few}) == len(few) == 5
    assert [g.asin for g in few] == [g.asin for g in select_goals(goals, limit=5)]
    assert len(select_goals(goals, limit=99)) == 20


def test_the_limits_draws_go_on_from_the_shuffle() -> None:
    goals = listed([float(i % 5) for i in range(30)])
    rng = random.Random(233)
    rng.shuffle(list(range(30)))
    expected: list[int] = []
    while len(expected) < 7:
        index = weighted_index(list(goals.cumulative), rng.uniform)
        if index not in expected:
            expected.append(index)
    assert [goal.asin for goal in select_goals(goals, limit=7)] == [f"B{i}" for i in expected]


def test_an_impossible_limit_is_refused() -> None:
    with pytest.raises(GoalError, match="expected 1 to 2"):
        select_goals(listed([0.0, 1.0, 1.0, 0.0, 0.0]), limit=3)
    with pytest.raises(GoalError, match="expected 1 to"):
        select_goals(listed([1.0] * 5), limit=0)


def test_a_limit_of_minus_one_is_none() -> None:
    assert len(select_goals(listed([1.0] * 5), limit=-1)) == 5


def test_files_with_impossible_weights_are_refused(little: Catalog, tmp_path: Path) -> None:
    for weight in ("-1", "NaN", "1e999"):
        goal = json.dumps({**msgspec.to_builtins(GOAL), "asin": little.product(0).asin})
        goal = goal.replace('"weight": 1.0', f'"weight": {weight}')
        path = tmp_path / "goals.json"
        path.write_text(f'{{"goals": [{goal}], "prices": {{}}}}')
        with pytest.raises(GoalError, match="weight"):
            read_goals(path, little.__getitem__)
    path.write_text("[" * 100_000)
    with pytest.raises(GoalError, match="is not JSON"):
        read_goals(path, little.__getitem__)


def test_goal_sets_travel_to_other_processes(little: Catalog, tmp_path: Path) -> None:
    stored = little.goals("human", seed=4)
    assert pickle.loads(pickle.dumps(stored)) is stored
    assert copy.deepcopy(stored) is stored
    write_goals(tmp_path / "goals.json", stored, little)
    listed_goals = little.goals(tmp_path / "goals.json")
    again = pickle.loads(pickle.dumps(listed_goals))
    assert again[3] == stored[3]
    assert again.price(little.product(0)) == stored.price(little.product(0))
    assert copy.deepcopy(listed_goals) is listed_goals


def test_a_goal_file_is_read_once(little: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "goals.json"
    write_goals(path, little.goals("human"), little)
    assert little.goals(path) is little.goals(str(path))
    first = little.goals(path)
    write_goals(path, select_goals(little.goals("human"), limit=5), little)
    assert len(little.goals(path)) == 5 != len(first)
