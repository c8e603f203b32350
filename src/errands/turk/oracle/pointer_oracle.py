"""The pointer oracle: challenge tasks answered through the page's own controls.

Some answers cannot be set by a field's name: the field is folded away, or made by a button, or a
script writes it when text is marked, things are dragged or a slider moves. The rules here go by
what a page looks like and what a click does to it, never by which task it is:

- open: click a hidden block's heading or opener, or a button, while that brings labelled fields;
- mark: select the words of a label where the page has them, then press the buttons there are;
- arrange: drag things until they stand in the order that a label spells;
- slide: move sliders that are no form fields with the keys, to the number of a label;
- count: of boxes that all have one value, tick as many as a label has;
- unbar: untick a box that somebody left empty where it bars fields that others filled in.

Only actions of the library are used, and no hidden or read-only field is ever written.
"""

import time
from collections.abc import Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.turk.actions.action import Action, Value
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import OpenPage, try_action
from errands.turk.pages.elements import buttons, name_of, named, openers, selector_of, span_of
from errands.turk.pages.field import Field
from errands.turk.scoring.instance_score import score_values
from errands.turk.scoring.metrics import NOTHING, as_number, label_text
from errands.turk.tasks.task import Instance, Label

__all__ = ["answers_of", "play_pointer"]

_CLICKS: Final = 40
"""So many things are clicked at most to bring one more field."""
_ROUNDS: Final = 60
_WAIT: Final = 0.1
_WAITS: Final = 10
"""How long, and how often at most, to wait for a page that moves."""
_STILL: Final = 3
"""A page that looks the same so many times has stopped."""
_SEPARATORS: Final = " ,;|/->"


def answers_of(labels: Sequence[Label]) -> list[str]:
    """The different answers that somebody gave, in order."""
    return list(dict.fromkeys(text for text in map(label_text, labels) if text not in NOTHING))


def play_pointer(page: OpenPage, instance: Instance) -> list[Action]:
    """Answer a page as the labels say, with every action there is; returns what was done."""
    work = _Work(page, instance)
    for _ in range(_ROUNDS):
        work.fill()
        if not _open(work):
            break
    for _ in range(2):
        # Twice, for finding out what a slider does may spoil a field that was right.
        for name in work.unanswered():
            any(rule(work, name) for rule in (_count, _slide, _arrange, _mark))
    _unbar(work)
    _show_all(work)
    return work.done


class _Work:
    """A page being answered."""

    def __init__(self, page: OpenPage, instance: Instance) -> None:
        self.page = page
        self.instance = instance
        self.answers = {
            name: texts for name, labels in instance.labels.items() if (texts := answers_of(labels))
        }
        self.done: list[Action] = []
        self.solved: set[str] = set()
        self.openers: list[str] = []
        """What brought fields when it was clicked, the last first."""
        self.sliders: dict[str, str] | None = None
        """Fields to the sliders that they follow, once that was looked for."""

    def fill(self) -> None:
        self.done += play_oracle(self.page, self.instance, self.solved)

    def do(self, action_name: str, /, **arguments: Value) -> bool:
        action = Action(action_name, arguments)
        possible = try_action(self.page, action)
        if possible:
            self.done.append(action)
        return possible

    def tree(self) -> LexborHTMLParser:
        return LexborHTMLParser(self.page.html())

    def fields(self) -> list[Field]:
        return self.page.fields(list(self.answers))

    def shown(self) -> set[str]:
        fields = self.page.fields(list(self.instance.labels))
        return {field.name for field in fields if field.visible}

    def values(self, name: str) -> list[str]:
        return self.page.values(name)

    def right(self, name: str) -> bool:
        """Whether the page holds an answer of full marks in a field, displayed or not."""
        return any(
            min(scores.values(), default=1.0) == 1.0
            for field in self.page.fields([name])
            for scores in [score_values(field.type, self.values(name), self.instance.labels[name])]
        )

    def unanswered(self) -> list[str]:
        return [field.name for field in self.fields() if not self.right(field.name)]

    def click(self, selector: str) -> bool:
        """Click; whether that was possible and changed the page."""
        before = self.page.html()
        return self.do("click", selector=selector) and self.page.html() != before

    def settled(self, before: set[str]) -> set[str]:
        """What is shown once a page has stopped moving."""
        now, still = self.shown(), 1
        for _ in range(_WAITS):
            if still >= _STILL + (now == before):
                break
            time.sleep(_WAIT)
            last, now = now, self.shown()
            still = still + 1 if now == last else 1
        return now


# Folded and missing fields.


def _open(work: _Work) -> bool:
    """Bring a labelled field that is not shown, by clicking; whether one came."""
    before = work.shown()
    hidden = {field.name for field in work.fields() if field.type in ("hidden", "submit")}
    waiting = [name for name in work.answers if name not in before | work.solved | hidden]
    if not waiting:
        return False
    tree = work.tree()
    tried = dict.fromkeys([*openers(tree, waiting), *work.openers, *buttons(tree)])
    for selector in list(tried)[:_CLICKS]:
        # What folds something else away is clicked once more: most such things go both ways.
        for _ in range(2):
            now = work.settled(before) if work.click(selector) else before
            if now - before - work.solved:
                work.openers = [selector, *(each for each in work.openers if each != selector)]
                return True
            if not before - now:
                break
    return False


def _show_all(work: _Work) -> None:
    """Press on where a form has steps: the last may show all of them."""
    for selector in work.openers[:1]:
        before = work.shown()
        while work.solved - before and work.click(selector):
            now = work.settled(before)
            if len(now) <= len(before):
                work.click(selector)
                work.settled(now)
                break
            before = now


def _unbar(work: _Work) -> None:
    """Untick boxes that somebody left empty, as long as that lets more be answered."""
    for field in work.fields():
        empty = any(label_text(label) in NOTHING for label in work.instance.labels[field.name])
        ticked = work.values(field.name) if field.type == "checkbox" and empty else []
        left = work.unanswered() if ticked else []
        if not left:
            continue
        toggle = {"name": field.name, "value": "|".join(ticked)}
        if work.do("modify_checkbox", **toggle):
            work.solved -= set(left)
            work.fill()
            if len(work.unanswered()) >= len(left):
                work.do("modify_checkbox", **toggle)


# Answers that a script writes.


def _count(work: _Work, name: str) -> bool:
    """Boxes of one value: how many are ticked is all that can be answered."""
    tree = work.tree()
    boxes = [node for node in tree.css('input[type="checkbox"]') if name_of(node) == name]
    values = {node.attributes.get("value") or "on" for node in boxes}
    if len(boxes) < 2 or len(values) > 1:
        return False
    target = min(len(text.split("|")) for text in work.answers[name])
    for node in reversed(boxes):
        ticked = len(work.values(name))
        if ticked == target:
            break
        work.do("click", selector=selector_of(tree, node))
        if abs(len(work.values(name)) - target) > abs(ticked - target):
            work.do("click", selector=selector_of(tree, node))
    return work.right(name)


def _mark(work: _Work, name: str) -> bool:
    """Mark the words of a label, then press what there is to press, until the field has them."""
    if not _written_by_script(work, name):
        return False
    tree = work.tree()
    for text in work.answers[name]:
        place = span_of(tree, text) if any(map(str.isalpha, text)) else None
        if place is None:
            continue
        for button in [None, *buttons(tree)[:_CLICKS]]:
            selector, start, end = place
            if not work.do("select_text", selector=selector, start=start, end=end):
                break
            if button is not None:
                work.do("click", selector=button)
            if work.right(name):
                return True
    return False


def _arrange(work: _Work, name: str) -> bool:
    """Drag things, each to its place from the first on, until they spell a label."""
    if not _written_by_script(work, name):
        return False
    items = _items(work.tree())
    for key in dict.fromkeys(key for item in items for key in ("", *item.attributes)):
        tokens = [_token(item, key) for item in items]
        for text in work.answers[name]:
            for place, token in enumerate(_spelled(text, tokens)):
                tree = work.tree()
                now = _items(tree)
                order = [_token(item, key) for item in now]
                if token in order and order[place] != token:
                    source = selector_of(tree, now[order.index(token)])
                    work.do("drag", source=source, target=selector_of(tree, now[place]))
            if work.right(name):
                return True
    return False


def _items(tree: LexborHTMLParser) -> list[LexborNode]:
    return tree.css('[draggable="true"], .ui-sortable > *, .ui-draggable')


def _token(item: LexborNode, key: str) -> str:
    """What stands for a thing: one of its attributes, or its text."""
    return (item.attributes.get(key) or "").strip() if key else item.text(deep=True).strip()


def _spelled(text: str, tokens: Sequence[str]) -> list[str]:
    """The order of the tokens in a text that is made of them all; empty where it is not.

    >>> _spelled("BCA", ["A", "B", "C"]), _spelled("two, one", ["one", "two"]), _spelled("x", ["y"])
    (['B', 'C', 'A'], ['two', 'one'], [])
    """
    order: list[str] = []
    rest = text
    while rest:
        token = max(
            (each for each in tokens if each and rest.startswith(each)), key=len, default=""
        )
        if token:
            order.append(token)
        elif rest[0] not in _SEPARATORS:
            return []
        rest = rest[len(token) or 1 :]
    return order if sorted(order) == sorted(tokens) and len(set(order)) == len(order) else []


def _slide(work: _Work, name: str) -> bool:
    """Move the slider that a field follows to a label's number, with the keys."""
    numbers = [number for number in map(as_number, work.answers[name]) if number is not None]
    if not numbers or not _written_by_script(work, name):
        return False
    if work.sliders is None:
        work.sliders = _sliders(work)
    handle = work.sliders.get(name)
    if handle is None or not work.do("go_to", selector=handle):
        return False
    for target in numbers:
        work.do("press_key", key="Home")
        for key, back in (("PageUp", "Home"), ("ArrowRight", "ArrowLeft")):
            _press_towards(work, name, key, back, target)
        if work.right(name):
            return True
    return False


def _sliders(work: _Work) -> dict[str, str]:
    """Which field follows which slider: each is moved a step to see, and back."""
    tree = work.tree()
    sliders: dict[str, str] = {}
    for node in tree.css('.ui-slider-handle, [role="slider"]'):
        handle = selector_of(tree, node)
        before = {name: work.values(name) for name in work.answers}
        if work.do("go_to", selector=handle) and work.do("press_key", key="ArrowRight"):
            moved = [name for name in before if work.values(name) != before[name]]
            sliders |= dict.fromkeys(moved, handle)
            work.do("press_key", key="ArrowLeft")
    return sliders


def _press_towards(work: _Work, name: str, key: str, back: str, target: float) -> None:
    """Press a key as often as brings a number nearer to the target, and not past it."""
    start = as_number(next(iter(work.values(name)), ""))
    work.do("press_key", key=key)
    now = as_number(next(iter(work.values(name)), ""))
    if start is None or now is None or now <= start:
        return
    step = now - start
    if now > target:
        work.do("press_key", key=back)
    for _ in range(int((target - now) // step)):
        work.do("press_key", key=key)


def _written_by_script(work: _Work, name: str) -> bool:
    """Whether a field is hidden or read-only, so that only the page itself can fill it.

    Read-only text areas are left out: drivers do not read them, as the original does not.
    """
    node = named(work.tree(), name)
    if node is None or node.tag != "input":
        return False
    has = node.attributes
    return (has.get("type") or "").lower() == "hidden" or "readonly" in has or "hidden" in has
