"""Random agents do valid things only."""

from typing import Any

import pytest

from errands.agents.agent import AgentError
from errands.agents.registry import make_factory
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.shop.catalog.catalog import Catalog
from errands.turk.tasks.loader import TaskSet


def test_every_field_gets_something(turk_env: TurkEnv, play: Any) -> None:
    factory = make_factory("random", "turk", turk_env, {})
    for name in turk_env.tasks.names:
        played = play(turk_env, factory, {"task": name, "row": 0}, 1)
        assert played.actions[-1] == "submit()"
        assert played.terminated
        assert len(set(played.actions)) == len(played.actions)
    assert len(played.actions) > 1


def test_it_needs_the_list_of_fields(demo_tasks: TaskSet, play: Any) -> None:
    env = TurkEnv(demo_tasks, driver="dom", fields="hidden")
    with pytest.raises(AgentError, match="fields='given'"):
        play(env, make_factory("random", "turk", env, {}), {})
    env.close()


def test_it_searches_as_other_people_do(little: Catalog, play: Any) -> None:
    env = ShopEnv(little, "human", max_steps=60)
    played = play(env, make_factory("random", "shop", env, {}), {"goal": 0}, 3)
    goals = little.goals("synthetic")
    asked = {goals[index].instruction_text for index in range(len(goals))}
    searches = [action[7:-1] for action in played.actions if action.startswith("search[")]
    assert searches
    assert set(searches) <= asked
