"""What a set of tasks is made of: the figures of the paper's figure 3 and table 2, for any set.

Counted from templates and tables alone, without a browser. A field is an answer column whose name
stands on a form control of the page of the first instance; its type is what a browser would make
of that control. Names that only a script puts on the page are counted apart.
"""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from errands.turk.pages.field import EXCLUDED
from errands.turk.tasks.loader import TaskProblem, TaskSet
from errands.turk.tasks.markup import field_types
from errands.turk.tasks.task import Task
from errands.turk.tasks.template import page_html

__all__ = [
    "Spread", "TaskFacts", "TaskSetStatistics", "TypeFacts", "measure", "ranked", "survey",
]  # fmt: skip

_PIECE = re.compile(r"\w+|[^\w\s]")
_SUBWORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:_|[^\w\s])+|\s")
_NOTHING: Final[Callable[[str], None]] = lambda name: None  # noqa: E731


@dataclass(frozen=True)
class TaskFacts:
    """One task in figures."""

    name: str
    split: str
    instances: int
    answers: int
    """Rows of the table: one for each worker who did an instance."""
    fields: dict[str, int]
    """Type to number of fields."""
    unplaced: int
    """Answer columns without a control in the template."""
    characters: int
    """Length of the template."""
    pieces: int
    """Words and marks of the template: near what a tokenizer of language models counts."""
    subwords: int
    """Words, runs of marks, and white space that no word takes along, on the first instance's
    page: near what GPT-2's tokenizer counts, which the paper used."""
    unplaced_fields: tuple[str, ...] = ()
    """The names of those without a control."""


@dataclass(frozen=True)
class Spread:
    """Mean, median and extremes of some figures; all 0 where there are none."""

    mean: float = 0.0
    median: float = 0.0
    least: float = 0.0
    most: float = 0.0

    @classmethod
    def over(cls, figures: Iterable[float]) -> "Spread":
        values = list(figures)
        if not values:
            return cls()
        return cls(statistics.fmean(values), statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class TypeFacts:
    """One field type over all tasks."""

    type: str
    fields: int
    """On templates: each task once."""
    tasks: int
    on_pages: int
    """On the pages of all instances together."""


@dataclass(frozen=True)
class TaskSetStatistics:
    """All tasks in figures, with what was wrong or absent."""

    place: str
    split: str
    tasks: tuple[TaskFacts, ...]
    missing: tuple[str, ...] = ()
    problems: tuple[TaskProblem, ...] = field(default=())

    @property
    def broken(self) -> tuple[str, ...]:
        """Folders that are no usable tasks."""
        return tuple(dict.fromkeys(one.task for one in self.problems if one.fatal))

    @property
    def instances(self) -> int:
        return sum(task.instances for task in self.tasks)

    @property
    def answers(self) -> int:
        return sum(task.answers for task in self.tasks)

    @property
    def spreads(self) -> dict[str, Spread]:
        """Name of a measure to its spread over tasks."""
        return {
            "instances per task": Spread.over(task.instances for task in self.tasks),
            "answers per instance": Spread.over(
                task.answers / task.instances for task in self.tasks
            ),
            "fields per task": Spread.over(sum(task.fields.values()) for task in self.tasks),
            "template length (characters)": Spread.over(task.characters for task in self.tasks),
            "template length (words and marks)": Spread.over(task.pieces for task in self.tasks),
            "page length (subwords, about)": Spread.over(task.subwords for task in self.tasks),
        }

    @property
    def types(self) -> tuple[TypeFacts, ...]:
        """Field types, the most frequent on pages first."""
        kinds = {kind for task in self.tasks for kind in task.fields}
        facts = [
            TypeFacts(
                kind,
                sum(task.fields.get(kind, 0) for task in self.tasks),
                sum(kind in task.fields for task in self.tasks),
                sum(task.fields.get(kind, 0) * task.instances for task in self.tasks),
            )
            for kind in kinds
        ]
        return tuple(sorted(facts, key=lambda fact: (-fact.on_pages, fact.type)))


def measure(task: Task, split: str = "train") -> TaskFacts:
    """Count what one task holds."""
    page = page_html(task, task.instances[0])
    placed = field_types(page, task.fields)
    unplaced = tuple(name for name in task.fields if name not in placed)
    counts = Counter(kind for name, kind in placed.items() if name not in EXCLUDED)
    return TaskFacts(
        name=task.name,
        split=split,
        instances=len(task.instances),
        answers=_rows(task),
        fields=dict(sorted(counts.items())),
        unplaced=len(unplaced),
        unplaced_fields=unplaced,
        characters=len(task.template),
        pieces=sum(1 for _ in _PIECE.finditer(task.template)),
        subwords=sum(1 for _ in _SUBWORD.finditer(page)),
    )


def _rows(task: Task) -> int:
    """How many answers were given; a task without answer columns has none."""
    if not task.fields:
        return 0
    name = task.fields[0]
    return sum(len(instance.labels[name]) for instance in task.instances)


def survey(tasks: TaskSet, *, progress: Callable[[str], None] = _NOTHING) -> TaskSetStatistics:
    """Read every task of a set once and count; the broken ones are among the problems."""
    facts: list[TaskFacts] = []
    for task in tasks:
        progress(task.name)
        facts.append(measure(task, tasks.split_of(task.name)))
    return TaskSetStatistics(tasks.place, tasks.split, tuple(facts), tasks.missing, tasks.problems)


def ranked(tasks: Sequence[TaskFacts]) -> list[TaskFacts]:
    """Tasks by number of instances, the largest first."""
    return sorted(tasks, key=lambda task: (-task.instances, task.name))
