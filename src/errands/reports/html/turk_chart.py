"""The statistics of a task set as a picture: field types, and how many instances each task has."""

import math
from collections.abc import Iterator
from typing import Final

from errands.markup import Markup, html
from errands.reports.formatting import count
from errands.reports.html import svg
from errands.turk.tasks.statistics import TaskSetStatistics, ranked

__all__ = ["draw"]

_WIDTH: Final = 960
_MARGIN: Final = 40
_NAMES: Final = 130
_ROW: Final = 30
_PLOT: Final = 240
_AXIS: Final = 52

_STYLE: Final = Markup("""
  text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #3b4252 }
  .title { font-size: 20px; font-weight: 600; fill: #1c2331 }
  .head { font-size: 15px; font-weight: 600; fill: #1c2331 }
  .note { fill: #6b7385 }
  .grid { stroke: #e4e7ee; stroke-width: 1 }
  .base { stroke: #aab1c0; stroke-width: 1 }
  .type { fill: #3d7ea6 }
  .train { fill: #3d7ea6 } .test { fill: #e08e45 }
  .test_challenge { fill: #b5495b } .subjective { fill: #7a9e5f }
  rect:hover { opacity: .7 }
""")


def draw(statistics: TaskSetStatistics) -> str:
    """The whole picture, as an SVG document."""
    below = 108 + max(len(statistics.types), 1) * _ROW + 72
    height = below + _PLOT + _AXIS + 24
    title = f"{count(len(statistics.tasks), 'task')}, {count(statistics.instances, 'instance')}"
    split = "" if statistics.split == "all" else f", split {statistics.split}"
    return svg.picture(
        _WIDTH,
        height,
        title,
        _STYLE,
        [
            html('<rect width="{}" height="{}" fill="#fff"/>', _WIDTH, height),
            svg.text(_MARGIN, 44, title, "title"),
            svg.text(_WIDTH - _MARGIN, 44, _short(statistics.place) + split, "note", "end"),
            svg.text(_MARGIN, 86, "Fields on all pages, by type", "head"),
            *_types(statistics, 108),
            svg.text(_MARGIN, below - 24, "Instances of each task, largest first", "head"),
            *_legend(statistics, below - 24),
            *_instances(statistics, below),
        ],
    )


def _types(statistics: TaskSetStatistics, top: int) -> Iterator[Markup]:
    """A bar for each type, with its figures at the end."""
    facts = statistics.types
    if not facts:
        yield svg.text(_MARGIN, top + 18, "No field is in the templates themselves.", "note")
        return
    most = max(fact.on_pages for fact in facts) or 1
    left = _MARGIN + _NAMES
    room = _WIDTH - _MARGIN - left - 210
    for place, fact in enumerate(facts):
        y = top + place * _ROW
        width = max(2.0, room * fact.on_pages / most)
        more = f"{count(fact.fields, 'field')} in {count(fact.tasks, 'task')}"
        yield svg.text(left - 12, y + 16, fact.type, "", "end")
        title = f"{fact.type}: {fact.on_pages:,} on all pages; {more}"
        yield _bar(left, y, width, 22, "type", title)
        yield html(
            '<text x="{:.1f}" y="{}">{:,}<tspan class="note" dx="8">{}</tspan></text>',
            left + width + 8,
            y + 16,
            fact.on_pages,
            more,
        )
    yield svg.line(left, top - 4, left, top + len(facts) * _ROW - 6, "base")


def _instances(statistics: TaskSetStatistics, top: int) -> Iterator[Markup]:
    """A bar for each task, on a scale on which each tenfold is one step."""
    tasks = ranked(statistics.tasks)
    left, right = _MARGIN + 50, _WIDTH - _MARGIN
    most = max((task.instances for task in tasks), default=1)
    powers = max(1, math.ceil(math.log10(most) - 1e-9))
    step = _PLOT / (powers + 0.15)
    base = top + _PLOT
    for power in range(powers + 1):
        y = base - step * (power + 0.15)
        yield svg.line(left, y, right, y, "grid")
        yield svg.text(left - 8, y + 4, f"{10**power:,}", "note", "end")
    pitch = min((right - left) / max(len(tasks), 1), 60.0)
    gap = 0.0 if pitch < 2 else min(pitch * 0.2, 8.0)
    for place, task in enumerate(tasks):
        # One instance still shows: the scale begins a little below 1.
        height = step * (math.log10(task.instances) + 0.15)
        title = f"{task.name}: {count(task.instances, 'instance')} ({task.split})"
        x = left + place * pitch + gap / 2
        yield _bar(x, base - height, pitch - gap, height, task.split, title)
    yield svg.line(left, base, right, base, "base")
    spread = statistics.spreads["instances per task"]
    note = f"median {spread.median:,.0f}, mean {spread.mean:,.0f}; each line is ten times the last"
    yield svg.text(left, base + 24, note, "note")


def _legend(statistics: TaskSetStatistics, y: int) -> Iterator[Markup]:
    """The colours of the splits, where there is more than one; right to left."""
    present = {task.split for task in statistics.tasks}
    if len(present) < 2:
        return
    x = float(_WIDTH - _MARGIN)
    for split in ("subjective", "test_challenge", "test", "train"):
        if split in present:
            yield svg.text(x, y, split, "", "end")
            x -= 7.2 * len(split) + 18
            yield _bar(x, y - 10, 11, 11, split, split)
            x -= 16


def _bar(x: float, y: float, width: float, height: float, kind: str, title: str) -> Markup:
    return svg.rect(x, y, width, height, kind, title, min(2.0, width / 4))


def _short(place: str) -> str:
    """The end of a path, which says most."""
    return place if len(place) <= 60 else "…" + place[-59:]
