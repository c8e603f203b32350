"""Fixed lists of demonstrations: chosen once, from train tasks, and the same in every run.

A list has a version in its name. It says which field of which instance is shown, and a hash of the
page and the answer, so that other data under the same names is an error and not another prompt.
The text is read without a browser, and so does not depend on one.
"""

import functools
import hashlib
import json
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

import msgspec

from errands.agents.llm.turk.demonstrations import (
    Demonstration,
    DemonstrationStyle,
    of_instance,
    with_pictures,
)
from errands.errors import DataError, SettingError, TaskError
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import format_action
from errands.turk.drivers import Pages
from errands.turk.tasks.loader import DEMO, TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = [
    "DemonstrationList",
    "ListedField",
    "demonstration_lists",
    "field_hash",
    "list_for",
    "listed_demonstrations",
]

_FIXED: Final = "fixed"


class ListedField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One demonstration of a list: a field of an instance."""

    task: str
    row: int
    field: str
    type: str
    sha256: str
    """Of the page as served and what the oracle does with the field."""


class DemonstrationList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Demonstrations in the order in which they are shown; the first so many are taken."""

    name: str
    tasks: str
    """The tasks that they are of: `demo` or `turkingbench`."""
    fields: tuple[ListedField, ...]


@functools.cache
def demonstration_lists() -> Mapping[str, DemonstrationList]:
    """The lists that ship with Errands, by name."""
    source = resources.files("errands.agents.llm.turk").joinpath("demonstration_lists.toml")
    tables: dict[str, dict[str, Any]] = tomllib.loads(source.read_text("utf-8"))
    return {
        name: msgspec.convert({"name": name, **table}, DemonstrationList)
        for name, table in tables.items()
    }


def list_for(name: str, tested: TaskSet) -> DemonstrationList:
    """A list by name; `fixed` is that of the demo tasks where these are played, and else
    TurkingBench's."""
    if name == _FIXED:
        name = "demo-1" if tested.place == DEMO else "turkingbench-1"
    return demonstration_lists()[name]


def field_hash(task: Task, instance: Instance, action: Action) -> str:
    """What a list keeps of a page and its answer."""
    content = json.dumps([page_html(task, instance), format_action(action)])
    return hashlib.sha256(content.encode()).hexdigest()


def listed_demonstrations(
    chosen: DemonstrationList, tested: TaskSet, *, count: int, style: DemonstrationStyle
) -> list[Demonstration]:
    """The first so many of a list; none of them may be of a task that is being tested."""
    if not count:
        return []
    if count > len(chosen.fields):
        raise SettingError(
            f"demos={count}, but the list {chosen.name} has {len(chosen.fields)} demonstrations."
        )
    train = _train_tasks(chosen, tested)
    dom, browser = Pages("dom"), Pages("browser")
    try:
        examples = [_shown(one, chosen, tested, train, dom, style) for one in chosen.fields[:count]]
        return with_pictures(examples, train, browser, style)
    finally:
        dom.close()
        browser.close()


def _train_tasks(chosen: DemonstrationList, tested: TaskSet) -> TaskSet:
    """Where a list's tasks are: those that are played may be another set."""
    is_demo = DEMO in (chosen.tasks, tested.place)
    return load_tasks(chosen.tasks if is_demo else tested.place, "train")


def _shown(
    listed: ListedField,
    chosen: DemonstrationList,
    tested: TaskSet,
    train: TaskSet,
    pages: Pages,
    style: DemonstrationStyle,
) -> Demonstration:
    if train.place == tested.place and listed.task in tested:
        raise SettingError(
            f"The demonstrations {chosen.name} show the task {listed.task!r}, which is being"
            " tested: play a split without it, as `errands run turk --split test` does, or take"
            " another demo_list."
        )
    try:
        task = train.task(listed.task)
    except TaskError:
        raise SettingError(
            f"The demonstrations {chosen.name} need the task {listed.task!r}, which {train.place}"
            " has not: take demo_list=demo-1, whose tasks come with Errands, or demo_list=drawn."
        ) from None
    if listed.row < len(task.instances):
        instance = task.instances[listed.row]
        for example in of_instance(task, instance, pages, style):
            if example.blank.name == listed.field and listed.sha256 == field_hash(
                task, instance, example.answer
            ):
                return example
    raise DataError(
        f"The demonstrations {chosen.name} show the field {listed.field!r} of"
        f" {listed.task}/{listed.row}, and {train.place} has another page or another answer there:"
        " take the data as published, or demo_list=drawn."
    )
