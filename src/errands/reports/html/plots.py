"""The plots of a report, as inline SVG in the colours of the page's style sheet, light and dark."""

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from errands.markup import Markup, html, join
from errands.reports.html import svg
from errands.reports.html.elements import cut
from errands.reports.html.svg import WIDTH
from errands.reports.statistics.estimate import Estimate

__all__ = [
    "DotRow",
    "PlotLine",
    "PlotMark",
    "Series",
    "bars",
    "curves",
    "differences",
    "dots",
    "histogram",
    "lines",
    "log_curves",
    "scatter",
    "split_bar",
]

COLOURS: Final = 8


class PlotMark(NamedTuple):
    """A figure of one run."""

    name: str
    colour: int
    value: Estimate


class DotRow(NamedTuple):
    """A line of a dot plot: a task with the figures of all runs."""

    label: str
    marks: Sequence[PlotMark]


class Series(NamedTuple):
    """A line through points, or a cloud of them."""

    name: str
    colour: int
    points: Sequence[tuple[float, Estimate]]


class PlotLine(NamedTuple):
    """A figure that changes as something goes on."""

    name: str
    colour: int
    points: Sequence[tuple[float, float]]
    is_checked: bool = False
    """Whether it is measured now and then: a dashed line with dots."""


def _colour(number: int) -> str:
    return f"c{number % COLOURS}"


def _describe(name: str, value: Estimate, unit: str) -> str:
    if value.mean is None:
        return f"{name}: no figure"
    description = f"{name}: {value.mean:.1f}{unit}"
    if value.low is not None and value.high is not None and value.low != value.high:
        description += f" (95 % interval {value.low:.1f} to {value.high:.1f})"
    return description


def bars(title: str, marks: Sequence[PlotMark]) -> Markup:
    """A bar in percent for each run, with its name, its figure, and its interval as a whisker."""
    left, right = 2.0, WIDTH - 56.0
    pitch = 44.0
    bottom = len(marks) * pitch + 8
    x = _Percent(left, right)
    body = x.gridlines(4, bottom, "middle")
    for place, (name, colour, value) in enumerate(marks):
        y = place * pitch + 4
        body.append(svg.text(left, y + 13, cut(name, 50), "label"))
        if value.mean is None:
            body.append(svg.text(left, y + 33, "no figure", "tick"))
            continue
        body.append(svg.rect(left, y + 19, right - left, 16, "track"))
        width = max(2.0, x(value.mean) - left)
        description = _describe(name, value, " %")
        body.append(svg.rect(left, y + 19, width, 16, _colour(colour), description))
        body += _whisker(x, value, y + 27)
        body.append(svg.text(right + 8, y + 32, f"{value.mean:.1f}", "value"))
    description = "; ".join(_describe(mark.name, mark.value, " %") for mark in marks)
    return svg.plot(bottom + 24, title, description, body)


class _Percent:
    """From 0 on the left to 100 on the right; what is beyond stands at its end."""

    def __init__(self, left: float, right: float) -> None:
        self._left, self._right = left, right

    def __call__(self, value: float) -> float:
        return self._left + (self._right - self._left) * min(max(value / 100, 0.0), 1.0)

    def gridlines(self, above: float, below: float, last: str) -> list[Markup]:
        """A line with its number at each tick; `last` is where the 100 is anchored."""
        body = []
        for tick in svg.ticks(100):
            anchor = "start" if not tick else last if tick == 100 else "middle"
            body.append(svg.line(self(tick), above, self(tick), below, "gridline"))
            body.append(svg.text(self(tick), below + 16, svg.number(tick), "tick", anchor))
        return body


def _whisker(x: _Percent, value: Estimate, y: float) -> list[Markup]:
    if value.low is None or value.high is None or value.high == value.low:
        return []
    low, high = x(value.low), x(value.high)
    return [
        svg.line(low, y, high, y, "whisker"),
        svg.line(low, y - 4, low, y + 4, "whisker"),
        svg.line(high, y - 4, high, y + 4, "whisker"),
    ]


def histogram(
    title: str,
    shares: Sequence[tuple[str, float, int]],
    *,
    axis: str,
    colour: int = 0,
    last_apart: bool = False,
) -> Markup:
    """A bar for each bin: its name, its share of all, its count."""
    top_y, base, left = 22.0, 190.0, 8.0
    top = max((share for _, share, _ in shares), default=0.0) or 1.0
    pitch = (WIDTH - 2 * left) / max(len(shares), 1)
    body = [svg.line(left, base, WIDTH - left, base, "axis")]
    for place, (name, share, count) in enumerate(shares):
        height = (base - top_y) * share / top
        x = left + place * pitch
        kind = "muted" if last_apart and place == len(shares) - 1 else _colour(colour)
        description = f"{name}: {share:.1%} ({count:,})"
        y, middle = base - height, x + pitch / 2
        body.append(svg.rect(x + pitch * 0.1, y, pitch * 0.8, height, kind, description))
        if share > 0:
            percent = f"{share:.0%}" if share >= 0.01 else "<1%"
            body.append(svg.text(middle, y - 6, percent, "tick", "middle"))
        body.append(svg.text(middle, base + 16, name, "small", "middle"))
    body.append(svg.text(WIDTH / 2, base + 38, axis, "tick", "middle"))
    description = "; ".join(f"{name}: {share:.1%}" for name, share, _ in shares)
    return svg.plot(base + 46, title, description, body)


def dots(title: str, rows: Sequence[DotRow]) -> Markup:
    """A line for each task, its name above, and a dot for each run on it."""
    left, right = 8.0, WIDTH - 8.0
    # Each run has a lane of its own, so that none hides another.
    lanes = max((len(row.marks) for row in rows), default=1)
    lane = 7.0
    pitch = 27.0 + lane * lanes
    bottom = len(rows) * pitch + 2
    x = _Percent(left, right)
    body = x.gridlines(2, bottom, "end")
    for place, row in enumerate(rows):
        top_y = place * pitch + 14
        body.append(svg.text(left, top_y, cut(row.label, 54), "small name"))
        body.append(svg.rect(left, top_y + 6, right - left, lane * lanes + 2, "lanes"))
        for number, mark in enumerate(row.marks):
            y = top_y + 7 + lane * (number + 0.5)
            if mark.value.mean is None:
                continue
            description = _describe(f"{row.label}, {mark.name}", mark.value, " %")
            if mark.value.low is not None and mark.value.high is not None:
                ends = x(mark.value.low), x(mark.value.high)
                body.append(svg.line(ends[0], y, ends[1], y, f"reach s{mark.colour % COLOURS}"))
            kind = f"dot {_colour(mark.colour)}"
            body.append(svg.dot(x(mark.value.mean), y, 4.2, kind, description))
    description = "; ".join(
        f"{row.label}: " + ", ".join(_describe(m.name, m.value, " %") for m in row.marks)
        for row in rows
    )
    return svg.plot(bottom + 24, title, description, body)


class _Frame:
    """Axes of a plot with a scale on both sides."""

    left, right, top, base = 40.0, WIDTH - 14.0, 30.0, 214.0

    def __init__(self, low: float, high: float, most: float, least: float = 0.0) -> None:
        self.low, self.high = low, high if high > low else low + 1.0
        self.most, self.least = most, least

    def x(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * part

    def y(self, value: float) -> float:
        part = (value - self.least) / (self.most - self.least)
        return self.base - (self.base - self.top) * min(max(part, 0.0), 1.0)

    def sides(self, x_title: str, y_title: str) -> list[Markup]:
        body = []
        for tick in svg.ticks_between(self.least, self.most):
            y = self.y(tick)
            body.append(svg.line(self.left, y, self.right, y, "gridline"))
            body.append(svg.text(self.left - 8, y + 4, svg.number(tick), "tick", "end"))
        middle = (self.left + self.right) / 2
        body.append(svg.line(self.left, self.base, self.right, self.base, "axis"))
        body.append(svg.text(middle, self.base + 38, x_title, "tick", "middle"))
        # Beside the scale there is no room on a phone, so its name stands on top.
        body.append(svg.text(0, 11, y_title, "tick"))
        return body


def scatter(
    title: str,
    clouds: Sequence[tuple[str, int, Sequence[tuple[float, float]]]],
    trends: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
) -> Markup:
    """Points on a logarithmic scale, and means with whiskers through them."""
    spots = [x for _, _, points in clouds for x, _ in points if x > 0]
    if not spots:
        return _empty(title)
    frame = _Frame(math.log10(min(spots)) - 0.05, math.log10(max(spots)) + 0.05, 100.0)
    body = frame.sides(x_title, y_title)
    for tick in svg.log_ticks(min(spots), max(spots)):
        x = frame.x(math.log10(tick))
        body.append(svg.line(x, frame.base, x, frame.base + 4, "axis"))
        body.append(svg.text(x, frame.base + 17, svg.number(tick), "small", "middle"))
    for name, colour, points in clouds:
        faint = f"faint {_colour(colour)}"
        for spot, score in points:
            if spot > 0:
                x, y = frame.x(math.log10(spot)), frame.y(score)
                body.append(svg.dot(x, y, 2.5, faint, f"{name}: {spot:,.0f}, {score:.1f}"))
    body += _strokes(frame, trends, logarithmic=True)
    description = "; ".join(_describe(s.name, v, "") for s in trends for _, v in s.points)
    return svg.plot(frame.base + 46, title, description, body)


def _empty(title: str) -> Markup:
    return svg.plot(40, title, "nothing to show", [svg.text(8, 24, "nothing to show", "tick")])


def lines(title: str, series: Sequence[Series], *, x_title: str, y_title: str) -> Markup:
    """A line for each agent through its figures, with whiskers."""
    places = sorted({x for one in series for x, _ in one.points})
    if not places:
        return _empty(title)
    margin = max((places[-1] - places[0]) * 0.04, 0.2)
    frame = _Frame(places[0] - margin, places[-1] + margin, 100.0)
    body = frame.sides(x_title, y_title)
    for place in places:
        body.append(svg.text(frame.x(place), frame.base + 17, svg.number(place), "small", "middle"))
    body += _strokes(frame, series, logarithmic=False)
    description = "; ".join(
        _describe(f"{s.name}, {x:g}", v, " %") for s in series for x, v in s.points
    )
    return svg.plot(frame.base + 46, title, description, body)


def curves(title: str, series: Sequence[PlotLine], *, x_title: str, y_title: str) -> Markup:
    """A line for each figure, on a scale that holds them all; 0 is on it."""
    places = [x for line in series for x, _ in line.points]
    if not places:
        return _empty(title)
    values = [y for line in series for _, y in line.points]
    low, high = min(0.0, *values), max(0.0, *values)
    step = svg.ticks(high - low)[1] if high > low else 1.0
    least, most = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    frame = _Frame(min(0.0, *places), max(places), most if most > least else least + step, least)
    body = frame.sides(x_title, y_title)
    for tick in svg.ticks(frame.high):
        end = "end" if tick > 0.97 * frame.high else "middle"
        body.append(svg.text(frame.x(tick), frame.base + 17, svg.number(tick), "small", end))
    for line in series:
        spots = [(frame.x(x), frame.y(y)) for x, y in line.points]
        kind = "stroke dashed" if line.is_checked else "stroke"
        body.append(svg.polyline(spots, f"{kind} s{line.colour % COLOURS}"))
        shown = range(len(spots)) if line.is_checked and len(spots) <= 60 else [len(spots) - 1]
        for at in shown:
            description = f"{line.name}, {line.points[at][0]:,.0f}: {line.points[at][1]:.4g}"
            body.append(svg.dot(*spots[at], 4, f"dot {_colour(line.colour)}", description))
    description = "; ".join(
        f"{line.name}: from {line.points[0][1]:.4g} to {line.points[-1][1]:.4g}"
        for line in series
        if line.points
    )
    return svg.plot(frame.base + 46, title, description, body)


def _strokes(frame: _Frame, series: Sequence[Series], *, logarithmic: bool) -> list[Markup]:
    body = []
    for one in series:
        shown = [(x, value) for x, value in one.points if value.mean is not None]
        spots = [
            (frame.x(math.log10(x) if logarithmic else x), frame.y(value.mean or 0.0))
            for x, value in shown
        ]
        body.append(svg.polyline(spots, f"stroke s{one.colour % COLOURS}"))
        for (at, value), (x, y) in zip(shown, spots, strict=True):
            if value.low is not None and value.high is not None:
                ends = frame.y(value.low), frame.y(value.high)
                body.append(svg.line(x, ends[0], x, ends[1], f"reach s{one.colour % COLOURS}"))
            description = _describe(f"{one.name}, {at:,.0f}", value, "")
            body.append(svg.dot(x, y, 5, f"dot {_colour(one.colour)}", description))
    return body


def differences(
    title: str,
    counts: Sequence[int],
    mean: Estimate,
    *,
    first: str,
    second: str,
    colours: tuple[int, int],
) -> Markup:
    """How much better the second run was, episode by episode, around a line at no difference."""
    left, right, top, base = 10.0, WIDTH - 10.0, 52.0, 190.0
    most = max(counts, default=0) or 1
    pitch = (right - left) / max(len(counts), 1)
    middle = len(counts) // 2
    centre = (left + right) / 2
    # Ties are mostly the highest bar by far: a square root lets the others be seen.
    scale = (base - top) / math.sqrt(most)
    total = sum(counts) or 1
    body = [svg.line(left, base, right, base, "axis")]
    for place, count in enumerate(counts):
        height = max(scale * math.sqrt(count), 2.0 if count else 0.0)
        kind = "muted" if place == middle else _colour(colours[place > middle])
        near = (place - middle) * 2.1 / len(counts)
        description = f"difference about {near:+.1f}: {count:,} episodes ({count / total:.1%})"
        x, y = left + place * pitch + 1.5, base - height
        body.append(svg.rect(x, y, pitch - 3, height, kind, description))
        if count and (place == middle or count == most):
            spot = left + (place + 0.5) * pitch
            body.append(svg.text(spot, y - 5, f"{count:,}", "tick", "middle"))
    tall = max(scale * math.sqrt(counts[middle]), 0.0) + 18 if counts else 0.0
    body.append(svg.line(centre, top - 16, centre, base - tall, "zero"))
    if mean.mean is not None and mean.low is not None and mean.high is not None:
        spots = [centre + (right - left) / 2.1 * v / 100 for v in (mean.low, mean.mean, mean.high)]
        body.append(svg.line(spots[0], base + 8, spots[2], base + 8, "whisker thick"))
        description = _describe("mean difference", mean, " points")
        body.append(svg.dot(spots[1], base + 8, 5, "dot ink", description))
    for value in (-1, -0.5, 0.5, 1):
        spot = centre + (right - left) / 2.1 * value
        body.append(svg.text(spot, base + 30, f"{value:+g}", "tick", "middle"))
    body.append(svg.text(centre, base + 30, "same reward", "tick", "middle"))
    kinds = [f"label t{colour % COLOURS}" for colour in colours]
    body.append(svg.text(left, 16, f"← {cut(first, 20)} better", kinds[0]))
    body.append(svg.text(right, 16, f"{cut(second, 20)} better →", kinds[1], "end"))
    description = _describe(f"{second} minus {first}", mean, " points")
    return svg.plot(base + 40, title, description, body)


def split_bar(title: str, pieces: Sequence[tuple[str, int, str]]) -> Markup:
    """One bar in pieces: name, count, colour class; what is too small has no letters."""
    total = sum(count for _, count, _ in pieces) or 1
    body, x = [], 0.0
    for name, count, kind in pieces:
        width = WIDTH * count / total
        description = f"{count:,} {name} ({count / total:.0%})"
        if count:
            body.append(svg.rect(x, 0, max(width - 2, 1), 26, kind, description))
        for label, margin in ((f"{count:,} {name}", 8), (f"{count:,}", 6)):
            if width > 7.5 * len(label) + margin:
                body.append(svg.text(x + width / 2 - 1, 18, label, "on", "middle"))
                break
        x += width
    return svg.plot(26, title, "; ".join(f"{count:,} {name}" for name, count, _ in pieces), body)


_SMALL_WIDTH, _SMALL_HEIGHT, _ACROSS = 300, 190, 2
_SMALL_STYLE: Final = Markup("""
svg { font: 12px system-ui, sans-serif; background: #fff; color: #1c2430; }
text { fill: currentColor; } .title { font-weight: 600; } .tick { font-size: 10px; opacity: .75; }
.grid { stroke: currentColor; opacity: .14; }
.line { fill: none; stroke: #2563a8; stroke-width: 2; }
.dot { fill: #2563a8; }
@media (prefers-color-scheme: dark) { svg { background: #14181f; color: #e6e9ee; }
.line { stroke: #7db4ee; } .dot { fill: #7db4ee; } }
""")


def log_curves(
    title: str, panels: Sequence[tuple[str, Sequence[tuple[float, float]]]], *, unit: str
) -> Markup:
    """Small curves side by side, both scales logarithmic, as a file of its own.

    `panels` are names with points, all above 0; `unit` is what is counted from left to right.
    """
    return svg.picture(
        _SMALL_WIDTH * _ACROSS,
        _SMALL_HEIGHT * max(-(-len(panels) // _ACROSS), 1),
        title,
        _SMALL_STYLE,
        (
            html(
                '<g transform="translate({},{})">{}</g>',
                place % _ACROSS * _SMALL_WIDTH,
                place // _ACROSS * _SMALL_HEIGHT,
                join(_panel(name, points, unit)),
            )
            for place, (name, points) in enumerate(panels)
        ),
    )


def _panel(name: str, points: Sequence[tuple[float, float]], unit: str) -> Iterator[Markup]:
    left, right, base = 52, _SMALL_WIDTH - 14, 158
    across = _LogScale([x for x, _ in points], left, right)
    up = _LogScale([y for _, y in points], base, 30)
    yield svg.text(6, 16, name, "title")
    for power in up.powers:
        y = up.place(10.0**power)
        yield svg.line(left, y, right, y, "grid")
        yield svg.text(left - 6, y + 3, _short(10.0**power), "tick", "end")
    for x, _ in points:
        yield svg.text(across.place(x), base + 16, _short(x), "tick", "middle")
    yield svg.polyline(((across.place(x), up.place(y)) for x, y in points), "line")
    for x, y in points:
        yield svg.dot(across.place(x), up.place(y), 3.5, "dot", f"{x:,.0f} {unit}: {y:.3g}")


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


class _LogScale:
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
