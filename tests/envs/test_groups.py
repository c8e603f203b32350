"""Groups: drawn by seed, without repeats, and never from what is for testing."""

import itertools
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.envs.groups import (
    group_batches,
    group_options,
    sample_groups,
    task_rows,
    training_split,
)
from errands.envs.shop_vector import ShopVectorEnv
from errands.envs.turk_vector import TurkVectorEnv
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.turk.tasks.loader import load_tasks


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 9), st.data())
def test_groups_are_without_repeats_and_side_by_side(
    count: int, size: int, seed: int, data: st.DataObject
) -> None:
    groups = data.draw(st.integers(1, count))
    items = range(100, 100 + count)
    drawn = sample_groups(items, groups=groups, size=size, seed=seed)
    assert drawn == sample_groups(items, groups=groups, size=size, seed=seed)
    runs = [(item, len(list(run))) for item, run in itertools.groupby(drawn)]
    assert {length for _, length in runs} == {size}
    assert len({item for item, _ in runs}) == len(runs) == groups
    assert set(drawn) <= set(items)


@given(st.integers(1, 30), st.integers(0, 9), st.data())
def test_nothing_comes_again_before_all_have_come(
    count: int, seed: int, data: st.DataObject
) -> None:
    groups = data.draw(st.integers(1, count))
    batches = group_batches(range(count), groups=groups, seed=seed)
    drawn = list(itertools.islice(batches, 3 * count + 9))
    for batch in drawn:
        assert len(set(batch)) == groups
    flat = [item for batch in drawn for item in batch]
    for epoch in range(0, len(flat) - count, count):
        assert sorted(flat[epoch : epoch + count]) == list(range(count))
    again = group_batches(range(count), groups=groups, seed=seed)
    assert list(itertools.islice(again, 5, 9)) == drawn[5:9]


def test_seeds_and_epochs_differ() -> None:
    one, other = (sample_groups(range(1000), groups=9, seed=seed) for seed in (1, 2))
    assert one != other
    batches = group_batches(range(50), groups=50, seed=1)
    assert next(batches) != next(batches)
    assert len({tuple(next(batches)) for _ in range(20)}) == 20


def test_every_item_is_as_likely_as_another() -> None:
    seen = Counter(
        item for seed in range(2000) for item in sample_groups(range(10), groups=3, seed=seed)
    )
    assert all(500 < seen[item] < 700 for item in range(10))


def test_all_processes_draw_the_same() -> None:
    script = (
        "import random; random.seed(5)\n"
        "from errands.envs import group_batches as g, sample_groups\n"
        "b = g(range(9), groups=4, size=2, seed=3); next(b); next(b)\n"
        "print(next(b), sample_groups(range(99), groups=3, seed=8))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    batches = group_batches(range(9), groups=4, size=2, seed=3)
    third = list(itertools.islice(batches, 3))[2]
    assert told == f"{third} {sample_groups(range(99), groups=3, seed=8)}\n"


@pytest.mark.parametrize("draw", [sample_groups, group_batches])
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"groups": 11}, "groups=11: expected 1 to 10"),
        ({"groups": 0}, "groups=0: expected 1 to 10"),
        ({"groups": -1}, "groups=-1"),
        ({"groups": 1.5}, "groups=1.5: expected 1 to 10"),
        ({"groups": "2"}, "groups='2': expected 1 to 10"),
        ({"groups": None}, "groups=None: expected 1 to 10"),
        ({"groups": 2, "size": 0}, "size=0: expected 1 or more"),
        ({"groups": 2, "size": 1.5}, "size=1.5: expected 1 or more"),
        ({"groups": 2, "size": "a"}, "size='a': expected 1 or more"),
    ],
)
def test_impossible_groups_are_one_sentence(
    draw: Any, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(SettingError, match=complaint):
        draw(range(10), seed=0, **arguments)


def test_shops_and_forms_play_groups(little: Catalog) -> None:
    shops = ShopVectorEnv(6, catalog=little, goals="human")
    batch: list[Any] = sample_groups(shops.context.indices, groups=2, size=3, seed=0)
    assert shops.reset(options=group_options(batch))[1]["goal"].tolist() == batch
    tasks = load_tasks("demo", "train")
    rows = task_rows(tasks)
    assert len(rows) == sum(len(task.instances) for task in tasks)
    batch = sample_groups(rows, groups=3, size=2, seed=0)
    with pytest.raises(SettingError, match=f"expected 1 to {len(rows)}"):
        sample_groups(rows, groups=len(rows) + 1, seed=0)
    forms = TurkVectorEnv(6, tasks=tasks, driver="dom")
    pages, infos = forms.reset(options=group_options(batch))
    assert list(zip(infos["task"], infos["row"].tolist(), strict=True)) == batch
    assert pages[0] == pages[1] != pages[2]


@pytest.mark.parametrize(
    ("name", "domain", "complaint"),
    [
        ("test", "shop", "'test' is for testing; training takes disjoint-train or train"),
        ("eval", "shop", "'eval' is for testing"),
        ("disjoint-test", "shop", "'disjoint-test' is for testing"),
        ("disjoint-eval", "shop", "'disjoint-eval' is for testing"),
        (None, "shop", "None has everything, also what is for testing"),
        ("trian", "shop", "'trian' is not for training"),
        ("test", "turk", r"'test' is for testing; training takes train \("),
        ("test_challenge", "turk", "'test_challenge' is for testing"),
        ("subjective", "turk", "'subjective' is not for training"),
        ("all", "turk", "'all' has everything"),
        ("disjoint-train", "turk", "'disjoint-train' is not for training"),
        ("train", "garden", "domain='garden': expected shop, turk"),
    ],
)
def test_training_is_not_on_what_is_for_testing(
    name: str | None, domain: str, complaint: str
) -> None:
    with pytest.raises(SettingError, match=complaint):
        training_split(name, domain=domain)
    if domain != "garden":
        assert training_split(name, domain=domain, allow_tests=True) == name


def test_training_splits() -> None:
    assert training_split("train") == "train"
    assert training_split("disjoint-train") == "disjoint-train"
    assert training_split("train", domain="turk") == "train"


def test_pairs_that_were_json_are_still_pairs() -> None:
    assert group_options([["a", 1], ["b", 2]]) == {"task": ["a", "b"], "row": [1, 2]}
