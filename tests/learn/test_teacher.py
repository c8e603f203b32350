"""The teacher looks, and then buys the best it has seen."""

import pytest

from errands.agents.oracles.choice_oracle import best_plan
from errands.envs.shop_vector import ShopVectorEnv
from errands.learn.queries import own_words
from errands.learn.rollout import Rollout
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
