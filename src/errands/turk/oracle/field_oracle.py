"""What a perfect worker would do: the actions that reach the best score on an instance.

Chosen from the labels alone, field by field: a text that somebody wrote, the majority's choice,
one worker's boxes, and for a range the value with the smallest distance to all answers. Fields
that the labels leave empty are left alone.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from errands.turk.actions.action import Action
from errands.turk.pages.field import TEXTS, Field
from errands.turk.scoring.metrics import label_text, majority, score
from errands.turk.tasks.task import Label

__all__ = ["NOTHING", "oracle_action", "oracle_actions", "range_ceiling"]

NOTHING: Final = frozenset({"", "nan", "{}", "'{}'"})
"""Labels that say that a worker answered nothing."""


def oracle_actions(
    fields: Sequence[Field],
    labels: Mapping[str, tuple[Label, ...]],
    values: Mapping[str, Sequence[str]],
) -> list[Action]:
    """The actions for all visible fields; `values` is what the page holds already."""
    if not fields:
        return []
    ranking = _thorough_first(labels)
    made = []
    for field in fields:
        given = labels.get(field.name, ())
        if field.visible:
            if field.type not in ("radio", "select") and len(given) == len(ranking):
                given = tuple(given[worker] for worker in ranking)
            made.append(oracle_action(field, given, values.get(field.name, ())))
    return [action for action in made if action is not None]


def _thorough_first(labels: Mapping[str, tuple[Label, ...]]) -> list[int]:
    """Workers by how much they filled in: any worker's text or boxes score in full, but a text
    may need a box that only its own writer ticked."""
    workers = max(map(len, labels.values()), default=0)
    filled = [0] * workers
    for given in labels.values():
        if len(given) == workers:
            for worker, label in enumerate(given):
                # Neither blank nor NaN, which is not even itself.
                if label is not None and label != "" and label == label:
                    filled[worker] += 1
    return sorted(range(workers), key=lambda worker: -filled[worker])


def oracle_action(field: Field, labels: Sequence[Label], held: Sequence[str]) -> Action | None:
    """The best action for one field; None where nothing needs doing, or nothing can be done."""
    answer = _answer(field, labels, held)
    if answer is None:
        return None
    name = "text" if field.type in TEXTS or field.type == "hidden" else field.type
    return Action(f"modify_{name}", {"name": field.name, "value": answer})


def _answer(field: Field, labels: Sequence[Label], held: Sequence[str]) -> str | None:
    if field.type in ("radio", "select"):
        wanted = label_text(majority(labels))
        return _among(field.options, wanted) if wanted not in NOTHING else None
    if field.type == "checkbox":
        return _boxes(field, labels, held)
    if field.type == "range":
        return _nearest(labels)
    if field.type in TEXTS:
        return next((text for text in map(label_text, labels) if text not in NOTHING), None)
    return None


def _among(options: Sequence[str], wanted: str) -> str | None:
    """The option that means the wanted value, however its number is written."""
    return next((option for option in options if option == wanted), None) or next(
        (option for option in options if label_text(option).lower() == wanted.lower()), None
    )


def _boxes(field: Field, labels: Sequence[Label], held: Sequence[str]) -> str | None:
    """Boxes to click so that one worker's answer is what is checked: clicking toggles."""
    for label in labels:
        pieces = label_text(label).split("|")
        wanted = {
            _among(field.options, label_text(piece)) for piece in pieces if piece not in NOTHING
        }
        if None in wanted:
            continue
        toggles = [box for box in field.options if (box in wanted) != (box in held)]
        return "|".join(toggles) if toggles else None
    return None


def _numbers(labels: Sequence[Label]) -> list[float]:
    numbers = []
    for label in labels:
        try:
            numbers.append(float(label))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
    return [number for number in numbers if number == number]


def _nearest(labels: Sequence[Label]) -> str | None:
    numbers = _numbers(labels)
    if not numbers:
        return None
    tried = [label_text(number) for number in [*numbers, sum(numbers) / len(numbers)]]
    return max(tried, key=lambda value: score("range", [value], labels, "released") or 0.0)


def range_ceiling(labels: Sequence[Label], rules: str) -> float | None:
    """The best score any answer can reach on a range field, where workers differ."""
    best = _nearest(labels)
    return None if best is None else score("range", [best], labels, rules)
