"""How well people shop: who is qualified, who is an expert, and the figures of all together.

As in the WebShop paper: a worker's first errands are a trial, whoever does better than 0.75 on
average may go on, and the better half of those are the experts (of 13 the paper took 7).
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

__all__ = [
    "BAR",
    "TRIALS",
    "MeanAndMax",
    "ShoppingFigures",
    "ShoppingResult",
    "Verdict",
    "Worker",
    "WorkerStatus",
    "experts",
    "figures",
    "standing",
    "workers",
]

TRIALS: Final = 5
BAR: Final = 0.75

WorkerStatus = Literal["trying", "qualified", "refused"]
Verdict = Literal["granted", "refused", "results"]
"""What the admin said by hand; `results`: the trial alone decides."""


class ShoppingResult(msgspec.Struct, frozen=True, kw_only=True):
    """One finished errand."""

    worker: int
    reward: float
    is_trial: bool = False
    pay: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    states: int = 0
    """Distinct pages seen."""
    items: int = 0
    """Distinct products looked at."""
    searches: int = 0


class MeanAndMax(msgspec.Struct, frozen=True):
    """How many it were: on average, and at most."""

    mean: float
    most: float


class ShoppingFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How well, and how. None where there is nothing to tell it from."""

    outings: int
    score: float | None = None
    """The mean reward, times 100."""
    success: float | None = None
    """How many of a hundred got the full reward."""
    deviation: float | None = None
    """The standard deviation of the scores, in the same points (of a sample: n - 1)."""
    seconds: MeanAndMax | None = None
    steps: MeanAndMax | None = None
    states: MeanAndMax | None = None
    items: MeanAndMax | None = None
    searches: MeanAndMax | None = None


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """Where somebody stands."""

    id: int
    name: str
    standing: WorkerStatus
    by_hand: bool
    """Whether the admin said so, and not the trial."""
    is_expert: bool
    trial: float | None
    """The average reward of the trial so far; None before the first errand."""
    earned: float
    figures: ShoppingFigures


def standing(rewards: Sequence[float], trials: int = TRIALS, bar: float = BAR) -> WorkerStatus:
    """Where the rewards of all finished errands, in their order, put somebody.

    >>> standing([1.0, 0.5, 1.0, 1.0]), standing([1.0, 0.5, 1.0, 1.0, 0.5])
    ('trying', 'qualified')
    >>> standing([0.75] * 5)
    'refused'
    """
    if len(rewards) < trials:
        return "trying"
    if not trials:
        return "qualified"
    return "qualified" if math.fsum(rewards[:trials]) / trials > bar else "refused"


def experts(averages: Mapping[int, tuple[float, int]]) -> set[int]:
    """The better half of the qualified, rounded up, by average reward.

    Each has an average and how many errands it is of. Among equal averages more errands come
    first, then the lower id.

    >>> sorted(experts({1: (0.8, 5), 2: (0.9, 5), 3: (0.8, 6)}))
    [2, 3]
    """
    order = sorted(averages, key=lambda one: (-averages[one][0], -averages[one][1], one))
    return set(order[: (len(order) + 1) // 2])


def figures(results: Iterable[ShoppingResult]) -> ShoppingFigures:
    """The figures of some errands."""
    held = list(results)
    if not held:
        return ShoppingFigures(outings=0)
    scores = [100 * one.reward for one in held]
    return ShoppingFigures(
        outings=len(held),
        score=math.fsum(scores) / len(held),
        success=100 * sum(one.reward >= 1.0 for one in held) / len(held),
        deviation=statistics.stdev(scores) if len(held) > 1 else None,
        seconds=_spread([one.seconds for one in held]),
        steps=_spread([one.steps for one in held]),
        states=_spread([one.states for one in held]),
        items=_spread([one.items for one in held]),
        searches=_spread([one.searches for one in held]),
    )


def workers(
    names: Mapping[int, str],
    results: Sequence[ShoppingResult],
    verdicts: Mapping[int, Verdict],
    *,
    trials: int = TRIALS,
    bar: float = BAR,
    include_trials: bool = True,
) -> list[Worker]:
    """Everybody in `names`. `results` are in the order in which errands were finished.

    Standing and averages of the qualified count all errands; `include_trials=False` leaves the
    trials out of the figures alone.
    """
    by_worker: dict[int, list[ShoppingResult]] = {id: [] for id in names}
    for one in results:
        by_worker.setdefault(one.worker, []).append(one)
    stands: dict[int, WorkerStatus] = {}
    averages: dict[int, tuple[float, int]] = {}
    for id in names:
        rewards = [one.reward for one in by_worker[id]]
        said = verdicts.get(id, "results")
        stands[id] = standing(rewards, trials, bar)
        if said != "results":
            stands[id] = "qualified" if said == "granted" else "refused"
        if stands[id] == "qualified" and rewards:
            averages[id] = math.fsum(rewards) / len(rewards), len(rewards)
    best = experts(averages)
    told = []
    for id, name in names.items():
        held = by_worker[id]
        first = [one.reward for one in held[:trials]]
        counted = [one for one in held if include_trials or not one.is_trial]
        told.append(
            Worker(
                id=id,
                name=name,
                standing=stands[id],
                by_hand=verdicts.get(id, "results") != "results",
                is_expert=id in best,
                trial=math.fsum(first) / len(first) if first else None,
                earned=math.fsum(one.pay for one in held),
                figures=figures(counted),
            )
        )
    return told


def _spread(values: Sequence[float]) -> MeanAndMax:
    return MeanAndMax(math.fsum(values) / len(values), float(max(values)))
