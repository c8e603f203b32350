"""What a model is shown of a page: what is asked for, what was done, the page, what can be done.

A `View` is read off a `text_rich` observation alone, so the environment, a stored demonstration
and the original's own files all give the same.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from errands.agents.page_reading import offers, wish

__all__ = ["PAST", "View", "in_words", "look"]

PAST: Final = 6
"""How many earlier actions a view tells."""
_HEADING: Final = "Instruction:"
_BUTTON: Final = re.compile(r"^\s*\[(clicked )?button\] (.*?) \[(?:clicked )?button_\]\s*$", re.M)
_LONGEST: Final = 60
"""Characters of an action that are remembered."""


class View(msgspec.Struct, frozen=True):
    """One moment of an episode."""

    wanted: str
    """The instruction without its price phrase, and the price as a token."""
    past: tuple[str, ...]
    """How many products were opened, and the last actions, in words."""
    page: str
    """Without the instruction."""
    actions: tuple[str, ...]
    """What can be clicked, in words: a product by its place, price and title, an option by its
    value."""
    names: tuple[str, ...]
    """The same as the environment calls it."""


def look(observation: str, past: Sequence[str] = ()) -> View:
    """What a model is shown of a page; `past` are all earlier actions, in words."""
    instruction, page = _split(observation)
    asked = wish(instruction)
    price = "" if asked.cap == float("inf") else f" ${asked.cap:.2f}"
    clicked = {name.lower(): bool(mark) for mark, name in _BUTTON.findall(page)}
    names = tuple(clicked)
    shown = offers(page, names) if "next >" in clicked else []
    titles = {
        offer.name: f"item {place} ${offer.price:.2f} {offer.title}"
        for place, offer in enumerate(shown, 1)
    }
    return View(
        wanted=f"{asked.text}{price}",
        past=(f"opened {sum(map(_is_product, past))}", *past[-PAST:]),
        page=page,
        actions=tuple(
            ("[clicked button] " if clicked[name] else "") + titles.get(name, name)
            for name in names
        ),
        names=names,
    )


def in_words(view: View, action: str) -> str:
    """An action as the past tells it."""
    name = action.removeprefix("click[").removesuffix("]")
    if action.startswith("click[") and name in view.names:
        return view.actions[view.names.index(name)][:_LONGEST]
    return action[:_LONGEST]


def _is_product(done: str) -> bool:
    return done.startswith("item ")


def _split(observation: str) -> tuple[str, str]:
    """The instruction that a page shows, and what stands below it."""
    _, found, rest = observation.partition(_HEADING)
    if not found:
        return "", observation
    instruction, _, page = rest.lstrip().partition("\n")
    return instruction, page
