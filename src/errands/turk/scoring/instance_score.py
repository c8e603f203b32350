"""Scoring a page: every field that counts, under both rules."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from errands.turk.pages.driver import OpenPage
from errands.turk.pages.field import Field
from errands.turk.scoring.metrics import RULES, score
from errands.turk.tasks.task import Instance, Label

__all__ = [
    "ScoredField", "instance_figure", "instance_figures", "score_fields", "score_page",
    "score_values",
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
) -> list[ScoredField]:
    """Score what a page holds now, or these answers: visible fields that have labels and count."""
    fields = page.fields(list(instance.labels))
    if answers is None:
        names = [field.name for field in fields if _counts(field)]
        answers = page.values_of(names, attributes=attributes)
    return score_fields(fields, answers, instance)


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
    """The score under each of the rules; absent where the field does not count."""
    scores = {rules: score(field_type, values, labels, rules) for rules in RULES}
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


def instance_figures(scored: Sequence[ScoredField]) -> dict[str, float | None]:
    """The figure under each of the rules."""
    return {rules: instance_figure(scored, rules) for rules in RULES}
