"""How far an oracle gets with a task: what counts, and what it answered whether it counts or not.

Under `paper` and `released` only displayed fields count, so a page that hides its fields can score
1 with next to nothing answered, or have no score at all. The share of the workers' answers that the
page holds in the end, in whatever fields, tells tasks that were solved from those that were not.
Under `submitted` all fields count that the page sends.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Final

import msgspec

from errands.errors import ErrandsError
from errands.turk.dom.submission import has_scripts
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.oracle.page_work import answers_of
from errands.turk.oracle.pointer_oracle import rehearse
from errands.turk.oracle.unreached import unreached_fields
from errands.turk.pages.driver import OpenPage
from errands.turk.pages.field import Field
from errands.turk.scoring.instance_score import (
    ScoredField,
    instance_figures,
    score_page,
    score_values,
)
from errands.turk.scoring.metrics import DISPLAYED, NOTHING, RULES, label_text, majority
from errands.turk.tasks.task import Instance, Label, Task

__all__ = ["ORACLES", "AnsweredFields", "Coverage", "answered_fields", "measure_coverage"]

Play = Callable[[Callable[[], OpenPage], Instance], OpenPage]
"""Opens a page as often as needed, and gives one that is answered."""


def _fill(open_page: Callable[[], OpenPage], instance: Instance) -> OpenPage:
    page = open_page()
    play_oracle(page, instance)
    return page


ORACLES: Final[Mapping[str, Play]] = {"oracle": _fill, "pointer-oracle": rehearse}
"""By filling in fields, and with pointer and keys as well."""


class AnsweredFields(msgspec.Struct, frozen=True):
    """How much of what the workers answered a page holds."""

    fields: int
    """Fields that somebody answered."""
    sums: dict[str, float]
    """By rules, the sum of their scores; a field that the page does not have is 0."""

    def share(self, rules: str) -> float | None:
        return self.sums[rules] / self.fields if self.fields else None


class Coverage(msgspec.Struct, frozen=True):
    """An oracle on some instances of a task."""

    instances: int
    counted: int
    """Fields that count for a score, under some rules."""
    scores: dict[str, float | None]
    """By rules, the mean over the fields that count."""
    fields: int
    """Fields that somebody answered."""
    answered: dict[str, float | None]
    """By rules, the mean over these, displayed or not."""
    unreached: dict[str, str] = {}
    """Fields that are not right in what some page would submit, and why."""
    errors: tuple[str, ...] = ()


def answered_fields(page: OpenPage, instance: Instance) -> AnsweredFields:
    """Score every field that somebody answered: displayed, hidden, or not there at all."""
    fields_by_name = {field.name: field for field in page.fields(list(instance.labels))}
    sums = dict.fromkeys(DISPLAYED, 0.0)
    fields = 0
    for name, labels in instance.labels.items():
        field = fields_by_name.get(name)
        if answers_of(labels) and _can_score(field, labels):
            fields += 1
            scores = {} if field is None else score_values(field.type, page.values(name), labels)
            for rules, value in scores.items():
                sums[rules] += value
    return AnsweredFields(fields, sums)


def _can_score(field: Field | None, labels: Sequence[Label]) -> bool:
    """No answer can score on a button, nor on a drop-down that most left empty."""
    empty = label_text(majority(labels)) in NOTHING
    return field is None or not (field.type == "submit" or (field.type == "select" and empty))


def measure_coverage(play: Play, task: Task, rows: Iterable[int], pages: Pages) -> Coverage:
    """Play these rows; a page that fails is an error with its reason. What a page with scripts
    would submit is not known without a browser."""
    counted: list[ScoredField] = []
    shares: list[AnsweredFields] = []
    unreached: dict[str, str] = {}
    errors: list[str] = []
    submit = pages.choice(task) != "dom" or not has_scripts(task.template)
    for row in rows:
        instance = task.instances[row]
        try:
            with closing(play(partial(pages.open, task, instance), instance)) as page:
                share = answered_fields(page, instance)
                scored = score_page(page, instance, submit=submit)
                shares.append(share)
                counted += scored
                if submit:
                    unreached |= unreached_fields(page, instance, scored)
        except ErrandsError as failure:
            errors.append(f"row {row}: {failure}")
    sums = {rules: sum(each.sums[rules] for each in shares) for rules in DISPLAYED}
    both = AnsweredFields(sum(each.fields for each in shares), sums)
    return Coverage(
        len(shares),
        len(counted),
        instance_figures(counted, RULES),
        both.fields,
        {rules: both.share(rules) for rules in DISPLAYED},
        unreached,
        tuple(errors),
    )
