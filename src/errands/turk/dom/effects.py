"""What a page's scripts do at load and in reply to an action: inferred in a browser, applied
without one.

A rule says in full what holds after an action, never what it flips, so that the same action
twice is the same as once. `errands.turk.effects.infer` finds rules, proofs keep them, and
`EffectApplier` applies them to a page of the `dom` driver.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from errands.turk.dom.forms import Control, Forms
from errands.turk.dom.visibility import Cascade
from errands.turk.pages.comparison import shown_classes, shown_style

__all__ = [
    "AGAIN", "CHECKED", "EMPTY", "INPUT", "LOAD", "UNCHECKED",
    "Changes", "Effect", "EffectApplier", "EffectRule", "Fact", "Target", "Trigger", "by_trigger",
    "chosen", "page_facts",
]  # fmt: skip

CHECKED: Final = "checked"
UNCHECKED: Final = "unchecked"
AGAIN: Final = "again"
"""A radio button or an option that was chosen already: pages often do not notice."""
INPUT: Final = "input"
EMPTY: Final = "empty"
"""No radio button or check box of a name is ticked."""

_NOTED: Final = frozenset({"checked", "selected"})
"""Attributes that actions themselves write."""

_LOOKS: Final[Mapping[str, Callable[[str], str]]] = {"style": shown_style, "class": shown_classes}

Fact = str | bool | None
"""What holds of an element; None: it has no such attribute."""


def chosen(option: int) -> str:
    """The state of a drop-down with this option chosen."""
    return f"option {option}"


class Trigger(msgspec.Struct, frozen=True, array_like=True):
    """An action that was done: on which control, and what it is in after it."""

    name: str
    index: int
    """Among the elements of this name, in document order."""
    state: str


LOAD: Final = Trigger("", 0, "load")
"""The page was opened: what its scripts did before anybody acted."""


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
    value: Fact


class Changes(msgspec.Struct, frozen=True):
    """What a page with numbered elements shows of itself between two looks."""

    named: int
    """How many named elements and options there are."""
    changed: tuple[tuple[int, str, Fact, Fact], ...]
    """An element's number, what changed (as in `Effect`), before and after."""


class EffectRule(msgspec.Struct, frozen=True, array_like=True):
    """A trigger and all that follows from it."""

    trigger: Trigger
    effects: tuple[Effect, ...]
    condition: Trigger | None = None
    """Only where this control, of another name, is in this state as well."""


RulesByTrigger = Mapping[Trigger, tuple[EffectRule, ...]]


def by_trigger(rules: Iterable[EffectRule]) -> RulesByTrigger:
    """Rules, to be looked up."""
    known: dict[Trigger, tuple[EffectRule, ...]] = {}
    for rule in rules:
        known[rule.trigger] = (*known.get(rule.trigger, ()), rule)
    return known


class EffectApplier:
    """Does to one page what its scripts would do."""

    def __init__(
        self, tree: LexborHTMLParser, forms: Forms, cascade: Cascade, rules: RulesByTrigger
    ) -> None:
        self._tree = tree
        self._forms = forms
        self._cascade = cascade
        self._rules = rules
        self._nodes: dict[str, LexborNode | None] = {}

    def at_load(self) -> None:
        """The page was opened."""
        self._follow(LOAD)

    def after(self, name: str, control: Control, state: str) -> None:
        """An action has put this control into this state."""
        if self._rules:
            index = self._forms.controls(name).index(control)
            self._follow(Trigger(name, index, state))

    def _follow(self, trigger: Trigger) -> None:
        rules = self._rules.get(trigger, ())
        # All conditions are looked at before anything is changed.
        due = [each for each in rules if each.condition is None or self._holds(each.condition)]
        for rule in due:
            for effect in rule.effects:
                self._apply(effect)
        if due:
            self._forms.changed()
            self._cascade.restyled()

    def _holds(self, condition: Trigger) -> bool:
        if condition.state == EMPTY:
            return not any(each.checked for each in self._forms.controls(condition.name))
        control = self._control(Target(condition.name, condition.index))
        return control is not None and condition.state == (
            CHECKED if control.checked else UNCHECKED
        )

    def _control(self, target: Target) -> Control | None:
        if target.selector:
            return None
        controls = self._forms.controls(target.name)
        return controls[target.index] if target.index < len(controls) else None

    def _node(self, target: Target) -> LexborNode | None:
        control = self._control(target)
        if control is not None:
            return control.node
        selector = target.selector
        if selector and selector not in self._nodes:
            try:
                self._nodes[selector] = self._tree.css_first(selector)
            except SelectolaxError:
                self._nodes[selector] = None
        return self._nodes.get(selector)

    def _apply(self, effect: Effect) -> None:
        """An element that this page has not got is passed over."""
        what, value = effect.what, effect.value
        node = self._node(effect.target)
        if node is None:
            return
        if what == "shown":
            self._cascade.show(node, shown=bool(value))
        elif what.startswith("@"):
            name = what[1:]
            if value is not None:
                before = node.attributes.get(name) or ""
                node.attrs[name] = _RESPELLED.get(name, _as_it_is)(before, str(value))
                if name == "class":
                    self._cascade.add_classes(str(value).split())
            elif name in node.attributes:
                del node.attrs[name]
        control = self._control(effect.target)
        if control is None:
            return
        if what == "value":
            control.text = str(value)
        elif what == "checked":
            control.checked = bool(value)
        elif what == EMPTY:
            for each in self._forms.controls(effect.target.name):
                each.checked = False
        elif what == "chosen":
            numbers = set(str(value).split(","))
            for number, option in enumerate(control.options):
                option.selected = str(number) in numbers
        elif what == "@disabled":
            control.disabled = value is not None


def _as_it_is(before: str, value: str) -> str:
    return value


def _new_style(before: str, value: str) -> str:
    """A style as a browser writes it once a script has touched it: what is about looks stays."""
    if shown_style(before) == value:
        return before
    wanted = _declarations(value)
    kept = {
        name: text
        for name, text in _declarations(before).items()
        if name in wanted or not shown_style(f"{name}: {text}")
    }
    return " ".join(f"{name}: {text};" for name, text in {**kept, **wanted}.items())


def _declarations(style: str) -> dict[str, str]:
    parts = (part.partition(":") for part in style.split(";") if ":" in part)
    return {name.strip().lower(): text.strip() for name, _, text in parts}


def _new_classes(before: str, value: str) -> str:
    """Classes in the order in which a script leaves them: new ones behind the old."""
    if shown_classes(before) == value:
        return before
    wanted = value.split()
    old = [each for each in before.split() if each in wanted]
    return " ".join([*old, *(each for each in wanted if each not in old)])


_RESPELLED: Final = {"style": _new_style, "class": _new_classes}
"""Attributes that are compared in one spelling, and shown in that of a browser."""


def page_facts(
    tree: LexborHTMLParser, forms: Forms, cascade: Cascade, mark: str
) -> dict[int, dict[str, Fact]]:
    """What holds of the elements that bear a number, as `facts` of `probe.js` tells it."""
    controls = {
        control.node.mem_id: control for name in forms.names for control in forms.controls(name)
    }
    facts: dict[int, dict[str, Fact]] = {}
    for node in tree.css(f"[{mark}]"):
        attributes = node.attributes
        own: dict[str, Fact] = {
            f"@{name}": _LOOKS.get(name, str)(value or "")
            for name, value in attributes.items()
            if name != mark and name not in _NOTED
        }
        own["shown"] = cascade.box(node).display != "none"
        control = controls.get(node.mem_id)
        if control is not None and control.is_field:
            own |= _state_of(control)
        facts[int(attributes[mark] or 0)] = own
    return facts


def _state_of(control: Control) -> dict[str, Fact]:
    if control.kind in ("radio", "checkbox"):
        return {"checked": control.checked}
    if control.kind == "select":
        picked = [str(n) for n, option in enumerate(control.options) if option.selected]
        return {"chosen": ",".join(picked)}
    return {"value": control.value}
