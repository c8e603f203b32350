"""Every recorded episode of the original passes through `WebAgentTextEnv`, step by step."""

import json
from pathlib import Path
from typing import Any

import pytest
from errands_legacy import WebAgentTextEnv

from errands.shop.catalog.catalog import Catalog

pytestmark = pytest.mark.shared

NOTHING = {"has_search_bar": False, "clickables": []}


def check(env: WebAgentTextEnv, seen: str, expected: dict[str, Any], mode: str) -> None:
    assert seen == env.observation == expected[mode]
    assert env.get_available_actions() == (expected["available"] or NOTHING)
    assert list(env.text_to_clickable) == (expected["available"] or NOTHING)["clickables"]
    assert env.browser.current_url == env.state["url"] == expected["url"]


@pytest.mark.parametrize("mode", ["text", "text_rich", "url"])
@pytest.mark.parametrize(("kind", "episodes"), [("synthetic", 100), ("human", 13)])
def test_every_step_is_as_recorded(
    catalog_1k: Catalog, recorded: Path, kind: str, episodes: int, mode: str
) -> None:
    env = WebAgentTextEnv(mode, catalog=catalog_1k, goals=recorded / f"goals-{kind}.json")
    lines = (recorded / f"episodes-{kind}.jsonl").read_text().splitlines()
    assert len(lines) == episodes
    for line in lines:
        episode = json.loads(line)
        seen, nothing = env.reset(episode["goal_index"])
        assert nothing is None
        check(env, seen, episode["reset"], mode)
        assert env.instruction_text == env.get_instruction_text() == episode["instruction"]
        session = env.server.user_sessions[env.session]
        for expected in episode["steps"]:
            seen, reward, done, info = env.step(expected["action"])
            check(env, seen, expected, mode)
            assert reward == pytest.approx(expected["reward"], abs=1e-6)
            assert (done, info) == (expected["done"], None)
            if done:
                assert session["verbose_info"] == pytest.approx(expected["verbose"], abs=1e-9)
                assert session["reward"] == reward


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_goals_are_the_recorded_dictionaries(
    catalog_1k: Catalog, recorded: Path, kind: str
) -> None:
    path = recorded / f"goals-{kind}.json"
    written = json.loads(path.read_text())
    server = WebAgentTextEnv("url", catalog=catalog_1k, goals=path).server
    assert list(server.goals) == written["goals"]
    assert [list(goal) for goal in server.goals[:50]] == [
        list(goal) for goal in written["goals"][:50]
    ]
    assert server.weights == [goal["weight"] for goal in written["goals"]]
    assert server.cum_weights[0] == 0
    assert len(server.cum_weights) == len(server.goals) + 1
    for asin in list(written["prices"])[:100]:
        assert server.product_prices[asin] == written["prices"][asin]


def test_random_sessions_are_the_originals(catalog_1k: Catalog) -> None:
    env = WebAgentTextEnv("url", catalog=catalog_1k)
    assert env.session == "ihjvksdtfm"
    assert [goal["asin"] for goal in env.server.goals[:3]] == [
        "B0743JKHBV",
        "B09QCP4579",
        "B099WH1RTM",
    ]
    env = WebAgentTextEnv("url", catalog=catalog_1k, human_goals=True)
    assert env.session == "sscrzsfhmf"
    assert [goal["asin"] for goal in env.server.goals[:3]] == [
        "B09MW563KN",
        "B003I567W4",
        "B07S7HDC88",
    ]
