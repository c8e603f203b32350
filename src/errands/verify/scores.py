"""Scores of purchases, part by part, under any rules or by hand; and how two scorers agree."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from errands.shop.goals import Goal
from errands.shop.rewards.rules import Reward, RewardRules
from errands.shop.rewards.synonym import Credit, second_look
from errands.verify.trajectories import Trajectory

__all__ = [
    "NEAR",
    "PARTS",
    "Agreement",
    "PartAgreement",
    "Scores",
    "agreement",
    "by_rules",
    "from_ticks",
    "means",
    "nothing",
    "pearson",
    "reasons",
]

PARTS: Final = ("price", "type", "attribute", "option", "overall")
"""In the order of the paper's table 4, whose "result" column is the options."""
NEAR: Final = 0.1
"""A score is near another if it differs by at most this share of it."""
_NOISE: Final = 1e-9


class Scores(msgspec.Struct, frozen=True):
    """Each in [0, 1]."""

    price: float
    type: float
    attribute: float
    option: float | None
    """None where no option was wanted."""
    overall: float

    def part(self, name: str) -> float | None:
        value: float | None = getattr(self, name)
        return value


def nothing(goal: Goal) -> Scores:
    """Of a purchase that never happened."""
    return Scores(0.0, 0.0, 0.0, 0.0 if goal.goal_options else None, 0.0)


def by_rules(trajectory: Trajectory, rules: RewardRules) -> Scores:
    """What rules give a trajectory's purchase."""
    if trajectory.purchase is None:
        return nothing(trajectory.goal)
    return _of(rules(trajectory.purchase, trajectory.goal))


def reasons(trajectory: Trajectory) -> tuple[Credit, ...]:
    """Which words counted for which under the rules `synonym`."""
    if trajectory.purchase is None:
        return ()
    return second_look(trajectory.purchase, trajectory.goal)[1]


def from_ticks(
    type_: float, attributes: Sequence[bool], options: Sequence[bool], price: bool
) -> Scores:
    """What a person ticked, put together by equation 1."""
    everything = len(attributes) + len(options) + 1
    return Scores(
        float(price),
        type_,
        sum(attributes) / len(attributes),
        sum(options) / len(options) if options else None,
        ((sum(attributes) + sum(options) + price) / everything) * type_,
    )


def _of(reward: Reward) -> Scores:
    parts = reward.parts
    option = parts.get("r_option")
    return Scores(
        float(parts["r_price"]),
        float(parts["r_type"]),
        float(parts["r_att"]),
        None if option is None else float(option),
        reward.total,
    )


class PartAgreement(msgspec.Struct, frozen=True):
    """Of one part of the score."""

    count: int
    """Trajectories that have this part under both scorers."""
    pearson: float | None
    """None where one of the two never varies."""
    near: float | None
    """The share of first scores within 10 % of the second."""
    equal: int
    below: int
    """Where the second is lower than the first."""


class Agreement(msgspec.Struct, frozen=True):
    """Of two scorers on the same trajectories."""

    first: str
    second: str
    parts: dict[str, PartAgreement]


def means(scores: Sequence[Scores]) -> dict[str, float | None]:
    """The mean of each part, in points of 100, over the trajectories that have it."""
    result: dict[str, float | None] = {}
    for name in PARTS:
        values = [value for one in scores if (value := one.part(name)) is not None]
        result[name] = 100 * math.fsum(values) / len(values) if values else None
    return result


def agreement(
    first: str, second: str, ones: Mapping[int, Scores], others: Mapping[int, Scores]
) -> Agreement:
    """Compare two scorers on the trajectories that both have scored."""
    common = sorted(ones.keys() & others.keys())
    parts = {}
    for name in PARTS:
        pairs = [
            (one, other)
            for number in common
            if (one := ones[number].part(name)) is not None
            and (other := others[number].part(name)) is not None
        ]
        parts[name] = _compared(pairs)
    return Agreement(first, second, parts)


def _compared(pairs: Sequence[tuple[float, float]]) -> PartAgreement:
    near = sum(abs(one - other) <= NEAR * other + _NOISE for one, other in pairs)
    return PartAgreement(
        len(pairs),
        pearson(pairs),
        near / len(pairs) if pairs else None,
        sum(abs(one - other) <= _NOISE for one, other in pairs),
        sum(other < one - _NOISE for one, other in pairs),
    )


def pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's correlation; None where it has no meaning.

    >>> round(pearson([(0, 1), (1, 3), (2, 5)]) or 0, 6)
    1.0
    """
    if len(pairs) < 2:
        return None
    ones, others = zip(*pairs, strict=True)
    mean, other_mean = math.fsum(ones) / len(pairs), math.fsum(others) / len(pairs)
    across = math.fsum((a - mean) * (b - other_mean) for a, b in pairs)
    wide = math.sqrt(math.fsum((a - mean) ** 2 for a in ones))
    other_wide = math.sqrt(math.fsum((b - other_mean) ** 2 for b in others))
    if min(wide, other_wide) < _NOISE:
        return None
    return max(-1.0, min(1.0, across / (wide * other_wide)))
