"""What a page driver is: something that opens a page, acts on it and reads it.

Two come with Errands, `dom` (no browser) and `browser` (Chromium); both pass the conformance
suite `errands.testing.DriverConformance`, and so can a third party's.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from errands.errors import ErrandsError
from errands.turk.actions.action import ACTIONS, Action
from errands.turk.pages.field import Field, SubmittedField

__all__ = [
    "ActionError", "Driver", "DriverError", "OpenPage", "Result", "Unsupported",
    "checked_arguments", "try_action",
]  # fmt: skip

Result = str | bytes | None
"""What an action gives back: HTML or text, a PNG picture, or nothing."""


class DriverError(ErrandsError):
    """The page or the browser failed: the episode is an error, never a score of 0."""


class ActionError(ErrandsError):
    """An action is not possible on this page, and changed nothing; the message says why."""


class Unsupported(ActionError):
    """This driver has no such action (pointer, keyboard and pictures need a browser)."""


class OpenPage(Protocol):
    """One page being worked on."""

    def fields(self, names: Sequence[str] | None = None) -> list[Field]:
        """The fields of these names (None: of every named control), as they are now.

        For each name, the first element in document order decides: no element, or one that is
        not input, select or textarea, and the name is left out; so are the excluded names. In
        order of solving: down the page, then across, visible ones first (a driver without
        layout takes document order).
        """
        ...

    def values(self, name: str, *, attributes: bool = False) -> list[str]:
        """What the page holds for a name: one text per element, the checked boxes' values, ...

        Live values; with `attributes`, what the markup alone says, as the original's scorer read
        it (section 8.2 of the specification).
        """
        ...

    def values_of(self, names: Iterable[str], *, attributes: bool = False) -> dict[str, list[str]]:
        """`values` of many names, in one question."""
        ...

    def submission(self, names: Sequence[str] | None = None) -> list[SubmittedField]:
        """Submit the page's form without leaving the page, and give what it sends of these names
        (None: of all), in document order.

        The form is the first of the document. Its submit button is pressed as a worker would who
        has accepted the task, and handlers of `click`, `submit` and `formdata` run; what the page
        demands of answers (`required` and the like) is not asked. A control is part of it if it
        is an input, select or textarea of this form (by its place or by `form=`) that has a name,
        is not disabled and is no button or file; hidden and read-only ones are. Check boxes and
        radio buttons send what is checked, drop-downs what is chosen; a group of them of which
        nothing is, sends nothing, and is given with no values. Excluded names are left out.

        Once at the end of an episode: a page may look different afterwards. A driver that runs no
        scripts raises `DriverError` on a page that has some.
        """
        ...

    def perform(self, action: Action) -> Result:
        """Do one action; raises `ActionError` where it is not possible, having changed nothing."""
        ...

    def html(self, name: str | None = None) -> str:
        """The whole page as it is now, or with a field's name the few lines around it."""
        ...

    def text(self) -> str:
        """What a person reads: the visible text, a line a block."""
        ...

    def screenshot(self, name: str | None = None) -> bytes:
        """A PNG of the page, or of one field."""
        ...

    def close(self) -> None: ...


def checked_arguments(action: Action) -> dict[str, Any]:
    """The arguments of an action that there is, defaults included; raises `ActionError` where one
    is missing, unknown or of another kind."""
    arguments: dict[str, Any] = {}
    for parameter in ACTIONS[action.name]:
        if parameter.name in action.arguments:
            value = action.arguments[parameter.name]
            right = isinstance(value, parameter.kinds) or (
                value is None and (not parameter.required or parameter.name == "value")
            )
            if not right or (isinstance(value, bool) and bool not in parameter.kinds):
                raise ActionError(f"{action.name}: {parameter.name} cannot be {value!r}")
            arguments[parameter.name] = value
        elif parameter.required:
            raise ActionError(f"{action.name} needs {parameter.name}")
        else:
            arguments[parameter.name] = parameter.default
    unknown = [name for name in action.arguments if name not in arguments]
    if unknown:
        raise ActionError(f"{action.name} takes no {unknown[0]}")
    return arguments


def try_action(page: OpenPage, action: Action) -> bool:
    """Do one action; False where that is not possible."""
    try:
        page.perform(action)
    except ActionError:
        return False
    return True


@runtime_checkable
class Driver(Protocol):
    """Opens pages; one driver serves many episodes, one after another or at once."""

    @property
    def name(self) -> str: ...

    @property
    def actions(self) -> frozenset[str]:
        """Names of the actions it can do."""
        ...

    def open(self, html: str, *, files: Path | None = None) -> OpenPage:
        """Open a page; `files` is a folder whose files the page may load by relative address."""
        ...

    def close(self) -> None: ...
