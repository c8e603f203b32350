"""What an informed critic knows: all that the goal tells of where an episode is."""

import torch

from errands.envs.shop_vector import ShopVectorEnv
from errands.learn.critic import GoalKnowledge, InformedCritic
from errands.learn.rollout import CHOSEN, Rollout
from errands.learn.teacher import LookingTeacher
from errands.shop.catalog.catalog import Catalog


def test_what_is_known_is_what_is_earned(little: Catalog) -> None:
    env = ShopVectorEnv(
        2, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
        max_steps=60,
    )  # fmt: skip
    rollout = Rollout(env, range(12), seed=3, search=CHOSEN)
    teacher = LookingTeacher(env.context, 3, CHOSEN.queries)
    knowledge, critic = GoalKnowledge(env.context), InformedCritic()
    bought = 0
    for _ in range(80):
        views = rollout.views()
        known = [
            knowledge.features(episode, view)
            for episode, view in zip(env.episodes, views, strict=True)
        ]
        assert critic(torch.tensor(known)).shape == (2,)
        names = [
            teacher.click(episode, view) for episode, view in zip(env.episodes, views, strict=True)
        ]
        actions = [
            f"search[{name}]" if view.kind == "search" else f"click[{name}]"
            for view, name in zip(views, names, strict=True)
        ]
        results = rollout.step(views, actions)
        for features, name, result in zip(known, names, results, strict=True):
            here, now, best = features[7:10]
            assert 0 <= now <= here + 1e-6
            assert here <= best + 1e-6
            if name == "buy now":
                bought += 1
                assert abs(result.reward - now) < 1e-6
    assert bought > 3
