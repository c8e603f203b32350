"""How near a text is to one of several: what tells a search which way to go.

A score alone is too coarse for that. A list with one entry too many, a number that is one too high
or groups that are not yet merged should be nearer than nothing at all, and only the very answer
may be nearest.
"""

import re
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from errands.turk.scoring.metrics import as_number

__all__ = ["FARTHEST", "Closeness", "closeness"]

_ENTRY = re.compile(r"[^\s,;|()\[\]{}\"']+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LETTER = re.compile(r".", re.DOTALL)
_SHORT: Final = 200
"""Up to so many characters, texts are compared letter by letter; beyond, word by word."""


class Closeness(NamedTuple):
    """Compared from the first figure to the last; each is from 0 to 1, or a sum of such."""

    entries: float
    """How much they have in common as lists of entries in any order; for numbers, by distance."""
    exact: float
    sequence: float
    """How much they have in common in the same order."""


FARTHEST = Closeness(0.0, 0.0, 0.0)


def closeness(text: str, answers: Iterable[str]) -> Closeness:
    """How near a text is to the nearest of the answers.

    >>> closeness("0-0 1-1", ["0-0 1-2"]) < closeness("0-0", ["0-0"])
    True
    >>> closeness("3", ["5"]) > closeness("2", ["5"]) > closeness("", ["5"])
    True
    """
    return max((_pair(text, answer) for answer in answers), default=FARTHEST)


def _pair(text: str, answer: str) -> Closeness:
    if text == answer:
        return Closeness(1.0, 1.0, 1.0)
    number, target = as_number(text), as_number(answer)
    if number is not None and target is not None:
        near = 1 / (1 + abs(number - target))
        return Closeness(near, float(number == target), near)
    entries, wanted = Counter(_ENTRY.findall(text)), Counter(_ENTRY.findall(answer))
    every = entries.total() + wanted.total()
    common = 2 * (entries & wanted).total() / every if every else 0.0
    part = _TOKEN if max(len(text), len(answer)) > _SHORT else _LETTER
    order = SequenceMatcher(None, part.findall(text), part.findall(answer), autojunk=False)
    return Closeness(common, 0.0, order.ratio())
