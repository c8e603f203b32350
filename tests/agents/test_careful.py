"""The careful shopper always buys something, and better than by chance."""

from collections.abc import Mapping
from typing import Any

import gymnasium

from errands.agents.agent import Agent
from errands.agents.careful import CarefulShopper
from errands.agents.random_agent import RandomShopper
from errands.shop.catalog.catalog import Catalog


def mean_reward(catalog: Catalog, agent: Agent, goals: int) -> tuple[float, int]:
    env = gymnasium.make("errands/Shop-v0", catalog=catalog, goals="human", max_steps=30)
    total, bought = 0.0, 0
    for goal in range(goals):
        seen, info = env.reset(options={"goal": goal})
        agent.begin(seen, info)
        over = False
        while not over:
            seen, reward, terminated, truncated, info = env.step(agent.act(seen, info))
            over = terminated or truncated
            bought += terminated
            total += float(reward)
    return total / goals, bought


def test_beats_chance(little: Catalog) -> None:
    count = min(60, len(little.goals("human")))
    careful, bought = mean_reward(little, CarefulShopper(), count)
    chance, _ = mean_reward(little, RandomShopper(["shirt", "snack", "lamp"], 1), count)
    assert bought == count
    assert careful > chance + 0.2


class FirstResult(CarefulShopper):
    """Takes the first result at any price: what the careful shopper must beat."""

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        super().begin(observation, info)
        self._cap = float("inf")


def test_minding_the_price_beats_taking_the_first_result() -> None:
    demo = Catalog.open("demo")
    careful, _ = mean_reward(demo, CarefulShopper(), 300)
    first, _ = mean_reward(demo, FirstResult(), 300)
    assert careful > first


def test_gives_its_reasons(little: Catalog) -> None:
    env = gymnasium.make("errands/Shop-v0", catalog=little, goals="human")
    agent = CarefulShopper()
    seen, info = env.reset(options={"goal": 0})
    agent.begin(seen, info)
    agent.act(seen, info)
    assert agent.reason == "search for the instruction's own words"


def test_a_query_that_finds_nothing_is_shortened(little: Catalog) -> None:
    agent = CarefulShopper()
    info = {"instruction": "zzz yyy xxx", "available_actions": {}}
    agent.begin("", info)
    search = {"available_actions": {"has_search_bar": True, "clickables": ["search"]}}
    nothing = {
        "available_actions": {"has_search_bar": False, "clickables": ["back to search", "next >"]}
    }
    assert agent.act("WebShop", search) == "search[zzz yyy xxx]"
    assert agent.act("Instruction:", nothing) == "click[back to search]"
    assert agent.act("WebShop", search) == "search[zzz]"
