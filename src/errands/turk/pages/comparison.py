"""Two drivers, one page: what differs between them.

`compare` is the proof behind `errands turk verify`: the same page, the same actions, and every
difference an agent or a scorer could see.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from errands.turk.actions.action import Action
from errands.turk.pages.driver import Driver, OpenPage, try_action

__all__ = ["Difference", "compare"]

Seen = str | bool | tuple[str, ...] | None


class Difference(msgspec.Struct, frozen=True):
    """One thing that two drivers do not agree on."""

    when: str
    """`load`, or the call after which it was seen."""
    field: str | None
    """The field's name; None where an action's outcome itself differs."""
    what: str
    """`presence`, `type`, `visible`, `options`, `values`, `attributes` or `refused`."""
    first: Seen
    second: Seen

    def __str__(self) -> str:
        subject = self.what if self.field is None else f"{self.what} of {self.field!r}"
        return f"{self.when}: {subject}: {self.first!r} against {self.second!r}"


def compare(
    first: Driver,
    second: Driver,
    html: str,
    names: Sequence[str] | None = None,
    actions: Iterable[Action] = (),
    *,
    files: Path | None = None,
    settle: float = 0.5,
) -> list[Difference]:
    """What differs between two drivers on a page at load and after each of the actions.

    `names` are the fields to look at (None: every named control). Fields are compared as sets:
    their order is a matter of layout. An action that both refuse, in whatever words, is no
    difference. Pages may fold parts away in their own time, so after the last action they are
    looked at once more when so many seconds have passed.
    """
    with (
        closing(first.open(html, files=files)) as page,
        closing(second.open(html, files=files)) as other,
    ):
        differences = _states("load", page, other, names)
        acted = False
        for action in actions:
            when = _call(action)
            refused = not try_action(page, action), not try_action(other, action)
            if refused[0] != refused[1]:
                differences.append(Difference(when, None, "refused", *refused))
            differences += _states(when, page, other, names)
            acted = True
        if acted and not differences and settle:
            time.sleep(settle)
            differences = _states("settled", page, other, names)
    return differences


def _call(action: Action) -> str:
    arguments = ", ".join(repr(value) for value in action.arguments.values())
    return f"{action.name}({arguments})"


def _states(
    when: str, page: OpenPage, other: OpenPage, names: Sequence[str] | None
) -> list[Difference]:
    ours = {field.name: field for field in page.fields(names)}
    theirs = {field.name: field for field in other.fields(names)}
    both = ours.keys() & theirs.keys()
    values = {
        what: (page.values_of(both, attributes=markup), other.values_of(both, attributes=markup))
        for what, markup in {"values": False, "attributes": True}.items()
    }
    differences: list[Difference] = []
    for name in dict.fromkeys([*ours, *theirs]):
        one, two = ours.get(name), theirs.get(name)
        if one is None or two is None:
            differences.append(Difference(when, name, "presence", one is not None, two is not None))
            continue
        pairs: list[tuple[str, Seen, Seen]] = [
            (what, getattr(one, what), getattr(two, what))
            for what in ("type", "visible", "options")
        ]
        pairs += [(what, tuple(a[name]), tuple(b[name])) for what, (a, b) in values.items()]
        differences += [Difference(when, name, what, a, b) for what, a, b in pairs if a != b]
    return differences
