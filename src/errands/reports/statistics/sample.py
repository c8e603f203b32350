"""Which episodes a report lists: all of up to 200; beyond that a sample that says what it is.

A sample shows what a reader looks for first (the best, the worst, the failed, some of every cause
that cost points) and then episodes sampled at random, so that the rest is not a choice of ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from errands.reports.statistics.columns import Columns
from errands.reports.statistics.estimate import named_rng

__all__ = ["MOST", "EpisodeSample", "pick"]

MOST: Final = 200
EACH: Final = 20
"""So many of the best, of the worst and of the failed."""
OF_CAUSE: Final = 5
"""And of every cause that cost episodes something."""


class EpisodeSample(msgspec.Struct, frozen=True):
    """The episodes listed of a run."""

    numbers: tuple[int, ...]
    """Ascending."""
    kinds: dict[int, str]
    """Why an episode is in a sample: best, worst, failed, cause or drawn; empty where all are
    listed."""
    rule: str = msgspec.field(name="said")
    """How they were chosen, for the reader."""


def pick(
    columns: Columns,
    *,
    most: int = MOST,
    each: int = EACH,
    seed: int = 0,
    causes: Mapping[str, Sequence[int]] | None = None,
) -> EpisodeSample:
    """The episodes to list. Among equals, fewer steps are better, then the lower number. Of every
    cause that cost episodes something (their numbers by its name) the first few are listed."""
    total = len(columns.number)
    if total <= most:
        return EpisodeSample(tuple(columns.number.tolist()), {}, f"All {total:,} episodes.")
    failed = columns.failed
    kinds: dict[int, str] = {}
    scored = np.flatnonzero(~failed)
    order = scored[np.lexsort((scored, columns.steps[scored], -columns.reward[scored]))]
    for kind, places in (
        ("failed", np.flatnonzero(failed)[:each]),
        ("best", order[:each]),
        ("worst", order[::-1][:each]),
    ):
        for number in columns.number[places].tolist():
            kinds.setdefault(number, kind)
    for numbers in (causes or {}).values():
        kinds |= {number: "cause" for number in numbers[:OF_CAUSE] if number not in kinds}
    rest = _drawn(columns.number, kinds, most - len(kinds), seed)
    kinds |= dict.fromkeys(rest, "drawn")
    numbers = tuple(sorted(kinds))
    rule = (
        f"{len(numbers):,} of {total:,} episodes: the {each} best, the {each} worst, the first"
        f" {each} that failed and {OF_CAUSE} of each cause (or as many as there are), and the"
        f" others sampled (seed {seed})."
    )
    return EpisodeSample(numbers, kinds, rule)


def _drawn(numbers: Any, listed: dict[int, str], count: int, seed: int) -> list[int]:
    if count <= 0:
        return []
    rng = named_rng(seed, "listed episodes")
    # A few more than needed, since some may be taken already.
    drawn = rng.choice(numbers, min(len(numbers), count + len(listed)), replace=False)
    return [number for number in drawn.tolist() if number not in listed][:count]
