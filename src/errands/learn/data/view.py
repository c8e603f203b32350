"""What a model is shown of a page: what is asked for, what was done, the page, what can be done.

A `ChoiceView` is read off a `text_rich` observation alone, so the environment, a stored
demonstration and the original's own files all give the same.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from errands.agents.page_reading import offers, read_instruction

__all__ = ["OBSERVATION", "PAST", "ChoiceView", "EpisodeMemory", "instruction_on", "read_view"]

OBSERVATION: Final = "text_rich"
"""The format of pages that views are read off."""
PAST: Final = 6
"""How many earlier actions a view tells."""
_HEADING: Final = "Instruction:"
_BUTTON: Final = re.compile(r"^\s*\[(clicked )?button\] (.*?) \[(?:clicked )?button_\]\s*$", re.M)
_PURCHASE: Final = "buy now"
_LONGEST: Final = 60
"""Characters of an action that are remembered."""


class ChoiceView(msgspec.Struct, frozen=True):
    """One moment of an episode."""

    instruction: str
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
    product: str = ""
    """Whose page this is, as the environment calls it: its picture is to be seen. Empty on all
    other pages."""


class EpisodeMemory:
    """What was done so far in an episode, and which product was opened."""

    def __init__(self) -> None:
        self._past: list[str] = []
        self._opened = ""
        self._count = 0

    def view(self, observation: str) -> ChoiceView:
        """What is shown now."""
        return read_view(observation, self._past, self._opened, self._count)

    def record(self, view: ChoiceView, action: str) -> None:
        """Remember what was done on a page."""
        words = action
        name = action.removeprefix("click[").removesuffix("]")
        if action.startswith("click[") and name in view.names:
            words = view.actions[view.names.index(name)]
        # An option can be called so, too, but stands where its product can be bought.
        if words.startswith("item ") and _PURCHASE not in view.names:
            self._opened = name
            self._count += 1
        self._past.append(words[:_LONGEST])


def read_view(
    observation: str, past: Sequence[str] = (), opened: str = "", count: int = 0
) -> ChoiceView:
    """What a model is shown of a page; `past` are all earlier actions, in words, `opened` is the
    product that was opened last, and `count` says how many were."""
    instruction, page = _split(observation)
    request = read_instruction(instruction)
    price = "" if request.cap == float("inf") else f" ${request.cap:.2f}"
    clicked = {name.lower(): bool(mark) for mark, name in _BUTTON.findall(page)}
    names = tuple(clicked)
    shown = offers(page, names) if "next >" in clicked else []
    titles = {
        offer.name: f"item {place} ${offer.price:.2f} {offer.title}"
        for place, offer in enumerate(shown, 1)
    }
    return ChoiceView(
        instruction=f"{request.text}{price}",
        past=(f"opened {count}", *past[-PAST:]),
        page=page,
        actions=tuple(
            ("[clicked button] " if clicked[name] else "") + titles.get(name, name)
            for name in names
        ),
        names=names,
        product=opened if _PURCHASE in clicked else "",
    )


def instruction_on(observation: str) -> str:
    """The instruction that a page shows, its price included."""
    return _split(observation)[0]


def _split(observation: str) -> tuple[str, str]:
    """The instruction that a page shows, and what stands below it."""
    _, heading, rest = observation.partition(_HEADING)
    if not heading:
        return "", observation
    instruction, _, page = rest.lstrip().partition("\n")
    return instruction, page
