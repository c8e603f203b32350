"""Worked examples for form pages: pages of train tasks with what the oracle does on them.

Each shows the page as it is before the oracle's action, so that no answer can be read off it, and
none is from a task that is being tested. Which ones is drawn once, from a seed.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from errands.agents.llm.transport.images import data_address
from errands.agents.llm.turk.page import BlankField, FormView
from errands.browser.screenshots import pixels
from errands.errors import ErrandsError, SettingError
from errands.turk.actions.action import Action
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import oracle_actions, play_oracle
from errands.turk.pages.driver import Driver, OpenPage
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Task

__all__ = ["Demonstration", "demonstrations"]

_KINDS: Final = (
    "radio", "select", "checkbox", "text", "range", "textarea", "radio", "select", "text",
)  # fmt: skip
"""The types that demonstrations show, in this order, as far as the tasks have them."""


class Demonstration(msgspec.Struct, frozen=True):
    """A page, untouched, and what to do on it."""

    task: str
    row: int
    form: FormView
    blank: BlankField
    """The field that is filled in; with `whole`, one of them."""
    actions: tuple[Action, ...]


def demonstrations(
    tested: TaskSet,
    driver: str | Driver,
    *,
    count: int,
    seed: int,
    whole: bool,
    shrink: float | None,
) -> list[Demonstration]:
    """So many examples; `shrink` asks for pictures, which need the browser."""
    if not count:
        return []
    train = load_tasks(tested.place, "train")
    names = [name for name in train.names if name not in tested]
    random.Random(f"{seed} demonstrations").shuffle(names)
    wanted = list(_KINDS[:count])
    made: dict[str, tuple[str, Demonstration]] = {}
    spare: list[Demonstration] = []
    pages = Pages("browser" if shrink is not None else driver)
    try:
        for shown in _looked_at(train, names, pages, seed, whole, shrink):
            kinds = {one.blank.type: one for one in shown}
            kind = next((kind for kind in wanted if kind in kinds), None)
            if kind is None:
                spare.append(shown[0])
                continue
            wanted.remove(kind)
            made[shown[0].task] = (kind, kinds[kind])
            if not wanted:
                break
    finally:
        pages.close()
    chosen = sorted(made.values(), key=lambda pair: _KINDS.index(pair[0]))
    found = [demonstration for _, demonstration in chosen] + spare[: len(wanted)]
    if len(found) < count:
        raise SettingError(
            f"demos={count}, but {tested.place} has only {len(found)} train tasks for"
            " demonstrations that are not being tested: take fewer, or test another split."
        )
    return found


def _looked_at(
    train: TaskSet,
    names: Sequence[str],
    pages: Pages,
    seed: int,
    whole: bool,
    shrink: float | None,
) -> Iterator[list[Demonstration]]:
    """For one task after another, what could be shown of one of its instances."""
    for name in names:
        try:
            shown = _of_task(train.task(name), pages, seed, whole, shrink)
        except ErrandsError:
            # A folder or a page that does not work is no example for anybody.
            continue
        if shown:
            yield shown


def _of_task(
    task: Task, pages: Pages, seed: int, whole: bool, shrink: float | None
) -> list[Demonstration]:
    rows = random.Random(f"{seed} {task.name}")
    instance = rows.choice(task.instances)
    page = pages.open(task, instance)
    try:
        return _of_page(page, instance, whole, shrink)
    finally:
        page.close()


def _of_page(
    page: OpenPage, instance: Instance, whole: bool, shrink: float | None
) -> list[Demonstration]:
    fields = [field for field in page.fields(list(instance.labels)) if field.visible]
    blanks = {field.name: BlankField(field.name, field.type, field.options) for field in fields}
    picture: dict[str, Any] = {}
    if shrink is not None:
        picture = {"picture": data_address(pixels(page.screenshot()), shrink)[0]}
    form = FormView(page.html(), tuple(blanks.values()), **picture)
    held = {field.name: page.values(field.name) for field in fields}
    first = oracle_actions(fields, instance.labels, held)
    if whole:
        done = tuple(play_oracle(page, instance)) if first else ()
        sets = [(action, done) for action in first if done]
    else:
        sets = [(action, (action,)) for action in first]
    return [
        Demonstration(
            instance.task, instance.row, form, blanks[str(action.arguments["name"])], actions
        )
        for action, actions in sets
    ]
