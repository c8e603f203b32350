"""Splits of a goal set: ones that share no product and no text, and the original's by index.

`disjoint-test`, `disjoint-eval` and `disjoint-train` send a product with all its goals to one side,
by a hash of its id (a tenth to `test`, a tenth to `eval`), and leave a goal out of `train` where
one in `test` or `eval` says the same words, and out of `eval` where one in `test` does.

The original cuts a shuffled list: goals 0-499 are `test`, from 1500 on `train`. Of synthetic goals
that leaks, for one product's options make many goals, which fall on both sides: `overlap` says how
many do.
"""

import hashlib
import warnings
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from errands.errors import GoalError, SplitOverlapWarning
from errands.shop.goals import SPLITS, GoalSet, split_range

__all__ = ["DISJOINT", "overlap", "overlap_remark", "split_indices", "warn_of_overlap"]

DISJOINT: Final = ("disjoint-test", "disjoint-eval", "disjoint-train")
_LEFT_OUT: Final = 3
_warned: set[tuple[str, int, str | None]] = set()


def split_indices(name: str | None, goals: GoalSet) -> Sequence[int]:
    """The goal indices of a named split, ascending; None names them all."""
    if name is None or name in SPLITS:
        return split_range(name, len(goals))
    if name not in DISJOINT:
        raise GoalError(
            f"There is no split {name!r}; expected {', '.join([*DISJOINT, *SPLITS])} or None."
        )
    sides = _sides(goals)
    indices: list[int] = np.flatnonzero(sides == DISJOINT.index(name)).tolist()
    if not indices:
        raise GoalError(
            f"The split {name!r} is empty: there are only {len(goals)} goals. Use split=None, or a"
            " larger goal set."
        )
    return indices


def overlap(name: str | None, goals: GoalSet) -> float:
    """The share of a split's goals whose product has goals on the other side, from 0 to 1: in
    `train` for `test` and `eval`, in `test` for `train`. Quick however many goals there are."""
    if name is None or name not in SPLITS:
        return 0.0
    everything = goals.goals_of_products()
    count = len(goals)
    counts = {
        part: np.bincount(
            goals.products_of(range(min(start, count), min(end or count, count))),
            minlength=len(everything),
        )
        for part, (start, end) in SPLITS.items()
        if part != "train"
    }
    counts["train"] = everything - counts["test"] - counts["eval"]
    mine, others = counts[name], counts["test" if name == "train" else "train"]
    return float(mine[others > 0].sum() / max(mine.sum(), 1))


def overlap_remark(name: str | None, goals: GoalSet) -> str:
    """What a reader must know of a split whose products are on both sides; else nothing."""
    share = overlap(name, goals)
    if not share:
        return ""
    other = "test" if name == "train" else "train"
    return (
        f"{100 * share:.1f} % of the goals of the split {name!r} share their product with"
        f" {other!r}; disjoint-{name} shares none"
    )


def warn_of_overlap(name: str | None, goals: GoalSet) -> None:
    """The same as a warning, once for each set of goals."""
    known = (goals.name, len(goals), name)
    if name not in SPLITS or known in _warned:
        return
    _warned.add(known)
    if remark := overlap_remark(name, goals):
        warnings.warn(f"{remark}.", SplitOverlapWarning, stacklevel=4)


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
