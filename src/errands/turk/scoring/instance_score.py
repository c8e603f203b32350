"""Scoring a page: every field that counts, and under which rules.

Under `paper` and `released` a field counts when it is displayed. Under `submitted` it counts when
the page would submit it; that takes submitting, which runs the page's handlers, so it is done
only where it is asked for, and after the displayed fields were read.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from errands.turk.pages.driver import DriverError, OpenPage
from errands.turk.pages.field import Field, SubmittedField
from errands.turk.scoring.metrics import DISPLAYED, SUBMITTED, score
from errands.turk.tasks.task import Instance, Label

__all__ = [
    "ScoredField", "instance_figure", "instance_figures", "score_fields", "score_page",
    "score_values", "with_submission",
]  # fmt: skip


class ScoredField(msgspec.Struct, frozen=True):
    """One field's score on one page."""

    name: str
    type: str
    values: tuple[str, ...]
    scores: dict[str, float]
    """By rules; fields that do not count under some rules are absent there."""


def score_page(
    page: OpenPage,
    instance: Instance,
    *,
    attributes: bool = False,
    answers: Mapping[str, Sequence[str]] | None = None,
    submit: bool = False,
) -> list[ScoredField]:
    """Score what a page holds now, or these answers: visible fields that have labels and count.

    With `submit`, the form is then submitted, and what it sends is scored under `submitted`.
    """
    fields = page.fields(list(instance.labels))
    if answers is None:
        names = [field.name for field in fields if _counts(field)]
        answers = page.values_of(names, attributes=attributes)
    scored = score_fields(fields, answers, instance)
    if not submit:
        return scored
    if not hasattr(page, "submission"):
        raise DriverError(
            f"Pages of the class {type(page).__name__} cannot be submitted: the rules"
            f" {SUBMITTED!r} need a driver whose pages have submission(names), as in"
            " errands.turk.OpenPage."
        )
    return with_submission(scored, page.submission(list(instance.labels)), instance)


def with_submission(
    scored: Iterable[ScoredField], submission: Iterable[SubmittedField], instance: Instance
) -> list[ScoredField]:
    """Displayed fields that were scored, and the scores of those that were submitted."""
    by_name = {field.name: field for field in scored}
    for field in submission:
        value = score(field.type, field.values, instance.labels[field.name], SUBMITTED)
        if value is not None:
            known = by_name.get(field.name)
            if known is None:
                known = ScoredField(field.name, field.type, field.values, {})
            by_name[field.name] = msgspec.structs.replace(
                known, scores={**known.scores, SUBMITTED: value}
            )
    return list(by_name.values())


def score_fields(
    fields: Iterable[Field], answers: Mapping[str, Sequence[str]], instance: Instance
) -> list[ScoredField]:
    """Score the visible ones of these fields, all of which have labels."""
    scored = []
    for field in filter(_counts, fields):
        values = tuple(answers.get(field.name, ()))
        scores = score_values(field.type, values, instance.labels[field.name])
        if scores:
            scored.append(ScoredField(field.name, field.type, values, scores))
    return scored


def _counts(field: Field) -> bool:
    return field.visible and field.type != "submit"


def score_values(
    field_type: str, values: Sequence[str], labels: Sequence[Label]
) -> dict[str, float]:
    """The score of a displayed field under each of the rules for these; absent where it does not
    count."""
    scores = {rules: score(field_type, values, labels, rules) for rules in DISPLAYED}
    # A blank among range answers makes the released score no number at all: it cannot count.
    return {r: value for r, value in scores.items() if value is not None and value == value}


def instance_figure(
    scored: Sequence[ScoredField], rules: str, *, ranges_count_as_one: bool = False
) -> float | None:
    """The mean over the fields that count; None where none does."""
    values = [
        1.0 if ranges_count_as_one and field.type == "range" else field.scores[rules]
        for field in scored
        if rules in field.scores
    ]
    return sum(values) / len(values) if values else None


def instance_figures(
    scored: Sequence[ScoredField], rules: Iterable[str] = DISPLAYED
) -> dict[str, float | None]:
    """The figure under each of these rules."""
    return {name: instance_figure(scored, name) for name in rules}
