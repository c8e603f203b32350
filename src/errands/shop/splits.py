"""Splits of a goal set: the original's by index, and ones that share no product and no text.

The original cuts a shuffled list: goals 0-499 are for testing, from 1500 on for training. Of
synthetic goals that leaks, for one product's options make many goals, which fall on both sides.
The `disjoint` splits send a product with all its goals to one side, by a hash of its id (a tenth
to `test`, a tenth to `eval`), and leave a goal out of `train` where one in `test` or `eval` says
the same words, and out of `eval` where one in `test` does.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from errands.errors import GoalError
from errands.shop.goals import SPLITS, GoalSet, split_range

__all__ = ["DISJOINT", "split_indices"]

DISJOINT: Final = ("disjoint-test", "disjoint-eval", "disjoint-train")
_LEFT_OUT: Final = 3


def split_indices(name: str | None, goals: GoalSet) -> Sequence[int]:
    """The goal indices of a named split, ascending; None names them all."""
    if name is None or name in SPLITS:
        return split_range(name, len(goals))
    if name not in DISJOINT:
        raise GoalError(
            f"There is no split {name!r}; expected {', '.join([*SPLITS, *DISJOINT])} or None."
        )
    sides = _sides(goals)
    indices: list[int] = np.flatnonzero(sides == DISJOINT.index(name)).tolist()
    if not indices:
        raise GoalError(
            f"The split {name!r} is empty: there are only {len(goals)} goals. Use split=None, or a"
            " larger goal set."
        )
    return indices


def side(asin: str) -> int:
    """Which of the disjoint splits a product belongs to."""
    tenth = int.from_bytes(hashlib.sha256(asin.encode("utf-8", "surrogatepass")).digest()[:8]) % 10
    return min(tenth, 2)


def _sides(goals: GoalSet) -> NDArray[np.int8]:
    """The side of every goal."""
    entries, entry_of_goal = goals.entries()
    of_entry = np.array([side(asin) for asin, _ in entries], np.int8)
    said: set[str] = set()
    for part in range(len(DISJOINT)):
        members = np.flatnonzero(of_entry == part).tolist()
        for number in members:
            if entries[number][1] in said:
                of_entry[number] = _LEFT_OUT
        said.update(entries[number][1] for number in members)
    sides: NDArray[np.int8] = np.take(of_entry, entry_of_goal)
    return sides
