"""Everything a user could do to the fields of a page, in few actions.

Every value of every field is chosen at least once, every value of it after every other, and every
pair of values of two different fields one after the other, in both orders. A pass goes through all
fields in a random order and takes of each the value that makes most new pairs, so that a few dozen
passes do what one pair at a time would take thousands of pages for. Long drop-downs, sliders and
texts are covered by classes of values: the first, the last, some between, those that the page's
scripts name; a word, a number, a long text.
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from errands.turk.actions.action import Action, Value
from errands.turk.pages.comparison import PageState
from errands.turk.pages.field import FREE_TEXTS, Field

__all__ = ["Choice", "Key", "PairCoverage", "choices_of", "keys_of"]

_LONG: Final = 12
"""Drop-downs with more options are covered by classes."""
_PARAGRAPH: Final = "A longer answer, with a comma; it goes on for some time. " * 6
_OTHERS: Final[Mapping[str, Sequence[str]]] = {
    "number": ("3", "0", "250", "2.5"),
    "range": ("0", "50", "100", "3", "2.5"),
    "date": ("2024-01-15", "1999-12-31"),
    "time": ("09:30", "23:59"),
    "month": ("2024-05",),
    "week": ("2024-W09",),
    "datetime-local": ("2024-01-15T09:30",),
    "color": ("#a0b0c0", "#000000"),
}


Key = tuple[str, str]
"""A part and a value of it."""


class Choice(NamedTuple):
    """One value of one field; of check boxes each is by itself, on and off."""

    part: str
    """The field, or one of its boxes."""
    value: str
    action: Action

    @property
    def key(self) -> Key:
        return self.part, self.value


def choices_of(state: PageState, literals: Collection[str], turn: int) -> dict[str, list[Choice]]:
    """What can be chosen now, by part; every written text is a new one, by `turn`."""
    parts: dict[str, list[Choice]] = {}
    for field in state.fields:
        for choice in _choices(field, state.values[field.name], literals, turn):
            parts.setdefault(choice.part, []).append(choice)
    return parts


def keys_of(state: PageState, literals: Collection[str]) -> frozenset[Key]:
    """All choices of a page, boxes on and off."""
    keys = set()
    for field in state.fields:
        for choice in _choices(field, (), literals, 0):
            keys.add(choice.key)
            if field.type == "checkbox":
                keys.add((choice.part, "off"))
    return frozenset(keys)


def _choices(
    field: Field, values: Sequence[str], literals: Collection[str], turn: int
) -> Iterator[Choice]:
    name, kind = field.name, field.type

    def choice(value: str, written: Value = None, part: str = "") -> Choice:
        call = kind if kind in ("radio", "checkbox", "select", "range") else "text"
        argument = value if written is None else written
        action = Action(f"modify_{call}", {"name": name, "value": argument})
        return Choice(part or name, value, action)

    if kind == "checkbox":
        for box in field.options:
            # A bar parts the values of boxes, and an empty one is no choice to this action.
            if box and "|" not in box:
                yield choice("off" if box in values else "on", box, f"{name}: {box}")
    elif kind == "radio":
        yield from (choice(option) for option in field.options if option)
    elif kind == "select":
        yield from (choice(option) for option in _classes(field.options, literals))
    elif kind in FREE_TEXTS:
        yield choice("words", f"some words {turn}")
        yield choice("number", str(turn))
        yield choice("paragraph", f"{turn} {_PARAGRAPH}")
    else:
        yield from (choice(each) for each in _OTHERS.get(kind, ()))


def _classes(options: Sequence[str], literals: Collection[str]) -> list[str]:
    """All options of a short drop-down; of a long one some, and those that scripts name."""
    if len(options) <= _LONG:
        return list(options)
    count = len(options)
    places = {0, 1, count // 3, count // 2, 2 * count // 3, count - 1}
    return [each for n, each in enumerate(options) if n in places or each in literals]


class PairCoverage:
    """Which values and pairs of values were tried so far."""

    def __init__(self) -> None:
        self._pages: dict[frozenset[Key], None] = {}
        """The choices that there are together on a page: of another row they may be others."""
        self._after: dict[Key, set[Key]] = {}
        """What was tried after a choice that was taken."""

    def know(self, keys: frozenset[Key]) -> None:
        """The choices that a page has, possible now or not."""
        self._pages[keys] = None

    def best(
        self, choices: Sequence[Choice], before: Sequence[Choice], rng: random.Random
    ) -> Choice:
        """The choice that makes most new pairs with those taken before."""
        order = rng.sample(choices, len(choices))
        return max(order, key=lambda choice: (self._new(choice, before), not self._tried(choice)))

    def _new(self, choice: Choice, before: Sequence[Choice]) -> int:
        return sum(choice.key not in self._after.get(each.key, ()) for each in before)

    def _tried(self, choice: Choice) -> bool:
        return choice.key in self._after

    def note(self, choice: Choice, before: Sequence[Choice], *, taken: bool) -> None:
        """A choice was tried after others; where the page refused it, nothing comes after it."""
        for each in before:
            if each.key != choice.key:
                self._after[each.key].add(choice.key)
        if taken:
            self._after.setdefault(choice.key, set())

    @property
    def values(self) -> int:
        """How many values were taken."""
        return len(self._after)

    @property
    def pairs(self) -> int:
        return sum(map(len, self._after.values()))

    def left(self) -> set[tuple[Key, Key]]:
        """Pairs of one page that were never tried and begin with a value that was taken."""
        return {
            (first, second)
            for page in self._pages
            for first, after in self._after.items()
            if first in page
            for second in page
            if second != first and second not in after
        }
