"""verl-agent: its Ray workers, vector environment, projection and environment manager."""

import sys
import types
from pathlib import Path

import numpy as np
from shopper import check, report, shop


def main(folder: Path) -> str:
    root = folder / "verl-agent"
    sys.path.insert(0, str(root))
    # Of the fork's other environment, whose world is no part of it, one table is wanted.
    name = "agent_system.environments.env_package.discovery"
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(root / name.replace(".", "/"))]
    from agent_system.environments.env_manager import WebshopEnvironmentManager
    from agent_system.environments.env_package.webshop import build_webshop_envs, webshop_projection
    from agent_system.environments.env_package.webshop import envs as webshop_module
    from errands_legacy import build_webshop_envs as build_ours
    from omegaconf import OmegaConf
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(webshop_module)  # Workers need not import the others.

    data = root / "agent_system/environments/env_package/webshop/webshop/data"
    options = {
        "observation_mode": "text",
        "num_products": None,
        "human_goals": False,
        "file_path": str(data / "items_shuffle_1000.json"),
        "attr_path": str(data / "items_ins_v2_1000.json"),
    }
    arguments = {
        "seed": 0,
        "env_num": 3,
        "group_n": 2,
        "resources_per_worker": {"num_cpus": 0.1},
        "is_train": True,
        "env_kwargs": options,
    }
    config = OmegaConf.create({"env": {"history_length": 2}})
    theirs = build_webshop_envs(**arguments)
    ours = build_ours(**arguments)
    drawn = np.random.RandomState(0).choice(theirs.goal_idxs, size=3, replace=False).tolist()
    episodes = [shop(goal) for goal in drawn for _ in range(2)]
    managers = [
        WebshopEnvironmentManager(envs, webshop_projection, config) for envs in (theirs, ours)
    ]
    shown = [manager.reset({}) for manager in managers]
    check("the first observations", shown[0], shown[1])
    check("the tasks", managers[0].tasks, [episode.instruction for episode in episodes])
    totals = np.zeros(6)
    for turn in range(max(len(episode.actions) for episode in episodes)):
        answers = [
            f"<think>buy</think><action>{episode.actions[turn]}</action>"
            if turn < len(episode.actions)
            else "<think>done</think><action>nothing</action>"
            for episode in episodes
        ]
        (seen, rewards, dones, infos), (seen_2, rewards_2, dones_2, infos_2) = (
            manager.step(list(answers)) for manager in managers
        )
        check("observations", seen, seen_2)
        check(
            "rewards and ends",
            [rewards.tolist(), dones.tolist()],
            [rewards_2.tolist(), dones_2.tolist()],
        )
        check("infos", infos, infos_2)
        totals += [info["task_score"] for info in infos]
    check("the scores", totals.tolist(), [episode.reward for episode in episodes])
    theirs.close()
    ours.close()
    return "6 environments, 3 groups: Ray workers = one process = ShopEnv, every page and score"


if __name__ == "__main__":
    report(main)
