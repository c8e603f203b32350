"""Trained models play."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from errands.agents import Agent
from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, SettingError
from errands.learn.player import make
from errands.runs.run_place import open_run
from errands.runs.runner import run
from errands.shop.catalog import Catalog

from .conftest import Rules


def _agent(shop: ShopEnv, folder: Path, choose: str, seed: int) -> Agent:
    return make("shop", shop, {"checkpoint": str(folder), "choose": choose}).agent(seed)


def _actions(shop: ShopEnv, agent: Agent, goal: int) -> list[str]:
    seen, info = shop.reset(options={"goal": goal})
    agent.begin(seen, info)
    actions: list[str] = []
    while len(actions) < 12:
        action: Any = agent.act(seen, info)
        available = info["available_actions"]
        if available["has_search_bar"]:
            assert action.startswith("search[")
        else:
            assert action.removeprefix("click[").removesuffix("]") in available["clickables"]
        actions.append(action)
        seen, _, terminated, truncated, info = shop.step(action)
        if terminated or truncated:
            break
    return actions


def test_only_does_what_can_be_done_and_follows_its_seed(shop: ShopEnv, taught: Path) -> None:
    def played(choose: str, seed: int) -> list[list[str]]:
        return [_actions(shop, _agent(shop, taught, choose, seed), goal) for goal in range(6)]

    assert played("sample", 1) == played("sample", 1)
    assert played("sample", 1) != played("sample", 2)
    assert played("best", 1) == played("best", 2)


def test_plays_a_run(rules: Rules, taught: Path, tmp_path: Path) -> None:
    settings = {"checkpoint": str(taught), "choose": "sample"}
    finished = run(rules(episodes=3), "il", out=tmp_path / "run", settings=settings)
    assert finished.kept == 3
    with closing(open_run(str(finished.place))) as store:
        assert not [one for one in store.episodes() if one.summary.status == "error"]


@pytest.mark.parametrize("settings", [{"observation": "text"}, {"num_prev_obs": 1}])
def test_other_pages_are_refused(little: Catalog, taught: Path, settings: dict[str, Any]) -> None:
    env = ShopEnv(catalog=little, **{"observation": "text_rich", **settings})
    with pytest.raises(SettingError, match="shop-learn"):
        make("shop", env, {"checkpoint": str(taught), "choose": "best"})


@pytest.mark.parametrize(
    ("checkpoint", "choose", "says"),
    [
        ("", "best", "needs its checkpoint"),
        ("nowhere", "best", "is no checkpoint"),
        ("nowhere", "worst", "best"),
    ],
)
def test_wrong_settings_are_named(shop: ShopEnv, checkpoint: str, choose: str, says: str) -> None:
    with pytest.raises(ErrandsError, match=says):
        make("shop", shop, {"checkpoint": checkpoint, "choose": choose})
