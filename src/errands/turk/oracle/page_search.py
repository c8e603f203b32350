"""Answers that only the page itself can write, by trying out what clicks and drags do.

A hill climb over what the page would submit. Things are clicked one after another; what brings the
answers nearer is kept, and what does not is clicked on until it has come round (squares, cards and
pictures mostly do). Things that only make ready for something are tried with each button, then
with each other thing; what can be dragged is dragged onto what it belongs with. Where nothing helps
any more, buttons lead on to other states of the page, from which the same is done again.

No element is known beforehand, no field is written, and nothing is asked but what the form would
send. The number of trials is bounded; what came back to where it was is no part of the plan.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.turk.oracle.closeness import Closeness
from errands.turk.oracle.page_work import PageWork, is_moment, total
from errands.turk.pages.elements import buttons, clickables, selector_of

__all__ = ["draggables", "search_page"]

_TRIALS: Final = 2000
"""So many clicks and drags at most on a page."""
_PATIENCE: Final = 600
"""So many of them at most without any gain."""
_REPAIRS: Final = 6
"""So many of the last gains are done again where a click has spoilt something for good."""
_THINGS: Final = 400
"""So many things at most are clicked in one state of a page."""
_TURNS: Final = 4
"""A thing comes round after so many clicks, or not at all."""

Values = dict[str, tuple[str, ...]]


class _State(NamedTuple):
    """A page as it is, and what it would send."""

    html: str
    values: Values
    near: dict[str, Closeness]

    @property
    def total(self) -> Closeness:
        return total(self.near)


def draggables(tree: LexborHTMLParser) -> list[LexborNode]:
    """What looks as if it could be dragged."""
    return tree.css('[draggable="true"], .ui-sortable > *, .ui-draggable')


def search_page(work: PageWork) -> None:
    """Bring what the page would send as near to the labels as clicks and drags can."""
    answers = work.targets
    work.aim_at_one_worker()
    _Search(work).run()
    work.targets = answers


class _Search:
    """One search, and what it has learnt about the page."""

    def __init__(self, work: PageWork) -> None:
        self.work = work
        self.trials = 0
        self.now = self._look()
        self.best = self.now.total, len(work.done)
        self.gain = 0
        """The trial that brought the best so far."""
        self.gains: list[tuple[str, ...]] = []
        """Clicks that brought answers nearer, the last first."""
        self.harm: Counter[str] = Counter()
        """How often a button made things worse for good."""
        self.effects: dict[tuple[str, ...], set[str]] = {}
        """The fields that clicks were seen to change."""
        self.arming: dict[str, None] = {}
        """Things that changed the page, and no field."""
        self.edges: dict[str, dict[str, str]] = {}
        """States of the page, as HTML, and where each button led from there."""
        self.leading: dict[str, None] = {}
        """Buttons that led to a state that had not been met."""
        self.quiet: set[str] = set()
        """States in which nothing helps."""

    def run(self) -> None:
        while self._goes_on():
            if self.now.html not in self.quiet:
                self.arming.clear()
                if self._click_things() or self._press_armed() or self._place():
                    continue
                self.quiet.add(self.now.html)
            if not (self._advance() or self._join()):
                break
        del self.work.done[self.best[1] :]

    # The page

    def _look(self) -> _State:
        fields = self.work.submission()
        values = {field.name: field.values for field in fields}
        near = {field.name: self.work.closeness_of(field) for field in fields}
        return _State(self.work.page.html(), values, near)

    def _see(self) -> None:
        self.now = self._look()
        if self.now.total > self.best[0]:
            self.best = self.now.total, len(self.work.done)
            self.gain = self.trials

    def _is_open(self, name: str) -> bool:
        """Whether a field that the page would send is not right yet, and could be."""
        reachable = name in self.now.near and not all(map(is_moment, self.work.answers[name]))
        return reachable and not self.now.near[name].exact

    def _goes_on(self) -> bool:
        left = self.trials < min(_TRIALS, self.gain + _PATIENCE)
        return left and any(map(self._is_open, self.now.near))

    def _click(self, selector: str) -> bool:
        self.trials += 1
        return self.work.do("click", selector=selector)

    def _things(self) -> list[str]:
        return clickables(self.work.tree())[:_THINGS]

    def _buttons(self) -> list[str]:
        """The likeliest to help first: those that did no harm, the one that has just helped, and
        those that led on."""

        def rank(button: str) -> tuple[int, bool, bool]:
            is_last_gain = self.gains[:1] == [(button,)]
            return self.harm[button], not is_last_gain, button not in self.leading

        return sorted(buttons(self.work.tree(), clicked=False), key=rank)

    # Trials

    def _try(self, *clicks: str, again: int = 1) -> bool:
        """Click these one after another; True where that brought the answers nearer.

        Where a field was changed otherwise, they are clicked until it has come round; where only
        the page was, `again` times. What is then as before was not done.
        """
        effects = self.effects.setdefault(clicks, set())
        if effects and not any(map(self._is_open, effects)):
            return False
        before, mark = self.now, len(self.work.done)
        for turn in range(_TURNS):
            if not (self._goes_on() and all(map(self._click, clicks))):
                break
            self._see()
            names = before.near.keys() | self.now.near.keys()
            changes = {n for n in names if before.values.get(n) != self.now.values.get(n)}
            effects |= changes
            if self.now.total > before.total:
                self.gains = [clicks, *(each for each in self.gains if each != clicks)]
                return True
            if self.now == before:
                del self.work.done[mark:]
                return False
            if not changes:
                self.arming |= dict.fromkeys(clicks[:1])
                if turn >= again:
                    break
        if len(self.work.done) > mark:
            self._see()
        if self.now.total < before.total:
            self.harm[clicks[-1]] += 1
            self._repair(clicks, before.total)
        return False

    def _repair(self, spoiler: tuple[str, ...], total: Closeness) -> None:
        """Do again what helped before, until it is as good as it was: of choices that exclude each
        other, another one was clicked."""
        for clicks in self.gains[:_REPAIRS]:
            if clicks != spoiler and all(map(self._click, clicks)):
                self._see()
                if self.now.total >= total:
                    return

    def _climb(self, trials: Iterable[Sequence[str]]) -> bool:
        before = self.now.total
        for clicks in trials:
            if self._goes_on():
                self._try(*clicks)
        return self.now.total > before

    def _click_things(self) -> bool:
        return self._climb([(thing,) for thing in self._things()])

    def _press_armed(self) -> bool:
        """Click what makes ready for something, then each of the buttons."""
        before = self.now.total
        for thing in list(self.arming):
            if not (self._goes_on() and self._click(thing)):
                continue
            self._see()
            ready = self.now.html
            for button in self._buttons():
                if self.now.html != ready and self._click(thing):
                    self._see()
                if self._goes_on() and self._try(button, again=0):
                    ready = self.now.html
        return self.now.total > before

    def _join(self) -> bool:
        """Click what makes ready for something, then each of the other things."""
        things = self._things()
        pairs = [(one, other) for one in list(self.arming) for other in things if one != other]
        return self._climb(pairs)

    def _advance(self) -> bool:
        """Press a button that was not yet pressed in this state, or go where there is one."""
        start = self.now.html
        edges = self.edges.setdefault(start, {})
        for button in self._buttons():
            if button in edges or not self._goes_on():
                continue
            better = self._try(button, again=0)
            edges[button] = self.now.html
            if better or self.now.html != start:
                if self.now.html not in self.edges:
                    self.leading |= {button: None}
                self.edges.setdefault(self.now.html, {})
                self._fill()
                return True
        path = self._way(start)
        for button in path:
            self._click(button)
        self._see()
        return bool(path)

    def _way(self, start: str) -> list[str]:
        """The buttons that lead from a state to the nearest in which not all were pressed."""
        ways: deque[tuple[str, list[str]]] = deque([(start, [])])
        seen = {start}
        while ways:
            state, path = ways.popleft()
            edges = self.edges.get(state, {})
            if path and set(buttons(LexborHTMLParser(state), clicked=False)) - edges.keys():
                return path
            for button, other in edges.items():
                if other not in seen:
                    seen.add(other)
                    ways.append((other, [*path, button]))
        return []

    def _fill(self) -> None:
        """Answer fields that have come into sight."""
        if set(self.work.answers) & (self.work.shown() - self.work.solved):
            self.work.fill()
            self._see()

    # Dragging

    def _place(self) -> bool:
        """Drag each thing onto those that stand near it in a label, then onto all others."""
        before = self.now.total
        for name in filter(self._is_open, list(self.now.near)):
            for item in [_key(node) for node in draggables(self.work.tree())]:
                if self._is_open(name) and self._goes_on():
                    self._drag(name, item)
        return self.now.total > before

    def _drag(self, name: str, item: str) -> None:
        before = self.now
        home = _surroundings(self.work.tree(), item)
        for target in _targets(self.work.tree(), item, self.work.answers[name]):
            if not self._drop(item, target):
                continue
            if self.now.total > before.total:
                return
            if self.now.values != before.values:
                # Back to where it was, or to wherever is as good.
                for place in home:
                    if self._drop(item, place) and self.now.total >= before.total:
                        break

    def _drop(self, item: str, target: str) -> bool:
        """Drag one thing onto another; False where one of them is gone or does not move."""
        tree = self.work.tree()
        source, place = _with_key(tree, item), _with_key(tree, target)
        if source is None or place is None or not self._goes_on():
            return False
        self.trials += 1
        ends = {"source": selector_of(tree, source), "target": selector_of(tree, place)}
        possible = self.work.do("drag", **ends)
        if possible:
            self._see()
        return possible


def _key(node: LexborNode) -> str:
    """What tells a thing from others wherever it stands: what it says of itself, and its text."""
    has = node.attributes
    marks = [f"{name}={has[name]}" for name in sorted(has) if name not in ("class", "style")]
    return "\n".join([node.tag or "", *marks, node.text(deep=True).strip()])


def _with_key(tree: LexborHTMLParser, key: str) -> LexborNode | None:
    tag = key.partition("\n")[0]
    return next((node for node in tree.css(tag) if _key(node) == key), None)


def _places(tree: LexborHTMLParser) -> list[LexborNode]:
    """What things lie in, and what stands beside that: where they may be dropped."""
    places = {node.mem_id: node for node in tree.css(".ui-droppable, [ondrop]")}
    for item in draggables(tree):
        parent = item.parent
        row = None if parent is None else parent.parent
        for node in (parent, *([] if row is None else row.iter())):
            if node is not None and node.tag != "body":
                places[node.mem_id] = node
    return list(places.values())


def _surroundings(tree: LexborHTMLParser, item: str) -> list[str]:
    """Where a thing lies: things beside it, what it lies in, then all that is empty."""
    node = _with_key(tree, item)
    parent = None if node is None else node.parent
    if node is None or parent is None:
        return []
    beside = [_key(each) for each in parent.iter() if each.mem_id != node.mem_id]
    inside = {each.mem_id for each in draggables(tree)}
    empty = [
        _key(place)
        for place in _places(tree)
        if place.mem_id not in inside and not any(n.mem_id in inside for n in place.css("*"))
    ]
    return [*beside, _key(parent), *empty]


def _targets(tree: LexborHTMLParser, item: str, answers: Sequence[str]) -> list[str]:
    """Where a thing may be dropped: first on things that an answer names close to it."""
    node = _with_key(tree, item)
    others = [each for each in draggables(tree) if _key(each) != item]
    if node is None:
        return []
    near = sorted(others, key=lambda each: _apart(node, each, answers))
    return list(dict.fromkeys([*map(_key, near), *map(_key, _places(tree))]))


def _apart(one: LexborNode, other: LexborNode, answers: Sequence[str]) -> int:
    """How many characters lie between two things in the answer that names them closest."""
    gaps = [
        abs(answer.index(first) - answer.index(second))
        for answer in answers
        for first in _names(one)
        for second in _names(other)
        if first in answer and second in answer
    ]
    return min(gaps, default=1 << 30)


def _names(node: LexborNode) -> list[str]:
    """What may stand for a thing in an answer: its text, or an attribute."""
    has = node.attributes
    texts = [has[name] for name in has if name == "id" or name.startswith("data-")]
    return [text for text in [*texts, node.text(deep=True).strip()] if text]
