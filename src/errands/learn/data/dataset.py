"""What a training learns from, and what is kept back to see how well it does.

    lesson, kept = hold_out(demonstrations.choices, 0.1, seed=0, wish=lambda one: one.view.wanted)

Whatever was asked for in the same words goes to one side as a whole, so that no episode, nor
another one of the same wish, is on both. `fingerprint` tells lessons apart: a training that is
resumed with other ones would be neither the old nor a new one.
"""

import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from errands.errors import DataError, SettingError
from errands.learn.data.demonstrations import Choice, Query

__all__ = ["fingerprint", "hold_out", "wished"]

Example = TypeVar("Example")


def wished(one: Choice | Query) -> str:
    """What was asked for when a choice was made, or a query written."""
    return one.wanted if isinstance(one, Query) else one.view.wanted.partition(" $")[0]


def hold_out(
    examples: Sequence[Example],
    share: float,
    *,
    seed: int,
    wish: Callable[[Example], str],
) -> tuple[list[Example], list[Example]]:
    """What is learnt, and what is kept back: about such a share of all wishes."""
    if not 0 <= share < 1:
        raise SettingError(f"A share of {share:g} cannot be held out; expected 0 to less than 1.")
    if not share:
        return list(examples), []
    wishes = sorted({wish(one) for one in examples})
    if len(wishes) < 2:
        raise DataError("One wish alone cannot be held out and learnt; give more demonstrations.")
    random.Random(f"{seed} held out").shuffle(wishes)
    count = min(max(round(share * len(wishes)), 1), len(wishes) - 1)
    kept = set(wishes[:count])
    return (
        [one for one in examples if wish(one) not in kept],
        [one for one in examples if wish(one) in kept],
    )


def fingerprint(examples: Iterable[Choice | Query]) -> str:
    """The same for the same examples in the same order, in any process."""
    found = hashlib.sha256()
    for one in examples:
        if isinstance(one, Query):
            parts: tuple[object, ...] = one
        else:
            view = one.view
            parts = (view.wanted, view.past, view.page, view.actions, one.taken)
        found.update(repr(parts).encode("utf-8", "backslashreplace"))
    return found.hexdigest()
