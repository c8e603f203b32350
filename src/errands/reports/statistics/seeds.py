"""Runs of one agent that differ in their seed alone: one figure, and how far seeds are apart.

The mean over the episodes of all seeds has an interval over clusters, each with its episodes of all
seeds: it says what other goals would have given. What another seed would have given is the spread
between seeds, their standard deviation. Neither holds the other.
"""

import json
from collections.abc import Sequence

import msgspec
import numpy as np

from errands.reports.statistics.columns import Columns
from errands.reports.statistics.estimate import Clusters, Estimate, estimate
from errands.reports.statistics.figures import RunFigures
from errands.runs.episode import RunInfo

__all__ = ["SeedGroup", "grouped_by_seed", "seed_group"]


class SeedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One agent, played with several seeds."""

    label: str
    runs: tuple[str, ...]
    """Their labels in the report."""
    seeds: tuple[int, ...]
    score: Estimate
    success: Estimate
    scores: tuple[float, ...]
    """Of each seed."""
    successes: tuple[float, ...]
    score_spread: float
    """The standard deviation between seeds."""
    success_spread: float


def grouped_by_seed(infos: Sequence[RunInfo]) -> list[list[int]]:
    """The places of runs, those together that are of one agent under one protocol with other seeds;
    in order of the first of each. What was played twice with one seed stands alone."""
    groups: dict[str, dict[int, int]] = {}
    alone = []
    for place, info in enumerate(infos):
        same = [info.domain, info.protocol_key, info.agent, info.agent_settings]
        of_agent = groups.setdefault(json.dumps(same, sort_keys=True, default=str), {})
        if info.seed in of_agent:
            alone.append([place])
        else:
            of_agent[info.seed] = place
    return sorted([*(list(places.values()) for places in groups.values()), *alone])


def seed_group(
    label: str,
    runs: Sequence[tuple[str, RunInfo, RunFigures, Columns]],
    *,
    seed: int = 0,
) -> SeedGroup | None:
    """The figures of several runs of one agent; None where one of them has no score."""
    scores = [figures.score.mean for _, _, figures, _ in runs]
    successes = [figures.success.mean for _, _, figures, _ in runs]
    scored = [score for score in scores if score is not None]
    succeeded = [success for success in successes if success is not None]
    if not len(scored) == len(succeeded) == len(runs):
        return None
    every = [columns for _, _, _, columns in runs]
    weights = runs[0][2].weights
    return SeedGroup(
        label=label,
        runs=tuple(name for name, _, _, _ in runs),
        seeds=tuple(info.seed for _, info, _, _ in runs),
        score=_score(label, runs, weights, seed),
        success=_mean(every, weights, f"{label} success", seed, is_rate=True),
        scores=tuple(scored),
        successes=tuple(succeeded),
        score_spread=float(np.std(scored, ddof=1)),
        success_spread=float(np.std(succeeded, ddof=1)),
    )


def _mean(
    every: Sequence[Columns], weights: str, name: str, seed: int, *, is_rate: bool = False
) -> Estimate:
    codes: dict[str, int] = {}
    labels, values = [], []
    for columns in every:
        here = np.array([codes.setdefault(each, len(codes)) for each in columns.clusters])
        there = ~columns.failed
        labels.append(here[columns.cluster[there]])
        reward = columns.reward[there]
        values.append((reward >= 1.0).astype(float) if is_rate else reward)
    clusters = Clusters(np.concatenate(values), np.concatenate(labels), weights=weights)
    return estimate(clusters, name, seed=seed, is_rate=is_rate).times(100)


def _score(
    label: str,
    runs: Sequence[tuple[str, RunInfo, RunFigures, Columns]],
    weights: str,
    seed: int,
) -> Estimate:
    """Of form pages the mean over tasks, each with its mean over seeds."""
    name = f"{label} score"
    if any(figures.turk is None for _, _, figures, _ in runs):
        return _mean([columns for _, _, _, columns in runs], weights, name, seed)
    tasks: dict[str, list[float]] = {}
    for _, info, figures, _ in runs:
        assert figures.turk is not None
        rules = str(info.protocol.get("rules", ""))
        summary = figures.turk.rules.get(rules) or figures.turk.rules["paper"]
        for one in summary.tasks:
            if one.all.mean is not None:
                tasks.setdefault(one.task, []).append(one.all.mean)
    return estimate([float(np.mean(each)) for each in tasks.values()], name, seed=seed).times(100)
