"""What a perfect worker would do: the actions that reach the best score on an instance.

Chosen from the labels alone, field by field: a text that somebody wrote, the majority's choice,
one worker's boxes, and for a range the value with the smallest distance to all answers. Fields
that the labels leave empty are left alone.

An answer may bring further fields into sight or to life, so it goes in rounds. A page's script
may also overwrite one answer when another is given (a box that says "none of these" and clears
what was written): what is not right in the end is written once more, and boxes that somebody
left empty are unticked where that lets more be right.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress

from errands.turk.actions.action import Action
from errands.turk.pages.driver import OpenPage, try_action
from errands.turk.pages.field import TEXTS, Field
from errands.turk.scoring.instance_score import score_page
from errands.turk.scoring.metrics import NOTHING, as_number, label_text, majority, score
from errands.turk.tasks.task import Instance, Label

__all__ = [
    "Plan", "oracle_action", "oracle_actions", "oracle_plan", "play_oracle", "thorough_first",
]  # fmt: skip

Plan = Generator[Action, bool, None]
"""Yields what to do, and is sent whether it could be done."""


def oracle_actions(
    fields: Sequence[Field],
    labels: Mapping[str, tuple[Label, ...]],
    values: Mapping[str, Sequence[str]],
) -> list[Action]:
    """The actions for all visible fields; `values` is what the page holds already."""
    if not fields:
        return []
    ranking = thorough_first(labels)
    actions = []
    for field in fields:
        answers = labels.get(field.name, ())
        if field.visible:
            if field.type not in ("radio", "select") and len(answers) == len(ranking):
                answers = tuple(answers[worker] for worker in ranking)
            actions.append(oracle_action(field, answers, values.get(field.name, ())))
    return [action for action in actions if action is not None]


def thorough_first(labels: Mapping[str, tuple[Label, ...]]) -> list[int]:
    """Workers by how much they filled in: any worker's text or boxes score in full, but a text
    may need a box that only its own writer ticked."""
    workers = max(map(len, labels.values()), default=0)
    filled = [0] * workers
    for answers in labels.values():
        if len(answers) == workers:
            for worker, label in enumerate(answers):
                # Neither blank nor NaN, which is not even itself.
                if label is not None and label != "" and label == label:
                    filled[worker] += 1
    return sorted(range(workers), key=lambda worker: -filled[worker])


def oracle_action(field: Field, labels: Sequence[Label], values: Sequence[str]) -> Action | None:
    """The best action for one field; None where nothing needs doing, or nothing can be done."""
    answer = _answer(field, labels, values)
    if answer is None:
        return None
    name = "text" if field.type in TEXTS or field.type == "hidden" else field.type
    return Action(f"modify_{name}", {"name": field.name, "value": answer})


def _answer(field: Field, labels: Sequence[Label], values: Sequence[str]) -> str | None:
    if field.type in ("radio", "select"):
        answer = label_text(majority(labels))
        return _among(field.options, answer) if answer not in NOTHING else None
    if field.type == "checkbox":
        return _boxes(field, labels, values)
    if field.type == "range":
        return _nearest(labels)
    if field.type in TEXTS:
        return next((text for text in map(label_text, labels) if text not in NOTHING), None)
    return None


def _among(options: Sequence[str], answer: str) -> str | None:
    """The option that means an answer, however its number is written."""
    if answer and answer in options:
        return answer
    same = (option for option in options if label_text(option).lower() == answer.lower())
    return next(same, None)


def _boxes(field: Field, labels: Sequence[Label], values: Sequence[str]) -> str | None:
    """Boxes to click so that one worker's answer is what is checked: clicking toggles."""
    for label in labels:
        pieces = label_text(label).split("|")
        boxes = {
            _among(field.options, label_text(piece)) for piece in pieces if piece not in NOTHING
        }
        if None in boxes:
            continue
        toggles = [box for box in field.options if (box in boxes) != (box in values)]
        return "|".join(toggles) if toggles else None
    return None


def _nearest(labels: Sequence[Label]) -> str | None:
    """The number of the best score on a range field."""
    numbers = [x for x in map(as_number, labels) if x is not None and x == x]
    if not numbers:
        return None
    tried = [label_text(number) for number in [*numbers, sum(numbers) / len(numbers)]]
    return max(tried, key=lambda value: score("range", [value], labels, "released") or 0.0)


def play_oracle(page: OpenPage, instance: Instance, solved: set[str] | None = None) -> list[Action]:
    """Fill in a page as the labels say; the actions that were done.

    The names in `solved` are left alone, and what is filled in is added to them.
    """
    done: list[Action] = []
    plan = oracle_plan(page, instance, set() if solved is None else solved)
    with suppress(StopIteration):
        action = next(plan)
        while True:
            possible = try_action(page, action)
            if possible:
                done.append(action)
            action = plan.send(possible)
    return done


def oracle_plan(page: OpenPage, instance: Instance, solved: set[str]) -> Plan:
    """What the oracle does, with somebody else performing the actions."""
    progress = True
    while progress:
        progress = False
        fields = page.fields(list(instance.labels))
        fresh = {f.name: f for f in fields if f.visible and f.name not in solved}
        for action in _actions(page, instance, fresh.values()):
            if (yield action):
                progress = True
            else:
                # Perhaps another answer enables it: tried again in the next round.
                del fresh[str(action.arguments["name"])]
        solved |= fresh.keys()
    boxes = [field for field in fields if field.visible and field.type == "checkbox"]
    if boxes:
        yield from _mended(page, instance, boxes)


def _mended(page: OpenPage, instance: Instance, boxes: Sequence[Field]) -> Plan:
    """Write again what another answer has overwritten; untick what stands in the way."""
    wrong = _wrong(page, instance)
    if wrong:
        yield from _again(page, instance, wrong)
        wrong = _wrong(page, instance)
    for box in boxes:
        if not wrong:
            return
        empty = any(label_text(label) in NOTHING for label in instance.labels[box.name])
        ticked = page.values(box.name)
        if not (empty and ticked):
            continue
        toggle = Action("modify_checkbox", {"name": box.name, "value": "|".join(ticked)})
        if not (yield toggle):
            continue
        yield from _again(page, instance, wrong - {box.name})
        left = _wrong(page, instance)
        if len(left) < len(wrong):
            wrong = left
        else:
            yield toggle


def _again(page: OpenPage, instance: Instance, names: Iterable[str]) -> Plan:
    fields = [field for field in page.fields(sorted(names)) if field.visible]
    # Not `yield from`: a list cannot be sent the answers.
    for action in _actions(page, instance, fields):  # noqa: UP028
        yield action


def _wrong(page: OpenPage, instance: Instance) -> set[str]:
    """Fields that do not score in full; of a range perhaps no answer can."""
    return {
        field.name
        for field in score_page(page, instance)
        if field.type != "range" and min(field.scores.values()) < 1.0
    }


def _actions(page: OpenPage, instance: Instance, fields: Iterable[Field]) -> list[Action]:
    listed = list(fields)
    values = page.values_of([field.name for field in listed])
    return oracle_actions(listed, instance.labels, values)
