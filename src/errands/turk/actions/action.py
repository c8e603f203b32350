"""Actions: what an agent can do to a page, as data.

An action is a name and arguments, checked against its signature; nothing an agent writes is
ever executed as code (`errands.turk.actions.grammar` reads agents' answers).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

__all__ = ["ACTIONS", "Action", "Parameter", "Value"]

Value = str | int | float | bool | None


class Parameter(msgspec.Struct, frozen=True):
    """One argument of an action; `default` is given where it may be left out."""

    name: str
    kinds: tuple[type, ...] = (str,)
    required: bool = True
    default: Value = None


class Action(msgspec.Struct, frozen=True):
    """A call: `Action("modify_text", {"name": "q1", "value": "yes"})`."""

    name: str
    arguments: dict[str, Value] = {}


_NAME = Parameter("name")
_ANY: Final = (str, int, float, bool)
_NUMBER: Final = (int, float)

ACTIONS: Final[Mapping[str, tuple[Parameter, ...]]] = {
    # On fields, by name: both drivers.
    "modify_text": (_NAME, Parameter("value", _ANY)),
    "modify_checkbox": (_NAME, Parameter("value", _ANY)),
    "modify_radio": (_NAME, Parameter("value", _ANY)),
    "modify_select": (_NAME, Parameter("value", _ANY)),
    "modify_range": (_NAME, Parameter("value", _ANY)),
    "get_html": (Parameter("name", required=False),),
    "wait_for_element": (_NAME,),
    "scroll_to_element": (_NAME,),
    "submit": (),
    # Pointer, keyboard, pictures: the browser. Points are shares of the window, 0 to 1.
    "capture_screen": (Parameter("name", required=False),),
    "click": (
        Parameter("x", _NUMBER, required=False),
        Parameter("y", _NUMBER, required=False),
        Parameter("selector", required=False),
    ),
    "type": (Parameter("text"),),
    "press_key": (Parameter("key"),),
    "scroll": (Parameter("x", _NUMBER, required=False, default=0), Parameter("y", _NUMBER)),
    "maximize": (),
    "go_to": (Parameter("selector"),),
    "drag": (Parameter("source"), Parameter("target")),
    "select_text": (Parameter("selector"), Parameter("start", (int,)), Parameter("end", (int,))),
}
"""Every action with its parameters, in order; selectors are CSS selectors."""
