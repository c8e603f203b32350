"""verl-agent's vector of WebShop environments in one process, without Ray."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from errands.errors import GoalError, SettingError
from errands_legacy.gym_base import GymEnv
from errands_legacy.text_env import WebAgentTextEnv

__all__ = ["WebshopVectorEnv", "build_webshop_envs"]

VALIDATION_GOALS = 500
"""Goals 0-499 are verl-agent's for validation, the others for training."""
WON = 10.0
"""The reward of a purchase that is right in everything; others get 0."""

Infos = list[dict[str, Any]]


class WebshopVectorEnv(GymEnv):
    """`env_num` groups of `group_n` environments; those of a group are given the same goal."""

    def __init__(
        self,
        seed: int,
        env_num: int,
        group_n: int,
        is_train: bool = True,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if env_num < 1 or group_n < 1:
            raise SettingError(f"env_num={env_num}, group_n={group_n}: expected 1 or more of each.")
        if not is_train and group_n != 1:
            raise SettingError(f"group_n={group_n}: expected 1 for validation (is_train=False).")
        self.env_num = env_num
        self.group_n = group_n
        self.num_processes = env_num * group_n
        self.is_train = is_train
        self._rng = np.random.RandomState(seed)
        options = dict(env_kwargs or {"observation_mode": "text", "num_products": None})
        self._envs = [
            WebAgentTextEnv(**{**options, "seed": seed + place // group_n})
            for place in range(self.num_processes)
        ]
        goals = len(self._envs[0].server.goals)
        self.goal_idxs = range(VALIDATION_GOALS, goals) if is_train else range(VALIDATION_GOALS)
        if goals < self.goal_idxs.stop or len(self.goal_idxs) < env_num:
            raise GoalError(
                f"There are {goals} goals; {env_num} different ones of"
                f" {'500 and up (training)' if is_train else '0-499 (validation)'} are wanted. Use"
                " more products, or smaller batches."
            )

    def reset(self) -> tuple[list[str], Infos]:
        """Begin episodes on `env_num` goals drawn without repeats, each for a whole group."""
        drawn = self._rng.choice(self.goal_idxs, size=self.env_num, replace=False)
        seen, infos = [], []
        for env, goal in zip(self._envs, np.repeat(drawn, self.group_n).tolist(), strict=True):
            seen.append(env.reset(session=goal)[0])
            infos.append({"available_actions": env.get_available_actions(), "won": False})
        return seen, infos

    def step(self, actions: Sequence[str]) -> tuple[list[str], list[float], list[bool], Infos]:
        """One action in each environment: observations, rewards (10 or 0), dones, infos."""
        if len(actions) != self.num_processes:
            raise SettingError(f"Expected {self.num_processes} actions, got {len(actions)}.")
        seen, rewards, dones, infos = [], [], [], []
        for env, action in zip(self._envs, actions, strict=True):
            observation, score, done, _ = env.step(action)
            won = done and score == 1.0
            seen.append(observation)
            rewards.append(WON if won else 0.0)
            dones.append(done)
            infos.append(
                {"available_actions": env.get_available_actions(), "task_score": score, "won": won}
            )
        return seen, rewards, dones, infos

    def render(self, mode: str = "text", env_idx: int | None = None) -> str | list[str]:
        """The page of one environment, or of all."""
        if env_idx is not None:
            return self._envs[env_idx].render(mode=mode)
        return [env.render(mode=mode) for env in self._envs]

    def close(self) -> None:
        for env in self._envs:
            env.close()


def build_webshop_envs(
    seed: int,
    env_num: int,
    group_n: int,
    resources_per_worker: Mapping[str, Any] | None = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
) -> WebshopVectorEnv:
    """verl-agent's function of this name; there are no workers that resources could be for."""
    return WebshopVectorEnv(seed, env_num, group_n, is_train, env_kwargs)
