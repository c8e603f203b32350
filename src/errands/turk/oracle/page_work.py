"""A page being answered by an oracle with a pointer: what it did, and how far it has come."""

import time
from collections.abc import Iterable, Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from errands.turk.actions.action import Action, Value
from errands.turk.oracle.closeness import FARTHEST, Closeness, closeness
from errands.turk.oracle.field_oracle import play_oracle, thorough_first
from errands.turk.pages.driver import DriverError, OpenPage, try_action
from errands.turk.pages.elements import named
from errands.turk.pages.field import CHOICES, Field, SubmittedField
from errands.turk.scoring.instance_score import score_values
from errands.turk.scoring.metrics import (
    NOTHING,
    SUBMITTED,
    as_number,
    clean_values,
    label_text,
    score,
)
from errands.turk.tasks.task import Instance, Label

__all__ = ["PageWork", "answers_of", "is_moment", "total"]

_WAIT: Final = 0.1
_WAITS: Final = 10
"""How long, and how often at most, to wait for a page that moves."""
_STILL: Final = 3
"""A page that looks the same so many times has stopped."""


def answers_of(labels: Iterable[Label]) -> list[str]:
    """The different answers that somebody gave, in order."""
    return list(dict.fromkeys(text for text in map(label_text, labels) if text not in NOTHING))


def is_moment(answer: str) -> bool:
    """Whether an answer is a time since 1970, in seconds or milliseconds: it was written by a
    clock, and no user action can bring it about.

    >>> is_moment("1580000000.5"), is_moment("1580000000500"), is_moment("42")
    (True, True, False)
    """
    number = as_number(answer)
    return number is not None and (1e9 <= number < 1e10 or 1e12 <= number < 1e13)


class PageWork:
    """A page being answered."""

    def __init__(self, page: OpenPage, instance: Instance) -> None:
        self.page = page
        self.instance = instance
        self.answers = {
            name: texts for name, labels in instance.labels.items() if (texts := answers_of(labels))
        }
        self.targets = self.answers
        """What a search aims at: all answers, or those of one worker, which go together."""
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

    def is_right(self, name: str) -> bool:
        """Whether the page holds an answer of full marks in a field, displayed or not."""
        return any(
            min(scores.values(), default=1.0) == 1.0
            for field in self.page.fields([name])
            for scores in [score_values(field.type, self.values(name), self.instance.labels[name])]
        )

    def unanswered(self) -> list[str]:
        return [field.name for field in self.fields() if not self.is_right(field.name)]

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

    def written_by_script(self, name: str) -> bool:
        """Whether a field is hidden or read-only, so that only the page itself can fill it.

        Read-only text areas are left out: drivers do not read them, as the original does not.
        """
        node = named(self.tree(), name)
        if node is None or node.tag != "input":
            return False
        has = node.attributes
        return (has.get("type") or "").lower() == "hidden" or "readonly" in has or "hidden" in has

    def submission(self) -> list[SubmittedField]:
        """What the page would send of the labelled fields, as it is now; nothing where the driver
        cannot say."""
        try:
            return self.page.submission(list(self.answers))
        except DriverError:
            return []

    def nearness(self, name: str) -> Closeness:
        """How near to an answer a field is, as it would be sent, or is held."""
        fields = {field.name: field for field in self.submission()}
        if name in fields:
            return self.closeness_of(fields[name])
        return closeness(_first(self.values(name)), self.targets[name])

    def closeness_of(self, field: SubmittedField) -> Closeness:
        """How near to a target is what is sent."""
        if field.type in CHOICES or field.type == "range":
            labels = self.instance.labels[field.name]
            whole = score(field.type, field.values, labels, SUBMITTED) or 0.0
            return Closeness(whole, float(whole == 1.0), whole)
        return closeness(_first(field.values), self.targets[field.name])

    def aim_at_one_worker(self) -> None:
        """Aim at what the worker wrote who answered most, as far as that one did."""
        workers = thorough_first(self.instance.labels)
        for worker in workers[:1]:
            for name, labels in self.instance.labels.items():
                texts = (
                    answers_of(labels[worker : worker + 1]) if len(labels) == len(workers) else []
                )
                if texts:
                    self.targets = {**self.targets, name: texts}


def _first(values: Sequence[str]) -> str:
    return next(iter(clean_values(values)), "")


def total(near: dict[str, Closeness]) -> Closeness:
    """All fields together."""
    figures = [sum(each[place] for each in near.values()) for place in range(len(FARTHEST))]
    return Closeness(*(round(figure, 9) for figure in figures))
