"""Two agents side by side over the episodes that both have played.

Pairing takes out what the episodes have in common, which is most of the spread: an easy goal is
easy for both. Episodes of one product, task or goal are a cluster, and are drawn and flipped
together: the difference has a paired cluster bootstrap interval; whether it can be chance is asked
of a sign-flip permutation test by cluster, for scores and for successes alike. Where every cluster
has one episode, the latter is McNemar's exact test. An agent that was played with several seeds is
compared by its mean over them, episode by episode.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from errands.reports.statistics.columns import Array, Columns
from errands.reports.statistics.estimate import Clusters, Estimate, estimate, named_rng
from errands.runs.store.base import Store

__all__ = [
    "Contestant",
    "RunComparison",
    "compare",
    "corrected",
    "holm",
    "mcnemar",
    "sign_flip",
]

FLIPS: Final = 10_000
EXACT_UP_TO: Final = 16
"""So many differences are flipped in every possible way."""
MOST_FLIPPED: Final = 5000
"""Of more sizes of differences the sum of flips is taken as normal."""
BINS: Final = 21
LEVEL: Final = 0.05


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Run `second` against run `first`, or why they are not compared."""

    first: str
    second: str
    refused: str = ""
    pairs: int = 0
    clusters: int = 0
    """What was drawn and flipped together."""
    left_out: int = 0
    """Episodes that only one has, or where either failed."""
    first_score: float | None = None
    second_score: float | None = None
    """Of the pairs alone."""
    difference: Estimate = Estimate(None, None, None, 0)
    """Second minus first, in points of Task Score."""
    p: float | None = None
    """Of the score's difference."""
    success_difference: Estimate = Estimate(None, None, None, 0)
    success_p: float | None = None
    wins: int = 0
    """Episodes in which the second did better."""
    ties: int = 0
    losses: int = 0
    histogram: tuple[int, ...] = ()
    """Differences of rewards from -1 to 1, in equal bins."""
    p_holm: float | None = None
    """`p`, raised for the number of comparisons in the report."""
    success_p_holm: float | None = None
    """`success_p`, likewise."""
    success_test: str = ""
    """What `success_p` is of."""
    remark: str = ""
    meaning: str = ""


class Contestant(NamedTuple):
    """An agent: one run, or several that differ in their seed alone."""

    name: str
    runs: Sequence[tuple[Store, Columns]]

    @property
    def protocol(self) -> str:
        return self.runs[0][0].info.protocol_key

    @property
    def weights(self) -> str:
        return str(self.runs[0][0].info.protocol.get("weights", "episode"))


def sign_flip(differences: Sequence[float] | Any, *, seed: int = 0, flips: int = FLIPS) -> float:
    """How often chance alone makes a sum of differences at least as large, both ways counted.

    If neither run is better, every difference could as well have the other sign. Of equal ones the
    answer is exact (binomial); all ways of flipping are tried where there are few; else so many
    are drawn, those of one size by one binomial draw. The sum over very many sizes is normal.
    """
    values = np.round(np.asarray(differences, dtype=np.float64), 12)
    values = values[values != 0]
    if not len(values):
        return 1.0
    sizes, counts = np.unique(np.abs(values), return_counts=True)
    if len(sizes) == 1:
        return mcnemar(int((values < 0).sum()), int((values > 0).sum()))
    seen = abs(float(values.sum()))
    tolerance = 1e-9 * max(1.0, float(np.abs(values).sum()))
    if len(values) <= EXACT_UP_TO:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate([sums + value, sums - value])
        return float(np.mean(np.abs(sums) >= seen - tolerance))
    if len(sizes) > MOST_FLIPPED:
        return math.erfc(seen / math.sqrt(2 * float(values @ values)))
    rng = named_rng(seed, "sign flips")
    sums = np.zeros(flips)
    for size, count in zip(sizes, counts, strict=True):
        sums += size * (2.0 * rng.binomial(count, 0.5, flips) - count)
    return float((1 + np.sum(np.abs(sums) >= seen - tolerance)) / (1 + flips))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact: how likely so uneven a split of the disagreements is, if either way is as likely."""
    total = only_first + only_second
    if not total:
        return 1.0
    fewer = min(only_first, only_second)
    # Binomial coefficients as logarithms: each is the one before times (n - k + 1) / k.
    steps = np.arange(1, fewer + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log((total - steps + 1) / steps))])
    top = float(logs.max())
    tail = top + math.log(float(np.exp(logs - top).sum())) - total * math.log(2)
    return min(1.0, 2 * math.exp(tail))


def holm(values: Sequence[float]) -> list[float]:
    """P-values raised so that all of them together are wrong no more often than one alone."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    raised = [0.0] * len(values)
    least = 0.0
    for place, at in enumerate(order):
        least = max(least, min(1.0, values[at] * (len(values) - place)))
        raised[at] = least
    return raised


def compare(
    first: Contestant, second: Contestant, *, anyway: bool = False, seed: int = 0
) -> RunComparison:
    """The second agent against the first; `anyway` pairs runs of different protocols, too. What it
    means is said once all comparisons are `corrected`."""
    name, other = first.name, second.name
    keys = first.protocol, second.protocol
    if keys[0] != keys[1] and not anyway:
        reason = (
            f"They follow different protocols ({keys[0]} and {keys[1]}), so a difference between"
            " them says nothing about the agents."
        )
        return RunComparison(first=name, second=other, refused=reason)
    a, b, clusters, union = _paired(first, second)
    if not len(a):
        reason = "They have no episode in common that both finished without an error."
        return RunComparison(first=name, second=other, refused=reason, left_out=union)
    gap = np.round(b[:, 0] - a[:, 0], 12)
    won = np.round(b[:, 1] - a[:, 1], 12)
    label, weights = f"{name} | {other}", first.weights
    difference, success = (
        estimate(
            Clusters(values, clusters, weights=weights), what, seed=seed, span=(-1.0, 1.0)
        ).times(100)
        for values, what in ((gap, label), (won, f"{label} success"))
    )
    flipped = _flipped(won, clusters, weights)
    remark = ""
    if keys[0] != keys[1]:
        remark = f"Different protocols ({keys[0]} and {keys[1]}): compared all the same."
    scores = [Clusters(each[:, 0], clusters, weights=weights).mean * 100 for each in (a, b)]
    return RunComparison(
        first=name,
        second=other,
        pairs=len(gap),
        clusters=difference.clusters,
        left_out=union - len(gap),
        first_score=scores[0],
        second_score=scores[1],
        difference=difference,
        p=sign_flip(_flipped(gap, clusters, weights), seed=seed),
        success_difference=success,
        success_p=sign_flip(flipped, seed=seed),
        success_test=_success_test(won, flipped),
        wins=int((gap > 0).sum()),
        ties=int((gap == 0).sum()),
        losses=int((gap < 0).sum()),
        histogram=tuple(np.histogram(gap, bins=BINS, range=(-1.05, 1.05))[0].tolist()),
        remark=remark,
    )


def corrected(made: Sequence[RunComparison]) -> tuple[RunComparison, ...]:
    """All comparisons of a report, their p-values raised for how many they are, and what they mean
    then. Scores and successes are two questions, each of them raised by itself."""
    asked = [one for one in made if one.p is not None and one.success_p is not None]
    scores = iter(holm([one.p or 0.0 for one in asked]))
    successes = iter(holm([one.success_p or 0.0 for one in asked]))
    return tuple(
        one
        if one.p is None
        else msgspec.structs.replace(
            one,
            p_holm=(p := next(scores)),
            success_p_holm=next(successes),
            meaning=_meaning(one, p),
        )
        for one in made
    )


def _success_test(won: Array, flipped: Array) -> str:
    """What the sign flips of successes are called: of single episodes, won or lost, McNemar's."""
    single = len(flipped) == len(won) and bool(np.isin(np.abs(won), (0.0, 1.0)).all())
    return "McNemar's exact test" if single else "sign-flip test by cluster"


def _flipped(values: Array, clusters: Array, weights: str) -> Array:
    """What is flipped together: the sum of each cluster, or its mean where clusters count alike.
    Where all episodes are of one cluster, each stands for itself."""
    sizes = np.bincount(clusters)
    if np.count_nonzero(sizes) < 2:
        return values
    sums = np.bincount(clusters, values)
    return np.asarray(sums[sizes > 0] / sizes[sizes > 0] if weights == "cluster" else sums)


def _paired(first: Contestant, second: Contestant) -> tuple[Array, Array, Array, int]:
    """Rewards and successes (a column each) of the episodes both have, in the same order, and their
    clusters; and how many either has. Episodes are paired by what they played."""
    codes: dict[str, int] = {}
    runs = [columns for agent in (first, second) for _, columns in agent.runs]
    played = [_played(columns, codes) for columns in runs]
    sides = played[: len(first.runs)], played[len(first.runs) :]
    one, two = (functools.reduce(np.intersect1d, side) for side in sides)
    shared = np.intersect1d(one, two)
    union = len(one) + len(two) - len(shared)
    places = [
        np.argsort(each)[np.searchsorted(each, shared, sorter=np.argsort(each))] for each in played
    ]
    rows = [columns.of(at) for columns, at in zip(runs, places, strict=True)]
    # Runs of before say no more than the goal; the other of a pair may know its product.
    labels = min(rows, key=lambda columns: columns.unit == "goal").cluster
    tables = [
        np.mean([_rewarded(columns) for columns in side], axis=0)
        for side in (rows[: len(first.runs)], rows[len(first.runs) :])
    ]
    both = ~np.isnan(tables[0][:, 0] + tables[1][:, 0])
    return tables[0][both], tables[1][both], labels[both], union


def _played(columns: Columns, codes: dict[str, int]) -> Array:
    """A number for what each episode played, the same in all runs; what is played several times is
    told apart by how often it came before."""
    goals = [codes.setdefault(goal, len(codes)) for goal in columns.goals]
    goal = np.array(goals, dtype=np.int64)[columns.goal] if goals else columns.goal
    order = np.argsort(goal, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(goal[order]) != 0]) if len(goal) else order
    lengths = np.diff(np.append(starts, len(goal)))
    attempt = np.empty(len(goal), dtype=np.int64)
    attempt[order] = np.arange(len(goal)) - np.repeat(starts, lengths)
    return goal + (attempt << 32)


def _rewarded(columns: Columns) -> Array:
    won = np.where(columns.failed, np.nan, columns.reward >= 1.0)
    return np.column_stack([columns.reward, won])


def _meaning(one: RunComparison, p: float) -> str:
    """What a comparison says, by its p-value raised for all comparisons."""
    first, second, difference = one.first, one.second, one.difference
    assert difference.mean is not None
    assert difference.low is not None
    assert difference.high is not None
    ahead, behind = (second, first) if difference.mean > 0 else (first, second)
    over = f"over the {one.pairs:,} {'episode' if one.pairs == 1 else 'episodes'} both played"
    if one.wins == one.losses == 0:
        return f"{first} and {second} scored exactly the same {over}."
    low, high = sorted((abs(difference.low), abs(difference.high)))
    if p < LEVEL and difference.low * difference.high > 0:
        return (
            f"{ahead} is better than {behind}: {abs(difference.mean):.1f} points {over}, and with"
            f" 95 % confidence between {low:.1f} and {high:.1f}; chance alone would hardly do this"
            f" ({format_p(p)})."
        )
    return (
        f"{ahead} scored {abs(difference.mean):.1f} points more {over}, but that can be chance"
        f" ({format_p(p)}): more episodes would be needed to tell them apart."
    )


def format_p(p: float) -> str:
    """A p-value as people write it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
