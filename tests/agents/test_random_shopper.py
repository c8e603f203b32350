"""The random shopper repeats itself and gets around."""

import gymnasium

from errands.agents.random_agent import RandomShopper
from errands.shop.catalog.catalog import Catalog


def played(catalog: Catalog, seed: int) -> list[str]:
    env = gymnasium.make("errands/Shop-v0", catalog=catalog, goals="human")
    agent = RandomShopper(["red shirt", "snack", "cable"], seed)
    seen, info = env.reset(seed=1)
    agent.begin(seen, info)
    actions = []
    for _ in range(300):
        actions.append(agent.act(seen, info))
        seen, _, terminated, _, info = env.step(actions[-1])
        if terminated:
            assert agent.act(seen, info) == "wait"
            seen, info = env.reset()
    return actions


def test_seeded(little: Catalog) -> None:
    one = played(little, 1)
    assert one == played(little, 1) != played(little, 2)
    assert "click[buy now]" in one
    assert any(action.startswith("search[") for action in one)
