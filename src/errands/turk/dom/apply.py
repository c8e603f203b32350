"""Learned reactions at work on a page of the `dom` driver."""

from collections.abc import Iterable, Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from errands.turk.dom.effect import CHECKED, EMPTY, UNCHECKED, Effect, Reaction, Target, Trigger
from errands.turk.dom.forms import Control, Forms
from errands.turk.dom.visibility import Cascade

__all__ = ["Reflexes", "by_trigger"]

Known = Mapping[Trigger, tuple[Reaction, ...]]


def by_trigger(reactions: Iterable[Reaction]) -> Known:
    """Reactions, to be looked up."""
    known: dict[Trigger, tuple[Reaction, ...]] = {}
    for reaction in reactions:
        known[reaction.trigger] = (*known.get(reaction.trigger, ()), reaction)
    return known


class Reflexes:
    """Does to one page what its scripts would do."""

    def __init__(
        self, tree: LexborHTMLParser, forms: Forms, cascade: Cascade, known: Known
    ) -> None:
        self._tree = tree
        self._forms = forms
        self._cascade = cascade
        self._known = known
        self._found: dict[str, LexborNode | None] = {}

    def after(self, name: str, control: Control, state: str) -> None:
        """An action has put this control into this state."""
        if not self._known:
            return
        index = self._forms.controls(name).index(control)
        reactions = self._known.get(Trigger(name, index, state), ())
        # All conditions are looked at before anything is changed.
        due = [each for each in reactions if each.given is None or self._holds(each.given)]
        for reaction in due:
            for effect in reaction.effects:
                self._apply(effect)
        if due:
            self._forms.changed()
            self._cascade.restyled()

    def _holds(self, given: Trigger) -> bool:
        if given.state == EMPTY:
            return not any(each.checked for each in self._forms.controls(given.name))
        control = self._control(Target(given.name, given.index))
        return control is not None and given.state == (CHECKED if control.checked else UNCHECKED)

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
        if selector and selector not in self._found:
            try:
                self._found[selector] = self._tree.css_first(selector)
            except SelectolaxError:
                self._found[selector] = None
        return self._found.get(selector)

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
