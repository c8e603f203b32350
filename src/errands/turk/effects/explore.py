"""Trying out a page: what can be chosen and written on it now, in a seeded order."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from errands.turk.actions.action import Action, Value
from errands.turk.pages.driver import OpenPage
from errands.turk.pages.field import CHOICES, FREE_TEXTS, Field

__all__ = ["Attempt", "explore"]

Attempt = tuple[str, str]
"""What is tried: a field's name, and which of its choices in which state."""


def explore(
    page: OpenPage,
    names: Sequence[str],
    rng: random.Random,
    cost: Mapping[Attempt, int] | None = None,
    enough: int = 0,
) -> Iterator[tuple[Attempt, Action]]:
    """Actions on the fields of these names that are displayed, each for the page as it then is.

    They are drawn at random. Or with `cost`, which the caller keeps, what has cost least so far
    comes next, until everything possible has cost `enough`; now and then a field that holds
    nothing is filled in instead, for what an action clears is only seen if it was there, or the
    last field is changed again, for what it shows it may also hide. Every text is a new one.
    """
    written = 0
    last = ""
    while True:
        possible = list(_possible(page, names, written))
        if cost is not None and possible:
            least = min(cost.get(each.attempt, 0) for each in possible)
            cheapest = [each for each in possible if cost.get(each.attempt, 0) == least < enough]
            others = [
                [each for each in possible if each.fills],
                [each for each in possible if each.attempt[0] == last],
            ]
            possible = rng.choice([cheapest, cheapest, *others]) if cheapest else []
            possible = possible or cheapest
        if not possible:
            return
        chosen = rng.choice(possible)
        last = chosen.attempt[0]
        yield chosen.attempt, chosen.action
        written += 1


class _Possible(NamedTuple):
    attempt: Attempt
    action: Action
    fills: bool
    """Whether the field holds nothing yet."""


def _possible(page: OpenPage, names: Sequence[str], written: int) -> Iterator[_Possible]:
    fields = [field for field in page.fields(names) if field.visible]
    values = page.values_of([field.name for field in fields])
    for field in fields:
        now = values[field.name]
        for value in _values(field, written):
            call = field.type if field.type in ("radio", "checkbox", "select", "range") else "text"
            state = f"{value} {value in now}" if field.options else ""
            action = Action(f"modify_{call}", {"name": field.name, "value": value})
            yield _Possible((field.name, state), action, fills=not any(now))


def _values(field: Field, written: int) -> Sequence[Value]:
    if field.type in CHOICES:
        # An empty value is no choice to these actions, and a bar parts the values of boxes.
        return [value for value in field.options if value and "|" not in value]
    if field.type in FREE_TEXTS:
        return (f"some words {written}",)
    if field.type in ("number", "range"):
        return (str(written),)
    return (f"2024-01-{1 + written % 28:02}",) if field.type == "date" else ()
