"""The teacher looks, and then buys the best it has seen."""

import pytest

from errands.agents.oracles.choice_oracle import best_plan
from errands.envs.shop_vector import ShopVectorEnv
from errands.learn.data.queries import own_words
from errands.learn.data.view import action_of
from errands.learn.rollout import CHOSEN, Rollout
from errands.learn.teacher import LookingTeacher
from errands.shop.catalog.catalog import Catalog

COUNT = 6


@pytest.mark.parametrize("looks", [1, 4])
def test_it_opens_so_many_and_buys_the_best_of_them(little: Catalog, looks: int) -> None:
    env = ShopVectorEnv(
        COUNT, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
        max_steps=60,
    )  # fmt: skip
    rollout = Rollout(env, range(20), seed=1)
    teacher = LookingTeacher(env.context, looks)
    finished = 0
    for _ in range(60):
        views, searches = rollout.views(), rollout.searches()
        actions = []
        for view, search, episode in zip(views, searches, env.episodes, strict=True):
            if search is not None:
                actions.append(search)
                continue
            name = teacher.click(episode, view)
            assert name in view.names
            actions.append(f"click[{name}]")
        known = [(episode, view) for episode, view in zip(env.episodes, views, strict=True)]
        results = rollout.step(views, actions)
        for (episode, view), action, result in zip(known, actions, results, strict=True):
            if not result.is_over:
                continue
            finished += 1
            assert action == "click[buy now]"
            opened = [one for one in view.seen if one.opened]
            assert len(opened) == looks or view.queries
            plan = best_plan(episode, own_words(episode.goal.instruction_text)[0])
            assert plan is not None
            assert result.reward <= plan.best.reward.total + 1e-9
    assert finished > 3


def test_more_looks_earn_more(little: Catalog) -> None:
    def mean(looks: int) -> float:
        env = ShopVectorEnv(
            COUNT, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
            max_steps=60,
        )  # fmt: skip
        rollout, teacher = Rollout(env, range(30), seed=1), LookingTeacher(env.context, looks)
        rewards: list[float] = []
        while len(rewards) < 40:
            views, searches = rollout.views(), rollout.searches()
            actions = [
                search or f"click[{teacher.click(episode, view)}]"
                for view, search, episode in zip(views, searches, env.episodes, strict=True)
            ]
            rewards += [one.reward for one in rollout.step(views, actions) if one.is_over]
        return sum(rewards) / len(rewards)

    assert mean(6) > mean(1)


def test_it_reads_and_searches_with_other_words(little: Catalog) -> None:
    """Only where that promises more than what was opened, and never without end."""
    env = ShopVectorEnv(
        COUNT, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
        max_steps=100,
    )  # fmt: skip
    rollout = Rollout(env, range(60), seed=1, search=CHOSEN)
    teacher = LookingTeacher(env.context, 3, CHOSEN.queries)
    read = again = finished = 0
    for _ in range(160):
        views = rollout.views()
        names = [
            teacher.click(episode, view) for episode, view in zip(env.episodes, views, strict=True)
        ]
        read += names.count("features")
        for view, name in zip(views, names, strict=True):
            assert name in view.names
            if view.kind == "search" and view.queries:
                again += name not in view.queries
                assert len({*view.queries, name}) <= 3
        actions = [action_of(view, name) for view, name in zip(views, names, strict=True)]
        results = rollout.step(views, actions)
        for name, result in zip(names, results, strict=True):
            finished += result.is_over
            assert not result.is_over or name == "buy now"
    assert read > finished > 10
    assert again


def test_what_it_says_of_products_is_what_they_earn(little: Catalog) -> None:
    env = ShopVectorEnv(
        2, autoreset="disabled", catalog=little, goals="human", observation="text_rich"
    )
    rollout, teacher = Rollout(env, range(8), seed=1), LookingTeacher(env.context)
    views = rollout.views()
    assert teacher.worths(env.episodes[0], views[0]) == {}
    rollout.step(views, [search or "" for search in rollout.searches()])
    for episode, view in zip(env.episodes, rollout.views(), strict=True):
        worths = teacher.worths(episode, view)
        assert len(worths) == len(view.seen) > 0
        assert max(worths.values()) <= teacher.best_found(episode) <= 1


def test_a_goal_is_told_beside_its_own_product(little: Catalog) -> None:
    env = ShopVectorEnv(1, catalog=little, goals="human", observation="text_rich")
    ((instruction, text),) = LookingTeacher(env.context).wanted([5])
    goal = env.context.goals[5]
    assert goal.instruction_text.lower().startswith(instruction[:10])
    assert "price lower" not in instruction
    assert little[goal.asin].title in text
