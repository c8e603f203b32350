"""Plots as inline SVG, drawn by hand so that nothing need be installed or loaded.

Every plot is 400 wide, so that its letters stay legible on a phone, and takes its colours from
the page's style sheet, which knows light and dark. What is pointed at says its figures; those
who listen get the same from the plot's title and description.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from errands.reports.html.markup import cut, esc
from errands.reports.statistics.estimate import Estimate

__all__ = ["Line", "Mark", "Row", "Series", "bars", "curves", "differences", "dots", "histogram",
           "lines", "scatter", "split_bar"]  # fmt: skip

WIDTH: Final = 400
COLOURS: Final = 8


class Mark(NamedTuple):
    """A figure of one run."""

    name: str
    colour: int
    value: Estimate


class Row(NamedTuple):
    """A line of a dot plot: a task with the figures of all runs."""

    label: str
    marks: Sequence[Mark]


class Series(NamedTuple):
    """A line through points, or a cloud of them."""

    name: str
    colour: int
    points: Sequence[tuple[float, Estimate]]


class Line(NamedTuple):
    """A figure that changes as something goes on."""

    name: str
    colour: int
    points: Sequence[tuple[float, float]]
    is_checked: bool = False
    """Whether it is measured now and then: a dashed line with dots."""


def _svg(height: float, title: str, said: str, body: Iterable[str]) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
        f' aria-label="{esc(title)}. {esc(cut(said, 600))}"><title>{esc(title)}</title>'
        f"{''.join(body)}</svg>"
    )


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    held = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}"{held}>{esc(said)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _rect(x: float, y: float, width: float, height: float, kind: str, said: str = "") -> str:
    told = f"<title>{esc(said)}</title>" if said else ""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}"'
        f' height="{max(height, 0):.1f}" rx="3">{told}</rect>'
    )


def _dot(x: float, y: float, radius: float, kind: str, said: str) -> str:
    return (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}">'
        f"<title>{esc(said)}</title></circle>"
    )


def _colour(number: int) -> str:
    return f"c{number % COLOURS}"


def _say(name: str, value: Estimate, unit: str, digits: int = 1) -> str:
    if value.mean is None:
        return f"{name}: no figure"
    said = f"{name}: {value.mean:.{digits}f}{unit}"
    if value.low is not None and value.high is not None and value.low != value.high:
        said += f" (95 % interval {value.low:.{digits}f} to {value.high:.{digits}f})"
    return said


def _ticks(top: float, least: int = 4) -> list[float]:
    """Round numbers from 0 to a little below or at the top."""
    raw = top / least
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = next((s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw), raw)
    return [step * i for i in range(int(top / step + 1e-9) + 1)]


def _ticks_between(low: float, high: float) -> list[float]:
    """Round numbers from one to another, both of which are such."""
    if not low:
        return _ticks(high)
    step = _ticks(high - low)[1]
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _number(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}"


def bars(
    title: str, marks: Sequence[Mark], *, top: float = 100.0, unit: str = " %", digits: int = 1
) -> str:
    """A bar a run, its name above it, its interval as a whisker, its figure at the end."""
    left, right = 2.0, WIDTH - 56.0
    pitch = 44.0
    bottom = len(marks) * pitch + 8

    def x(value: float) -> float:
        return left + (right - left) * min(max(value / top, 0.0), 1.0)

    body = [
        part
        for tick in _ticks(top)
        for part in (
            _line(x(tick), 4, x(tick), bottom, "gridline"),
            _text(x(tick), bottom + 16, _number(tick), "tick", "start" if not tick else "middle"),
        )
    ]
    for place, (name, colour, value) in enumerate(marks):
        y = place * pitch + 4
        said = _say(name, value, unit, digits)
        body.append(_text(left, y + 13, cut(name, 50), "label"))
        if value.mean is None:
            body.append(_text(left, y + 33, "no figure", "tick"))
            continue
        body.append(_rect(left, y + 19, right - left, 16, "track"))
        body.append(_rect(left, y + 19, max(2.0, x(value.mean) - left), 16, _colour(colour), said))
        body += _whisker(x, value, y + 27)
        body.append(_text(right + 8, y + 32, f"{value.mean:.{digits}f}", "value"))
    return _svg(bottom + 24, title, "; ".join(_say(m[0], m[2], unit, digits) for m in marks), body)


def _whisker(x: object, value: Estimate, y: float) -> list[str]:
    assert callable(x)
    if value.low is None or value.high is None or value.high == value.low:
        return []
    low, high = x(value.low), x(value.high)
    return [
        _line(low, y, high, y, "whisker"),
        _line(low, y - 4, low, y + 4, "whisker"),
        _line(high, y - 4, high, y + 4, "whisker"),
    ]


def histogram(
    title: str,
    shares: Sequence[tuple[str, float, int]],
    *,
    axis: str,
    colour: int = 0,
    last_apart: bool = False,
) -> str:
    """A bar for each bin: its name, its share of all, its count."""
    top_y, base, left = 22.0, 190.0, 8.0
    top = max((share for _, share, _ in shares), default=0.0) or 1.0
    pitch = (WIDTH - 2 * left) / max(len(shares), 1)
    body = [_line(left, base, WIDTH - left, base, "axis")]
    for place, (name, share, count) in enumerate(shares):
        height = (base - top_y) * share / top
        x = left + place * pitch
        kind = "muted" if last_apart and place == len(shares) - 1 else _colour(colour)
        said = f"{name}: {share:.1%} ({count:,})"
        body.append(_rect(x + pitch * 0.1, base - height, pitch * 0.8, height, kind, said))
        if share > 0:
            told = f"{share:.0%}" if share >= 0.01 else "<1%"
            body.append(_text(x + pitch / 2, base - height - 6, told, "tick", "middle"))
        body.append(_text(x + pitch / 2, base + 16, name, "small", "middle"))
    body.append(_text(WIDTH / 2, base + 38, axis, "tick", "middle"))
    said = "; ".join(f"{name}: {share:.1%}" for name, share, _ in shares)
    return _svg(base + 46, title, said, body)


def dots(title: str, rows: Sequence[Row], *, top: float = 100.0, unit: str = " %") -> str:
    """A line for each task, its name above, and a dot for each run on it."""
    left, right = 8.0, WIDTH - 8.0
    # Each run has a lane of its own, so that none hides another.
    lanes = max((len(row.marks) for row in rows), default=1)
    lane = 7.0
    pitch = 27.0 + lane * lanes
    bottom = len(rows) * pitch + 2

    def x(value: float) -> float:
        return left + (right - left) * min(max(value / top, 0.0), 1.0)

    body = [
        part
        for tick in _ticks(top)
        for part in (
            _line(x(tick), 2, x(tick), bottom, "gridline"),
            _text(
                x(tick),
                bottom + 16,
                _number(tick),
                "tick",
                "start" if not tick else "end" if tick == top else "middle",
            ),
        )
    ]
    for place, row in enumerate(rows):
        top_y = place * pitch + 14
        body.append(_text(left, top_y, cut(row.label, 54), "small name"))
        body.append(_rect(left, top_y + 6, right - left, lane * lanes + 2, "lanes"))
        for number, mark in enumerate(row.marks):
            y = top_y + 7 + lane * (number + 0.5)
            if mark.value.mean is None:
                continue
            said = _say(f"{row.label}, {mark.name}", mark.value, unit)
            if mark.value.low is not None and mark.value.high is not None:
                ends = x(mark.value.low), x(mark.value.high)
                body.append(_line(ends[0], y, ends[1], y, f"reach s{mark.colour % COLOURS}"))
            body.append(_dot(x(mark.value.mean), y, 4.2, f"dot {_colour(mark.colour)}", said))
    said = "; ".join(
        f"{row.label}: " + ", ".join(_say(m.name, m.value, unit) for m in row.marks) for row in rows
    )
    return _svg(bottom + 24, title, said, body)


class _Frame:
    """Axes of a plot with a scale on both sides."""

    left, right, top, base = 40.0, WIDTH - 14.0, 12.0, 214.0

    def __init__(self, low: float, high: float, most: float, least: float = 0.0) -> None:
        self.low, self.high = low, high if high > low else low + 1.0
        self.most, self.least = most, least

    def x(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * part

    def y(self, value: float) -> float:
        part = (value - self.least) / (self.most - self.least)
        return self.base - (self.base - self.top) * min(max(part, 0.0), 1.0)

    def sides(self, x_title: str, y_title: str) -> list[str]:
        body = [
            part
            for tick in _ticks_between(self.least, self.most)
            for part in (
                _line(self.left, self.y(tick), self.right, self.y(tick), "gridline"),
                _text(self.left - 8, self.y(tick) + 4, _number(tick), "tick", "end"),
            )
        ]
        middle = (self.left + self.right) / 2
        body.append(_line(self.left, self.base, self.right, self.base, "axis"))
        body.append(_text(middle, self.base + 38, x_title, "tick", "middle"))
        # Beside the scale there is no room on a phone, so its name stands on top.
        body.append(_text(0, 11, y_title, "tick"))
        return body


def scatter(
    title: str,
    clouds: Sequence[tuple[str, int, Sequence[tuple[float, float]]]],
    trends: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
) -> str:
    """Points on a logarithmic scale, and means with whiskers through them."""
    spots = [x for _, _, points in clouds for x, _ in points if x > 0]
    if not spots:
        return _svg(40, title, "nothing to show", [_text(8, 24, "nothing to show", "tick")])
    frame = _Frame(math.log10(min(spots)) - 0.05, math.log10(max(spots)) + 0.05, 100.0)
    frame.top = 30.0
    body = frame.sides(x_title, y_title)
    for tick in _log_ticks(min(spots), max(spots)):
        x = frame.x(math.log10(tick))
        body.append(_line(x, frame.base, x, frame.base + 4, "axis"))
        body.append(_text(x, frame.base + 17, _number(tick), "small", "middle"))
    for name, colour, points in clouds:
        faint = f"faint {_colour(colour)}"
        for spot, score in points:
            if spot > 0:
                said = f"{name}: {spot:,.0f}, {score:.1f}"
                body.append(_dot(frame.x(math.log10(spot)), frame.y(score), 2.5, faint, said))
    body += _strokes(frame, trends, logarithmic=True)
    said = "; ".join(_say(s.name, v, "") for s in trends for _, v in s.points)
    return _svg(frame.base + 46, title, said, body)


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    return (
        ticks if 2 <= len(ticks) <= 8 else [t for t in ticks if f"{t:g}"[0] == "1"] or [low, high]
    )


def lines(title: str, series: Sequence[Series], *, x_title: str, y_title: str) -> str:
    """A line for each agent through its figures, with whiskers."""
    places = sorted({x for one in series for x, _ in one.points})
    if not places:
        return _svg(40, title, "nothing to show", [_text(8, 24, "nothing to show", "tick")])
    margin = max((places[-1] - places[0]) * 0.04, 0.2)
    frame = _Frame(places[0] - margin, places[-1] + margin, 100.0)
    frame.top = 30.0
    body = frame.sides(x_title, y_title)
    for place in places:
        body.append(_text(frame.x(place), frame.base + 17, _number(place), "small", "middle"))
    body += _strokes(frame, series, logarithmic=False)
    said = "; ".join(_say(f"{s.name}, {x:g}", v, " %") for s in series for x, v in s.points)
    return _svg(frame.base + 46, title, said, body)


def curves(title: str, held: Sequence[Line], *, x_title: str, y_title: str) -> str:
    """A line for each figure, on a scale that holds them all; 0 is on it."""
    places = [x for line in held for x, _ in line.points]
    if not places:
        return _svg(40, title, "nothing to show", [_text(8, 24, "nothing to show", "tick")])
    values = [y for line in held for _, y in line.points]
    low, high = min(0.0, *values), max(0.0, *values)
    step = _ticks(high - low)[1] if high > low else 1.0
    least, most = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    frame = _Frame(min(0.0, *places), max(places), most if most > least else least + step, least)
    frame.top = 30.0
    body = frame.sides(x_title, y_title)
    for tick in _ticks(frame.high):
        end = "end" if tick > 0.97 * frame.high else "middle"
        body.append(_text(frame.x(tick), frame.base + 17, _number(tick), "small", end))
    for line in held:
        spots = [(frame.x(x), frame.y(y)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        kind = "stroke dashed" if line.is_checked else "stroke"
        body.append(f'<polyline class="{kind} s{line.colour % COLOURS}" points="{path}"/>')
        shown = range(len(spots)) if line.is_checked and len(spots) <= 60 else [len(spots) - 1]
        for at in shown:
            said = f"{line.name}, {line.points[at][0]:,.0f}: {line.points[at][1]:.4g}"
            body.append(_dot(*spots[at], 4, f"dot {_colour(line.colour)}", said))
    said = "; ".join(
        f"{line.name}: from {line.points[0][1]:.4g} to {line.points[-1][1]:.4g}"
        for line in held
        if line.points
    )
    return _svg(frame.base + 46, title, said, body)


def _strokes(frame: _Frame, series: Sequence[Series], *, logarithmic: bool) -> list[str]:
    body = []
    for one in series:
        shown = [(x, value) for x, value in one.points if value.mean is not None]
        spots = [
            (frame.x(math.log10(x) if logarithmic else x), frame.y(value.mean or 0.0))
            for x, value in shown
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        body.append(f'<polyline class="stroke s{one.colour % COLOURS}" points="{path}"/>')
        for (at, value), (x, y) in zip(shown, spots, strict=True):
            if value.low is not None and value.high is not None:
                ends = frame.y(value.low), frame.y(value.high)
                body.append(_line(x, ends[0], x, ends[1], f"reach s{one.colour % COLOURS}"))
            said = _say(f"{one.name}, {at:,.0f}", value, "")
            body.append(_dot(x, y, 5, f"dot {_colour(one.colour)}", said))
    return body


def differences(
    title: str,
    counts: Sequence[int],
    mean: Estimate,
    *,
    first: str,
    second: str,
    colours: tuple[int, int],
) -> str:
    """How much better the second run was, episode by episode, around a line at no difference."""
    left, right, top, base = 10.0, WIDTH - 10.0, 52.0, 190.0
    most = max(counts, default=0) or 1
    pitch = (right - left) / max(len(counts), 1)
    middle = len(counts) // 2
    centre = (left + right) / 2
    # Ties are mostly the highest bar by far: a square root lets the others be seen.
    scale = (base - top) / math.sqrt(most)
    total = sum(counts) or 1
    body = [_line(left, base, right, base, "axis")]
    for place, count in enumerate(counts):
        height = max(scale * math.sqrt(count), 2.0 if count else 0.0)
        kind = "muted" if place == middle else _colour(colours[place > middle])
        near = (place - middle) * 2.1 / len(counts)
        said = f"difference about {near:+.1f}: {count:,} episodes ({count / total:.1%})"
        body.append(_rect(left + place * pitch + 1.5, base - height, pitch - 3, height, kind, said))
        if count and (place == middle or count == most):
            spot = left + (place + 0.5) * pitch
            body.append(_text(spot, base - height - 5, f"{count:,}", "tick", "middle"))
    tall = max(scale * math.sqrt(counts[middle]), 0.0) + 18 if counts else 0.0
    body.append(_line(centre, top - 16, centre, base - tall, "zero"))
    if mean.mean is not None and mean.low is not None and mean.high is not None:
        spots = [centre + (right - left) / 2.1 * v / 100 for v in (mean.low, mean.mean, mean.high)]
        body.append(_line(spots[0], base + 8, spots[2], base + 8, "whisker thick"))
        body.append(
            _dot(spots[1], base + 8, 5, "dot ink", _say("mean difference", mean, " points"))
        )
    for value in (-1, -0.5, 0.5, 1):
        spot = centre + (right - left) / 2.1 * value
        body.append(_text(spot, base + 30, f"{value:+g}", "tick", "middle"))
    body.append(_text(centre, base + 30, "same reward", "tick", "middle"))
    body.append(_text(left, 16, f"← {cut(first, 20)} better", f"label t{colours[0] % COLOURS}"))
    body.append(
        _text(right, 16, f"{cut(second, 20)} better →", f"label t{colours[1] % COLOURS}", "end")
    )
    said = _say(f"{second} minus {first}", mean, " points")
    return _svg(base + 40, title, said, body)


def split_bar(title: str, pieces: Sequence[tuple[str, int, str]]) -> str:
    """One bar in pieces: name, count, colour class; what is too small has no letters."""
    total = sum(count for _, count, _ in pieces) or 1
    body, x = [], 0.0
    for name, count, kind in pieces:
        width = WIDTH * count / total
        said = f"{count:,} {name} ({count / total:.0%})"
        if count:
            body.append(_rect(x, 0, max(width - 2, 1), 26, kind, said))
        if width > 7.5 * len(f"{count:,} {name}") + 8:
            body.append(_text(x + width / 2 - 1, 18, f"{count:,} {name}", "on", "middle"))
        elif width > 7.5 * len(f"{count:,}") + 6:
            body.append(_text(x + width / 2 - 1, 18, f"{count:,}", "on", "middle"))
        x += width
    return _svg(26, title, "; ".join(f"{count:,} {name}" for name, count, _ in pieces), body)
