"""Whether a template's pages are the same under both drivers.

A page on which nothing could act by itself is the same by construction (`dom.scripts`). Any other
is proven by coverage, whatever the oracle does: rows of every kind that a script could tell apart
(`rows`) are opened by both drivers; every value of every field is chosen, every pair of values in
both orders, back and forth on the same page (`covering`), and random walks go beyond that. After
every action fields, types, options, values, visibility, the order in which displayed fields are
listed and the visible text must agree, and at load and before a page is left the markup; where
effects are replayed, the markup after every action.

Where they do not agree, the page's own scripts act: what they do at load, and in reply to actions,
is inferred in the browser (`infer`), and all is asked anew with these effects and another seed.
Only a proof without any difference counts.
"""

import random
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.effects import EffectRule
from errands.turk.dom.scripts import PageScripts, read_scripts
from errands.turk.effects.covering import Choice, Key, PairCoverage, choices_of, keys_of
from errands.turk.effects.infer import EffectInference, NotInferable, infer_load
from errands.turk.effects.rows import evenly_spaced, reasons_against, rows_to_prove
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.oracle.page_work import answers_of
from errands.turk.pages.comparison import Difference, PagePair
from errands.turk.pages.driver import Driver, OpenPage
from errands.turk.proofs import EDITION, Proof, ProofCoverage
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["ProofConfig", "prove_equivalence"]

_INFERRED_FROM: Final = 4
"""Rows that effects are inferred from; all are proven."""
_ROUNDS: Final = 12
"""How often a difference is used to infer more."""
_SPOT_CHECK: Final = 3
"""Rows of a task that is the same by construction, on which it is checked all the same."""
_ON_ONE_PAGE: Final = 3
"""Passes through all fields before a fresh page is taken."""
_STALLED: Final = 4
"""Pages in a row that brought no new pair, after which those left cannot be had."""
_SINGLES: Final = 300
"""Pairs that are tried one by one where passes do not meet them."""
_SOLVED: Final = 0.99
"""The oracle's score from which on field actions suffice for the right answers."""
_PATIENCE: Final = 120.0
"""Seconds, of the page's clock, in which its timers may still do something."""


class ProofConfig(msgspec.Struct, frozen=True):
    """How much a proof asks for."""

    rows: int = 8
    """At least so many, where the table has them."""
    most_rows: int = 24
    """At most so many, if there are more kinds."""
    loads: int = 60
    """So many more are compared as they are loaded."""
    walk: int = 40
    """Random actions on each row beyond the pairs."""
    seconds: float = 600.0
    """A task that takes longer is not decided."""
    seed: int = 0


class _RowPage(NamedTuple):
    instance: Instance
    html: str


class _Failure(NamedTuple):
    """The first difference, on which page, and after which actions."""

    page: _RowPage
    actions: list[Action]
    difference: Difference

    def __str__(self) -> str:
        return f"row {self.page.instance.row}: {self.difference}"


class _Late(Exception):
    """The proof takes too long."""


class _Deadline:
    """The time that a proof has."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise _Late


class _TimedDriver:
    """A driver that opens no more pages once the time is over."""

    def __init__(self, driver: Driver, deadline: _Deadline) -> None:
        self._driver = driver
        self._deadline = deadline

    @property
    def name(self) -> str:
        return self._driver.name

    @property
    def actions(self) -> frozenset[str]:
        return self._driver.actions

    def open(self, html: str, *, files: Path | None = None) -> OpenPage:
        self._deadline.check()
        return self._driver.open(html, files=files)

    def close(self) -> None:
        """It is its owner's."""


def prove_equivalence(task: Task, browser: Driver, config: ProofConfig | None = None) -> Proof:
    """Compare both drivers on a task's pages; with inferred effects, where it takes them."""
    config = config or ProofConfig()
    deadline = _Deadline(config.seconds)
    browser = _TimedDriver(browser, deadline)
    reasons = reasons_against(task)
    least = config.rows if reasons else min(config.rows, _SPOT_CHECK)
    chosen = rows_to_prove(task, least, config.most_rows if reasons else least)
    pages = _row_pages(task, chosen.rows)
    spread = evenly_spaced(len(task.instances), config.loads)
    more = _row_pages(task, [row for row in spread if row not in chosen.rows])
    proof = Proof(
        task.template_hash,
        False,
        EDITION,
        len(pages),
        0,
        method="coverage" if reasons else "construction",
        scripts=reasons,
        coverage=ProofCoverage(
            len(pages),
            len(pages) + len(more),
            chosen.kinds,
            chosen.kinds_of_all,
            len(task.instances),
        ),
    )
    if not pages:
        return msgspec.structs.replace(proof, reason="the task has no rows")
    cover = _Cover(
        browser,
        pages,
        read_scripts(task.template),
        config,
        deadline,
        more=more,
        thorough=bool(reasons),
    )
    undecided = 0.0
    try:
        fields, pointer = _answered_fields(pages, browser)
        proof = msgspec.structs.replace(proof, fields=fields, pointer=pointer)
        if not fields:
            return msgspec.structs.replace(proof, reason="no answer has a field on the page")
        reason, rules = _proven(cover, browser, pages)
    except _Late:
        undecided = config.seconds
        reason, rules = f"not decided within {config.seconds:g} seconds", ()
    return msgspec.structs.replace(
        proof,
        equal=not reason,
        undecided=undecided,
        reason=reason,
        effect_rules=() if reason else rules,
        coverage=msgspec.structs.replace(
            proof.coverage or ProofCoverage(),
            actions=cover.actions,
            values=cover.coverage.values,
            pairs=cover.coverage.pairs,
            pairs_left=len(cover.coverage.left()) if reasons else 0,
            walks=cover.walks,
        ),
    )


def _row_pages(task: Task, rows: Iterable[int]) -> list[_RowPage]:
    instances = (task.instances[row] for row in rows)
    return [_RowPage(instance, page_html(task, instance)) for instance in instances]


def _answered_fields(pages: Sequence[_RowPage], browser: Driver) -> tuple[int, bool]:
    """How many answers have a field; and whether it takes a pointer: somebody answered a field that
    field actions do not bring to light, or they do not suffice for the right answers."""
    names: set[str] = set()
    pointer = False
    for instance, html in pages[:_INFERRED_FROM]:
        with closing(browser.open(html)) as page:
            names |= {field.name for field in page.fields(list(instance.labels))}
            play_oracle(page, instance)
            shown = {field.name for field in page.fields(list(instance.labels)) if field.visible}
            answered = {name for name, labels in instance.labels.items() if answers_of(labels)}
            score = _score(page, instance)
            pointer = pointer or not answered <= shown or score < _SOLVED
    return len(names), pointer


def _score(page: OpenPage, instance: Instance) -> float:
    return instance_figure(score_page(page, instance), "paper", ranges_count_as_one=True) or 0.0


def _proven(
    cover: "_Cover", browser: Driver, pages: Sequence[_RowPage]
) -> tuple[str, tuple[EffectRule, ...]]:
    """What differs still, if anything, and the effects that it was proven with."""
    at_load: tuple[EffectRule, ...] = ()
    replies: tuple[EffectRule, ...] = ()
    inference: EffectInference | None = None
    sample = pages[:_INFERRED_FROM]
    failure: _Failure | None = None
    try:
        for number in range(_ROUNDS):
            failure = cover.first_difference(at_load, replies, number)
            if failure is None:
                return "", (*at_load, *replies)
            if failure.difference.when == "load":
                if at_load:
                    break
                at_load = infer_load(browser, [page.html for page in sample])
                if not at_load:
                    break
                continue
            if inference is None:
                inference = EffectInference(browser)
                inference.explore([(page.html, cover.names(page)) for page in sample])
            inference.follow(failure.page.html, failure.actions)
            known, replies = replies, inference.rules()
            if replies == known:
                break
    except NotInferable as reason:
        return f"{failure} ({reason})", ()
    return str(failure), ()


class _Cover:
    """Goes through a task's pages with both drivers, and counts what was covered."""

    def __init__(
        self,
        browser: Driver,
        pages: Sequence[_RowPage],
        scripts: PageScripts,
        config: ProofConfig,
        deadline: _Deadline,
        *,
        more: Sequence[_RowPage],
        thorough: bool,
    ) -> None:
        self.config = config
        self.thorough = thorough
        """Whether all pairs are asked for; else each page is gone through once."""
        self.coverage = PairCoverage()
        self.actions = 0
        self.walks = 0
        self._browser = browser
        self._pages = pages
        self._more = more
        self._scripts = scripts
        self._deadline = deadline
        self._dom = DomDriver()
        self._rng = random.Random(0)
        self._replays = False
        """Whether `dom` replays what scripts do in reply to actions."""
        self._names: dict[int, list[str]] = {}
        self._keys: dict[int, frozenset[Key]] = {}
        self._loaded_with: tuple[EffectRule, ...] | None = None
        """The effects at load with which all pages were found equal as they are loaded."""

    def names(self, page: _RowPage) -> list[str]:
        """The controls of a page."""
        return self._names[page.instance.row]

    def first_difference(
        self, at_load: tuple[EffectRule, ...], replies: tuple[EffectRule, ...], number: int
    ) -> _Failure | None:
        """Everything anew, with these effects; None where both drivers agree throughout."""
        self.coverage = PairCoverage()
        self.actions = self.walks = 0
        self._dom = DomDriver(effect_rules=(*at_load, *replies))
        self._replays = bool(replies)
        self._rng = random.Random(f"{self.config.seed}/{number}")
        if at_load != self._loaded_with:
            for number, page in enumerate((*self._pages, *self._more)):
                failure = self._load(page, settle=number < _SPOT_CHECK)
                if failure is not None:
                    return failure
            self._loaded_with = at_load
        for page in self._pages:
            self.coverage.know(self._keys[page.instance.row])
        return self._all_pairs() or self._all_walks()

    def _pair(self, page: _RowPage) -> PagePair:
        # By construction a page runs without a browser from the first, in its own order.
        ordered = page.instance.labels if self.thorough else ()
        return PagePair(self._dom, self._browser, page.html, ordered=ordered)

    def _load(self, page: _RowPage, *, settle: bool) -> _Failure | None:
        with self._pair(page) as pair:
            self._names[page.instance.row] = [field.name for field in pair.state.fields]
            self._keys[page.instance.row] = keys_of(pair.state, self._scripts.literals)
            return self._leave(page, pair, "load", settle=settle)

    def _all_pairs(self) -> _Failure | None:
        turn = idle = 0
        while turn < len(self._pages) or (
            self.thorough and idle < _STALLED and self.coverage.left()
        ):
            page = self._pages[turn % len(self._pages)]
            before = self.coverage.pairs
            failure = self._passes(page)
            if failure is not None:
                return failure
            idle = 0 if self.coverage.pairs > before else idle + 1
            turn += 1
        return self._one_by_one() if self.thorough else None

    def _one_by_one(self) -> _Failure | None:
        """Pairs that no pass has met, each on a page of its own."""
        for pair in sorted(self.coverage.left())[:_SINGLES]:
            for page in self._pages:
                if set(pair) <= self._keys[page.instance.row]:
                    failure = self._one_pair(page, pair)
                    if failure is not None:
                        return failure
                    break
        return None

    def _one_pair(self, page: _RowPage, keys: tuple[Key, Key]) -> _Failure | None:
        with self._pair(page) as pair:
            taken: list[Choice] = []
            for part, value in keys:
                for choice in self._choices(pair).get(part, ()):
                    if choice.value == value:
                        done = self._act(pair, choice.action)
                        self.coverage.note(choice, taken, taken=done)
                        taken += [choice] * done
            return _Failure(page, pair.actions, pair.differences[0]) if pair.differences else None

    def _passes(self, page: _RowPage) -> _Failure | None:
        with self._pair(page) as pair:
            taken: dict[str, Choice] = {}
            for _ in range(_ON_ONE_PAGE if self.thorough else 1):
                parts = self._choices(pair)
                for part in self._rng.sample(sorted(parts), len(parts)):
                    choices = self._choices(pair).get(part)
                    if not choices:
                        continue
                    before = list(taken.values())
                    choice = self.coverage.best(choices, before, self._rng)
                    done = self._act(pair, choice.action)
                    self.coverage.note(choice, before, taken=done)
                    if done:
                        taken[part] = choice
                    if pair.differences:
                        return _Failure(page, pair.actions, pair.differences[0])
            return self._leave(page, pair, "in the end")

    def _all_walks(self) -> _Failure | None:
        for page in self._pages:
            with self._pair(page) as pair:
                for _ in range(self.config.walk):
                    choices = [each for part in self._choices(pair).values() for each in part]
                    if not choices:
                        break
                    self._act(pair, self._rng.choice(choices).action)
                    if pair.differences:
                        return _Failure(page, pair.actions, pair.differences[0])
                self.walks += 1
                failure = self._leave(page, pair, "in the end", settle=True)
                if failure is not None:
                    return failure
        return None

    def _choices(self, pair: PagePair) -> dict[str, list[Choice]]:
        return choices_of(pair.state, self._scripts.literals, len(pair.actions))

    def _act(self, pair: PagePair, action: Action) -> bool:
        self._deadline.check()
        self.actions += 1
        done = pair.act(action)
        if self._replays and not pair.differences:
            # What is replayed is also seen in the markup, and may be put right again later.
            pair.look_closely(f"action {len(pair.actions)}, {action.name}")
        return done

    def _leave(
        self, page: _RowPage, pair: PagePair, when: str, *, settle: bool = False
    ) -> _Failure | None:
        """A last, closer look; at times minutes later, where the page has timers."""
        if settle and self._scripts.timers and not pair.differences:
            pair.pass_time(_PATIENCE)
            pair.look(when)
        names = [field.name for field in pair.state.fields if field.visible]
        pair.look_closely(when, self._rng.sample(names, min(len(names), 3)))
        return _Failure(page, pair.actions, pair.differences[0]) if pair.differences else None
