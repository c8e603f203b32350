"""The pointer oracle: challenge tasks answered through the page's own controls.

Some answers cannot be set by a field's name: the field is folded away, or made by a button, or a
script writes it when text is marked, things are dragged or a slider moves. The rules here go by
what a page looks like and what a click does to it, never by which task it is:

- open: click a hidden block's heading or opener, or a button, while that brings labelled fields;
- mark: select the words of a label where the page has them, then press the buttons there are;
- write: type the words of a label into a box that is no field itself, then press them;
- arrange: drag things until they stand in the order that a label spells;
- slide: move sliders that are no form fields with the keys, to the number of a label;
- count: of boxes that all have one value, tick as many as a label has;
- unbar: untick a box that somebody left empty where it bars fields that others filled in;
- search: where all of this leaves something to be submitted that is not right, try out what clicks
  and drags do to it (`errands.turk.oracle.page_search`).

Only actions of the library are used, and no hidden or read-only field is ever written. To see what
comes of an action, the page is asked what it would submit, and its handlers run: so a page is
rehearsed on one copy, and played on another.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from difflib import SequenceMatcher
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.turk.actions.action import Action
from errands.turk.oracle.page_search import draggables, search_page
from errands.turk.oracle.page_work import PageWork
from errands.turk.pages.driver import OpenPage, try_action
from errands.turk.pages.elements import buttons, name_of, openers, selector_of, span_of
from errands.turk.scoring.metrics import NOTHING, as_number, label_text
from errands.turk.tasks.task import Instance

__all__ = ["play_pointer", "rehearse"]

_CLICKS: Final = 40
"""So many things are clicked at most to bring one more field."""
_ROUNDS: Final = 60
_SEPARATORS: Final = " ,;|/->"
_BOXES: Final = (
    'input:not([name]):not([type]), input:not([name])[type="text"], textarea:not([name]),'
    ' [contenteditable="true"]'
)
_JOINT: Final = "|"
"""Between the entries of an answer that has several."""


def rehearse(open_page: Callable[[], OpenPage], instance: Instance) -> OpenPage:
    """A page answered as the labels say, after a rehearsal on another."""
    with closing(open_page()) as copy:
        actions = play_pointer(copy, instance)
    page = open_page()
    for action in actions:
        try_action(page, action)
    return page


def play_pointer(page: OpenPage, instance: Instance) -> list[Action]:
    """Try out how to answer a page as the labels say, with every action there is; returns what
    leads there. The page itself may be left somewhere else."""
    work = PageWork(page, instance)
    for _ in range(_ROUNDS):
        work.fill()
        if not _open(work):
            break
    for _ in range(2):
        # Twice, for finding out what a slider does may spoil a field that was right.
        for name in work.unanswered():
            any(rule(work, name) for rule in (_count, _slide, _arrange, _mark, _write))
    _unbar(work)
    _show_all(work)
    search_page(work)
    return work.done


# Folded and missing fields.


def _open(work: PageWork) -> bool:
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


def _show_all(work: PageWork) -> None:
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


def _unbar(work: PageWork) -> None:
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


def _count(work: PageWork, name: str) -> bool:
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
    return work.is_right(name)


def _mark(work: PageWork, name: str) -> bool:
    """Mark the words of a label where the page has them."""

    def mark(words: str) -> bool:
        telling = any(map(str.isalpha, words)) or len(words) > 3
        # Marks may have cut the text into other elements: looked up each time.
        place = span_of(work.tree(), words) if telling else None
        if place is None:
            return False
        selector, start, end = place
        return work.do("select_text", selector=selector, start=start, end=end)

    return _enter(work, name, mark)


def _write(work: PageWork, name: str) -> bool:
    """Write the words of a label into boxes that are no fields themselves."""
    tree = work.tree()

    def write_into(selector: str) -> Callable[[str], bool]:
        def write(words: str) -> bool:
            return (
                work.do("click", selector=selector)
                and work.do("press_key", key="Control+A")
                and work.do("type", text=words)
            )

        return write

    boxes = [selector_of(tree, node) for node in tree.css(_BOXES)]
    return any(_enter(work, name, write_into(box)) for box in boxes[:_CLICKS])


def _enter(work: PageWork, name: str, put: Callable[[str], bool]) -> bool:
    """Put the words of a label somewhere, then press what there is to press, until a field has
    them; of a list, one after another."""
    if not work.written_by_script(name):
        return False
    for text in work.answers[name]:
        if not _enter_words(work, name, text, put) and _JOINT in text:
            for words in text.split(_JOINT):
                _enter_words(work, name, words, put)
        if work.nearness(name).exact:
            return True
    return False


def _enter_words(work: PageWork, name: str, words: str, put: Callable[[str], bool]) -> bool:
    """Put these words in and press Enter or buttons, the likeliest first, until that brings
    answers nearer."""
    presses = [("", ""), ("press_key", "Enter")]
    presses += [("click", button) for button in _by_likeness(work.tree(), name)[:_CLICKS]]
    before = work.nearness(name)
    for press, what in presses:
        if not put(words):
            break
        if press == "click":
            work.do("click", selector=what)
        elif press:
            work.do("press_key", key=what)
        if work.nearness(name) > before:
            return True
    return False


def _by_likeness(tree: LexborHTMLParser, name: str) -> list[str]:
    """The buttons there are; first those that say something like a field's name."""

    def unlikeness(selector: str) -> float:
        node = tree.css_first(selector)
        says = "" if node is None else " ".join([node.text(), *map(str, node.attributes.values())])
        return -SequenceMatcher(None, name.lower(), says.lower(), autojunk=False).ratio()

    return sorted(buttons(tree), key=unlikeness)


def _arrange(work: PageWork, name: str) -> bool:
    """Drag things, each to its place from the first on, until they spell a label."""
    if not work.written_by_script(name):
        return False
    items = draggables(work.tree())
    for key in dict.fromkeys(key for item in items for key in ("", *item.attributes)):
        tokens = [_token(item, key) for item in items]
        for text in work.answers[name]:
            for place, token in enumerate(_spelled(text, tokens)):
                tree = work.tree()
                now = draggables(tree)
                order = [_token(item, key) for item in now]
                if token in order and order[place] != token:
                    source = selector_of(tree, now[order.index(token)])
                    work.do("drag", source=source, target=selector_of(tree, now[place]))
            if work.is_right(name):
                return True
    return False


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


def _slide(work: PageWork, name: str) -> bool:
    """Move the slider that a field follows to a label's number, with the keys."""
    numbers = [number for number in map(as_number, work.answers[name]) if number is not None]
    if not numbers or not work.written_by_script(name):
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
        if work.is_right(name):
            return True
    return False


def _sliders(work: PageWork) -> dict[str, str]:
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


def _press_towards(work: PageWork, name: str, key: str, back: str, target: float) -> None:
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
