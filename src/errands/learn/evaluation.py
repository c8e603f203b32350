"""Evaluation while a model learns: a few episodes on goals that nobody is trained or tested on.

    config = open_eval_config("shop-learn-train", episodes=50)
    evaluate(config, policy, own_words) -> EvalResult(score=71.3, success=0.52)

The model plays as `errands run` lets it: the agent of `learn.policy`, greedy or sampled. Every
evaluation has the same goals in an environment of its own, so results can be compared, and
training is not changed by it.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import torch

from errands.agents.factory import one_of
from errands.errors import SettingError
from errands.learn.data.view import OBSERVATION
from errands.learn.policy import LearnedAgent, Policy, QueryPicker
from errands.learn.rollout import QuerySource
from errands.runs.episode_source import ShopSource
from errands.runs.protocol import find_protocol

__all__ = ["SPLIT", "EvalConfig", "EvalResult", "evaluate", "open_eval_config"]

SPLIT: Final = "disjoint-eval"
"""Its goals share no product and no wording with those of training and tests."""


class EvalConfig(NamedTuple):
    """What is played at each evaluation, and how often."""

    env: Any
    goals: Sequence[int]
    every: int
    """Steps of training between evaluations."""
    is_sampled: bool = False
    """Whether actions are sampled, with the same draws at every evaluation, instead of greedy."""


class EvalResult(NamedTuple):
    """How well a policy does: the mean of 100 x the reward, and the share of rewards of 1."""

    score: float
    success: float


def open_eval_config(
    protocol: str,
    *,
    episodes: int = 50,
    every: int = 5_000,
    choose: str = "best",
    catalog: str | None = None,
) -> EvalConfig:
    """An environment under a training's protocol, with goals that it does not train on."""
    is_sampled = one_of("choose", choose, ("best", "sample")) == "sample"
    base = find_protocol(protocol)
    source = ShopSource(
        msgspec.structs.replace(
            base,
            data=catalog or base.data,
            split=SPLIT,
            picked=(),
            shuffle_workers=0,
            episodes=episodes,
        ),
        observation=OBSERVATION,
    )
    if not source.indices:
        raise SettingError(f"There are no goals of {SPLIT} to evaluate on; add --evaluate-every 0.")
    return EvalConfig(source.env(), source.indices, every, is_sampled)


def evaluate(config: EvalConfig, policy: Policy, queries: QuerySource) -> EvalResult:
    """Play every goal once; nothing outside is changed."""
    rewards = []
    with torch.random.fork_rng(devices=[]):
        for goal in config.goals:
            picker = QueryPicker(queries, goal, is_sampled=False)
            agent = LearnedAgent(policy, goal, config.is_sampled, picker)
            observation, info = config.env.reset(options={"goal": goal})
            agent.begin(observation, info)
            is_over, reward = False, 0.0
            while not is_over:
                action = agent.act(observation, info)
                observation, reward, terminated, truncated, info = config.env.step(action)
                is_over = bool(terminated or truncated)
            rewards.append(float(reward))
    count = len(rewards)
    return EvalResult(100 * sum(rewards) / count, sum(reward >= 1 for reward in rewards) / count)
