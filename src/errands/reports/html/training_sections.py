"""How trainings went, as cards and plots: on a page of their own, and beside the runs they made."""

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from errands.markup import EMPTY, Markup, html, join
from errands.reports.formatting import DASH
from errands.reports.html import plots
from errands.reports.html.elements import cut, definitions, figure, grid
from errands.reports.html.plots import PlotLine, PlotMark
from errands.reports.html.sections import callout, code, details, headline, legend
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.training import Training

__all__ = ["cards", "drawn", "facts", "notes", "times"]

Coloured = Sequence[tuple[int, Training]]
"""Trainings with the number of their colour."""


class _Plot(NamedTuple):
    """Which curves stand in one picture."""

    title: str
    main: str
    checked: str = ""
    """Drawn dashed beside it."""
    scale: float = 1.0
    unit: str = ""
    note: str = ""


_PLOTS: Final = (
    _Plot("Loss", "loss", "held_out_loss", note="dashed: of what is held out"),
    _Plot("Right", "accuracy", "held_out_accuracy", 100, "%", "dashed: of what is held out"),
    _Plot("Score", "score", "eval_score", note="of the last 100 episodes; dashed: evaluation"),
    _Plot("Success Rate", "success", "eval_success", 100, "%", "dashed: evaluation"),
    _Plot("Entropy", "entropy", unit="nats"),
    _Plot("Value loss", "value_loss"),
    _Plot("Policy loss", "policy_loss"),
    _Plot("Imitation loss", "imitation_loss"),
    _Plot(
        "Samples a second", "samples_per_second", "samples_per_cpu_second",
        note="dashed: a second of the processor",
    ),
    _Plot(
        "Steps a second", "steps_per_second", "steps_per_cpu_second",
        note="dashed: a second of the processor; without evaluations",
    ),
)  # fmt: skip
_HEADLINES: Final = (
    ("best_score", 1, "best score on other goals"),
    ("score", 1, "score of the last 100 episodes"),
    ("held_out_accuracy", 100, "% right of what is held out"),
    ("accuracy", 100, "% right"),
)
"""The figure a training is known by: the first that it has."""
_HOW: Final = {"imitation": "by imitation", "reinforcement": "by reinforcement"}
_KINDS: Final = {"choice": "Choice model", "search": "Search model"}


def cards(trainings: Coloured) -> Markup:
    """A card for each training: the figure it is known by, and the others."""
    return html('<div class="cards">{}</div>', join(_card(at, one) for at, one in trainings))


def _card(at: int, one: Training) -> Markup:
    known = one.figures
    big, unit = next(
        ((f"{scale * known[name]:.1f}", unit) for name, scale, unit in _HEADLINES if name in known),
        (DASH, ""),
    )
    speed = next(
        (
            f"{curve.last:,.0f} {word} a second"
            for name, word in (("samples_per_second", "samples"), ("steps_per_second", "steps"))
            if (curve := one.curve(name)) is not None
        ),
        DASH,
    )
    facts = [
        ("Updates" if one.trained == "imitation" else "Steps", f"{one.step:,}"),
        ("Finished", "yes" if one.is_done else "no"),
        ("Speed at last", speed),
        *((_words(name), _formatted(name, value)) for name, value in known.items()),
    ]
    what = f"{_KINDS.get(one.kind, one.kind)} {_HOW.get(one.trained, one.trained)}"
    return headline(at, one.label, cut(what, 80), big, unit, facts)


def notes(trainings: Coloured) -> Markup:
    """What a reader must know of them."""
    return callout(
        "To know first",
        (
            html("<b>{}:</b> {}", one.label, remark)
            for _, one in trainings
            for remark in one.remarks
        ),
    )


def drawn(trainings: Coloured) -> Iterator[Markup]:
    """Every curve that a training has; those of the same figure in one picture."""
    there = [(at, one) for at, one in trainings if one.curves]
    yield legend([(at, one.label) for at, one in there])
    known = {name for plot in _PLOTS for name in (plot.main, plot.checked)}
    more = dict.fromkeys(
        curve.name
        for _, one in there
        for curve in one.curves
        if curve.name not in known and not curve.name.startswith("time_")
    )
    others = [_Plot(_words(name).capitalize(), name) for name in list(more)[:24]]
    yield grid(made for plot in (*_PLOTS, *others) if (made := _picture(plot, there)))


def _picture(plot: _Plot, trainings: Coloured) -> Markup:
    lines = [
        PlotLine(
            f"{one.label}, {_words(name)}",
            at,
            [(step, plot.scale * value) for step, value in curve.points],
            name == plot.checked,
        )
        for at, one in trainings
        for name in (plot.main, plot.checked)
        if name and (curve := one.curve(name)) is not None
    ]
    if not lines:
        return EMPTY
    ways = {one.trained for _, one in trainings if one.curve(plot.main) is not None}
    drawing = plots.curves(
        plot.title,
        lines,
        x_title="updates" if ways == {"imitation"} else "steps",
        y_title=plot.unit,
    )
    is_checked = any(line.is_checked for line in lines)
    note = plot.note if is_checked else plot.note.partition("dashed")[0].rstrip("; ")
    return figure(drawing, plot.title, note)


def times(trainings: Coloured) -> Markup:
    """Where the time of each went."""
    return grid(
        figure(
            plots.bars(
                f"Time of {one.label}",
                [
                    PlotMark(name, at, Estimate(100 * share, None, None, 1))
                    for name, share in shares.items()
                ],
            ),
            f"Where the time went: {one.label}",
            "in % of what was measured since it was begun, or last resumed",
        )
        for at, one in trainings
        if (shares := one.shares())
    )


def facts(trainings: Coloured) -> Iterator[Markup]:
    """Settings and versions."""
    for at, one in trainings:
        listed = [
            ("Checkpoint", code(one.folder)),
            ("Checksum of the catalogue", code(one.checksum or DASH)),
            ("Words", f"{one.words:,}"),
            *((f"Version of {name}", version) for name, version in one.versions.items()),
            *(
                (_words(name), code(cut(json.dumps(value, default=str), 400)))
                for name, value in one.settings.items()
            ),
        ]
        yield details(at, one.label, definitions(listed), is_open=len(trainings) == 1)


def _formatted(name: str, value: float) -> str:
    if name.endswith(("accuracy", "success")):
        return f"{100 * value:.1f} %"
    return f"{value:,.1f}" if name.endswith("score") else f"{value:,.6g}"


def _words(name: str) -> str:
    return cut(name.replace("_", " "), 60)
