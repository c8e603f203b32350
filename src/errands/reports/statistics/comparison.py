"""Two runs side by side over the episodes that both have played.

Pairing takes out what the episodes have in common, which is most of the spread: an easy goal is
easy for both. The difference has a paired bootstrap interval; whether it can be chance is asked
of a sign-flip permutation test for scores and of McNemar's exact test for successes.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from errands.reports.statistics.columns import Columns
from errands.reports.statistics.estimate import Estimate, WeightedValues, estimate, named_rng
from errands.runs.store.base import Store

__all__ = [
    "RunComparison",
    "compare",
    "holm",
    "mcnemar",
    "sign_flip",
]

FLIPS: Final = 10_000
EXACT_UP_TO: Final = 16
"""So many differences are flipped in every possible way."""
BY_NUMBER_FROM: Final = 100_000
BINS: Final = 21
LEVEL: Final = 0.05


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Run `second` against run `first`, or why they are not compared."""

    first: str
    second: str
    refused: str = ""
    pairs: int = 0
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
    remark: str = ""
    meaning: str = ""


def sign_flip(differences: Sequence[float] | Any, *, seed: int = 0, flips: int = FLIPS) -> float:
    """How often chance alone makes a mean difference at least as large, both ways counted.

    If neither run is better, every difference could as well have the other sign. All ways of
    flipping are tried where there are few; else so many are drawn, which for equal differences is
    one binomial draw.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0]
    if not len(values):
        return 1.0
    seen = abs(float(values.sum()))
    tolerance = 1e-9 * max(1.0, float(np.abs(values).sum()))
    if len(values) <= EXACT_UP_TO:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate([sums + value, sums - value])
        return float(np.mean(np.abs(sums) >= seen - tolerance))
    sizes, counts = np.unique(np.abs(np.round(values, 12)), return_counts=True)
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
    first: tuple[str, Store, Columns],
    second: tuple[str, Store, Columns],
    *,
    anyway: bool = False,
    seed: int = 0,
) -> RunComparison:
    """The second run against the first; `anyway` pairs runs of different protocols, too."""
    (name, store, columns), (other, other_store, other_columns) = first, second
    keys = store.info.protocol_key, other_store.info.protocol_key
    if keys[0] != keys[1] and not anyway:
        reason = (
            f"They follow different protocols ({keys[0]} and {keys[1]}), so a difference between"
            " them says nothing about the agents."
        )
        return RunComparison(first=name, second=other, refused=reason)
    a, b, union = _paired(store, columns, other_store, other_columns)
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    if not len(a):
        reason = "They have no episode in common that both finished without an error."
        return RunComparison(first=name, second=other, refused=reason, left_out=union)
    gap = np.round(b - a, 12)
    label = f"{name} | {other}"
    won = (b >= 1.0).astype(int) - (a >= 1.0).astype(int)
    difference = estimate(WeightedValues(gap), label, seed=seed).times(100)
    success = estimate(WeightedValues(won), f"{label} success", seed=seed).times(100)
    p = sign_flip(gap, seed=seed)
    success_p = mcnemar(int((won < 0).sum()), int((won > 0).sum()))
    remark = ""
    if keys[0] != keys[1]:
        remark = f"Different protocols ({keys[0]} and {keys[1]}): compared all the same."
    return RunComparison(
        first=name,
        second=other,
        pairs=len(gap),
        left_out=union - len(gap),
        first_score=float(a.mean()) * 100,
        second_score=float(b.mean()) * 100,
        difference=difference,
        p=p,
        success_difference=success,
        success_p=success_p,
        wins=int((gap > 0).sum()),
        ties=int((gap == 0).sum()),
        losses=int((gap < 0).sum()),
        histogram=tuple(np.histogram(gap, bins=BINS, range=(-1.05, 1.05))[0].tolist()),
        remark=remark,
        meaning=_meaning(name, other, len(gap), difference, p),
    )


def _paired(store: Store, columns: Columns, other: Store, others: Columns) -> tuple[Any, Any, int]:
    """The rewards of the episodes both have, in the same order; and how many either has.

    Episodes are paired by what they played. Under one protocol the number says the same, which
    is what very large runs are paired by.
    """
    same = store.info.protocol_key == other.info.protocol_key
    if same and min(len(columns.number), len(others.number)) > BY_NUMBER_FROM:
        _, at, there = np.intersect1d(
            columns.number, others.number, assume_unique=True, return_indices=True
        )
        union = len(columns.number) + len(others.number) - len(at)
        return columns.reward[at], others.reward[there], union
    one, two = _by_key(store), _by_key(other)
    shared = [key for key in one if key in two]
    union = len(one) + len(two) - len(shared)
    return np.array([one[k] for k in shared]), np.array([two[k] for k in shared]), union


def _by_key(store: Store) -> dict[tuple[str, int], float]:
    """Rewards by key; what is played several times is told apart by how often it came before."""
    came: Counter[str] = Counter()
    rewards: dict[tuple[str, int], float] = {}
    for summary in store.summaries():
        failed = summary.reward is None or summary.status == "error"
        rewards[summary.key, came[summary.key]] = float("nan") if failed else summary.reward or 0.0
        came[summary.key] += 1
    return rewards


def _meaning(first: str, second: str, pairs: int, difference: Estimate, p: float) -> str:
    assert difference.mean is not None
    assert difference.low is not None
    assert difference.high is not None
    ahead, behind = (second, first) if difference.mean > 0 else (first, second)
    over = f"over the {pairs:,} {'episode' if pairs == 1 else 'episodes'} both played"
    if difference.mean == 0 and difference.low == difference.high:
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
