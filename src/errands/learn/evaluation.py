"""Evaluation while a model learns: a few episodes on goals that nobody is trained or tested on.

    exam = open_exam("shop-learn-train", episodes=50)
    sit(exam, policy) -> Mark(score=71.3, success=0.52)

The model plays as `errands run` lets it: the agent of `learn.player`, with the best action or one
by its probability. Every evaluation has the same goals in shops of its own, so marks can be
compared, and training notices nothing of it.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import torch

from errands.agents.factory import one_of
from errands.errors import SettingError
from errands.learn.policy import LearnedShopper, Policy, Queries
from errands.learn.rollout import Queries as Source
from errands.runs.episode_source import ShopSource
from errands.runs.protocol import find_protocol

__all__ = ["SPLIT", "Exam", "Mark", "open_exam", "sit"]

SPLIT: Final = "disjoint-eval"
"""Its goals share no product and no wording with those of training and tests."""


class Exam(NamedTuple):
    """What is played at each evaluation, and how often."""

    env: Any
    goals: Sequence[int]
    every: int
    """Steps of training between evaluations."""
    is_sampling: bool = False
    """Whether actions are drawn by their probability, the same draws at every evaluation."""


class Mark(NamedTuple):
    """How well it was done: the mean of 100 x the reward, and the share of rewards of 1."""

    score: float
    success: float


def open_exam(
    protocol: str,
    *,
    episodes: int = 50,
    every: int = 5_000,
    choose: str = "best",
    catalog: str | None = None,
) -> Exam:
    """Shops under a training's protocol, with goals that it does not train on."""
    is_sampling = one_of("choose", choose, ("best", "sample")) == "sample"
    found = find_protocol(protocol)
    source = ShopSource(
        msgspec.structs.replace(
            found,
            data=catalog or found.data,
            split=SPLIT,
            picked=(),
            shuffle_workers=0,
            episodes=episodes,
        )
    )
    if not source.indices:
        raise SettingError(f"There are no goals of {SPLIT} to evaluate on; add --evaluate-every 0.")
    return Exam(source.env(), source.indices, every, is_sampling)


class _Written:
    """A fixed source of queries in the form of a search model."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        return list(self._source(instruction))[:beams]


def sit(exam: Exam, policy: Policy, queries: Source) -> Mark:
    """Play every goal once; nothing outside is changed."""
    rewards = []
    with torch.random.fork_rng(devices=[]):
        for goal in exam.goals:
            shopper = LearnedShopper(
                policy, goal, exam.is_sampling, Queries(_Written(queries), goal, is_sampling=False)
            )
            seen, info = exam.env.reset(options={"goal": goal})
            shopper.begin(seen, info)
            is_over = False
            reward = 0.0
            while not is_over:
                seen, reward, bought, stopped, info = exam.env.step(shopper.act(seen, info))
                is_over = bool(bought or stopped)
            rewards.append(float(reward))
    return Mark(100 * sum(rewards) / len(rewards), sum(one >= 1 for one in rewards) / len(rewards))
