"""Drawing in SVG, by hand so that nothing need be installed: all plots are made of this.

Shapes take their colours from a style sheet by their class, and say their figures when they are
pointed at. Texts are escaped.
"""

import math
from collections.abc import Iterable
from typing import Final

from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import cut

__all__ = ["WIDTH", "dot", "line", "log_ticks", "number", "picture", "plot", "polyline", "rect",
           "text", "ticks", "ticks_between"]  # fmt: skip

WIDTH: Final = 400
"""Of a plot in a page: narrow, so that its letters stay legible on a phone."""


def plot(height: float, title: str, description: str, body: Iterable[Markup]) -> Markup:
    """A plot inside a page, whose style sheet it uses; listeners get its figures from its label."""
    return html(
        '<svg class="plot" viewBox="0 0 {} {:.0f}" role="img" aria-label="{title}. {}">'
        "<title>{title}</title>{}</svg>",
        WIDTH,
        height,
        cut(description, 600),
        join(body),
        title=title,
    )


def picture(width: int, height: int, title: str, style: Markup, body: Iterable[Markup]) -> Markup:
    """A drawing that is a file of its own, with its own style sheet."""
    return html(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' width="{width}" height="{height}"><title>{}</title><style>{}</style>{}</svg>\n',
        title,
        style,
        join(body),
        width=width,
        height=height,
    )


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "") -> Markup:
    return html(
        '<text{} x="{:.1f}" y="{:.1f}"{}>{}</text>',
        html(' class="{}"', kind) if kind else EMPTY,
        x,
        y,
        html(' text-anchor="{}"', anchor) if anchor else EMPTY,
        content,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return html(
        '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>', kind, x1, y1, x2, y2
    )


def polyline(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return html('<polyline class="{}" points="{}"/>', kind, path)


def rect(
    x: float, y: float, width: float, height: float, kind: str, title: str = "", radius: float = 3
) -> Markup:
    return html(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{:g}">{}</rect>',
        kind,
        x,
        y,
        max(width, 0),
        max(height, 0),
        radius,
        html("<title>{}</title>", title) if title else EMPTY,
    )


def dot(x: float, y: float, radius: float, kind: str, title: str) -> Markup:
    return html(
        '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:g}"><title>{}</title></circle>',
        kind,
        x,
        y,
        radius,
        title,
    )


def ticks(top: float, least: int = 4) -> list[float]:
    """Round numbers from 0 to a little below or at the top."""
    raw = top / least
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = next((s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw), raw)
    return [step * i for i in range(int(top / step + 1e-9) + 1)]


def ticks_between(low: float, high: float) -> list[float]:
    """Round numbers from one to another, both of which are such."""
    if not low:
        return ticks(high)
    step = ticks(high - low)[1]
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic scale."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    if 2 <= len(every) <= 8:
        return every
    return [tick for tick in every if f"{tick:g}"[0] == "1"] or [low, high]


def number(value: float) -> str:
    """A number beside a scale."""
    return f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value:g}"
