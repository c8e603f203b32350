"""Worked examples for form pages: pages of train tasks with what the oracle does on them.

Each shows the page as it is before the oracle's action, so that no answer can be read off it, and
none is from a task that is being tested. Which ones is drawn once, from a seed, or says a list
(`errands.agents.llm.turk.demonstration_lists`).
"""

import random
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from errands.agents.llm.transport.images import data_address
from errands.agents.llm.turk.page import BlankField, FormView
from errands.browser.screenshots import decode, pixels
from errands.errors import ErrandsError, SettingError
from errands.turk.actions.action import Action
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import oracle_actions, play_oracle
from errands.turk.pages.driver import Driver, OpenPage
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = [
    "Demonstration",
    "DemonstrationStyle",
    "demonstrations",
    "of_instance",
    "with_pictures",
]

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
    answer: Action
    """What fills in this field."""
    actions: tuple[Action, ...]
    """All that is done: the answer, or with `whole` the answers for all fields."""


class DemonstrationStyle(msgspec.Struct, frozen=True, kw_only=True):
    """How a demonstration looks: as the questions that come after it."""

    whole: bool = False
    """All fields of the page at once."""
    served: bool = False
    """The page's HTML as the original's server sent it, not as it is once it is open."""
    shrink: float | None = None
    """By how much its picture is made smaller; None: it has none. Pictures need the browser."""
    scrolled: bool = False
    """Whether the picture shows the field, or the top of the page."""


def demonstrations(
    tested: TaskSet, driver: str | Driver, *, count: int, seed: int, style: DemonstrationStyle
) -> list[Demonstration]:
    """So many examples, drawn from train tasks that are not being tested."""
    if not count:
        return []
    train = load_tasks(tested.place, "train")
    names = [name for name in train.names if name not in tested]
    random.Random(f"{seed} demonstrations").shuffle(names)
    wanted = list(_KINDS[:count])
    made: dict[str, tuple[str, Demonstration]] = {}
    spare: list[Demonstration] = []
    pages = Pages(driver if style.shrink is None else "browser")
    try:
        for shown in _looked_at(train, names, pages, seed, style):
            kinds = {one.blank.type: one for one in shown}
            kind = next((kind for kind in wanted if kind in kinds), None)
            if kind is None:
                spare.append(shown[0])
                continue
            wanted.remove(kind)
            made[shown[0].task] = (kind, kinds[kind])
            if not wanted:
                break
        chosen = sorted(made.values(), key=lambda pair: _KINDS.index(pair[0]))
        examples = [demonstration for _, demonstration in chosen] + spare[: len(wanted)]
        if len(examples) < count:
            raise SettingError(
                f"demos={count}, but {tested.place} has only {len(examples)} train tasks for"
                " demonstrations that are not being tested: take fewer, or test another split."
            )
        return with_pictures(examples, train, pages, style)
    finally:
        pages.close()


def with_pictures(
    examples: Sequence[Demonstration], train: TaskSet, pages: Pages, style: DemonstrationStyle
) -> list[Demonstration]:
    """The same demonstrations, with a picture each where the style has pictures."""
    if style.shrink is None:
        return list(examples)
    return [_with_picture(one, train.task(one.task), pages, style) for one in examples]


def _with_picture(
    example: Demonstration, task: Task, pages: Pages, style: DemonstrationStyle
) -> Demonstration:
    assert style.shrink is not None
    page = pages.open(task, task.instances[example.row])
    try:
        if style.scrolled:
            page.perform(Action("scroll_to_element", {"name": example.blank.name}))
            window = decode(page.screenshot())[..., :3]
        else:
            window = pixels(page.screenshot())  # In the size of the environment's screenshots.
        picture, _ = data_address(window, style.shrink)
    finally:
        page.close()
    return msgspec.structs.replace(example, form=example.form._replace(picture=picture))


def _looked_at(
    train: TaskSet, names: Sequence[str], pages: Pages, seed: int, style: DemonstrationStyle
) -> Iterator[list[Demonstration]]:
    """For one task after another, what could be shown of one of its instances."""
    for name in names:
        try:
            task = train.task(name)
            instance = random.Random(f"{seed} {name}").choice(task.instances)
            shown = of_instance(task, instance, pages, style)
        except ErrandsError:
            # A folder or a page that does not work is no example for anybody.
            continue
        if shown:
            yield shown


def of_instance(
    task: Task, instance: Instance, pages: Pages, style: DemonstrationStyle
) -> list[Demonstration]:
    """What could be shown of an instance, field by field, without pictures."""
    page = pages.open(task, instance)
    try:
        html = page_html(task, instance, mojibake=True) if style.served else page.html()
        return _of_page(page, html, instance, style.whole)
    finally:
        page.close()


def _of_page(page: OpenPage, html: str, instance: Instance, whole: bool) -> list[Demonstration]:
    fields = [field for field in page.fields(list(instance.labels)) if field.visible]
    blanks = {field.name: BlankField(field.name, field.type, field.options) for field in fields}
    form = FormView(html, tuple(blanks.values()))
    values = {field.name: page.values(field.name) for field in fields}
    first = oracle_actions(fields, instance.labels, values)
    if whole:
        done = tuple(play_oracle(page, instance)) if first else ()
        sets = [(action, done) for action in first if done]
    else:
        sets = [(action, (action,)) for action in first]
    return [
        Demonstration(
            *(instance.task, instance.row, form),
            blank=blanks[str(action.arguments["name"])],
            answer=action,
            actions=actions,
        )
        for action, actions in sets
    ]
