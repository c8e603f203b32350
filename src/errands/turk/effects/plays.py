"""Plays under both drivers, on seeds and rows that no proof has seen.

What a proof claims is checked from outside: an agent that fills in what it sees, and walks that do
anything anywhere, action by action in step, with everything compared that a proof compares.
"""

import random
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from errands.turk.actions.action import Action
from errands.turk.dom.scripts import read_scripts
from errands.turk.effects.covering import choices_of
from errands.turk.effects.equivalence import ProofConfig
from errands.turk.effects.rows import reasons_against, rows_to_prove
from errands.turk.pages.comparison import PagePair
from errands.turk.pages.driver import Driver
from errands.turk.pages.field import Field
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["DriverComparison", "compare_drivers"]

_WALK: Final = 25
"""Actions of a walk."""
FieldAction = Callable[[Field, random.Random], Action | None]
"""What an agent does to a field, if anything."""


class DriverComparison(msgspec.Struct, frozen=True):
    """What came of plays of one task under both drivers."""

    task: str
    agent_plays: int
    walks: int
    actions: int
    rows: int
    """Rows that were played."""
    unseen_rows: int
    """Those of them that the proof had not seen."""
    differences: tuple[str, ...]
    """The first difference of each play that has one."""


def compare_drivers(
    task: Task, dom: Driver, browser: Driver, agent: FieldAction, plays: int, seed: str = "plays"
) -> DriverComparison:
    """So many plays of an agent and so many walks, each on a row of its own as far as they go."""
    rows = list(_rows(task, 2 * plays, seed))
    seen = _proven_rows(task)
    acts = bool(reasons_against(task))
    differences: list[str] = []
    actions = 0
    for number, row in enumerate(rows):
        instance = task.instances[row]
        rng = random.Random(f"{seed}/{task.name}/{number}")
        ordered = instance.labels if acts else ()
        with PagePair(dom, browser, page_html(task, instance), ordered=ordered) as pair:
            if number < plays:
                _play(pair, instance, agent, rng)
            else:
                _walk(pair, task, rng)
            if not pair.differences:
                names = [field.name for field in pair.state.fields if field.visible]
                pair.look_closely("in the end", rng.sample(names, min(3, len(names))))
            actions += len(pair.actions)
            if pair.differences:
                differences.append(f"play {number}, row {row}: {pair.differences[0]}")
    return DriverComparison(
        task.name,
        plays,
        plays,
        actions,
        len(set(rows)),
        len(set(rows) - seen),
        tuple(differences),
    )


def _proven_rows(task: Task) -> set[int]:
    config = ProofConfig()
    return set(rows_to_prove(task, config.rows, config.most_rows).rows)


def _rows(task: Task, count: int, seed: str) -> Iterator[int]:
    """Rows that the proof has not seen come first; where they do not suffice, all come again."""
    rng = random.Random(f"{seed}/{task.name}/rows")
    seen = _proven_rows(task)
    left: list[int] = []
    for number in range(count):
        if not left:
            every = range(len(task.instances))
            left = [row for row in every if number or row not in seen] or list(every)
            rng.shuffle(left)
        yield left.pop()


def _play(pair: PagePair, instance: Instance, agent: FieldAction, rng: random.Random) -> None:
    """Every field that is displayed, once, as it comes to be displayed."""
    done: set[str] = set()
    while not pair.differences:
        fields = [
            field
            for field in pair.state.fields
            if field.visible and field.name in instance.labels and field.name not in done
        ]
        if not fields:
            return
        done.add(fields[0].name)
        action = agent(fields[0], rng)
        if action is not None:
            pair.act(action)


def _walk(pair: PagePair, task: Task, rng: random.Random) -> None:
    literals = read_scripts(task.template).literals
    for _ in range(_WALK):
        parts = choices_of(pair.state, literals, len(pair.actions))
        choices = [each for part in parts.values() for each in part]
        if not choices or pair.differences:
            return
        pair.act(rng.choice(choices).action)
