"""What a shopper reads off a page: the instruction's words and cap, offers, option groups.

Pages are `text_rich` observations. Everything here uses only what a page shows.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = [
    "BUTTONS",
    "InstructionParts",
    "ResultItem",
    "groups",
    "offers",
    "price_of",
    "read_instruction",
    "words",
]

BUTTONS: Final = frozenset(
    {"back to search", "< prev", "next >", "description", "features", "reviews", "attributes",
     "buy now", "search"}
)  # fmt: skip
"""What can be clicked besides products and options."""

_WORD: Final = re.compile(r"[a-z0-9]+(?:[.'&-][a-z0-9]+)*")
_CAP: Final = re.compile(r",? and price lower than ([\d.]+) dollars?\.?\s*$")
_PRICE: Final = re.compile(r"\$([\d.]+)")
_LINK: Final = re.compile(r"^\[(?:clicked )?button\] (.*?) \[(?:clicked )?button_\]$")
_DULL: Final = frozenset(
    "a about add also am an and any are as at be buy by can cart choose color come comes contains"
    " could do fancy find flavor for from get give going good has have hello help helps hi hoping i"
    " i'd i'll i'm in into is it it's its just like look looking made me my need nice nothing of on"
    " one or our out pick please preferably purchase ran shop should show size so some something"
    " style suitable thank thanks that the their them there these they this those to too trip"
    " trying us want wants was we well which who will wish with would you your".split()
)


class InstructionParts(NamedTuple):
    """What an instruction asks for."""

    text: str
    """In small letters, without the price."""
    words: tuple[str, ...]
    """Those that say something, in their order."""
    cap: float
    """The most that it may cost; infinite where nothing is said."""


class ResultItem(NamedTuple):
    """A product on a page of results."""

    name: str
    """What to click."""
    title: str
    price: float


@lru_cache(4096)
def read_instruction(instruction: str) -> InstructionParts:
    """Read an instruction.

    >>> read_instruction("I need a red hat, and price lower than 20.00 dollars").words
    ('red', 'hat')
    """
    lowered = instruction.lower().strip()
    cap = _CAP.search(lowered)
    text = _CAP.sub("", lowered)
    said = tuple(dict.fromkeys(word for word in words(text) if word not in _DULL))
    return InstructionParts(text, said, float(cap[1]) if cap else float("inf"))


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def price_of(text: str) -> float | None:
    """The first price in a text."""
    found = _PRICE.search(text)
    return None if found is None else float(found[1])


def offers(observation: str, clickables: Sequence[str]) -> list[ResultItem]:
    """The products on a page of results."""
    lines = [line.strip() for line in observation.splitlines()]
    names = set(clickables) - BUTTONS
    found = []
    for at, line in enumerate(lines[:-2]):
        link = _LINK.match(line)
        if link and link[1].lower() in names:
            price = price_of(lines[at + 2])
            found.append(
                ResultItem(link[1].lower(), lines[at + 1], 0.0 if price is None else price)
            )
    return found


def groups(observation: str, clickables: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The options of an item page: each name with its values; chosen ones are marked with `*`."""
    values = set(clickables) - BUTTONS
    found: list[tuple[str, list[str]]] = []
    heading = ""
    for line in (line.strip() for line in observation.splitlines()):
        link = _LINK.match(line)
        if link is None:
            heading = line
            continue
        if link[1] in values:
            if not found or found[-1][0] != heading:
                found.append((heading, []))
            mark = "*" if line.startswith("[clicked") else ""
            found[-1][1].append(mark + link[1])
    return found
