"""Every recorded episode of the original, replayed step by step."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from errands.shop.catalog.catalog import Catalog

pytestmark = pytest.mark.shared

NOTHING = {"has_search_bar": False, "clickables": []}


def check(seen: str, info: dict[str, Any], expected: dict[str, Any], mode: str) -> None:
    assert seen == expected[mode]
    assert info["available_actions"] == (expected["available"] or NOTHING)
    if "verbose" in expected:
        assert info["reward_parts"] == pytest.approx(expected["verbose"], abs=1e-9)
        assert list(info["reward_parts"]) == list(expected["verbose"])


@pytest.mark.parametrize("mode", ["text", "text_rich", "url"])
@pytest.mark.parametrize(("kind", "episodes"), [("synthetic", 100), ("human", 13)])
def test_every_step_is_as_recorded(
    catalog_1k: Catalog, recorded: Path, kind: str, episodes: int, mode: str
) -> None:
    env = gymnasium.make(
        "errands/Shop-v0",
        catalog=catalog_1k,
        goals=recorded / f"goals-{kind}.json",
        observation=mode,
    )
    lines = (recorded / f"episodes-{kind}.jsonl").read_text().splitlines()
    assert len(lines) == episodes
    for line in lines:
        episode = json.loads(line)
        seen, info = env.reset(options={"goal": episode["goal_index"]})
        check(seen, info, episode["reset"], mode)
        assert episode["instruction"] == f"Instruction: {info['instruction']}"
        for expected in episode["steps"]:
            seen, reward, terminated, truncated, info = env.step(expected["action"])
            check(seen, info, expected, mode)
            assert reward == pytest.approx(expected["reward"], abs=1e-6)
            assert terminated == expected["done"]
            assert not truncated
