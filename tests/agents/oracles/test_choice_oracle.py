"""The choice oracle plays by the pages and gets exactly what it promised itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.agents.agent import AgentError, Move
from errands.agents.oracles.choice_oracle import ChoiceOracle, best_plan, choices
from errands.agents.oracles.query_source import query_source
from errands.agents.registry import make_factory
from errands.envs.shop import ShopEnv
from errands.errors import SettingError
from errands.shop.build.builder import build_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import ITEM, State


@pytest.mark.parametrize("rules", ["released", "paper"])
@pytest.mark.parametrize("goals", ["synthetic", "human"])
def test_it_gets_what_it_saw(little: Catalog, play: Any, rules: str, goals: str) -> None:
    env = ShopEnv(little, goals, rules=rules, max_steps=100, search_anywhere=False)
    factory = make_factory("choice-oracle", "shop", env, {})
    rule = make_factory("rule", "shop", env, {})
    gained = 0.0
    for goal in range(40):
        played = play(env, factory, {"goal": goal})
        assert played.terminated
        env.reset(options={"goal": goal})
        plan = best_plan(env.episode, env.goal.instruction_text)
        assert plan is not None
        assert played.reward == plan.best.reward.total
        assert played.actions == list(plan.actions)
        first = play(env, rule, {"goal": goal})
        assert played.reward >= first.reward
        gained += played.reward - first.reward
    assert gained > 1


def test_every_result_counts(little: Catalog) -> None:
    """No page is better than the one it takes: all are looked at by walking there."""
    env = ShopEnv(little, "human", max_steps=100)
    for goal in range(6):
        env.reset(options={"goal": goal})
        shop, query = env.context.shop, env.goal.instruction_text
        plan = best_plan(env.episode, query)
        assert plan is not None
        plain = [
            env.episode.judge(shop.look(State(ITEM, product=number)))
            for number in little.find(query.lower(), 50)
        ]
        assert plan.best.reward.total >= max(reward.total for reward in plain)


def test_a_later_page(little: Catalog, play: Any, tmp_path: Path) -> None:
    """A query that says little: the target is somewhere below, and is reached by the pages."""
    goals = little.goals("human")
    queries = {goals[goal].instruction_text: ["", goals[goal].query] for goal in range(40)}
    path = tmp_path / "queries.json"
    path.write_text(json.dumps(queries))
    env = ShopEnv(little, "human", max_steps=100)
    factory = make_factory("choice-oracle", "shop", env, {"query": "predicted", "queries": path})
    turned = 0
    for goal in range(40):
        played = play(env, factory, {"goal": goal})
        assert played.actions[0] == f"search[{goals[goal].query}]"
        turned += "click[next >]" in played.actions
        if "click[next >]" in played.actions:
            pages = played.actions.count("click[next >]")
            assert env.episode.page.state.hits.index(env.episode.page.state.product) // 10 == pages
    assert turned > 2


@pytest.mark.parametrize("max_steps", [1, 2, 3, 4, 5])
def test_short_of_steps(little: Catalog, play: Any, max_steps: int) -> None:
    short = ShopEnv(little, max_steps=max_steps)
    long = ShopEnv(little, max_steps=100)
    differing = 0
    for goal in range(30):
        played = play(short, make_factory("choice-oracle", "shop", short, {}), {"goal": goal})
        assert played.terminated == (max_steps >= 3)
        assert len(played.actions) <= max_steps
        best = play(long, make_factory("choice-oracle", "shop", long, {}), {"goal": goal})
        assert played.reward <= best.reward
        differing += played.reward < best.reward
    assert differing > 0 or max_steps == 5


def test_a_file_of_other_instructions_is_refused(little: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "queries.json"
    env = ShopEnv(little, goals="human")
    for content in ("{}", '{"find me a unicorn": ["unicorn"]}'):
        path.write_text(content)
        with pytest.raises(SettingError, match="for none of the goals that are played"):
            make_factory("choice-oracle", "shop", env, {"query": "predicted", "queries": path})


def test_nothing_found(little: Catalog, play: Any, tmp_path: Path) -> None:
    path = tmp_path / "queries.json"
    text = little.goals("human")[0].instruction_text
    path.write_text(json.dumps({text: ["zzzzqqq"]}))
    settings = {"query": "predicted", "queries": path}
    env = ShopEnv(little, "human", max_steps=5)
    played = play(env, make_factory("choice-oracle", "shop", env, settings), {"goal": 0})
    assert (played.reward, played.terminated, len(played.actions)) == (0.0, False, 5)
    endless = ShopEnv(little, "human")
    with pytest.raises(AgentError, match="Nothing can be bought"):
        play(endless, make_factory("choice-oracle", "shop", endless, settings), {"goal": 0})


def test_it_says_what_it_found(little: Catalog) -> None:
    env = ShopEnv(little, max_steps=10)
    seen, info = env.reset(options={"goal": 0})
    agent = ChoiceOracle(query_source("instruction", "", "instruction", "")[0])
    with pytest.raises(AgentError, match="shown"):
        agent.begin(seen, info)
    agent.look(env)
    agent.begin(seen, info)
    first, second = agent.act(seen, info), agent.act(seen, info)
    assert isinstance(first, Move)
    assert "is worth" in first.thought
    assert second.thought == ""


def test_only_what_can_be_chosen(tmp_path: Path) -> None:
    """Options that the pages show but do not let anybody choose are not counted on."""
    record = {
        "asin": "B000000001", "name": "Hat", "full_description": "", "small_description": [""],
        "pricing": "$5.00", "category": "fashion", "query": "hat", "product_category": "a › b",
        "images": ["x"],
        "customization_options": {
            "color": [{"value": value} for value in ("red", "both", "a [b", "Buy Now", "c]d")],
            "size": [{"value": value} for value in ("both", "features", "search", "line\nbreak")],
        },
    }  # fmt: skip
    mined = {"B000000001": {"attributes": ["warm"], "instruction": "Find me warm hat",
                            "instruction_attributes": ["warm"]}}  # fmt: skip
    (tmp_path / "items.json").write_text(json.dumps([record]))
    (tmp_path / "ins.json").write_text(json.dumps(mined))
    build_catalog(tmp_path / "c", items=tmp_path / "items.json", attributes=tmp_path / "ins.json")
    env = ShopEnv(tmp_path / "c", max_steps=9)
    product, offered = choices(env.context.shop, 0)
    assert product.asin == "B000000001"
    assert offered == {"color": ["red", "c]d"], "size": ["both"]}
