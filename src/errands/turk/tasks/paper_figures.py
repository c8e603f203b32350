"""The TurkingBench paper's figure 3 and table 2 for any set of tasks, beside what was published.

Both are about fields that can be answered on a page: hidden ones and buttons are left out. Table 2
is a picture without numbers; the order of its bars is all that it tells.
"""

from dataclasses import dataclass
from typing import Final

from errands.turk.tasks.statistics import Spread, TaskSetStatistics, TypeFacts

__all__ = ["PaperMeasure", "TypePlace", "figure_3", "table_2"]

_TASKS: Final = 158
_INSTANCES: Final = 36_200
_FIELDS: Final = 15.6
_SUBWORDS: Final = 16_800
_ORDER: Final = ("checkbox", "radio", "textarea", "text", "select", "range")
"""Table 2's bars, from left to right."""


@dataclass(frozen=True)
class PaperMeasure:
    """A line of figure 3."""

    measure: str
    ours: float
    published: float


@dataclass(frozen=True)
class TypePlace:
    """A bar of table 2: a field type, how often it occurs, and its place among the others."""

    type: str
    on_pages: int
    """On the pages of all instances together, which the bars seem to count."""
    place: int
    published_place: int
    fields: int
    """On templates: each task once."""


def figure_3(statistics: TaskSetStatistics) -> tuple[PaperMeasure, ...]:
    """Tasks, instances, and the means of fields and of subwords."""
    fields = Spread.over(
        sum(count for kind, count in task.fields.items() if kind in _ORDER)
        for task in statistics.tasks
    )
    subwords = Spread.over(task.subwords for task in statistics.tasks)
    return (
        PaperMeasure("tasks", len(statistics.tasks), _TASKS),
        PaperMeasure("instances", statistics.instances, _INSTANCES),
        PaperMeasure("fields per task", fields.mean, _FIELDS),
        PaperMeasure("page length (subwords, about)", subwords.mean, _SUBWORDS),
    )


def table_2(statistics: TaskSetStatistics) -> tuple[TypePlace, ...]:
    """The six types of the paper, the most frequent on pages first."""
    counts = {fact.type: fact for fact in statistics.types}
    facts = [counts.get(kind, TypeFacts(kind, 0, 0, 0)) for kind in _ORDER]
    ranking = sorted(facts, key=lambda fact: -fact.on_pages)
    return tuple(
        TypePlace(fact.type, fact.on_pages, place, _ORDER.index(fact.type) + 1, fact.fields)
        for place, fact in enumerate(ranking, 1)
    )
