"""Small curves side by side, both scales logarithmic, as one SVG file that needs nothing else."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

__all__ = ["Curve", "curves"]

WIDTH, HEIGHT, ACROSS = 300, 190, 2
LEFT, RIGHT, TOP, BASE = 52, 14, 30, 158

_STYLE: Final = """
svg { font: 12px system-ui, sans-serif; background: #fff; color: #1c2430; }
text { fill: currentColor; } .title { font-weight: 600; } .tick { font-size: 10px; opacity: .75; }
.grid { stroke: currentColor; opacity: .14; }
.line { fill: none; stroke: #2563a8; stroke-width: 2; }
.dot { fill: #2563a8; }
@media (prefers-color-scheme: dark) { svg { background: #14181f; color: #e6e9ee; }
.line { stroke: #7db4ee; } .dot { fill: #7db4ee; } }
"""


class Curve(NamedTuple):
    """One figure at several sizes, all above 0."""

    title: str
    points: Sequence[tuple[float, float]]


def curves(drawn: Sequence[Curve]) -> str:
    """All curves in one picture."""
    rows = -(-len(drawn) // ACROSS)
    width, height = WIDTH * ACROSS, HEIGHT * max(rows, 1)
    body = [
        f'<g transform="translate({place % ACROSS * WIDTH},{place // ACROSS * HEIGHT})">'
        f"{_curve(curve)}</g>"
        for place, curve in enumerate(drawn)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        f' width="{width}" height="{height}"><title>Figures by number of products</title>'
        f"<style>{_STYLE}</style>{''.join(body)}</svg>\n"
    )


def _curve(curve: Curve) -> str:
    across = _Scale([x for x, _ in curve.points], LEFT, WIDTH - RIGHT)
    up = _Scale([y for _, y in curve.points], BASE, TOP)
    parts = [f'<text class="title" x="6" y="16">{escape(curve.title)}</text>']
    for power in up.powers:
        y = up.place(10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:g}" y2="{y:g}"/>')
        parts.append(_tick(LEFT - 6, y + 3, 10.0**power, "end"))
    for x, _ in curve.points:
        parts.append(_tick(across.place(x), BASE + 16, x, "middle"))
    placed = [(across.place(x), up.place(y), x, y) for x, y in curve.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in placed)
    parts.append(f'<polyline class="line" points="{path}"/>')
    for x, y, products, value in placed:
        parts.append(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{products:,.0f} products: {value:.3g}</title></circle>"
        )
    return "".join(parts)


def _tick(x: float, y: float, value: float, anchor: str) -> str:
    return (
        f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_short(value)}</text>'
    )


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


class _Scale:
    """A logarithmic scale between two places, at least from one power of ten to the next."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        logs = [math.log10(value) for value in values]
        self.low, self.high = math.floor(min(logs)), math.ceil(max(logs))
        if self.high == self.low:
            self.high += 1
        self.powers = range(self.low, self.high + 1)
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self._start + (self._end - self._start) * part
