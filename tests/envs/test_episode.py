"""Episodes outside Gymnasium: judging a page before buying, as oracles do."""

import numpy as np

from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog


def test_judging_a_page_is_what_buying_it_gives(little: Catalog) -> None:
    env = ShopEnv(little, goals="human")
    for goal in range(20):
        _, info = env.reset(options={"goal": goal})
        words = info["instruction"].replace("[", " ").replace("]", " ")
        _, _, _, _, info = env.step(f"search[{words}]")
        env.step(f"click[{info['available_actions']['clickables'][2]}]")
        judged = env.episode.judge(env.episode.page)
        _, reward, _, _, info = env.step("click[buy now]")
        assert reward == judged.total
        assert info["reward_parts"] == judged.parts


def test_weighted_draws_stay_in_the_split(little: Catalog) -> None:
    context = ShopEnv(little, split="test", goal_draw="weighted").context
    rng = np.random.default_rng(0)
    drawn = {context.draw(rng) for _ in range(500)}
    assert drawn <= set(context.indices)
    assert len(drawn) > 100
