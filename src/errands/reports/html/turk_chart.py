"""The statistics as a picture: field types, and how many instances each task has, in one SVG.

Drawn by hand so that nothing need be installed; every bar says its figures when pointed at.
"""

import math
from collections.abc import Iterator
from html import escape
from typing import Final

from errands.turk.tasks.statistics import TaskSetStatistics, ranked

__all__ = ["draw"]

_WIDTH: Final = 960
_MARGIN: Final = 40
_NAMES: Final = 130
_ROW: Final = 30
_PLOT: Final = 240
_AXIS: Final = 52

_STYLE: Final = """\
  <style>
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
  </style>
"""


def draw(statistics: TaskSetStatistics) -> str:
    """The whole picture, as an SVG document."""
    types = list(_types(statistics, 108))
    below = 108 + max(len(statistics.types), 1) * _ROW + 72
    height = below + _PLOT + _AXIS + 24
    title = f"{_count(len(statistics.tasks), 'task')}, {_count(statistics.instances, 'instance')}"
    split = "" if statistics.split == "all" else f", split {statistics.split}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img">\n  <title>{escape(title)}</title>\n'
        f'{_STYLE}  <rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        _text(_MARGIN, 44, title, "title"),
        _text(_WIDTH - _MARGIN, 44, escape(_short(statistics.place) + split), "note", "end"),
        _text(_MARGIN, 86, "Fields on all pages, by type", "head"),
        *types,
        _text(_MARGIN, below - 24, "Instances of each task, largest first", "head"),
        *_legend(statistics, below - 24),
        *_instances(statistics, below),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _types(statistics: TaskSetStatistics, top: int) -> Iterator[str]:
    """A bar for each type, with its figures at the end."""
    facts = statistics.types
    if not facts:
        yield _text(_MARGIN, top + 18, "No field is in the templates themselves.", "note")
        return
    most = max(fact.on_pages for fact in facts) or 1
    left = _MARGIN + _NAMES
    room = _WIDTH - _MARGIN - left - 210
    for place, fact in enumerate(facts):
        y = top + place * _ROW
        width = max(2.0, room * fact.on_pages / most)
        said = f"{fact.on_pages:,}"
        more = f"{_count(fact.fields, 'field')} in {_count(fact.tasks, 'task')}"
        yield _text(left - 12, y + 16, escape(fact.type), "", "end")
        yield _bar(left, y, width, 22, "type", f"{fact.type}: {said} on all pages; {more}")
        yield (
            f'  <text x="{left + width + 8:.1f}" y="{y + 16}">{said}'
            f'<tspan class="note" dx="8">{more}</tspan></text>'
        )
    bottom = top + len(facts) * _ROW - 6
    yield f'  <line class="base" x1="{left}" x2="{left}" y1="{top - 4}" y2="{bottom}"/>'


def _instances(statistics: TaskSetStatistics, top: int) -> Iterator[str]:
    """A bar for each task, on a scale on which each tenfold is one step."""
    tasks = ranked(statistics.tasks)
    left, right = _MARGIN + 50, _WIDTH - _MARGIN
    most = max((task.instances for task in tasks), default=1)
    powers = max(1, math.ceil(math.log10(most) - 1e-9))
    step = _PLOT / (powers + 0.15)
    base = top + _PLOT
    for power in range(powers + 1):
        y = base - step * (power + 0.15)
        yield f'  <line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _text(left - 8, y + 4, f"{10**power:,}", "note", "end")
    pitch = min((right - left) / max(len(tasks), 1), 60.0)
    gap = 0.0 if pitch < 2 else min(pitch * 0.2, 8.0)
    for place, task in enumerate(tasks):
        # One instance still shows: the scale begins a little below 1.
        height = step * (math.log10(task.instances) + 0.15)
        said = f"{task.name}: {_count(task.instances, 'instance')} ({task.split})"
        x = left + place * pitch + gap / 2
        yield _bar(x, base - height, pitch - gap, height, task.split, said)
    yield f'  <line class="base" x1="{left}" x2="{right}" y1="{base}" y2="{base}"/>'
    spread = statistics.spreads["instances per task"]
    note = f"median {spread.median:,.0f}, mean {spread.mean:,.0f}; each line is ten times the last"
    yield _text(left, base + 24, note, "note")


def _legend(statistics: TaskSetStatistics, y: int) -> Iterator[str]:
    """The colours of the splits, where there is more than one; right to left."""
    present = {task.split for task in statistics.tasks}
    if len(present) < 2:
        return
    x = float(_WIDTH - _MARGIN)
    for split in ("subjective", "test_challenge", "test", "train"):
        if split in present:
            yield _text(x, y, split, "", "end")
            x -= 7.2 * len(split) + 18
            yield _bar(x, y - 10, 11, 11, split, split)
            x -= 16


def _bar(x: float, y: float, width: float, height: float, kind: str, said: str) -> str:
    return (
        f'  <rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="{min(2.0, width / 4):.1f}">'
        f"<title>{escape(_clean(said))}</title></rect>"
    )


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    held = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'  <text{named} x="{x:.1f}" y="{y:.1f}"{held}>{_clean(said)}</text>'


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _short(place: str) -> str:
    """The end of a path, which says most."""
    return place if len(place) <= 60 else "…" + place[-59:]


def _clean(text: str) -> str:
    """Without characters that XML cannot hold."""
    return "".join(
        char if char >= " " and not "\ud800" <= char <= "\udfff" else " " for char in text
    )
