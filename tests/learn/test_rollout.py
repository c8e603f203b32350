"""Shoppers at work go on from where they were, and search as they are told."""

import random

import pytest

from errands.envs.shop_vector import ShopVectorEnv
from errands.learn.data.view import View
from errands.learn.rollout import Shoppers, own_words
from errands.learn.timing import Stopwatch
from errands.shop.catalog.catalog import Catalog

GOALS = range(5, 25)


def _floor(little: Catalog) -> ShopVectorEnv:
    return ShopVectorEnv(
        3, autoreset="disabled", catalog=little, goals="human", observation="text_rich", max_steps=6
    )


def _step(shoppers: Shoppers, dice: random.Random) -> list[bool]:
    views = shoppers.views()
    clicks = [f"click[{dice.choice(view.names)}]" for view in views]
    actions = [search or click for search, click in zip(shoppers.searches(), clicks, strict=True)]
    return [done.is_over for done in shoppers.act(views, actions)]


def _future(shoppers: Shoppers) -> list[list[View]]:
    dice = random.Random(9)
    seen = [shoppers.views()]
    for _ in range(8):
        _step(shoppers, dice)
        seen.append(shoppers.views())
    return seen


@pytest.mark.parametrize("steps", [0, 1, 4, 6, 7, 11, 12, 15])
def test_where_they_stand_can_be_kept(steps: int, little: Catalog) -> None:
    shoppers = Shoppers(_floor(little), GOALS, 2)
    dice = random.Random(1)
    for _ in range(steps):
        _step(shoppers, dice)
    again = Shoppers(_floor(little), GOALS, 2, kept=shoppers.kept())
    assert again.kept() == shoppers.kept()
    assert _future(again) == _future(shoppers)


def test_episodes_of_different_lengths_are_kept_too(little: Catalog) -> None:
    lengths = set()
    shoppers = Shoppers(_floor(little), GOALS, 3)
    dice = random.Random(4)
    for _ in range(25):
        _step(shoppers, dice)
        kept = shoppers.kept()
        lengths.add(tuple(len(actions) for _, actions in kept))
        assert Shoppers(_floor(little), GOALS, 3, kept=kept).views() == shoppers.views()
    assert any(len(set(one)) > 1 and 0 in one for one in lengths)


def test_goals_follow_the_seed_and_change(little: Catalog) -> None:
    def wishes(seed: int) -> list[str]:
        shoppers = Shoppers(_floor(little), GOALS, seed)
        found = []
        for _ in range(24):
            found += [view.wanted for view in shoppers.views()]
            _step(shoppers, random.Random(0))
        return found

    assert wishes(1) == wishes(1) != wishes(2)
    assert len(set(wishes(1))) > 6


def test_who_stands_before_the_search_bar_searches(little: Catalog) -> None:
    shoppers = Shoppers(_floor(little), GOALS, 1)
    wished = [view.wanted.partition(" $")[0] for view in shoppers.views()]
    assert shoppers.searches() == [f"search[{own_words(text)[0]}]" for text in wished]
    _step(shoppers, random.Random(0))
    assert shoppers.searches() == [None] * 3


def test_a_search_model_is_asked_and_drawn_from(little: Catalog) -> None:
    asked: list[str] = []

    def queries(instruction: str) -> list[str]:
        asked.append(instruction)
        return ["red [hat]", "blue shoe", "green sock"]

    def searches(is_sampling: bool) -> set[str | None]:
        return {
            search
            for seed in range(6)
            for search in Shoppers(
                _floor(little), GOALS, seed, queries=queries, is_sampling=is_sampling
            ).searches()
        }

    assert searches(True) == {"search[red  hat]]", "search[blue shoe]", "search[green sock]"}
    assert searches(False) == {"search[red  hat]]"}
    assert all("price lower than" in instruction for instruction in asked)


def test_the_shop_is_timed(little: Catalog) -> None:
    watch = Stopwatch()
    shoppers = Shoppers(_floor(little), GOALS, 1, watch=watch)
    with watch.on("thinking"):
        sum(range(100_000))
    _step(shoppers, random.Random(0))
    assert set(watch.shares()) == {"environment", "thinking"}
    assert sum(watch.shares().values()) == pytest.approx(1)
    assert Stopwatch().shares() == {}


def test_with_each_further_search_comes_the_next_best_query(little: Catalog) -> None:
    shoppers = Shoppers(_floor(little), GOALS, 1, queries=lambda instruction: ["hat", "shoe"])
    for query in ("hat", "shoe", "hat"):
        assert shoppers.searches() == [f"search[{query}]"] * 3
        again = Shoppers(
            _floor(little), GOALS, 1, queries=lambda instruction: ["hat", "shoe"],
            kept=shoppers.kept(),
        )  # fmt: skip
        assert again.searches() == shoppers.searches()
        shoppers.act(shoppers.views(), [f"search[{query}]"] * 3)
        shoppers.act(shoppers.views(), ["click[back to search]"] * 3)
