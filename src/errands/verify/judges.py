"""Several people's scores of one run: how far they agree, and how many more are needed.

What two people said is compared tick by tick: of each purchase the type (one of four), every wanted
attribute and option, and the price. Beside the share that is equal stands Cohen's kappa, which
takes out what two people who tick at random as often as these would agree on. Things of one product
depend on each other, so intervals draw products anew, with all that was said of them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from errands.errors import DataError, SettingError
from errands.reports.statistics.estimate import (
    Clusters,
    Estimate,
    Floats,
    estimate,
    named_rng,
    wilson,
)
from errands.verify.hand_scores import HandScore, read_judged
from errands.verify.scores import Scores
from errands.verify.trajectories import Trajectory

__all__ = [
    "ASKED",
    "JudgeAgreement",
    "JudgeDifference",
    "KappaFigures",
    "Needed",
    "Thing",
    "answers_of",
    "common_episodes",
    "half_width",
    "judge_agreement",
    "judgements_needed",
    "needed_for_share",
    "read_judges",
    "things_of",
]

ASKED: Final = ("type", "attribute", "option", "price")
"""What a person says of a purchase."""
_RESAMPLES: Final = 2_000
_Z: Final = 1.959963984540054
_MOST: Final = 10_000_000

Judges = Mapping[str, Mapping[int, HandScore]]
"""By judge and episode."""


class Thing(NamedTuple):
    """One thing that a person was asked."""

    part: str
    wanted: str


class KappaFigures(msgspec.Struct, frozen=True):
    """Two judges on one part."""

    things: int
    same: Estimate
    """The share on which they say the same."""
    kappa: float | None
    """None where both always say one and the same."""
    low: float | None
    high: float | None


class JudgeDifference(msgspec.Struct, frozen=True):
    """A thing that two judges see differently."""

    episode: int
    part: str
    wanted: str
    bought: str
    answers: dict[str, float]


class JudgeAgreement(msgspec.Struct, frozen=True):
    """Of two judges on the purchases that both have scored."""

    first: str
    second: str
    purchases: int
    parts: dict[str, KappaFigures]
    """Each part, and `all` of them."""
    differences: tuple[JudgeDifference, ...]


class Needed(msgspec.Struct, frozen=True):
    """A figure of what is judged so far, and what its interval costs."""

    figure: str
    so_far: Estimate
    half: float | None
    """Half the interval's width; None while nothing is judged."""
    wanted: float
    total: int
    """Judgements in all for that half width."""
    more: int


def read_judges(paths: Sequence[Path], run: str) -> dict[str, dict[int, HandScore]]:
    """Who said what. A score without a judge's name is its file's: by the file's name where there
    are several, else nobody's in particular."""
    judges: dict[str, dict[int, HandScore]] = {}
    seen: dict[str, Path] = {}
    for path in paths:
        unnamed = path.stem if len(paths) > 1 else ""
        for name, scores in read_judged(path, run).items():
            judge = name or unnamed
            if judge in judges:
                raise DataError(
                    f"{path} and {seen[judge]} both have scores of the judge {judge!r}; each judge"
                    " has one file (`--judge NAME` says who scores)."
                )
            judges[judge], seen[judge] = scores, path
    return judges


def common_episodes(judges: Judges) -> list[int]:
    """The episodes that every judge has scored."""
    common = set.intersection(*(set(scores) for scores in judges.values())) if judges else set()
    if len(judges) > 1 and not common:
        names = ", ".join(name or "unnamed" for name in judges)
        raise DataError(
            f"The judges {names} have no purchase in common; with the same --sample and --seed both"
            " are asked about the same ones."
        )
    return sorted(common)


def things_of(trajectory: Trajectory) -> list[Thing]:
    """What is asked about a purchase, in the order of `answers_of`."""
    goal = trajectory.goal
    options = goal.goal_options
    values = list(options.values()) if isinstance(options, dict) else list(options)
    return [
        Thing("type", goal.name),
        *(Thing("attribute", wanted) for wanted in goal.attributes),
        *(Thing("option", wanted) for wanted in values),
        Thing("price", ""),
    ]


def answers_of(score: HandScore, trajectory: Trajectory) -> list[float]:
    """What a person said, thing by thing."""
    score.scores(trajectory)  # It must be about this goal.
    return [score.type, *map(float, (*score.attributes, *score.options, score.price))]


def judge_agreement(
    first: str,
    second: str,
    judges: Judges,
    trajectories: Mapping[int, Trajectory],
    *,
    seed: int = 0,
) -> JudgeAgreement:
    """Two judges on the purchases that both have scored."""
    common = common_episodes({name: judges[name] for name in (first, second)})
    said = list(_said(common, judges[first], judges[second], trajectories))
    parts = {
        part: _kappa([row for row in said if part in ("all", row.thing.part)], part, seed)
        for part in (*ASKED, "all")
    }
    differences = tuple(
        JudgeDifference(
            row.episode,
            row.thing.part,
            row.thing.wanted,
            row.bought,
            {first: row.one, second: row.other},
        )
        for row in said
        if row.one != row.other
    )
    return JudgeAgreement(first, second, len(common), parts, differences)


class _Said(NamedTuple):
    episode: int
    product: str
    bought: str
    thing: Thing
    one: float
    other: float


def _said(
    episodes: Sequence[int],
    ones: Mapping[int, HandScore],
    others: Mapping[int, HandScore],
    trajectories: Mapping[int, Trajectory],
) -> Iterator[_Said]:
    for episode in episodes:
        if episode not in trajectories:
            raise DataError(
                f"There is a hand score of episode {episode}, which this run does not have as a"
                " result."
            )
        it = trajectories[episode]
        bought = it.purchase.product.title if it.purchase else ""
        answers = zip(
            things_of(it), answers_of(ones[episode], it), answers_of(others[episode], it),
            strict=True,
        )  # fmt: skip
        for thing, one, other in answers:
            yield _Said(episode, it.goal.asin, bought, thing, one, other)


def _kappa(said: Sequence[_Said], part: str, seed: int) -> KappaFigures:
    if not said:
        return KappaFigures(0, Estimate(None, None, None, 0), None, None, None)
    labels = np.unique([row.product for row in said], return_inverse=True)[1]
    # Over all parts, a yes of one part and a yes of another are one category.
    kinds, codes = np.unique([(row.one, row.other) for row in said], return_inverse=True)
    pairs = codes.reshape(-1, 2)
    tables = np.zeros((int(labels.max()) + 1, len(kinds), len(kinds)))
    np.add.at(tables, (labels, pairs[:, 0], pairs[:, 1]), 1.0)
    same = estimate(
        Clusters((pairs[:, 0] == pairs[:, 1]).astype(float), labels),
        f"judges {part}", seed=seed, is_rate=True,
    )  # fmt: skip
    kappa = _kappas(tables.sum(axis=0)[None])[0]
    if math.isnan(kappa):
        return KappaFigures(len(said), same, None, None, None)
    rng = named_rng(seed, f"kappa {part}")
    drawn = rng.multinomial(len(tables), np.full(len(tables), 1 / len(tables)), size=_RESAMPLES)
    kappas = _kappas(np.tensordot(drawn, tables, axes=1))
    kappas = kappas[~np.isnan(kappas)]
    low, high = np.percentile(kappas, [2.5, 97.5]).tolist() if len(tables) > 1 else (None, None)
    return KappaFigures(len(said), same, float(kappa), low, high)


def _kappas(tables: Floats) -> Floats:
    """Cohen's kappa of each table; not a number where chance alone agrees on everything."""
    total = tables.sum(axis=(1, 2))
    agreed = np.trace(tables, axis1=1, axis2=2) / total
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / total**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance < 1 - 1e-12, (agreed - chance) / (1 - chance), np.nan))


def half_width(interval: float) -> float:
    """Half the width of an interval of shares, if it can be one."""
    if not 0.001 <= interval < 0.5:
        raise SettingError(
            f"interval={interval:g}: expected half an interval's width, at least 0.001 and below"
            " 0.5 (0.05: 5 points either way)."
        )
    return interval


def needed_for_share(share: float, half: float, each: float = 1.0) -> int:
    """So many judgements give a share with this half width, by Wilson's interval; `each` of them
    count as one where they depend on each other.

    >>> needed_for_share(0.5, 0.05), needed_for_share(0.95, 0.05)
    (381, 76)
    """
    low, high = 1, _MOST
    while low < high:
        count = (low + high) // 2
        bounds = wilson(share, count)
        if (bounds[1] - bounds[0]) / 2 <= half:
            high = count
        else:
            low = count + 1
    return math.ceil(low * each)


def judgements_needed(
    interval: float,
    judged: Mapping[int, Scores],
    rules: Mapping[int, Scores],
    trajectories: Mapping[int, Trajectory],
    name: str,
    *,
    seed: int = 0,
) -> tuple[Needed, ...]:
    """What the judged purchases say of a scorer, and how many bring each figure within the
    interval: the share of purchases whose score is the person's, and the mean
    difference."""
    if not judged:
        total = needed_for_share(0.5, half_width(interval))
        nothing = Estimate(None, None, None, 0)
        return (Needed(f"{name} equals the person", nothing, None, interval, total, total),)
    half_width(interval)
    numbers = sorted(judged)
    labels = np.unique([trajectories[one].goal.asin for one in numbers], return_inverse=True)[1]
    gaps = np.array([judged[one].overall - rules[one].overall for one in numbers])
    equal = Clusters((np.abs(gaps) < 1e-9).astype(float), labels)
    share = estimate(equal, f"{name} equal", seed=seed, is_rate=True)
    each = max(1.0, len(numbers) / equal.outcomes)
    differences = Clusters(np.round(gaps, 12), labels)
    mean = estimate(differences, f"{name} difference", seed=seed, span=(-1.0, 1.0))
    # Where nothing differs yet, something may: a purchase in as many as the share allows for.
    if differences.is_constant:
        for_mean = needed_for_share(equal.mean, interval, each)
    else:
        for_mean = math.ceil(len(numbers) * (_Z * differences.error / interval) ** 2)
    for_share = needed_for_share(equal.mean, interval, each)
    return (
        _needed(f"{name} equals the person", share, interval, for_share),
        _needed(f"person minus {name}", mean, interval, for_mean),
    )


def _needed(figure: str, so_far: Estimate, interval: float, total: int) -> Needed:
    assert so_far.low is not None
    assert so_far.high is not None
    half = (so_far.high - so_far.low) / 2
    if half <= interval:
        return Needed(figure, so_far, half, interval, so_far.count, 0)
    return Needed(figure, so_far, half, interval, max(total, so_far.count + 1),
                  max(total - so_far.count, 1))  # fmt: skip
