"""What a page does in reply to an action: inferred in a browser, applied without one.

A rule says in full what holds after an action, never what it flips, so that the same action
twice is the same as once. `errands.turk.effects.infer` finds rules, proofs keep them, and
`EffectApplier` applies them to a page of the `dom` driver.
"""

from typing import Final

import msgspec

__all__ = [
    "AGAIN", "CHECKED", "EMPTY", "INPUT", "UNCHECKED",
    "Changes", "Effect", "EffectRule", "Target", "Trigger", "chosen",
]  # fmt: skip

CHECKED: Final = "checked"
UNCHECKED: Final = "unchecked"
AGAIN: Final = "again"
"""A radio button or an option that was chosen already: pages often do not notice."""
INPUT: Final = "input"
EMPTY: Final = "empty"
"""No radio button or check box of a name is ticked."""


def chosen(option: int) -> str:
    """The state of a drop-down with this option chosen."""
    return f"option {option}"


class Trigger(msgspec.Struct, frozen=True, array_like=True):
    """An action that was done: on which control, and what it is in after it."""

    name: str
    index: int
    """Among the elements of this name, in document order."""
    state: str


class Target(msgspec.Struct, frozen=True, array_like=True):
    """An element of the page: one of those of a name, or else the one that a selector finds."""

    name: str
    index: int
    selector: str = ""


class Effect(msgspec.Struct, frozen=True, array_like=True):
    """One thing that holds afterwards."""

    target: Target
    what: str
    """`shown` (its own display is not none), `value`, `checked`, `chosen` (the numbers of the
    options, with commas), `empty` (nothing of this name is ticked), or `@` and the name of an
    attribute."""
    value: str | bool | None
    """None: the attribute is not there."""


class Changes(msgspec.Struct, frozen=True):
    """What a page with numbered elements shows of itself between two looks."""

    named: int
    """How many named elements and options there are."""
    changed: tuple[tuple[int, str, str | bool | None, str | bool | None], ...]
    """An element's number, what changed (as in `Effect`), before and after."""


class EffectRule(msgspec.Struct, frozen=True, array_like=True):
    """A trigger and all that follows from it."""

    trigger: Trigger
    effects: tuple[Effect, ...]
    condition: Trigger | None = None
    """Only where this control, of another name, is in this state as well."""
