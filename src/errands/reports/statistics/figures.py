"""From one run to its figures: frozen, the same every time, with nothing of the store left in them.

Errors are counted and shown and never a reward. Since leaving them out flatters a run that
fails on what is hard, the figure with every error taken as 0 stands beside, as a lower bound.
"""

from collections import Counter
from typing import Any, Final

import msgspec
import numpy as np

from errands.reports.statistics.columns import PARTS, STATUSES, Array, Columns, summaries_of
from errands.reports.statistics.estimate import Clusters, Estimate, WeightedValues, estimate
from errands.reports.statistics.model_figures import model_changes
from errands.reports.statistics.repeats import RepeatFigures, repeat_figures
from errands.reports.statistics.turk_figures import (
    TurkFigures,
    estimate_of,
    headline_at_least,
    turk_figures,
)
from errands.runs.answers import AnswerFigures
from errands.runs.failures import FAILURES
from errands.runs.store.base import Store
from errands.turk.scoring.metrics import RULES

__all__ = [
    "Bin",
    "EpisodeSpread",
    "FailureCause",
    "FailureExample",
    "Failures",
    "RewardPart",
    "RunFigures",
    "RunUsage",
    "reward_bins",
    "reward_estimates",
    "run_figures",
]

TRAJECTORY: Final = {
    "steps": "length (actions)",
    "states": "states visited",
    "items": "items checked",
    "searches": "searches",
}
EXAMPLES: Final = 3
LISTED: Final = 1000
"""Episodes of one cause that are named."""


class RewardPart(msgspec.Struct, frozen=True):
    """One part of the reward, over the purchases where it counts."""

    name: str
    title: str
    mean: Estimate


class EpisodeSpread(msgspec.Struct, frozen=True):
    """Mean, greatest and least of something counted in each episode."""

    name: str
    title: str
    mean: float | None
    max: float | None
    min: float | None = None


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


class FailureCause(msgspec.Struct, frozen=True):
    """What cost some of the episodes below 1 (`errands.runs.failures`)."""

    name: str
    meaning: str
    count: int
    share: float
    """Of the episodes below 1."""
    episodes: tuple[int, ...]
    """The numbers of the first of them."""


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one run."""

    episodes: int
    """Kept in the store."""
    planned: int
    done: int
    truncated: int
    errors: int
    unit: str
    """What a cluster of episodes is: a product, a task or a goal."""
    clusters: int
    weights: str
    """What counts alike: every `episode`, or every `cluster`."""
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
    causes: tuple[FailureCause, ...]
    """What cost the episodes below 1."""
    valid_actions: float | None
    """The percentage of actions that were valid; None where the run does not say."""
    repeats: RepeatFigures | None
    """Of a run that played goals more than once."""
    trajectory: tuple[EpisodeSpread, ...]
    usage: RunUsage
    failures: tuple[Failures, ...]
    answers: AnswerFigures | None = None
    """What became of a model's answers, where one was asked."""
    turk: TurkFigures | None = msgspec.field(default=None, name="paperwork")


def run_figures(store: Store, columns: Columns, *, seed: int = 0) -> RunFigures:
    """All figures of a run whose columns have been read."""
    info = store.info
    failed = columns.failed
    errors = int(failed.sum())
    counted = np.bincount(columns.status[~failed], minlength=len(STATUSES))
    shop = info.domain == "shop"
    ways = _Ways(columns, str(info.protocol.get("weights", "episode")), seed)
    score, won = least, least_won = reward_estimates(columns, ways.weights, seed=seed)
    if errors:
        zeroed = np.where(failed, 0.0, columns.reward)
        least = ways.estimate(zeroed, "score at least")
        least_won = ways.estimate(_wins(zeroed), "success at least", is_rate=True)
    turk = None if shop else turk_figures(store.parts(), seed=seed)
    if turk is not None:
        rules = _rules(store)
        score = least = estimate_of(turk.rules[rules].macro)
        if errors:
            least = estimate_of(
                headline_at_least(store.parts(), _failed(store, columns), rules, seed=seed)
            )
    figures = RunFigures(
        episodes=len(columns.number),
        planned=info.episodes,
        done=int(counted[0]),
        truncated=int(counted[1]),
        errors=errors,
        unit=columns.unit,
        clusters=len(np.unique(columns.cluster)),
        weights=ways.weights,
        score=score,
        success=won,
        score_at_least=least,
        success_at_least=least_won,
        rewards=reward_bins(WeightedValues(columns.rewards)),
        bought=ways.estimate(_bought(columns), "bought", is_rate=True) if shop else None,
        parts=_shop_parts(columns, ways) if shop else (),
        causes=_causes(info.domain, columns),
        valid_actions=_valid_actions(columns),
        repeats=repeat_figures(columns, weights=ways.weights, seed=seed),
        trajectory=tuple(
            _spread(name, title, getattr(columns, name))
            for name, title in TRAJECTORY.items()
            if shop or name == "steps"
        ),
        usage=_usage(columns),
        failures=_failures(store, columns),
        turk=turk,
    )
    return msgspec.structs.replace(figures, **model_changes(store))


class _Ways:
    """How a run's figures are estimated: by its clusters, with its weights."""

    def __init__(self, columns: Columns, weights: str, seed: int) -> None:
        self.weights = weights
        self._labels = columns.cluster
        self._seed = seed

    def estimate(self, values: Array, name: str, *, is_rate: bool = False) -> Estimate:
        """The mean of what is not NaN, in percent."""
        there = ~np.isnan(values)
        clusters = Clusters(values[there], self._labels[there], weights=self.weights)
        return estimate(clusters, name, seed=self._seed, is_rate=is_rate).times(100)


def reward_estimates(
    columns: Columns, weights: str = "episode", *, seed: int = 0
) -> tuple[Estimate, Estimate]:
    """The mean reward and the share of rewards of 1, errors left out, both in percent."""
    ways = _Ways(columns, weights, seed)
    rewards = columns.reward
    return (
        ways.estimate(rewards, "score"),
        ways.estimate(_wins(rewards), "success", is_rate=True),
    )


def _wins(rewards: Array) -> Array:
    """1 for a reward of 1, 0 for less, NaN for an error."""
    return np.where(np.isnan(rewards), np.nan, rewards >= 1.0)


def _bought(columns: Columns) -> Array:
    return np.where(columns.failed, np.nan, ~np.isnan(columns.parts[:, 0]))


def _valid_actions(columns: Columns) -> float | None:
    """The share of actions that were valid, over the episodes that say so."""
    told = columns.invalid >= 0
    steps = int(columns.steps[told].sum())
    return 100.0 * (1.0 - float(columns.invalid[told].sum()) / steps) if steps else None


def _causes(domain: str, columns: Columns) -> tuple[FailureCause, ...]:
    """What cost the episodes below 1, in the order of the names; those that never came left out."""
    lost = int((columns.failure >= 0).sum())
    causes = []
    for code, (name, meaning) in enumerate(FAILURES.get(domain, {}).items()):
        numbers = columns.number[columns.failure == code]
        if len(numbers):
            some = tuple(numbers[:LISTED].tolist())
            causes.append(FailureCause(name, meaning, len(numbers), len(numbers) / lost, some))
    return tuple(causes)


def _rules(store: Store) -> str:
    """The rules of a run on form pages."""
    rules = str(store.info.protocol.get("rules", ""))
    return rules if rules in RULES else "paper"


def _failed(store: Store, columns: Columns) -> list[str]:
    """The keys of episodes that failed."""
    return [summary.key for summary in summaries_of(store, columns.number[columns.failed])]


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


def _shop_parts(columns: Columns, ways: _Ways) -> tuple[RewardPart, ...]:
    """The parts of the reward of what was bought."""
    return tuple(
        RewardPart(name, title, ways.estimate(columns.parts[:, at], name).times(0.01))
        for at, (name, title) in enumerate(PARTS.items())
    )


def _spread(name: str, title: str, column: Any) -> EpisodeSpread:
    if not len(column):
        return EpisodeSpread(name, title, None, None)
    return EpisodeSpread(
        name, title, float(column.mean()), float(column.max()), float(column.min())
    )


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
