"""The baselines of the paperwork: do nothing, answer at random, answer as people did (by setting
fields, or with the pointer and the keys as well, where that is not enough).

`play` runs one of them over instances of a task and scores each page; a page that fails is an
error with its reason, never a score.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from errands.errors import ErrandsError
from errands.turk.actions.action import Action
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.oracle.pointer_oracle import play_pointer
from errands.turk.pages.driver import ActionError, OpenPage
from errands.turk.pages.field import TEXTS, Field
from errands.turk.scoring.instance_score import ScoredField, instance_figure, score_page
from errands.turk.scoring.summary import FieldScore
from errands.turk.tasks.task import Instance, Task

__all__ = ["BASELINES", "ScoredInstance", "field_scores", "play", "random_action"]

_WORDS: Final = (
    "yes no maybe good bad true false the a person something because it is not very more less"
    " happy small large red one two three today never always people thing time".split()
)

Baseline = Callable[[OpenPage, Instance, random.Random], object]


class ScoredInstance(msgspec.Struct, frozen=True):
    """One instance played: its scored fields, or why there are none."""

    task: str
    row: int
    fields: tuple[ScoredField, ...] = ()
    error: str | None = None

    def figure(self, rules: str, *, ranges_count_as_one: bool = False) -> float | None:
        return instance_figure(self.fields, rules, ranges_count_as_one=ranges_count_as_one)


def random_action(field: Field, rng: random.Random) -> Action | None:
    """A valid answer for a field, drawn without looking at anything but its kind and options."""
    value: str | None = None
    if field.type in ("radio", "select") and field.options:
        value = rng.choice(field.options)
    elif field.type == "checkbox":
        value = "|".join(option for option in field.options if rng.random() < 0.5)
    elif field.type == "range":
        value = str(rng.randint(0, 100))
    elif field.type == "number":
        value = str(rng.randint(0, 10))
    elif field.type == "date":
        value = f"{rng.randint(2000, 2025)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    elif field.type in TEXTS:
        value = " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 8)))
    if not value:
        return None
    name = "text" if field.type in TEXTS else field.type
    return Action(f"modify_{name}", {"name": field.name, "value": value})


def _do_nothing(page: OpenPage, instance: Instance, rng: random.Random) -> None:
    pass


def _random(page: OpenPage, instance: Instance, rng: random.Random) -> None:
    for field in page.fields(list(instance.labels)):
        action = random_action(field, rng) if field.visible else None
        if action is not None:
            try:
                page.perform(action)
            except ActionError:
                continue


def _oracle(page: OpenPage, instance: Instance, rng: random.Random) -> None:
    play_oracle(page, instance)


def _pointer_oracle(page: OpenPage, instance: Instance, rng: random.Random) -> None:
    play_pointer(page, instance)


BASELINES: Final[dict[str, Baseline]] = {
    "do-nothing": _do_nothing,
    "random": _random,
    "oracle": _oracle,
    "pointer-oracle": _pointer_oracle,
}


def play(
    agent: str, task: Task, rows: Iterable[int], pages: Pages, *, seed: int = 0
) -> Iterator[ScoredInstance]:
    """Play a baseline on these rows of a task."""
    for row in rows:
        instance = task.instances[row]
        try:
            page = pages.open(task, instance)
            try:
                BASELINES[agent](page, instance, random.Random(f"{seed}/{instance.id}"))
                scored = tuple(score_page(page, instance))
            finally:
                page.close()
        except ErrandsError as failure:
            yield ScoredInstance(task.name, row, error=str(failure))
        else:
            yield ScoredInstance(task.name, row, scored)


def field_scores(played: Iterable[ScoredInstance]) -> list[FieldScore]:
    """What a summary is made of."""
    return [
        FieldScore(
            done.task,
            done.row,
            field.name,
            field.type,
            field.scores.get("paper"),
            field.scores.get("released"),
        )
        for done in played
        for field in done.fields
    ]
