"""Proving that a template's pages are the same under both drivers.

Some instances are opened by both and filled in as the oracle would; field lists, types,
visibility, options and values must agree at load, after every action and in the end. Where they
agree until something is done, the page's own scripts reply to it: these reactions are learnt in
the browser, and the proof is made again with them. It then asks for more: actions by chance, in
any order and back and forth, must agree as well.
"""

import random
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.effect import Reaction
from errands.turk.effects.explore import wander
from errands.turk.effects.infer import Lessons, Unlearnable
from errands.turk.oracle.play import play_oracle
from errands.turk.oracle.pointer_oracle import answers_of
from errands.turk.pages.comparison import Difference, compare
from errands.turk.pages.driver import ActionError, Driver
from errands.turk.proofs import EDITION, Proof
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["prove"]

_LEARNT_FROM: Final = 3
"""Instances that reactions are learnt from; all are proven."""
_ROUNDS: Final = 10
"""How often a difference is learnt from."""
_FEWEST, _MOST = 30, 80
"""Actions by chance on each instance."""


class _Played(NamedTuple):
    """An instance's page, and actions that were possible on it."""

    instance: Instance
    html: str
    actions: list[Action]

    @property
    def names(self) -> list[str]:
        return list(self.instance.labels)


def prove(task: Task, rows: Sequence[Instance], dom: Driver, browser: Driver) -> Proof:
    """Compare both drivers on some instances; with learned reactions, where it takes them.

    A pointer is needed where somebody answered a field that field actions do not bring to light.
    """
    names: set[str] = set()
    pointer = False
    played: list[_Played] = []
    differs: str | None = None
    at_load = False
    reactions: tuple[Reaction, ...] = ()
    for instance in rows:
        html = page_html(task, instance)
        page = browser.open(html)
        try:
            names |= {field.name for field in page.fields(list(instance.labels))}
            actions = play_oracle(page, instance)
            shown = {field.name for field in page.fields(list(instance.labels)) if field.visible}
            pointer = pointer or not _answered(instance) <= shown
        finally:
            page.close()
        played.append(_Played(instance, html, actions))
        if differs is None:
            differences = _differences(dom, browser, played[-1])
            differs, at_load = _said(instance, differences), _at_load(differences)
            if at_load:
                break
    if differs is not None and not at_load:
        differs, reactions = _with_reactions(browser, played, differs)
    return Proof(
        task.template_hash,
        differs is None,
        EDITION,
        len(rows),
        len(names),
        differs or "",
        pointer,
        reactions if differs is None else (),
    )


def _with_reactions(
    browser: Driver, played: Sequence[_Played], differs: str
) -> tuple[str | None, tuple[Reaction, ...]]:
    """What differs still, if anything, with reactions that are learnt here.

    A difference is a lesson, too; then all is asked anew, with other chance actions, so that what
    counts in the end was never learnt from.
    """
    lessons = Lessons(browser)
    reactions: tuple[Reaction, ...] = ()
    try:
        lessons.explore([(each.html, each.names) for each in played[:_LEARNT_FROM]])
        for each in played[:_LEARNT_FROM]:
            lessons.follow(each.html, each.actions)
        for number in range(_ROUNDS):
            known, reactions = reactions, lessons.reactions()
            if reactions == known:
                break
            found = _first_difference(browser, played, reactions, number)
            if found is None:
                return None, reactions
            tried, differs = found
            lessons.follow(tried.html, tried.actions)
    except Unlearnable as reason:
        return f"{differs} ({reason})", ()
    return differs, ()


def _first_difference(
    browser: Driver, played: Sequence[_Played], reactions: Iterable[Reaction], number: int
) -> tuple[_Played, str] | None:
    dom = DomDriver(reactions=reactions)
    for each in played:
        for tried in (each, _by_chance(browser, each, number)):
            said = _said(each.instance, _differences(dom, browser, tried))
            if said is not None:
                return tried, said
    return None


def _by_chance(browser: Driver, played: _Played, number: int) -> _Played:
    """Another way through the same page: what was possible at each step, by chance."""
    chance = random.Random(f"proof {number}/{played.instance.id}")
    count = min(max(_FEWEST, 3 * len(played.names)), _MOST)
    actions = []
    page = browser.open(played.html)
    try:
        for _, action in islice(wander(page, played.names, chance), count):
            actions.append(action)
            try:
                page.perform(action)
            except ActionError:
                continue  # Both must refuse it.
    finally:
        page.close()
    return played._replace(actions=actions)


def _differences(dom: Driver, browser: Driver, played: _Played) -> list[Difference]:
    return compare(dom, browser, played.html, played.names, played.actions)


def _at_load(differences: Iterable[Difference]) -> bool:
    return any(each.when == "load" for each in differences)


def _said(instance: Instance, differences: Sequence[Difference]) -> str | None:
    return f"row {instance.row}: {differences[0]}" if differences else None


def _answered(instance: Instance) -> set[str]:
    """The fields that somebody answered."""
    return {name for name, labels in instance.labels.items() if answers_of(labels)}
