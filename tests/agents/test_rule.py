"""The rule baseline does what the paper says, and knows when to stop."""

from typing import Any

import pytest

from errands.agents.agent import AgentError
from errands.agents.registry import make_factory
from errands.agents.rule import RuleShopper, search_action
from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, ListedGoals


def test_search_first_buy(little: Catalog, play: Any) -> None:
    env = ShopEnv(little, max_steps=20)
    factory = make_factory("rule", "shop", env, {})
    for goal in range(20):
        played = play(env, factory, {"goal": goal})
        wanted = env.goal.instruction_text.lower()
        assert "price lower than" in wanted
        first = little.search(wanted)[0].asin.lower()
        assert played.actions == [f"search[{wanted}]", f"click[{first}]", "click[buy now]"]
        assert played.terminated
        assert env.episode.page.options == {}


def about(catalog: Catalog, instruction: str) -> ListedGoals:
    """One goal with an instruction of our own."""
    goal = catalog.goals("synthetic")[0]
    fields = {name: getattr(goal, name) for name in Goal.__struct_fields__}
    return ListedGoals("own", [Goal(**{**fields, "instruction_text": instruction})], lambda p: 1.0)


@pytest.mark.parametrize("instruction", ["zzzzqqq", "", "[", "the of and"])
def test_nothing_found(little: Catalog, play: Any, instruction: str) -> None:
    env = ShopEnv(little, about(little, instruction), max_steps=9)
    played = play(env, make_factory("rule", "shop", env, {}), {"goal": 0})
    assert (played.reward, played.terminated, len(played.actions)) == (0.0, False, 9)
    assert played.actions[-1] == "wait"
    endless = ShopEnv(little, about(little, instruction))
    with pytest.raises(AgentError, match="Nothing was found for the instruction"):
        play(endless, make_factory("rule", "shop", endless, {}), {"goal": 0})


def test_a_result_that_does_not_open_is_not_tried_for_ever() -> None:
    info = {
        "instruction": "a hat",
        "available_actions": {"has_search_bar": False, "clickables": ["back to search", "a[b"]},
    }
    shopper = RuleShopper()
    shopper.begin("", info)
    assert shopper.act("", info) == "click[a[b]"
    with pytest.raises(AgentError, match="cannot be opened"):
        shopper.act("", info)


@pytest.mark.parametrize("text", ["a [red] hat", "A\nred\r\nhat", "red] hat]", "[red hat", "red"])
def test_whatever_is_searched_for_is_found(little: Catalog, text: str) -> None:
    env = ShopEnv(little)
    env.reset(seed=0)
    action = search_action(text)
    assert action is not None
    env.step(action)
    assert env.episode.page.state.page == "results"
    assert env.episode.page.state.hits == little.find(text.lower())
