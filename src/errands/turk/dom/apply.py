"""Inferred effects at work on a page of the `dom` driver."""

from collections.abc import Iterable, Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from errands.turk.dom.effect import CHECKED, EMPTY, UNCHECKED, Effect, EffectRule, Target, Trigger
from errands.turk.dom.forms import Control, Forms
from errands.turk.dom.visibility import Cascade

__all__ = ["EffectApplier", "by_trigger"]

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

    def after(self, name: str, control: Control, state: str) -> None:
        """An action has put this control into this state."""
        if not self._rules:
            return
        index = self._forms.controls(name).index(control)
        rules = self._rules.get(Trigger(name, index, state), ())
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
                node.attrs[name] = str(value)
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
