"""What a training learns from, and what is held out to see how well it does.

    training, held_out = hold_out(demonstrations.choices, 0.1, seed=0)

All that was done for one instruction goes to one side as a whole, so that no episode, nor
another one for the same instruction, is on both. `fingerprint` tells demonstrations
apart: a training that is resumed with others would be neither the old nor a new one.
"""

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from errands.errors import DataError, SettingError
from errands.learn.data.demonstrations import DemonstratedChoice, DemonstratedQuery
from errands.learn.data.view import PURCHASE, ChoiceView, known_text

__all__ = ["fingerprint", "hold_out", "instruction_of", "texts_of", "wanted_products"]

Example = TypeVar("Example", DemonstratedChoice, DemonstratedQuery)


def instruction_of(one: DemonstratedChoice | DemonstratedQuery) -> str:
    """What was asked for when a choice was made, or a query written."""
    return (
        one.instruction
        if isinstance(one, DemonstratedQuery)
        else one.view.instruction.partition(" $")[0]
    )


def hold_out(
    examples: Sequence[Example], share: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """What is learnt, and what is held out: about such a share of all instructions."""
    if not 0 <= share < 1:
        raise SettingError(f"A share of {share:g} cannot be held out; expected 0 to less than 1.")
    if not share:
        return list(examples), []
    instructions = sorted({instruction_of(one) for one in examples})
    if len(instructions) < 2:
        raise DataError(
            "One instruction alone cannot be held out and learnt; give more demonstrations."
        )
    random.Random(f"{seed} held out").shuffle(instructions)
    count = min(max(round(share * len(instructions)), 1), len(instructions) - 1)
    held_out = set(instructions[:count])
    return (
        [one for one in examples if instruction_of(one) not in held_out],
        [one for one in examples if instruction_of(one) in held_out],
    )


def fingerprint(examples: Iterable[DemonstratedChoice | DemonstratedQuery]) -> str:
    """The same for the same examples in the same order, in any process."""
    digest = hashlib.sha256()
    for one in examples:
        if isinstance(one, DemonstratedQuery):
            # Spelt as in the first checkpoints, which are to be resumed.
            text = f"Query(wanted={one.instruction!r}, query={one.query!r})"
        else:
            view = one.view
            text = repr((view.instruction, view.past, view.page, view.actions, one.taken))
        digest.update(text.encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def wanted_products(choices: Iterable[DemonstratedChoice]) -> list[tuple[str, str]]:
    """Instructions, each beside all that pages said of what was bought."""
    return [
        (instruction_of(one), known_text(product))
        for one in choices
        if one.view.names[one.taken] == PURCHASE
        for product in one.view.seen
        if product.name == one.view.here
    ]


def texts_of(views: Iterable[ChoiceView]) -> Iterator[str]:
    """All that a model reads."""
    return (text for view in views for text in (view.instruction, view.page, *view.actions))
