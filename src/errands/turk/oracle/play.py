"""The oracle at work on a page: what it does next, given what its answers have done to the page.

An answer may bring further fields into sight or to life, so it goes in rounds. A page's script
may also overwrite one answer when another is given (a box that says "none of these" and clears
what was written): what is not right in the end is written once more, and boxes that somebody
left empty are unticked where that lets more be right.
"""

from collections.abc import Generator, Iterable, Sequence

from errands.turk.actions.action import Action
from errands.turk.oracle.field_oracle import NOTHING, oracle_actions
from errands.turk.pages.driver import ActionError, OpenPage
from errands.turk.pages.field import Field
from errands.turk.scoring.instance_score import score_page
from errands.turk.scoring.metrics import label_text
from errands.turk.tasks.task import Instance

__all__ = ["Plan", "oracle_plan", "play_oracle"]

Plan = Generator[Action, bool, None]
"""Yields what to do, and is sent whether it could be done."""


def play_oracle(page: OpenPage, instance: Instance, solved: set[str] | None = None) -> list[Action]:
    """Fill in a page as the labels say; the actions that were done.

    The names in `solved` are left alone, and what is filled in is added to them.
    """
    done: list[Action] = []
    plan = oracle_plan(page, instance, set() if solved is None else solved)
    action = next(plan, None)
    while action is not None:
        try:
            page.perform(action)
        except ActionError:
            possible = False
        else:
            possible = True
            done.append(action)
        try:
            action = plan.send(possible)
        except StopIteration:
            action = None
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
    asked = list(fields)
    held = page.values_of([field.name for field in asked])
    return oracle_actions(asked, instance.labels, held)
