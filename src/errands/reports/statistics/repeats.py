"""Figures of goals that were played several times: how sure an agent is of what it can do.

Of a goal with n attempts, c of which succeeded, the chance that k attempts have a success is
pass@k = 1 - C(n - c, k) / C(n, k) (Chen et al. 2021), and that all k succeed is
pass^k = C(c, k) / C(n, k) (Yao et al. 2024): both are means over all ways to take k of the n, and
so without bias. Goals with fewer than k attempts that are no errors are left out of k.
"""

from typing import Final

import msgspec
import numpy as np

from errands.reports.statistics.columns import Array, Columns
from errands.reports.statistics.estimate import Clusters, Estimate, estimate

__all__ = ["RepeatFigures", "RepeatPoint", "all_of", "any_of", "repeat_figures"]

MOST_POINTS: Final = 8


class RepeatPoint(msgspec.Struct, frozen=True):
    """What k attempts are good for."""

    k: int
    goals: int
    """That have k attempts or more."""
    any: Estimate
    """pass@k: the percentage of goals of which one of k attempts succeeds."""
    all: Estimate
    """pass^k: of which all k succeed."""


class RepeatFigures(msgspec.Struct, frozen=True):
    """Goals that were played more than once."""

    goals: int
    attempts: int
    """Of a goal, at most."""
    within: float | None
    """The variance of the reward between attempts of one goal, on average."""
    between: float | None
    """The variance between goals, without what the attempts add to it."""
    points: tuple[RepeatPoint, ...]

    @property
    def shared(self) -> float | None:
        """The share of all variance that is between goals (the intraclass correlation)."""
        if self.within is None or self.between is None or self.within + self.between == 0:
            return None
        return self.between / (self.within + self.between)


def any_of(attempts: Array, successes: Array, k: int) -> Array:
    """pass@k of goals with k attempts or more."""
    return 1.0 - all_of(attempts, attempts - successes, k)


def all_of(attempts: Array, successes: Array, k: int) -> Array:
    """pass^k of goals with k attempts or more."""
    share = np.ones(len(attempts))
    for taken in range(k):
        share *= np.maximum(successes - taken, 0) / (attempts - taken)
    return share


def repeat_figures(
    columns: Columns, *, weights: str = "episode", seed: int = 0
) -> RepeatFigures | None:
    """The figures of a run; None where nothing was played twice."""
    played = columns.of(~columns.failed)
    if len(np.unique(columns.goal)) == len(columns.goal):
        return None
    goals, first, codes = np.unique(played.goal, return_index=True, return_inverse=True)
    attempts = np.bincount(codes)
    won = np.bincount(codes, played.reward >= 1.0)
    clusters = played.cluster[first]
    within, between = _variances(played.reward, codes, attempts)
    most = int(attempts.max(initial=0))
    points = []
    for k in _numbers(most):
        there = attempts >= k
        rates = [
            estimate(
                Clusters(share(attempts[there], won[there], k), clusters[there], weights=weights),
                f"{name}{k}",
                seed=seed,
                is_rate=True,
            ).times(100)
            for name, share in (("pass@", any_of), ("pass^", all_of))
        ]
        points.append(RepeatPoint(k, int(there.sum()), *rates))
    return RepeatFigures(len(goals), most, within, between, tuple(points))


def _numbers(most: int) -> list[int]:
    """All numbers of attempts; of many, doubling ones and the last."""
    if most <= MOST_POINTS:
        return list(range(1, most + 1))
    return [1 << power for power in range(most.bit_length()) if 1 << power < most] + [most]


def _variances(rewards: Array, codes: Array, attempts: Array) -> tuple[float | None, float | None]:
    """By the analysis of variance of one way, for goals with any number of attempts."""
    goals, total = len(attempts), len(rewards)
    if goals < 2 or total == goals:
        return None, None
    means = np.bincount(codes, rewards) / attempts
    within = float(((rewards - means[codes]) ** 2).sum()) / (total - goals)
    around = float((attempts * (means - rewards.mean()) ** 2).sum()) / (goals - 1)
    each = (total - float((attempts**2).sum()) / total) / (goals - 1)
    return within, max(0.0, (around - within) / each)
