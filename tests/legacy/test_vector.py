"""verl-agent's vector of environments, without Ray."""

from typing import Any

import numpy as np
import pytest
from errands_legacy import build_webshop_envs

from errands.errors import GoalError, SettingError
from errands.shop.catalog.catalog import Catalog

RESOURCES = {"num_cpus": 0.1}


def build(little: Catalog, seed: int = 3, **options: Any) -> Any:
    options = {"env_num": 4, "group_n": 2, "is_train": True, **options}
    kwargs = {"observation_mode": "text", "catalog": little}
    return build_webshop_envs(
        seed=seed, resources_per_worker=RESOURCES, env_kwargs=kwargs, **options
    )


def instruction(text: str) -> str:
    heading, label, task, *_ = text.split(" [SEP] ")
    assert (heading, label) == ("WebShop", "Instruction:")
    return task


def test_groups_share_a_goal_and_goals_do_not_repeat(little: Catalog) -> None:
    envs = build(little)
    assert (envs.num_processes, envs.env_num, envs.group_n) == (8, 4, 2)
    goals = envs._envs[0].server.goals
    assert envs.goal_idxs == range(500, len(goals))
    drawn = np.random.RandomState(3).choice(envs.goal_idxs, size=4, replace=False).tolist()
    seen, infos = envs.reset()
    expected = [goals[index]["instruction_text"] for index in drawn for _ in range(2)]
    assert [instruction(text) for text in seen] == expected
    assert (
        infos
        == [
            {
                "available_actions": {"has_search_bar": True, "clickables": ["search"]},
                "won": False,
            }
        ]
        * 8
    )
    assert envs.reset()[0] != seen


def test_steps_and_rewards(little: Catalog) -> None:
    envs = build(little)
    envs.reset()
    seen, rewards, dones, infos = envs.step(["search[shoes]"] * 7 + ["nonsense"])
    assert rewards == [0.0] * 8
    assert dones == [False] * 8
    assert "Page 1" in seen[0]
    assert instruction(seen[7])
    assert set(infos[0]) == {"available_actions", "task_score", "won"}
    assert set(infos[0]["available_actions"]) == {"has_search_bar", "clickables"}
    first = infos[0]["available_actions"]["clickables"][2]
    envs.step([f"click[{first}]"] + ["x"] * 7)
    _, rewards, dones, infos = envs.step(["click[buy now]"] + ["x"] * 7)
    assert dones == [True] + [False] * 7
    assert rewards[0] == (10.0 if infos[0]["task_score"] == 1 else 0.0)
    with pytest.raises(ValueError, match="Expected 8 actions, got 1"):
        envs.step(["x"])
    pages = envs.render("text")
    assert len(pages) == 8
    assert envs.render("text", env_idx=3) == pages[3]
    envs.close()
    envs.close()


def test_what_is_wanted_is_won(little: Catalog) -> None:
    """A purchase that is right in everything gets 10."""
    envs = build(little, env_num=1, group_n=1)
    for _ in range(40):
        (seen,), _ = envs.reset()
        task = instruction(seen)
        goal = next(g for g in envs._envs[0].server.goals if g["instruction_text"] == task)
        envs.step([f"search[{goal['name']}]"])
        envs.step([f"click[{goal['asin']}]"])
        for value in goal["goal_options"].values():
            envs.step([f"click[{value}]"])
        _, (reward,), (done,), (info,) = envs.step(["click[buy now]"])
        if info["won"]:
            assert (reward, done, info["task_score"]) == (10.0, True, 1.0)
            return
        assert reward == 0.0
    raise AssertionError("nothing was won")


def test_validation_has_goals_of_its_own(little: Catalog) -> None:
    envs = build(little, seed=1003, is_train=False, group_n=1)
    assert envs.goal_idxs == range(500)
    with pytest.raises(SettingError, match="expected 1 for validation"):
        build(little, is_train=False, group_n=2)


def test_too_few_goals_are_said(little: Catalog) -> None:
    count = len(little.goals())
    with pytest.raises(GoalError, match=f"There are {count} goals"):
        build(little, env_num=count - 499, group_n=1)
    with pytest.raises(SettingError, match="expected 1 or more of each"):
        build(little, env_num=0)


def test_the_switch_gives_each_group_its_own_order(little: Catalog) -> None:
    kwargs = {"observation_mode": "text", "catalog": little, "shuffle": "seed"}
    with pytest.warns(UserWarning, match="share goals"):
        envs = build_webshop_envs(1, 2, 2, RESOURCES, True, kwargs)
    one, same, other, _ = (env.server.goals[0]["instruction_text"] for env in envs._envs)
    assert one == same != other
    assert "seed" not in kwargs
