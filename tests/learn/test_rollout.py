"""A rollout goes on from its state, and searches as it is told."""

import random

import pytest

from errands.envs.shop_vector import ShopVectorEnv
from errands.learn.data.queries import own_words
from errands.learn.data.view import ChoiceView
from errands.learn.rollout import Rollout, SearchPolicy
from errands.learn.timing import Stopwatch
from errands.shop.catalog.catalog import Catalog

GOALS = range(5, 25)


def _env(little: Catalog) -> ShopVectorEnv:
    return ShopVectorEnv(
        3, autoreset="disabled", catalog=little, goals="human", observation="text_rich", max_steps=6
    )


def _step(rollout: Rollout, rng: random.Random) -> list[bool]:
    views = rollout.views()
    clicks = [f"click[{rng.choice(view.names)}]" for view in views]
    actions = [search or click for search, click in zip(rollout.searches(), clicks, strict=True)]
    return [done.is_over for done in rollout.step(views, actions)]


def _future(rollout: Rollout) -> list[list[ChoiceView]]:
    rng = random.Random(9)
    seen = [rollout.views()]
    for _ in range(8):
        _step(rollout, rng)
        seen.append(rollout.views())
    return seen


@pytest.mark.parametrize("steps", [0, 1, 4, 6, 7, 11, 12, 15])
def test_where_they_stand_can_be_kept(steps: int, little: Catalog) -> None:
    rollout = Rollout(_env(little), GOALS, 2)
    rng = random.Random(1)
    for _ in range(steps):
        _step(rollout, rng)
    again = Rollout(_env(little), GOALS, 2, state=rollout.state())
    assert again.state() == rollout.state()
    assert _future(again) == _future(rollout)


def test_episodes_of_different_lengths_are_kept_too(little: Catalog) -> None:
    lengths = set()
    rollout = Rollout(_env(little), GOALS, 3)
    rng = random.Random(4)
    for _ in range(25):
        _step(rollout, rng)
        state = rollout.state()
        lengths.add(tuple(len(actions) for _, actions in state))
        assert Rollout(_env(little), GOALS, 3, state=state).views() == rollout.views()
    assert any(len(set(one)) > 1 and 0 in one for one in lengths)


def test_goals_follow_the_seed_and_change(little: Catalog) -> None:
    def instructions(seed: int) -> list[str]:
        rollout = Rollout(_env(little), GOALS, seed)
        found = []
        for _ in range(24):
            found += [view.instruction for view in rollout.views()]
            _step(rollout, random.Random(0))
        return found

    assert instructions(1) == instructions(1) != instructions(2)
    assert len(set(instructions(1))) > 6


def test_who_stands_before_the_search_bar_searches(little: Catalog) -> None:
    rollout = Rollout(_env(little), GOALS, 1)
    texts = [view.instruction.partition(" $")[0] for view in rollout.views()]
    assert rollout.searches() == [f"search[{own_words(text)[0]}]" for text in texts]
    _step(rollout, random.Random(0))
    assert rollout.searches() == [None] * 3


def test_a_search_model_is_asked_and_drawn_from(little: Catalog) -> None:
    asked: list[str] = []

    def queries(instruction: str) -> list[str]:
        asked.append(instruction)
        return ["red [hat]", "blue shoe", "green sock"]

    def searches(is_sampled: bool) -> set[str | None]:
        return {
            search
            for seed in range(6)
            for search in Rollout(
                _env(little), GOALS, seed, search=SearchPolicy(queries, is_sampled)
            ).searches()
        }

    assert searches(True) == {"search[red  hat]]", "search[blue shoe]", "search[green sock]"}
    assert searches(False) == {"search[red  hat]]"}
    assert all("price lower than" in instruction for instruction in asked)


def test_the_shop_is_timed(little: Catalog) -> None:
    watch = Stopwatch()
    rollout = Rollout(_env(little), GOALS, 1, watch=watch)
    with watch.on("thinking"):
        sum(range(100_000))
    _step(rollout, random.Random(0))
    assert set(watch.shares()) == {"environment", "thinking"}
    assert sum(watch.shares().values()) == pytest.approx(1)
    assert Stopwatch().shares() == {}


def test_with_each_further_search_comes_the_next_best_query(little: Catalog) -> None:
    rollout = Rollout(
        _env(little), GOALS, 1, search=SearchPolicy(lambda instruction: ["hat", "shoe"])
    )
    for query in ("hat", "shoe", "hat"):
        assert rollout.searches() == [f"search[{query}]"] * 3
        again = Rollout(
            _env(little), GOALS, 1, search=SearchPolicy(lambda instruction: ["hat", "shoe"]),
            state=rollout.state(),
        )  # fmt: skip
        assert again.searches() == rollout.searches()
        rollout.step(rollout.views(), [f"search[{query}]"] * 3)
        rollout.step(rollout.views(), ["click[back to search]"] * 3)
