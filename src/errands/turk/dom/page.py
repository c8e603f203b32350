"""A page without a browser: its fields, what they hold, and the actions on them.

Actions follow section 7.1 of the specification. Live state is kept beside the tree; as the
original does, an action also writes the markup (`value`, `checked`, `selected`, the text of a
text area), so that reading attributes gives what was entered; what is no longer chosen is no longer
marked. `modify_checkbox` clicks the boxes
listed: one that is checked is cleared, and boxes not listed stay as they are.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.turk.actions.action import Action, Value
from errands.turk.dom.effects import (
    AGAIN,
    CHECKED,
    INPUT,
    UNCHECKED,
    EffectApplier,
    Fact,
    page_facts,
)
from errands.turk.dom.effects import chosen as chosen_state
from errands.turk.dom.forms import Control, Forms, Option
from errands.turk.dom.input_value import (
    cut,
    loose_number,
    number_text,
    sanitize,
    trimmed,
    valid,
)
from errands.turk.dom.submission import is_scripted, submitted_fields
from errands.turk.dom.text import page_text
from errands.turk.dom.visibility import Cascade
from errands.turk.pages.driver import (
    ActionError,
    DriverError,
    Result,
    Unsupported,
    checked_arguments,
)
from errands.turk.pages.field import (
    EXCLUDED,
    FREE_TEXTS,
    MARK,
    TEXTS,
    Field,
    SubmittedField,
    excerpt,
    well_formed,
)

__all__ = ["ACTIONS", "DomPage"]

C = TypeVar("C", Control, Option)

_NUMERIC = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)", re.A)
_READ_ONLY: Final = TEXTS - {"color"}
"""Types to which `readonly` applies."""
_CALLED: Final = {
    "radio": "radio buttons", "checkbox": "check boxes", "select": "a drop-down",
    "range": "a slider", "textarea": "a text area",
}  # fmt: skip
_FORMS: Final = {
    "number": "a number", "date": "a date like 2024-12-31", "time": "a time like 23:59",
    "month": "a month like 2024-12", "week": "a week like 2024-W52",
    "datetime-local": "a date and time like 2024-12-31T23:59", "color": "a colour like #a0b0c0",
}  # fmt: skip


def _clip(text: str, longest: int = 60) -> str:
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def _listed(values: Sequence[str]) -> str:
    shown = [_clip(value) for value in dict.fromkeys(values)]
    rest = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    return (", ".join(shown[:20]) or "none") + rest


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _is_nan(value: Value) -> bool:
    return value == "nan" or (isinstance(value, float) and math.isnan(value))


def _whole(text: str) -> str | None:
    """`3.7` as `3`; None for what does not look like a number."""
    if len(text) >= 300 or not _NUMERIC.fullmatch(text):
        return None
    return number_text(float(math.trunc(float(text))))


def _of_value(choices: Sequence[C], value: str) -> C | None:
    """The first choice of this value, or else of its whole number."""
    for text in (value, _whole(value)):
        for each in choices:
            if each.value == text:
                return each
    return None


class DomPage:
    """One page, its tree and the state of its controls."""

    def __init__(
        self, tree: LexborHTMLParser, forms: Forms, cascade: Cascade, effects: EffectApplier
    ) -> None:
        self._tree = tree
        self._forms = forms
        self._cascade = cascade
        self._effects = effects

    # Reading

    def fields(self, names: Sequence[str] | None = None) -> list[Field]:
        chosen = None if names is None else frozenset(names)
        visible: list[Field] = []
        hidden: list[Field] = []
        for name in self._forms.names:
            if name in EXCLUDED or (chosen is not None and name not in chosen):
                continue
            controls = self._forms.controls(name)
            first = controls[0]
            if not first.is_field:
                continue
            shown = self._cascade.displayed(first.node)
            field = Field(name, first.kind, shown, self._forms.choices(name))
            (visible if shown else hidden).append(field)
        return visible + hidden

    def values(self, name: str, *, attributes: bool = False) -> list[str]:
        controls = self._forms.controls(name)
        if not controls or not controls[0].is_field:
            return []
        first = controls[0]
        kind = first.kind
        if kind in ("radio", "checkbox"):
            return [each.value for each in controls if each.kind == kind and each.checked]
        if kind == "select":
            return [
                option.value
                for option in first.options
                if option.selected and (option.direct or not attributes)
            ]
        if kind == "textarea":
            areas = [each for each in controls if each.tag == "textarea"]
            areas = [each for each in areas if "readonly" not in each.node.attributes]
            if attributes:
                return [each.node.inner_html or "" for each in areas]
            return [each.value for each in areas]
        if kind == "submit":
            return []
        if attributes:
            return [each.attribute("value") for each in controls]
        return [self._live(each) for each in controls]

    def _live(self, control: Control) -> str:
        """What any element of a name holds."""
        if control.kind == "select":
            return next((each.value for each in control.options if each.selected), "")
        return control.value if control.is_field else control.attribute("value")

    def values_of(self, names: Iterable[str], *, attributes: bool = False) -> dict[str, list[str]]:
        return {name: self.values(name, attributes=attributes) for name in names}

    def submission(self, names: Sequence[str] | None = None) -> list[SubmittedField]:
        if is_scripted(self._tree):
            raise DriverError(
                "The page has scripts, which may write fields when it is submitted: what it would"
                " submit needs the driver 'browser'."
            )
        return submitted_fields(self._tree, self._forms, names)

    def html(self, name: str | None = None) -> str:
        if name is None:
            return self._tree.html or ""
        node = self._first(name).node
        outer = node
        for _ in range(2):
            parent = outer.parent
            if parent is not None and parent.is_element_node:
                outer = parent
        node.attrs[MARK] = ""
        try:
            whole = outer.html or ""
        finally:
            del node.attrs[MARK]
        return excerpt(whole, end_tag="</select>" if node.tag == "select" else None)

    def text(self) -> str:
        body = self._tree.body
        return "" if body is None else page_text(body, self._cascade)

    def screenshot(self, name: str | None = None) -> bytes:
        raise Unsupported("Pictures of a page need a browser: take the driver 'browser'.")

    def facts(self, mark: str) -> dict[int, dict[str, Fact]]:
        """What holds of elements that have this attribute, a number."""
        return page_facts(self._tree, self._forms, self._cascade, mark)

    def close(self) -> None:
        pass

    # Acting

    def perform(self, action: Action) -> Result:
        method = ACTIONS.get(action.name)
        if method is None:
            raise Unsupported(
                f"The driver 'dom' has no action {_clip(action.name)}; it has "
                f"{', '.join(sorted(ACTIONS))}."
            )
        checked_arguments(action)
        return method(self, action)

    def _modify_text(self, action: Action) -> None:
        value = action.arguments.get("value")
        self._name(action)
        if not value or _is_nan(value):
            return
        control, name = self._field(action)
        kind = control.kind
        if kind not in TEXTS:
            self._wrong_kind(name, control, action)
        self._must_be_free(name, control)
        typed = well_formed(_text(value)).replace("\r\n", "\n").replace("\r", "\n")
        if kind in _FORMS and not valid(kind, trimmed(typed)):
            raise ActionError(
                f"The field {_clip(name)} of type {kind} takes {_FORMS[kind]}, not {_clip(typed)}."
            )
        attributes = control.node.attributes
        if kind == "textarea":
            control.text = cut(typed, attributes.get("maxlength"))
            control.node.inner_html = typed
        else:
            line = trimmed(typed) if kind in _FORMS else typed.replace("\n", "")
            if kind in FREE_TEXTS:
                line = cut(line, attributes.get("maxlength"))
            # What is typed into a field for addresses keeps the spaces around it.
            control.text = line if kind == "url" else sanitize(kind, line, attributes)
            control.node.attrs["value"] = well_formed(_text(value))
        self._react(name, control, INPUT)

    def _modify_checkbox(self, action: Action) -> None:
        controls, name = self._group(action, "checkbox")
        value = _text(action.arguments.get("value"))
        pieces = {piece for piece in value.split("|") if piece != "nan"}
        if not pieces:
            return
        boxes = [box for box in controls if box.value in pieces]
        if not boxes:
            whole = {_whole(piece) or piece for piece in pieces}
            boxes = [box for box in controls if box.value in whole]
        if not boxes:
            if pieces == {""}:
                return
            raise ActionError(
                f"The check boxes {_clip(name)} have no value {_clip(value)}; "
                f"they have {_listed([box.value for box in controls])}."
            )
        for box in boxes:
            self._must_be_free(name, box)
        for box in boxes:
            if self._forms.disabled(box):
                continue  # By what the page did when one before it was ticked.
            box.checked = not box.checked
            self._react(name, box, CHECKED if box.checked else UNCHECKED)
            _toggle(box.node, "checked", box.checked)

    def _modify_radio(self, action: Action) -> None:
        argument = action.arguments.get("value")
        self._name(action)
        if argument is None or _is_nan(argument) or argument == "None":
            return
        controls, name = self._group(action, "radio")
        if isinstance(argument, float):
            argument = int(argument) if math.isfinite(argument) else str(argument)
        value = str(argument)
        chosen = _of_value(controls, value)
        if chosen is None:
            if not value:
                return
            raise ActionError(
                f"The radio buttons {_clip(name)} have no value {_clip(value)}; "
                f"they have {_listed([each.value for each in controls])}."
            )
        self._must_be_free(name, chosen)
        again = chosen.checked
        self._forms.check(chosen, name)
        self._react(name, chosen, AGAIN if again else CHECKED)
        for each in controls:
            _toggle(each.node, "checked", each.checked)

    def _modify_select(self, action: Action) -> None:
        control, name = self._field(action)
        if control.kind != "select":
            self._wrong_kind(name, control, action)
        value = _text(action.arguments.get("value"))
        options = control.options
        chosen = _of_value(options, value)
        if chosen is None:
            raise ActionError(
                f"The drop-down {_clip(name)} has no option {_clip(value)}; "
                f"it has {_listed([each.value for each in options])}."
            )
        self._must_be_free(name, control)
        if chosen.disabled:
            raise ActionError(f"The option {_clip(value)} of {_clip(name)} is disabled.")
        again = chosen.selected
        control.choose(chosen)
        for each in options:
            _toggle(each.node, "selected", each.selected)
        self._react(name, control, AGAIN if again else chosen_state(options.index(chosen)))

    def _modify_range(self, action: Action) -> None:
        value = action.arguments.get("value")
        self._name(action)
        if _is_nan(value) or value is None or value == "None":
            return
        self._field(action)
        (control, *_), name = self._group(action, "range")
        self._must_be_free(name, control)
        text = trimmed(_text(value))
        position = loose_number(text)
        if position is None:
            raise ActionError(f"The slider {_clip(name)} takes a number, not {_clip(text)}.")
        number = number_text(position)
        # The markup first: where a slider says no least value, its steps count from there.
        control.node.attrs["value"] = number
        control.text = sanitize("range", number, control.node.attributes)
        self._react(name, control, INPUT)

    def _get_html(self, action: Action) -> str:
        name = action.arguments.get("name")
        return self.html(None if name is None else str(name))

    def _find(self, action: Action) -> None:
        self._first(self._name(action))

    def _nothing(self, action: Action) -> None:
        """There is no window, and what submitting ends is the environment's."""

    # Helpers

    def _name(self, action: Action) -> str:
        name = action.arguments.get("name")
        if not isinstance(name, str):
            raise ActionError(f"The action {action.name} needs the name of a field, a text.")
        return name

    def _first(self, name: str) -> Control:
        controls = self._forms.controls(name)
        if not controls:
            raise ActionError(f"The page has no element named {_clip(name)}.")
        return controls[0]

    def _react(self, name: str, control: Control, state: str) -> None:
        """An action has put this control into this state: styles and scripts follow."""
        self._cascade.changed()
        self._effects.after(name, control, state)

    def _field(self, action: Action) -> tuple[Control, str]:
        name = self._name(action)
        control = self._first(name)
        if not control.is_field:
            raise ActionError(f"The element {_clip(name)} is a {control.node.tag}, not a field.")
        return control, name

    def _group(self, action: Action, kind: str) -> tuple[list[Control], str]:
        """All controls of this name and kind."""
        name = self._name(action)
        first = self._first(name)
        controls = [each for each in self._forms.controls(name) if each.kind == kind]
        if not controls:
            self._wrong_kind(name, first, action)
        return controls, name

    def _wrong_kind(self, name: str, control: Control, action: Action) -> None:
        kind = control.kind
        use = "text" if kind in TEXTS else kind
        called = _CALLED.get(kind, f"of type {kind}")
        hint = f": use modify_{use}." if f"modify_{use}" in ACTIONS else "."
        raise ActionError(f"{action.name} does not fit {_clip(name)}, which is {called}{hint}")

    def _must_be_free(self, name: str, control: Control) -> None:
        """A person could use it: displayed, not disabled, not read-only."""
        which = _clip(name)
        if control.kind in ("radio", "checkbox"):
            which += f" with value {_clip(control.value)}"
        if not self._cascade.displayed(control.node):
            raise ActionError(f"The field {which} is not displayed and cannot be changed.")
        if self._forms.disabled(control):
            raise ActionError(f"The field {which} is disabled and cannot be changed.")
        if control.kind in _READ_ONLY and "readonly" in control.node.attributes:
            raise ActionError(f"The field {which} is read-only and cannot be changed.")


def _toggle(node: LexborNode, attribute: str, present: bool) -> None:
    """Write a state into the markup."""
    if not present and attribute in node.attributes:
        del node.attrs[attribute]
    elif present and attribute not in node.attributes:
        node.attrs[attribute] = ""


ACTIONS: Final[dict[str, Callable[[DomPage, Action], Result]]] = {
    "modify_text": DomPage._modify_text,
    "modify_checkbox": DomPage._modify_checkbox,
    "modify_radio": DomPage._modify_radio,
    "modify_select": DomPage._modify_select,
    "modify_range": DomPage._modify_range,
    "get_html": DomPage._get_html,
    "wait_for_element": DomPage._find,
    "scroll_to_element": DomPage._find,
    "maximize": DomPage._nothing,
    "submit": DomPage._nothing,
}
"""What this driver can do."""
