"""From one run to its figures: frozen, the same every time, with nothing of the store left in them.

Errors are counted and shown and never a reward. Since leaving them out flatters a run that
fails on what is hard, the figure with every error taken as 0 stands beside, as a lower bound.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from errands.reports.statistics.columns import STATUSES, Columns, summaries_of
from errands.reports.statistics.estimate import Estimate, WeightedValues, estimate
from errands.reports.statistics.turk_figures import (
    TurkFigures,
    estimate_of,
    headline_at_least,
    turk_figures,
)
from errands.runs.store.base import Store
from errands.turk.scoring.metrics import RULES

__all__ = [
    "PARTS",
    "Bin",
    "EpisodeSpread",
    "FailureExample",
    "Failures",
    "RewardPart",
    "RunFigures",
    "RunUsage",
    "reward_bins",
    "run_figures",
]

PARTS: Final = {
    "r_type": "type",
    "r_att": "attributes",
    "r_option": "options",
    "r_price": "price",
}
"""The reward's parts in the shop, and what they are called."""
TRAJECTORY: Final = {
    "steps": "length (actions)",
    "states": "states visited",
    "items": "items checked",
    "searches": "searches",
}
EXAMPLES: Final = 3


class RewardPart(msgspec.Struct, frozen=True):
    """One part of the reward, over the purchases where it counts."""

    name: str
    title: str
    mean: Estimate


class EpisodeSpread(msgspec.Struct, frozen=True):
    """Mean and greatest of something counted in each episode."""

    name: str
    title: str
    mean: float | None
    max: float | None


class Bin(msgspec.Struct, frozen=True):
    """A bar of a histogram."""

    title: str
    count: int
    share: float


class RunUsage(msgspec.Struct, frozen=True):
    """What a run took, errors included: they cost as well."""

    tokens_in: int
    tokens_out: int
    cost: float
    """In US dollars."""
    seconds: float
    """Of all episodes together, as if played one after the other."""
    seconds_mean: float | None
    seconds_max: float | None
    cost_mean: float | None
    tokens_mean: float | None
    """Both kinds, of an episode."""


class FailureExample(msgspec.Struct, frozen=True):
    """One failed episode."""

    number: int
    key: str
    reason: str


class Failures(msgspec.Struct, frozen=True):
    """The errors of one owner."""

    owner: str
    count: int
    examples: tuple[FailureExample, ...]


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one run."""

    episodes: int
    """Kept in the store."""
    planned: int
    done: int
    truncated: int
    errors: int
    score: Estimate
    """What a run is known by, errors left out. WebShop: the Task Score, the mean reward times 100.
    TurkingBench: the headline, the mean over tasks of what their fields got."""
    success: Estimate
    """Success Rate: the percentage of episodes with a reward of 1, errors left out."""
    score_at_least: Estimate
    """The same with errors taken as 0."""
    success_at_least: Estimate
    rewards: tuple[Bin, ...]
    bought: Estimate | None
    """Shop: the percentage of episodes that ended with a purchase."""
    parts: tuple[RewardPart, ...]
    """Shop: of the purchases."""
    trajectory: tuple[EpisodeSpread, ...]
    usage: RunUsage
    failures: tuple[Failures, ...]
    turk: TurkFigures | None = msgspec.field(default=None, name="paperwork")


def run_figures(store: Store, columns: Columns, *, seed: int = 0) -> RunFigures:
    """All figures of a run whose columns have been read."""
    rewards = WeightedValues(columns.rewards)
    errors = int(columns.failed.sum())
    counted = np.bincount(columns.status[~columns.failed], minlength=len(STATUSES))
    shop = store.info.domain == "shop"
    bought, parts = _shop_parts(store.parts(), rewards.size, seed) if shop else (None, ())
    success = WeightedValues([0.0, 1.0], _wins(rewards))
    turk = None if shop else turk_figures(store.parts(), seed=seed)
    rules = _rules(store)
    score = least = (
        _percentage(rewards, "score", seed)
        if turk is None
        else estimate_of(turk.rules[rules].macro)
    )
    won = least_won = _percentage(success, "success", seed)
    if errors:
        least = (
            _percentage(rewards.plus(0.0, errors), "score at least", seed)
            if turk is None
            else estimate_of(
                headline_at_least(store.parts(), _failed(store, columns), rules, seed=seed)
            )
        )
        least_won = _percentage(success.plus(0.0, errors), "success at least", seed)
    return RunFigures(
        episodes=len(columns.number),
        planned=store.info.episodes,
        done=int(counted[0]),
        truncated=int(counted[1]),
        errors=errors,
        score=score,
        success=won,
        score_at_least=least,
        success_at_least=least_won,
        rewards=reward_bins(rewards),
        bought=bought,
        parts=parts,
        trajectory=tuple(
            _spread(name, title, getattr(columns, name))
            for name, title in TRAJECTORY.items()
            if shop or name == "steps"
        ),
        usage=_usage(columns),
        failures=_failures(store, columns),
        turk=turk,
    )


def _rules(store: Store) -> str:
    """The rules of a run on form pages."""
    rules = str(store.info.protocol.get("rules", ""))
    return rules if rules in RULES else "paper"


def _failed(store: Store, columns: Columns) -> list[str]:
    """The keys of episodes that failed."""
    return [summary.key for summary in summaries_of(store, columns.number[columns.failed])]


def _wins(rewards: WeightedValues) -> tuple[int, int]:
    won = int(rewards.counts[rewards.values >= 1.0].sum())
    return rewards.size - won, won


def _percentage(weighted: WeightedValues, name: str, seed: int) -> Estimate:
    return estimate(weighted, name, seed=seed).times(100)


def reward_bins(rewards: WeightedValues) -> tuple[Bin, ...]:
    """Exactly 0, ten steps between, exactly 1: both ends mean something of their own."""
    if not rewards.size:
        return ()
    place = np.clip(np.ceil(np.round(rewards.values * 10, 9)), 0, 10).astype(int)
    place[rewards.values >= 1.0] = 11
    counts = np.bincount(place, weights=rewards.counts, minlength=12).astype(int)
    titles = ["0", *(f"{(i - 1) / 10:.1f}-{i / 10:.1f}" for i in range(1, 11)), "1"]
    return tuple(
        Bin(title, int(count), float(count) / rewards.size)
        for title, count in zip(titles, counts, strict=True)
    )


def _shop_parts(
    rows: Iterable[tuple[int, Mapping[str, Any]]], scored: int, seed: int
) -> tuple[Estimate, tuple[RewardPart, ...]]:
    """The share of episodes that bought, and the parts of what they bought."""
    names = tuple(PARTS)
    kinds: Counter[tuple[Any, ...]] = Counter()
    for _, part in rows:
        if "r_type" in part:
            kinds[tuple(map(part.get, names))] += 1
    bought = sum(kinds.values())
    share = _percentage(
        WeightedValues([0.0, 1.0], [max(0, scored - bought), bought]), "bought", seed
    )
    parts = []
    for at, name in enumerate(names):
        there = [(kind[at], count) for kind, count in kinds.items() if kind[at] is not None]
        weighted = WeightedValues([float(v) for v, _ in there], [count for _, count in there])
        parts.append(RewardPart(name, PARTS[name], estimate(weighted, name, seed=seed)))
    return share, tuple(parts)


def _spread(name: str, title: str, column: Any) -> EpisodeSpread:
    if not len(column):
        return EpisodeSpread(name, title, None, None)
    return EpisodeSpread(name, title, float(column.mean()), float(column.max()))


def _usage(columns: Columns) -> RunUsage:
    some = len(columns.number)
    tokens_in, tokens_out = int(columns.tokens_in.sum()), int(columns.tokens_out.sum())
    seconds, cost = float(columns.seconds.sum()), float(columns.cost.sum())
    return RunUsage(
        tokens_in,
        tokens_out,
        cost,
        seconds,
        seconds / some if some else None,
        float(columns.seconds.max()) if some else None,
        cost / some if some else None,
        (tokens_in + tokens_out) / some if some else None,
    )


def _failures(store: Store, columns: Columns) -> tuple[Failures, ...]:
    counts: Counter[str] = Counter()
    examples: dict[str, dict[str, FailureExample]] = {}
    for summary in summaries_of(store, columns.number[columns.failed]):
        owner = summary.owner or "unknown"
        counts[owner] += 1
        of_owner = examples.setdefault(owner, {})
        reason = summary.error[:500]
        # Different reasons say more than the same one thrice.
        if len(of_owner) < EXAMPLES and reason not in of_owner:
            of_owner[reason] = FailureExample(summary.number, summary.key, reason)
    return tuple(
        Failures(owner, count, tuple(examples[owner].values()))
        for owner, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
