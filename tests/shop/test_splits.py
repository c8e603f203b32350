"""Splits that share neither product nor words."""

import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.envs.shop import ShopEnv
from errands.errors import GoalError, SplitOverlapWarning
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import SPLITS, ListedGoals, price_phrase, select_goals, split_range
from errands.shop.splits import DISJOINT, overlap, overlap_remark, side, split_indices


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


@pytest.mark.shared
@pytest.mark.parametrize(
    ("split", "share"), [("test", "95.8 %"), ("eval", "97.2 %"), ("train", "88.2 %")]
)
def test_the_originals_splits_say_how_many_goals_share_products(catalog_1k, split, share):
    goals = catalog_1k.goals("synthetic")
    products = {name: {goals[i].asin for i in split_range(name, len(goals))} for name in SPLITS}
    other = "test" if split == "train" else "train"
    mine = [goals[i].asin for i in split_range(split, len(goals))]
    counted = sum(asin in products[other] for asin in mine) / len(mine)
    assert overlap(split, goals) == pytest.approx(counted)
    said = overlap_remark(split, goals)
    assert said.startswith(f"{share} of the goals of the split {split!r} share their product with")
    assert said.endswith(f"disjoint-{split} shares none")
    listed = select_goals(goals)
    assert overlap(split, listed) == overlap(split, goals)


def test_where_nothing_is_shared_nothing_is_said():
    goals = Catalog.open("demo").goals("synthetic")
    for split in (None, *DISJOINT):
        assert overlap(split, goals) == 0.0
        assert overlap_remark(split, goals) == ""
    few = select_goals(goals, where=lambda index, goal: index < 20)
    assert overlap("test", few) == 0.0  # There is nothing to train on.


def test_an_environment_warns_once():
    shop = Catalog.open("demo")
    goals = select_goals(shop.goals("synthetic"))
    goals.name = "only for this test"
    with pytest.warns(SplitOverlapWarning, match=r"% of the goals of the split 'test' share"):
        ShopEnv(shop, goals, split="test")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ShopEnv(shop, goals, split="test")
        ShopEnv(shop, goals, split="disjoint-test")
        ShopEnv(shop, goals)


def test_a_run_remarks_it(tmp_path):
    base = {"goals": "synthetic", "episodes": 1}
    leaking = run("shop-demo", "rule", split="test", out=tmp_path / "a", **base)
    assert "share their product with 'train'; disjoint-test shares none" in str(
        leaking.info.remarks
    )
    sound = run("shop-demo", "rule", out=tmp_path / "b", **base)
    assert "share their product" not in str(sound.info.remarks)


def test_disjoint_splits_come_first_wherever_splits_are_named():
    with pytest.raises(GoalError, match=r"expected disjoint-test, .*disjoint-train, test, eval"):
        split_indices("tset", Catalog.open("demo").goals("human"))
    said = ShopEnv.__doc__
    assert said.index("disjoint-test") < said.index("`test`")
    told = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).output
    assert "disjoint-test, disjoint-eval" in " ".join(told.split())
    page = (Path(__file__).parents[2] / "docs" / "reference" / "protocols.md").read_text()
    _, _, splits = page.partition("## Splits")
    assert splits.index("`disjoint-test`") < splits.index("`test`")
