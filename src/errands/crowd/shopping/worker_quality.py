"""How well people shop: who is qualified, who is an expert, and the figures of all together.

As in the WebShop paper: a worker's first assignments are a trial, whoever does better than 0.75 on
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
    "CountSpread",
    "ShoppingFigures",
    "ShoppingResult",
    "Worker",
    "WorkerStatus",
    "WorkerVerdict",
    "experts",
    "figures",
    "status_of",
    "trial_status",
    "workers",
]

TRIALS: Final = 5
BAR: Final = 0.75

WorkerStatus = Literal["trying", "qualified", "refused"]
WorkerVerdict = Literal["granted", "refused", "results"]
"""What the admin said by hand; `results`: the trial alone decides."""


class ShoppingResult(msgspec.Struct, frozen=True, kw_only=True):
    """One finished assignment."""

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


class CountSpread(msgspec.Struct, frozen=True):
    """How many it were: on average, at most, and at least."""

    mean: float
    most: float
    least: float = 0.0


class ShoppingFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How well, and how. None where there is nothing to tell it from."""

    count: int = msgspec.field(name="outings")
    score: float | None = None
    """The mean reward, times 100."""
    success: float | None = None
    """How many of a hundred got the full reward."""
    deviation: float | None = None
    """The standard deviation of the scores, in the same points (of a sample: n - 1)."""
    seconds: CountSpread | None = None
    steps: CountSpread | None = None
    states: CountSpread | None = None
    items: CountSpread | None = None
    searches: CountSpread | None = None


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker and how well they shop."""

    id: int
    name: str
    status: WorkerStatus = msgspec.field(name="standing")
    by_hand: bool
    """Whether the admin said so, and not the trial."""
    is_expert: bool
    trial: float | None
    """The average reward of the trial so far; None before the first assignment."""
    earned: float
    figures: ShoppingFigures


def trial_status(rewards: Sequence[float], trials: int = TRIALS, bar: float = BAR) -> WorkerStatus:
    """Where the rewards of all finished assignments, in their order, put somebody.

    >>> trial_status([1.0, 0.5, 1.0, 1.0]), trial_status([1.0, 0.5, 1.0, 1.0, 0.5])
    ('trying', 'qualified')
    >>> trial_status([0.75] * 5)
    'refused'
    """
    if len(rewards) < trials:
        return "trying"
    if not trials:
        return "qualified"
    return "qualified" if math.fsum(rewards[:trials]) / trials > bar else "refused"


def status_of(
    verdict: WorkerVerdict, rewards: Sequence[float], trials: int, bar: float
) -> WorkerStatus:
    """Where somebody stands: by what the admin said, else by the trial."""
    if verdict == "results":
        return trial_status(rewards, trials, bar)
    return "qualified" if verdict == "granted" else "refused"


def experts(averages: Mapping[int, tuple[float, int]]) -> set[int]:
    """The better half of the qualified, rounded up, by average reward.

    Each has an average and how many assignments it is of. Among equal averages more come
    first, then the lower id.

    >>> sorted(experts({1: (0.8, 5), 2: (0.9, 5), 3: (0.8, 6)}))
    [2, 3]
    """
    order = sorted(averages, key=lambda one: (-averages[one][0], -averages[one][1], one))
    return set(order[: (len(order) + 1) // 2])


def figures(results: Iterable[ShoppingResult]) -> ShoppingFigures:
    """The figures of some assignments."""
    rows = list(results)
    if not rows:
        return ShoppingFigures(count=0)
    scores = [100 * one.reward for one in rows]
    return ShoppingFigures(
        count=len(rows),
        score=math.fsum(scores) / len(rows),
        success=100 * sum(one.reward >= 1.0 for one in rows) / len(rows),
        deviation=statistics.stdev(scores) if len(rows) > 1 else None,
        seconds=_spread([one.seconds for one in rows]),
        steps=_spread([one.steps for one in rows]),
        states=_spread([one.states for one in rows]),
        items=_spread([one.items for one in rows]),
        searches=_spread([one.searches for one in rows]),
    )


def workers(
    names: Mapping[int, str],
    results: Sequence[ShoppingResult],
    verdicts: Mapping[int, WorkerVerdict],
    *,
    trials: int = TRIALS,
    bar: float = BAR,
    include_trials: bool = True,
) -> list[Worker]:
    """Everybody in `names`. `results` are in the order in which assignments were finished.

    Status and averages of the qualified count all assignments; `include_trials=False` leaves the
    trials out of the figures alone.
    """
    by_worker: dict[int, list[ShoppingResult]] = {id: [] for id in names}
    for one in results:
        by_worker.setdefault(one.worker, []).append(one)
    statuses: dict[int, WorkerStatus] = {}
    averages: dict[int, tuple[float, int]] = {}
    for id in names:
        rewards = [one.reward for one in by_worker[id]]
        statuses[id] = status_of(verdicts.get(id, "results"), rewards, trials, bar)
        if statuses[id] == "qualified" and rewards:
            averages[id] = math.fsum(rewards) / len(rewards), len(rewards)
    best = experts(averages)
    rated = []
    for id, name in names.items():
        own = by_worker[id]
        first = [one.reward for one in own[:trials]]
        rated.append(
            Worker(
                id=id,
                name=name,
                status=statuses[id],
                by_hand=verdicts.get(id, "results") != "results",
                is_expert=id in best,
                trial=math.fsum(first) / len(first) if first else None,
                earned=math.fsum(one.pay for one in own),
                figures=figures(one for one in own if include_trials or not one.is_trial),
            )
        )
    return rated


def _spread(values: Sequence[float]) -> CountSpread:
    return CountSpread(math.fsum(values) / len(values), float(max(values)), float(min(values)))
