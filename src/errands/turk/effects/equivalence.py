"""Whether a template's pages are the same under both drivers.

Some instances are opened by both and filled in as the oracle would; field lists, types,
visibility, options and values must agree at load, after every action and in the end. Where they
agree until something is done, the page's own scripts reply to it: these effects are inferred in
the browser, and the proof is made again with them. It then asks for more: random actions, in
any order and back and forth, must agree as well.
"""

import random
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from typing import Final, NamedTuple

from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.effects import EffectRule
from errands.turk.effects.explore import explore
from errands.turk.effects.infer import EffectInference, NotInferable
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.oracle.page_work import answers_of
from errands.turk.pages.comparison import Difference, compare
from errands.turk.pages.driver import Driver, try_action
from errands.turk.proofs import EDITION, Proof
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["prove_equivalence"]

_INFERRED_FROM: Final = 3
"""Instances that effects are inferred from; all are proven."""
_ROUNDS: Final = 10
"""How often a difference is used to infer more."""
_FEWEST, _MOST = 30, 80
"""Random actions on each instance."""


class _Trial(NamedTuple):
    """An instance's page, and actions that were possible on it."""

    instance: Instance
    html: str
    actions: list[Action]

    @property
    def names(self) -> list[str]:
        return list(self.instance.labels)

    def differences(self, dom: Driver, browser: Driver) -> list[Difference]:
        return compare(dom, browser, self.html, self.names, self.actions)

    def sentence(self, differences: Sequence[Difference]) -> str | None:
        """The first difference, if there is one."""
        return f"row {self.instance.row}: {differences[0]}" if differences else None


def prove_equivalence(task: Task, rows: Sequence[Instance], dom: Driver, browser: Driver) -> Proof:
    """Compare both drivers on some instances; with inferred effects, where it takes them.

    A pointer is needed where somebody answered a field that field actions do not bring to light.
    """
    names: set[str] = set()
    pointer = False
    trials: list[_Trial] = []
    differs: str | None = None
    at_load = False
    rules: tuple[EffectRule, ...] = ()
    for instance in rows:
        html = page_html(task, instance)
        with closing(browser.open(html)) as page:
            names |= {field.name for field in page.fields(list(instance.labels))}
            actions = play_oracle(page, instance)
            shown = {field.name for field in page.fields(list(instance.labels)) if field.visible}
            answered = {name for name, labels in instance.labels.items() if answers_of(labels)}
            pointer = pointer or not answered <= shown
        trials.append(_Trial(instance, html, actions))
        if differs is None:
            differences = trials[-1].differences(dom, browser)
            differs = trials[-1].sentence(differences)
            at_load = any(each.when == "load" for each in differences)
            if at_load:
                break
    if differs is not None and not at_load:
        differs, rules = _with_effects(browser, trials, differs)
    return Proof(
        task.template_hash,
        differs is None,
        EDITION,
        len(rows),
        len(names),
        differs or "",
        pointer,
        rules if differs is None else (),
    )


def _with_effects(
    browser: Driver, trials: Sequence[_Trial], differs: str
) -> tuple[str | None, tuple[EffectRule, ...]]:
    """What differs still, if anything, with effects that are inferred here.

    More is inferred from each difference; then all is asked anew, with other random actions, so
    that what counts in the end was never inferred from.
    """
    inference = EffectInference(browser)
    rules: tuple[EffectRule, ...] = ()
    try:
        inference.explore([(each.html, each.names) for each in trials[:_INFERRED_FROM]])
        for each in trials[:_INFERRED_FROM]:
            inference.follow(each.html, each.actions)
        for number in range(_ROUNDS):
            known, rules = rules, inference.rules()
            if rules == known:
                break
            difference = _first_difference(browser, trials, rules, number)
            if difference is None:
                return None, rules
            tried, differs = difference
            inference.follow(tried.html, tried.actions)
    except NotInferable as reason:
        return f"{differs} ({reason})", ()
    return differs, ()


def _first_difference(
    browser: Driver, trials: Sequence[_Trial], rules: Iterable[EffectRule], number: int
) -> tuple[_Trial, str] | None:
    dom = DomDriver(effect_rules=rules)
    for each in trials:
        for tried in (each, _random_actions(browser, each, number)):
            sentence = tried.sentence(tried.differences(dom, browser))
            if sentence is not None:
                return tried, sentence
    return None


def _random_actions(browser: Driver, trial: _Trial, number: int) -> _Trial:
    """Another way through the same page: what was possible at each step, at random."""
    rng = random.Random(f"proof {number}/{trial.instance.id}")
    count = min(max(_FEWEST, 3 * len(trial.names)), _MOST)
    actions = []
    with closing(browser.open(trial.html)) as page:
        for _, action in islice(explore(page, trial.names, rng), count):
            actions.append(action)
            try_action(page, action)  # If not, both must refuse it.
    return trial._replace(actions=actions)
