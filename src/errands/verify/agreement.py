"""How two scorers agree: means, Pearson's correlation, the share within 10 %."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from errands.verify.scores import PARTS, Scores

__all__ = ["NEAR", "Agreement", "PartAgreement", "agreement", "means", "pearson"]

NEAR: Final = 0.1
"""A score is near another if it differs by at most this share of it."""
_NOISE: Final = 1e-9


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
    found: dict[str, float | None] = {}
    for name in PARTS:
        held = [value for one in scores if (value := one.part(name)) is not None]
        found[name] = 100 * math.fsum(held) / len(held) if held else None
    return found


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
