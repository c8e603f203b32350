"""How good an answer is: one field against what the workers wrote, under three sets of rules.

`paper` is what the TurkingBench paper says (section 3.5), and what to train and compare with.
`released` is what the original's evaluator computes (section 8 of the specification), quirks
included, and what its published numbers were made with:

- text: the best ROUGE-L over the labels, 1 where identical; the same under both.
- radio, select: `paper` asks for the majority's answer, sign and punctuation kept; `released`
  drops case and punctuation, so that -2 is 2.
- check boxes: `paper` takes intersection over union, the best over workers; `released` asks for
  all boxes of one of the workers.
- range: `paper` is 1 - mean distance / largest absolute label, within [0, 1]; `released` lets
  the prediction into the divisor, and may be negative or NaN.

Both apply the number rule first (`1.0` is `1`), and neither counts a text field that nobody
answered: its score is None. Types that the original cannot score (date, number, time, ...)
count as text under both rules; buttons never count. Where the original raises, the nearest rule
of its own holds, as noted at `prepared_score`.

`submitted` compares as `paper` does. What differs is what it is asked for: not the fields that
are displayed, but those that the page would submit, hidden ones as text
(`errands.turk.scoring.instance_score`).
"""

import math
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

from errands.errors import SettingError
from errands.turk.scoring.rouge import rouge_l
from errands.turk.tasks.task import Label

__all__ = [
    "DISPLAYED", "NOTHING", "RULES", "SUBMITTED", "as_number", "clean_values", "exact_match",
    "label_text", "majority", "normalize_answer", "number_rule", "prepare_labels",
    "prepared_score", "score", "text_match",
]  # fmt: skip

_BUTTONS: Final = frozenset({"submit", "button", "reset", "image", "file"})
SUBMITTED: Final = "submitted"
"""The rules under which a field counts when the page would submit it."""
DISPLAYED: Final = ("paper", "released")
"""The rules under which a field counts when it is displayed."""
NOTHING: Final = frozenset({"", "nan", "{}", "'{}'"})
"""Labels that say that a worker answered nothing."""
_EMPTY_PREDICTIONS: Final = frozenset({"", "[]", "['']"})
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def number_rule(value: object) -> object:
    """Whatever Python reads as a finite number, as the shortest text; all else as it is.

    >>> number_rule("1.0"), number_rule(" 5 "), number_rule("1.50"), number_rule("1_000")
    ('1', '5', '1.5', '1000')
    >>> number_rule(True), number_rule("nan"), number_rule("1/2")
    ('1', 'nan', '1/2')
    """
    if not isinstance(value, str | int | float):
        return value
    # Most answers are words, and words are soon told from numbers: those that Python would read,
    # as `nan`, are not finite.
    if isinstance(value, str) and (not value or value[0].isalpha()):
        return value
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return value
    if not math.isfinite(number):
        return value
    return str(int(number)) if number.is_integer() else repr(number)


def _numbered(text: str) -> str:
    return cast(str, number_rule(text))


def clean_values(values: Iterable[object]) -> list[str]:
    """The number rule on each value that a page holds; None, an absent attribute, is empty."""
    return ["" if value is None else str(number_rule(value)) for value in values]


def normalize_answer(text: str) -> str:
    """Lower case, without ASCII punctuation, white space collapsed.

    >>> normalize_answer("  Don't  know. ")
    'dont know'
    """
    return " ".join(text.lower().translate(_NO_PUNCTUATION).split())


def exact_match(prediction: str, reference: str) -> bool:
    """Whether two answers are the same once normalised.

    >>> exact_match("-2", "2"), exact_match("1.5", "15"), exact_match("yes", "no")
    (True, True, False)
    """
    return normalize_answer(prediction) == normalize_answer(reference)


def text_match(prediction: str, reference: str) -> float:
    """1 where two texts are identical, in any script; their ROUGE-L otherwise."""
    return 1.0 if prediction == reference else rouge_l(prediction, reference)


def score(
    field_type: str, values: Sequence[str], labels: Sequence[Label], rules: str = "paper"
) -> float | None:
    """The score of one field, or None where it does not count.

    `values` is the list that the page holds for the field's name: one text, the checked boxes'
    values, the chosen option; `labels` has one answer per worker, None where it was left empty.

    >>> score("checkbox", ["a", "b"], ["b", "a|c"]), score("checkbox", ["a"], ["b"])
    (0.5, 0.0)
    >>> score("radio", ["2"], [-2, -2, 1]), score("radio", ["2"], [-2, -2, 1], "released")
    (0.0, 1.0)
    >>> score("text", ["x"], [None, ""]) is None
    True
    """
    if rules not in RULES:
        expected = " or ".join(repr(name) for name in RULES)
        raise SettingError(f"There are no rules {rules!r} for scores: expected {expected}.")
    if field_type in _BUTTONS:
        return None
    return RULES[rules](field_type, clean_values(values), labels)


# The original's rules.


def prepare_labels(field_type: str, labels: Sequence[Label]) -> list[Label] | None:
    """Labels as the original's evaluator prepares them (8.3), or None where it skips the field."""
    answers = _with_nan(labels)
    if field_type == "radio":
        return ["" if _is_nan(label) else label for label in answers]
    if field_type == "checkbox":
        return [_sorted_choice(label) for label in answers]
    if field_type in ("select", "range"):
        return answers
    texts = {
        "" if _is_nan(label) or label in NOTHING else str(number_rule(label)): None
        for label in answers
    }
    return list(texts) if any(texts) else None


def _with_nan(labels: Sequence[Label]) -> list[Label]:
    """Blank answers as the original met them.

    A column of numbers gave it a new NaN for every blank, each a candidate of its own in a vote;
    a column of texts gave it one NaN, whose votes add up. NaNs given as such are kept.
    """
    one = any(isinstance(label, str | bool) for label in labels)
    return [(math.nan if one else float("nan")) if label is None else label for label in labels]


def _is_nan(label: Label) -> bool:
    return isinstance(label, float) and math.isnan(label)


def _sorted_choice(label: Label) -> Label:
    if _is_nan(label):
        return ""
    return "|".join(sorted(label.split("|"))) if isinstance(label, str) else label


def prepared_score(field_type: str, prediction: object, labels: Sequence[Label]) -> float:
    """The original's score (8.4) of one prediction text against prepared labels.

    Here None is the literal `None`, and a blank is NaN; one NaN object is one candidate in a
    vote. Where the original raises, this goes on: labels of a text field that are all empty are
    as one empty label, and types it does not know are text.
    """
    text = str(prediction)
    if not labels or (len(labels) == 1 and labels[0] == ""):
        return float(text in _EMPTY_PREDICTIONS)
    if field_type == "range":
        return _range_released(text, labels)
    text = _numbered(text)
    if field_type in ("radio", "select"):
        majority = Counter(labels).most_common(1)[0][0]
        return float(exact_match(text, _numbered(str(majority))))
    if field_type == "checkbox":
        return float(any(exact_match(text, _numbered(str(label))) for label in labels))
    references = [str(label) for label in labels if label != ""]
    if not references:
        return float(text in _EMPTY_PREDICTIONS)
    return _best_text(_unescaped(text), list(map(_unescaped, references)))


def _unescaped(text: str) -> str:
    return _numbered(text.replace("&amp;", "&"))


def _best_text(prediction: str, references: Sequence[str]) -> float:
    if prediction in references:
        return 1.0
    return max(text_match(prediction, reference) for reference in references)


def _range_released(text: str, labels: Sequence[Label]) -> float:
    prediction = as_number(text)
    numbers = [number for number in map(as_number, labels) if number is not None]
    if prediction is None or len(numbers) < len(labels):
        text = _numbered(text)
        return sum(exact_match(text, str(number_rule(x))) for x in labels) / len(labels)
    distance = sum(abs(number - prediction) for number in numbers) / len(numbers)
    largest = max(*map(abs, numbers), abs(prediction))
    return 1 - (distance / largest if largest else distance)


def as_number(value: Label) -> float | None:
    """A label that Python reads as a number; None for any other."""
    try:
        return None if value is None else float(value)
    except (ValueError, OverflowError):
        return None


def _released(field_type: str, values: list[str], labels: Sequence[Label]) -> float | None:
    prepared = prepare_labels(field_type, labels)
    if prepared is None:
        return None
    prediction = "|".join(sorted(values)) if field_type == "checkbox" else _first(values)
    return prepared_score(field_type, prediction, prepared)


def _first(values: list[str]) -> str:
    return values[0] if values else ""


# The paper's rules.


def _paper(field_type: str, values: list[str], labels: Sequence[Label]) -> float | None:
    if field_type in ("radio", "select"):
        return float(_same(_first(values), majority(labels)))
    if field_type == "checkbox":
        chosen = _choices(values)
        workers = [_choices([label_text(label)]) for label in labels] or [frozenset[str]()]
        return max(_overlap(chosen, worker) for worker in workers)
    if field_type == "range":
        return _range_paper(_first(values), labels)
    references = [text for text in map(label_text, labels) if text not in NOTHING]
    return _best_text(_first(values), references) if references else None


def label_text(label: Label) -> str:
    """A label as text, by the number rule; a blank is empty, and a bool is as Python prints it."""
    if isinstance(label, str):
        return _numbered(label)
    if label is None or _is_nan(label):
        return ""
    return str(label) if isinstance(label, bool) else str(number_rule(label))


def majority(labels: Sequence[Label]) -> Label:
    """The most frequent answer, of several the first; empty where nobody was asked."""
    texts = list(map(label_text, labels))
    votes = Counter(texts).most_common(1)
    return labels[texts.index(votes[0][0])] if votes else ""


def _same(prediction: str, label: Label) -> bool:
    """Exact match; reading the table as bools lost the letters' case, so these ignore it."""
    if isinstance(label, bool):
        return prediction.lower() == str(label).lower()
    return prediction == label_text(label)


def _choices(values: Iterable[str]) -> frozenset[str]:
    """Chosen boxes as a set; the table joins them with `|`."""
    pieces = (_numbered(piece) for value in values for piece in value.split("|"))
    return frozenset(
        piece.lower() if piece.lower() in ("true", "false") else piece for piece in pieces if piece
    )


def _overlap(chosen: frozenset[str], worker: frozenset[str]) -> float:
    """Intersection over union; two empty sets are equal."""
    together = len(chosen | worker)
    return len(chosen & worker) / together if together else 1.0


def _range_paper(text: str, labels: Sequence[Label]) -> float | None:
    """Labels that are no finite number have no distance and are left out; without any, None."""
    numbers = [x for x in map(as_number, labels) if x is not None and math.isfinite(x)]
    if not numbers:
        return None
    prediction = as_number(text)
    if prediction is None or not math.isfinite(prediction):
        return 0.0
    largest = max(map(abs, numbers)) or 1.0
    distance = sum(abs(number - prediction) / largest for number in numbers) / len(numbers)
    return min(1.0, max(0.0, 1 - distance))


RULES: Final[Mapping[str, Callable[[str, list[str], Sequence[Label]], float | None]]] = {
    "paper": _paper,
    "released": _released,
    SUBMITTED: _paper,
}
"""The rules by name."""
