"""Why an answer was not given: what no user action could have brought about, and what was missed.

For tasks on which even an oracle stays below 1: each field that is not right in the end has a
reason, read from the page as it then is.
"""

from collections.abc import Iterable

from errands.turk.oracle.page_work import answers_of, is_moment
from errands.turk.pages.driver import OpenPage
from errands.turk.pages.field import CHOICES, EXCLUDED, UNSENT, Field
from errands.turk.scoring.instance_score import ScoredField
from errands.turk.scoring.metrics import NOTHING, SUBMITTED, label_text, majority
from errands.turk.tasks.task import Instance, Label

__all__ = ["MISSED", "unreached_fields"]

MISSED = "not reached by what the oracle tried"


def unreached_fields(
    page: OpenPage, instance: Instance, scored: Iterable[ScoredField]
) -> dict[str, str]:
    """The reason for each labelled field that is not sent, or sent with less than full marks.

    Fields that nobody answered, and that do not count, need no reason.
    """
    scores = {field.name: field.scores.get(SUBMITTED) for field in scored}
    fields = {field.name: field for field in page.fields(list(instance.labels))}
    return {
        name: _reason(fields.get(name), labels)
        for name, labels in instance.labels.items()
        if name not in EXCLUDED
        and (scores.get(name) is not None or answers_of(labels))
        and scores.get(name) != 1.0
    }


def _reason(field: Field | None, labels: tuple[Label, ...]) -> str:
    answers = answers_of(labels)
    if field is None:
        return "the page has no control of this name"
    if field.type in UNSENT:
        return f"a {field.type} sends nothing"
    if field.type not in CHOICES:
        if answers and all(map(is_moment, answers)):
            return "its answers are times that a clock wrote"
        if field.type == "range" and len(answers) > 1:
            return "people set it differently"
        return MISSED
    if field.type == "checkbox":
        return MISSED
    wanted = label_text(majority(labels))
    options = {label_text(option) for option in field.options}
    if wanted in NOTHING:
        return MISSED if "" in field.options else "most left it empty, and it has no empty option"
    return MISSED if wanted in options else f"the majority's {wanted!r} is not among its options"
