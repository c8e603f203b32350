"""The scripted shopper: better than a rule, the same by the same seed, and without any secret."""

from collections.abc import Mapping
from typing import Any

import pytest

from errands.agents.shopper import ScriptedShopper, make
from errands.envs.shop import ShopEnv
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog

SHOWN = ("instruction", "available_actions")


@pytest.fixture
def shop(little: Catalog) -> ShopEnv:
    return ShopEnv(catalog=little, goals="human", observation="text_rich", max_steps=60)


def _play(shop: ShopEnv, goal: int, seed: int = 0, errors: float = 0.05) -> tuple[list[str], float]:
    """An episode in which the agent is told nothing but what a page shows."""
    agent = ScriptedShopper(seed, errors, 60)
    seen, info = shop.reset(options={"goal": goal})
    agent.begin(seen, _shown(info))
    actions: list[str] = []
    while True:
        actions.append(agent.act(seen, _shown(info)))
        seen, reward, terminated, truncated, info = shop.step(actions[-1])
        if terminated or truncated:
            return actions, float(reward)


def _shown(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: info[name] for name in SHOWN}


def test_shops_well_from_what_pages_show(shop: ShopEnv) -> None:
    played = [_play(shop, goal, errors=0) for goal in range(40)]
    assert sum(reward for _, reward in played) / 40 > 0.6
    assert all(actions[-1] == "click[buy now]" for actions, _ in played)


def test_chance_follows_the_seed(shop: ShopEnv) -> None:
    one = [_play(shop, goal, seed=1, errors=0.5) for goal in range(8)]
    assert one == [_play(shop, goal, seed=1, errors=0.5) for goal in range(8)]
    assert one != [_play(shop, goal, seed=2, errors=0.5) for goal in range(8)]


def test_it_looks_at_several_products_and_reads(shop: ShopEnv) -> None:
    done = {action for goal in range(30) for action in _play(shop, goal)[0]}
    assert {"click[features]", "click[< prev]", "click[buy now]"} <= done


@pytest.mark.parametrize("settings", [{"observation": "text"}, {"num_prev_actions": 1}])
def test_other_pages_are_refused(little: Catalog, settings: dict[str, Any]) -> None:
    env = ShopEnv(catalog=little, **{"observation": "text_rich", **settings})
    with pytest.raises(SettingError, match="text_rich"):
        make("shop", env, {"errors": 0.05})


def test_errors_are_a_share(shop: ShopEnv) -> None:
    with pytest.raises(SettingError, match="expected 0 to 1"):
        make("shop", shop, {"errors": 1.5})
