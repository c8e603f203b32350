"""The controls of a page and their state, apart from the markup.

A browser keeps what was typed, checked and chosen beside the tree, and so does this: a control
is made when its name is first asked for.
"""

import re
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.turk.dom.input_value import sanitize
from errands.turk.pages.field import INPUT_TYPES

__all__ = ["Control", "Forms", "Option", "option_value"]

_SPACES = re.compile(r"[ \t\n\f\r]+")
_SIZE = re.compile(r"\s*\+?([0-9]{1,9})", re.ASCII)
_CONTROLS: Final = frozenset({"input", "select", "textarea"})


class _Place(NamedTuple):
    """What an element gets from its ancestors."""

    form: int
    disabled: bool
    fieldset: bool
    """Whether it is itself a disabled fieldset: its first legend is spared."""


class Option:
    """One option of a drop-down."""

    __slots__ = ("direct", "disabled", "node", "selected", "value")

    def __init__(self, node: LexborNode, *, direct: bool, disabled: bool) -> None:
        attributes = node.attributes
        self.node = node
        self.value = option_value(node, attributes)
        self.disabled = disabled or "disabled" in attributes
        self.selected = "selected" in attributes
        self.direct = direct


class Control:
    """An element with a name, and its state if it is an input, select or textarea."""

    __slots__ = ("_box_value", "_options", "checked", "disabled", "kind", "node", "tag", "text")

    def __init__(self, node: LexborNode, *, foreign: bool = False) -> None:
        self.node = node
        self.tag = "" if foreign else node.tag or ""
        self.kind = self.tag
        attributes = node.attributes
        if self.tag == "input":
            kind = (attributes.get("type") or "").lower()
            self.kind = kind if kind in INPUT_TYPES else "text"
        self.text: str | None = None
        """What was typed; None: what the markup says."""
        self.checked = False
        self.disabled = "disabled" in attributes
        """By itself: a fieldset around it may disable it as well."""
        self._box_value = (attributes["value"] or "") if "value" in attributes else "on"
        self._options: list[Option] | None = None

    @property
    def is_field(self) -> bool:
        return self.tag in _CONTROLS

    def attribute(self, name: str) -> str:
        return self.node.attributes.get(name) or ""

    @property
    def value(self) -> str:
        """The value of an input, live."""
        if self.kind in ("checkbox", "radio"):
            return self._box_value
        if self.text is not None:
            return self.text
        if self.tag == "textarea":
            return self.node.text(deep=False).replace("\r\n", "\n").replace("\r", "\n")
        attributes = self.node.attributes
        return sanitize(self.kind, attributes.get("value") or "", attributes)

    @property
    def options(self) -> list[Option]:
        if self._options is None:
            self._options = _options(self.node)
        return self._options

    def choose(self, option: Option) -> None:
        if "multiple" not in self.node.attributes:
            for each in self.options:
                each.selected = False
        option.selected = True


class Forms:
    """All named elements of a document, by name."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._drawings = False
        self._fenced: bool | None = None
        self._places: dict[int, _Place] = {}
        self._groups: dict[str, list[Control]] = {}
        self._choices: dict[str, tuple[str, ...]] = {}
        self._nodes: dict[str, list[LexborNode]] = {}
        # One walk through the tree for both.
        for node in tree.css("[name], svg, math"):
            if node.tag in ("svg", "math"):
                self._drawings = True
            name = node.attributes.get("name")
            if name:
                self._nodes.setdefault(name, []).append(node)

    @property
    def names(self) -> list[str]:
        """In order of first appearance."""
        return list(self._nodes)

    def controls(self, name: str) -> list[Control]:
        """Every element of this name, in document order."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = [
                Control(node, foreign=self._drawings and _foreign(node))
                for node in self._nodes.get(name, ())
            ]
            last: dict[int, Control] = {}
            for control in group:
                if control.kind == "checkbox":
                    control.checked = "checked" in control.node.attributes
                elif control.kind == "radio" and "checked" in control.node.attributes:
                    last[self.owner(control)] = control
            for control in last.values():
                control.checked = True
        return group

    def choices(self, name: str) -> tuple[str, ...]:
        """Values to choose from, of the kind of the first control; no action by itself changes
        them."""
        known = self._choices.get(name)
        if known is None:
            known = self._choices[name] = self._offered(name)
        return known

    def _offered(self, name: str) -> tuple[str, ...]:
        controls = self.controls(name)
        kind = controls[0].kind if controls else ""
        if kind == "select":
            # Chromium takes the options of a disabled drop-down for disabled.
            options = [] if self.disabled(controls[0]) else controls[0].options
            values = [option.value for option in options if not option.disabled]
        elif kind in ("radio", "checkbox"):
            same = [each for each in controls if each.kind == kind]
            values = [each.value for each in same if not self.disabled(each)]
        else:
            return ()
        return tuple(dict.fromkeys(values))

    def check(self, control: Control, name: str) -> None:
        """Choose a radio button: the others of its group are no longer."""
        owner = self.owner(control)
        for each in self.controls(name):
            if each.kind == "radio" and self.owner(each) == owner:
                each.checked = False
        control.checked = True

    def changed(self) -> None:
        """Controls were enabled or disabled: what depends on it is worked out anew."""
        self._choices.clear()
        self._places.clear()
        self._fenced = None

    def checked(self) -> list[LexborNode]:
        """What `:checked` stands for now: boxes, radio buttons, options."""
        nodes = [
            node
            for node in self._tree.css("input:not([name])")
            if "checked" in node.attributes
            and (node.attributes.get("type") or "").lower() in ("checkbox", "radio")
        ]
        for name in self._nodes:
            for control in self.controls(name):
                if control.checked and control.tag == "input":
                    nodes.append(control.node)
                elif control.tag == "select":
                    nodes += [option.node for option in control.options if option.selected]
        return nodes

    def disabled(self, control: Control) -> bool:
        if control.disabled:
            return True
        if self._fenced is None:
            self._fenced = self._tree.css_first("fieldset[disabled]") is not None
        return self._fenced and self._place(control.node).disabled

    def owner(self, control: Control) -> int:
        """The form that a control belongs to, by its `mem_id`; 0: to none."""
        form = control.attribute("form")
        if form:
            for node in self._tree.css("form[id]"):
                if node.id == form:
                    return node.mem_id
            return 0
        return self._place(control.node).form

    def _place(self, node: LexborNode) -> _Place:
        places = self._places
        chain: list[LexborNode] = []
        current: LexborNode | None = node
        above = _Place(0, False, False)
        while current is not None and current.is_element_node:
            known = places.get(current.mem_id)
            if known is not None:
                above = known
                break
            chain.append(current)
            current = current.parent
        for each in reversed(chain):
            tag = each.tag
            disabled = above.disabled
            if above.fieldset and not (tag == "legend" and _first_legend(each)):
                disabled = True
            form = each.mem_id if tag == "form" else above.form
            own = tag == "fieldset" and "disabled" in each.attributes
            above = places[each.mem_id] = _Place(form, disabled, own)
        return above


def _foreign(node: LexborNode) -> bool:
    """Whether an element belongs to a drawing or a formula, and is no HTML whatever its name."""
    above = node.parent
    while above is not None:
        if above.tag in ("svg", "math"):
            return True
        if above.tag in ("foreignobject", "foreignObject", "desc", "annotation-xml", "body"):
            return False
        above = above.parent
    return False


def _first_legend(node: LexborNode) -> bool:
    before = node.prev
    while before is not None:
        if before.tag == "legend":
            return False
        before = before.prev
    return True


def option_value(node: LexborNode, attributes: dict[str, str | None]) -> str:
    """An option's value: its attribute, else its text with single spaces."""
    if "value" in attributes:
        return attributes["value"] or ""
    text = node.text()
    if node.css_first("script") is not None:
        for script in node.css("script"):
            text = text.replace(script.text(), "", 1)
    return _SPACES.sub(" ", text).strip(" ")


def _options(select: LexborNode) -> list[Option]:
    options: list[Option] = []
    own = select.mem_id
    for node in select.css("option"):
        parent = node.parent
        direct = parent is not None and parent.mem_id == own
        disabled = False
        if not direct and parent is not None and parent.tag == "optgroup":
            disabled = "disabled" in parent.attributes
        options.append(Option(node, direct=direct, disabled=disabled))
    attributes = select.attributes
    if "multiple" in attributes:
        return options
    chosen = [option for option in options if option.selected]
    for option in chosen[:-1]:
        option.selected = False
    size = _SIZE.match(attributes.get("size") or "")
    if not chosen and not (size and int(size[1]) > 1):
        first = next((option for option in options if not option.disabled), None)
        if first is not None:
            first.selected = True
    return options
