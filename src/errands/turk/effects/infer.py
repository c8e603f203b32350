"""Inferring what a page does at load and in reply to actions, from what it did in a browser.

The page's elements are numbered, the page is tried out in a browser, and after every action all
that changed is noted. What an action changes at times, and what is the same after it every time,
is its effect. If it is not the same, it may depend on one other choice; what depends on more than
that is left out, and a proof with these rules will fail.

Nothing inferred is believed: `errands.turk.effects.equivalence` proves it.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Final, NamedTuple, Protocol, runtime_checkable

from selectolax.lexbor import LexborHTMLParser

from errands.errors import ErrandsError
from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver, parsed
from errands.turk.dom.effects import (
    AGAIN,
    CHECKED,
    EMPTY,
    INPUT,
    LOAD,
    UNCHECKED,
    Changes,
    Effect,
    EffectRule,
    Fact,
    Target,
    Trigger,
    chosen,
)
from errands.turk.dom.forms import Forms
from errands.turk.effects.explore import Attempt, explore
from errands.turk.pages.driver import Driver, OpenPage, try_action
from errands.turk.pages.elements import selector_of

__all__ = ["EffectInference", "NotInferable", "PageTransition", "infer", "infer_load"]

Place = tuple[Target, str]
"""An element, and what holds of it."""

_MARK: Final = "data-errands-number"
_STRETCH: Final = 30
"""Actions on one page before a fresh one is taken."""
_ENOUGH: Final = 9
"""How often everything possible is tried, if something comes of it."""
_DULL: Final = 3
"""What a try counts of which nothing comes."""
_MOST: Final = 600
"""Actions of one exploration."""
_OF_FIELDS: Final = frozenset("value checked chosen @disabled @readonly @value".split())
"""What fields hold, and whether they can be used."""


class NotInferable(ErrandsError):
    """The page does what no rule can say."""


class PageTransition(NamedTuple):
    """One action on a page in the browser, and what it changed."""

    trigger: Trigger | None
    changes: Mapping[Place, tuple[Fact, Fact]]


@runtime_checkable
class _WatchedPage(OpenPage, Protocol):
    """A page that tells what changed on it."""

    def changes(self, mark: str) -> Changes: ...

    def facts(self, mark: str) -> dict[int, dict[str, Fact]]: ...


class EffectInference:
    """What was seen of a template's pages in a browser, and what follows from it.

    Everything raises `NotInferable` where fields come or go, or where a driver cannot tell what
    changed.
    """

    def __init__(self, browser: Driver) -> None:
        self._browser = browser
        self._stretches: list[list[PageTransition]] = []

    def rules(self) -> tuple[EffectRule, ...]:
        return infer(self._stretches)

    def explore(self, pages: Sequence[tuple[str, Sequence[str]]], *, seed: int = 0) -> None:
        """Try out some pages, each with the names of the fields to act on."""
        rng = random.Random(seed)
        cost: Counter[Attempt] = Counter()
        left, idle = _MOST, 0
        while left > 0 and idle < len(pages):
            html, names = pages[len(self._stretches) % len(pages)]
            steps: list[PageTransition] = []
            with self._opened(html) as (page, numbered):
                ways = explore(page, names, rng, cost, _ENOUGH)
                for way, action in islice(ways, min(left, _STRETCH)):
                    steps.append(_step(page, numbered, action))
                    cost[way] += 1 if _tells(steps[-1]) else _DULL
            self._stretches.append(steps)
            left -= len(steps)
            idle = 0 if steps else idle + 1

    def follow(self, html: str, actions: Iterable[Action]) -> None:
        """See what these actions do, on a fresh page."""
        with self._opened(html) as (page, numbered):
            self._stretches.append([_step(page, numbered, action) for action in actions])

    @contextmanager
    def _opened(self, html: str) -> Iterator[tuple[_WatchedPage, "_Numbered"]]:
        with _opened(self._browser, html) as (page, numbered):
            numbered.named = page.changes(_MARK).named
            yield page, numbered


@contextmanager
def _opened(browser: Driver, html: str) -> Iterator[tuple[_WatchedPage, "_Numbered"]]:
    numbered = _Numbered(html)
    with closing(browser.open(numbered.html)) as page:
        if not isinstance(page, _WatchedPage):
            raise NotInferable("the driver cannot tell what an action changes")
        yield page, numbered


def infer_load(browser: Driver, pages: Sequence[str]) -> tuple[EffectRule, ...]:
    """What the scripts of a template do to every one of these pages as it is loaded."""
    looks: list[dict[Place, Fact]] = []
    touched: dict[Place, None] = {}
    for html in pages:
        with _opened(browser, html) as (page, numbered):
            theirs = page.facts(_MARK)
        ours = DomDriver().open(numbered.html).facts(_MARK)
        look: dict[Place, Fact] = {}
        for number, own in theirs.items():
            alone = ours.get(number, {})
            target = numbered.target(number)
            for what in {**alone, **own}:
                look[target, what] = own.get(what)
                if own.get(what) != alone.get(what):
                    touched[target, what] = None
        looks.append(look)
    effects = []
    for target, what in touched:
        # Every element has this fact; what has none is not there.
        values = {look.get((target, what)) for look in looks if (target, "shown") in look}
        if len(values) == 1:
            effects.append(Effect(target, what, values.pop()))
    return (EffectRule(LOAD, tuple(effects)),) if effects else ()


def _step(page: _WatchedPage, numbered: "_Numbered", action: Action) -> PageTransition:
    """Do something, and note what changes."""
    values = page.values(str(action.arguments["name"]))
    trigger = numbered.trigger(action, values) if try_action(page, action) else None
    changes = page.changes(_MARK)
    if changes.named != numbered.named:
        raise NotInferable(f"fields come and go by {action.name}")
    facts = {
        (numbered.target(number), what): (was, now) for number, what, was, now in changes.changed
    }
    return PageTransition(trigger, facts)


def _tells(step: PageTransition) -> bool:
    """Whether something came of it that fields show."""
    trigger = step.trigger
    return trigger is not None and any(
        _decides(fact) and not _by_itself(trigger, fact) for fact in step.changes
    )


class _Numbered:
    """A page whose elements bear numbers, by which they are found again."""

    def __init__(self, html: str) -> None:
        self._tree: LexborHTMLParser = parsed(html)[0]
        self._nodes = self._tree.css("*")
        self._targets: dict[int, Target] = {}
        self.named = 0
        """How many named elements there were when it was loaded."""
        self._forms = Forms(self._tree)
        places: dict[int, Target] = {}
        for name in self._forms.names:
            for index, control in enumerate(self._forms.controls(name)):
                places[control.node.mem_id] = Target(name, index)
        for number, node in enumerate(self._nodes):
            node.attrs[_MARK] = str(number)
            if node.mem_id in places:
                self._targets[number] = places[node.mem_id]
        self.html = self._tree.html or ""

    def target(self, number: int) -> Target:
        if number not in self._targets:
            self._targets[number] = Target("", 0, selector_of(self._tree, self._nodes[number]))
        return self._targets[number]

    def trigger(self, action: Action, before: Sequence[str]) -> Trigger | None:
        """What an action sets off on a page that held these values."""
        name, value = str(action.arguments["name"]), action.arguments["value"]
        kind = action.name.removeprefix("modify_")
        again = UNCHECKED if kind == "checkbox" else AGAIN
        for index, control in enumerate(self._forms.controls(name)):
            if kind == "select":
                values = [option.value for option in control.options]
                if value not in values:
                    return None
                state = chosen(values.index(value))
                return Trigger(name, index, again if value in before else state)
            if kind == "text" or (kind == "range" and control.kind == kind):
                return Trigger(name, index, INPUT)
            if control.kind == kind and control.value == value:
                return Trigger(name, index, again if value in before else CHECKED)
        return None


class _Observation(NamedTuple):
    """What held before and after an action, of all that ever changed."""

    before: Mapping[Place, Fact]
    after: Mapping[Place, Fact]


def infer(stretches: Sequence[Sequence[PageTransition]]) -> tuple[EffectRule, ...]:
    """The rules that agree with every step; each stretch began on a fresh page."""
    seen: dict[Trigger, list[_Observation]] = defaultdict(list)
    for trigger, look in _observations(stretches):
        if trigger is not None:
            seen[trigger].append(look)
    always: dict[Trigger, list[Effect]] = {}
    unclear: list[tuple[Trigger, Place]] = []
    for trigger, looks in seen.items():
        always[trigger] = _emptied(trigger, looks)
        for fact in _touched(trigger, looks):
            if len({look.after[fact] for look in looks}) == 1:
                always[trigger].append(Effect(*fact, looks[0].after[fact]))
            elif _decides(fact):
                unclear.append((trigger, fact))
    rules = [EffectRule(trigger, tuple(effects)) for trigger, effects in always.items() if effects]
    return (*rules, *_conditional(seen, unclear))


def _observations(
    stretches: Sequence[Sequence[PageTransition]],
) -> Iterator[tuple[Trigger | None, _Observation]]:
    """Steps with all that held; what did not change on a page is as other pages began."""
    begun: dict[Place, Fact] = {}
    own: list[dict[Place, Fact]] = []
    for steps in stretches:
        first: dict[Place, Fact] = {}
        for step in steps:
            for fact, (was, _) in step.changes.items():
                first.setdefault(fact, was)
        own.append(first)
        begun = first | begun
    for steps, first in zip(stretches, own, strict=True):
        before: dict[Place, Fact] = begun | first
        for step in steps:
            after = before | {fact: now for fact, (_, now) in step.changes.items()}
            yield step.trigger, _Observation(before, after)
            before = after


def _touched(trigger: Trigger, looks: Iterable[_Observation]) -> list[Place]:
    """What a trigger ever changed, but for what the action itself does."""
    facts = {
        fact: None
        for look in looks
        for fact, now in look.after.items()
        if now != look.before[fact] and not _by_itself(trigger, fact)
    }
    own: Place = (Target(trigger.name, trigger.index), "checked")
    # A page may take back what was just ticked.
    if trigger.state != INPUT and any(
        own in look.after and look.after[own] != (trigger.state != UNCHECKED) for look in looks
    ):
        facts[own] = None
    return list(facts)


def _by_itself(trigger: Trigger, fact: Place) -> bool:
    target, what = fact
    if target.name != trigger.name:
        return False
    if target.index == trigger.index:
        return what in ("value", "checked", "chosen", "@value")
    return what == "checked" and trigger.state in (CHECKED, AGAIN)


def _decides(fact: Place) -> bool:
    """Whether it shows in fields and what they hold; else it is only seen in the markup."""
    target, what = fact
    return what == "shown" or (bool(target.name) and what in _OF_FIELDS)


def _emptied(trigger: Trigger, looks: Sequence[_Observation]) -> list[Effect]:
    """Names of which nothing is ticked any more, whatever was: few steps tell it of every box."""
    names = {target.name: None for target, what in looks[0].after if what == "checked"}
    return [
        Effect(Target(name, 0), EMPTY, True)
        for name in names
        if name != trigger.name
        and any(_ticked(look.before, name) for look in looks)
        and not any(_ticked(look.after, name) for look in looks)
    ]


def _ticked(facts: Mapping[Place, Fact], name: str) -> list[int]:
    return [
        target.index
        for (target, what), now in facts.items()
        if what == "checked" and now and target.name == name
    ]


class _Choice(NamedTuple):
    """What an effect may depend on: a group of radio buttons, or one check box."""

    name: str
    box: int | None
    """The check box among those of its name; None: the whole group."""

    def state(self, facts: Mapping[Place, Fact]) -> Trigger:
        if self.box is not None:
            ticked = facts[Target(self.name, self.box), "checked"]
            return Trigger(self.name, self.box, CHECKED if ticked else UNCHECKED)
        boxes = _ticked(facts, self.name)
        return Trigger(self.name, *((boxes[0], CHECKED) if boxes else (0, EMPTY)))


def _conditional(
    seen: Mapping[Trigger, Sequence[_Observation]], unclear: Sequence[tuple[Trigger, Place]]
) -> Iterator[EffectRule]:
    """Effects that depend on one other choice: that which makes most of them clear."""
    if not unclear:
        return
    boxes = {trigger.name for trigger in seen if trigger.state == UNCHECKED}
    facts = next(iter(seen.values()))[0].after
    choices = {
        _Choice(target.name, target.index if target.name in boxes else None): None
        for target, what in facts
        if what == "checked"
    }
    left = list(unclear)
    while left and choices:
        cleared = {
            choice: [each for each in left if _clears(choice, seen[each[0]], *each)]
            for choice in choices
        }
        best = max(cleared, key=lambda choice: len(cleared[choice]))
        if not cleared[best]:
            return
        effects: dict[tuple[Trigger, Trigger], dict[Effect, None]] = defaultdict(dict)
        for trigger, fact in cleared[best]:
            for look in seen[trigger]:
                condition = best.state(look.before)
                effects[trigger, condition][Effect(*fact, look.after[fact])] = None
        for (trigger, condition), results in effects.items():
            yield EffectRule(trigger, tuple(results), condition)
        left = [each for each in left if each not in cleared[best]]


def _clears(choice: _Choice, looks: Sequence[_Observation], trigger: Trigger, fact: Place) -> bool:
    """Whether a fact after a trigger is the same each time, given the state of a choice."""
    if choice.name == trigger.name:
        return False
    by_state: dict[Trigger, list[Fact]] = defaultdict(list)
    for look in looks:
        by_state[choice.state(look.before)].append(look.after[fact])
    often = sum(len(values) > 1 for values in by_state.values())
    return often > 1 and all(len(set(values)) == 1 for values in by_state.values())
