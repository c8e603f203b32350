"""How trainings went, as cards and plots: on a page of their own, and beside the runs they made."""

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from errands.reports.html import plots
from errands.reports.html.markup import cut, esc, figure, grid
from errands.reports.html.plots import Line, Mark
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.training import Training
from errands.reports.wording import DASH

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
_HOW: Final = {"imitation": "by imitation", "reinforcement": "by reinforcement"}
_KINDS: Final = {"choice": "Choice model", "search": "Search model"}


def cards(trainings: Coloured) -> str:
    """A card for each training: the figure it is known by, and the others."""
    return f'<div class="cards">{"".join(_card(at, one) for at, one in trainings)}</div>'


def _card(at: int, one: Training) -> str:
    known = one.figures
    big, unit = DASH, ""
    if "best_score" in known:
        big, unit = f"{known['best_score']:.1f}", "best score on other goals"
    elif "score" in known:
        big, unit = f"{known['score']:.1f}", "score of the last 100 episodes"
    elif "held_out_accuracy" in known:
        big, unit = f"{100 * known['held_out_accuracy']:.1f}", "% right of what is held out"
    elif "accuracy" in known:
        big, unit = f"{100 * known['accuracy']:.1f}", "% right"
    speed = next(
        (
            f"{curve.last:,.0f} {word} a second"
            for name, word in (("samples_per_second", "samples"), ("steps_per_second", "steps"))
            if (curve := one.curve(name)) is not None
        ),
        DASH,
    )
    held = [
        ("Updates" if one.trained == "imitation" else "Steps", f"{one.step:,}"),
        ("Finished", "yes" if one.is_done else "no"),
        ("Speed at last", speed),
        *((esc(_words(name)), _told(name, value)) for name, value in known.items()),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{told}</dd>" for name, told in held)
    what = f"{_KINDS.get(one.kind, one.kind)} {_HOW.get(one.trained, one.trained)}"
    return (
        f'<article class="card headline e{at % plots.COLOURS}"><h3>{esc(one.label)}</h3>'
        f'<p class="proto">{esc(cut(what, 80))}</p>'
        f'<p class="big"><b>{big}</b> <span>{unit}</span></p><dl>{listed}</dl></article>'
    )


def notes(trainings: Coloured) -> str:
    """What a reader must know of them."""
    listed = "".join(
        f"<li><b>{esc(one.label)}:</b> {esc(remark)}"
        for _, one in trainings
        for remark in one.remarks
    )
    return f'<div class="callout"><h3>To know first</h3><ul>{listed}</ul></div>' if listed else ""


def drawn(trainings: Coloured) -> Iterator[str]:
    """Every curve that a training has; those of the same figure in one picture."""
    there = [(at, one) for at, one in trainings if one.curves]
    if len(there) > 1:
        chips = "".join(
            f'<li><i class="chip b{at % plots.COLOURS}"></i>{esc(one.label)}' for at, one in there
        )
        yield f'<ul class="legend">{chips}</ul>'
    known = {name for plot in _PLOTS for name in (plot.main, plot.checked)}
    more = dict.fromkeys(
        curve.name
        for _, one in there
        for curve in one.curves
        if curve.name not in known and not curve.name.startswith("time_")
    )
    others = [_Plot(_words(name).capitalize(), name) for name in list(more)[:24]]
    yield grid(made for plot in (*_PLOTS, *others) if (made := _picture(plot, there)))


def _picture(plot: _Plot, trainings: Coloured) -> str:
    held = [
        Line(
            f"{one.label}, {_words(name)}",
            at,
            [(step, plot.scale * value) for step, value in curve.points],
            name == plot.checked,
        )
        for at, one in trainings
        for name in (plot.main, plot.checked)
        if name and (curve := one.curve(name)) is not None
    ]
    if not held:
        return ""
    ways = {one.trained for _, one in trainings if one.curve(plot.main) is not None}
    drawing = plots.curves(
        plot.title,
        held,
        x_title="updates" if ways == {"imitation"} else "steps",
        y_title=plot.unit,
    )
    is_checked = any(line.is_checked for line in held)
    note = plot.note if is_checked else plot.note.partition("dashed")[0].rstrip("; ")
    return figure(drawing, esc(plot.title), note)


def times(trainings: Coloured) -> str:
    """Where the time of each went."""
    return grid(
        figure(
            plots.bars(
                f"Time of {one.label}",
                [
                    Mark(name, at, Estimate(100 * share, None, None, 1))
                    for name, share in shares.items()
                ],
            ),
            f"Where the time went: {esc(one.label)}",
            "in % of what was measured since it was begun, or last resumed",
        )
        for at, one in trainings
        if (shares := one.shares())
    )


def facts(trainings: Coloured) -> Iterator[str]:
    """Settings and versions."""
    for at, one in trainings:
        held = [
            ("Checkpoint", f"<code>{esc(one.folder)}</code>"),
            ("Checksum of the catalogue", f"<code>{esc(one.checksum or DASH)}</code>"),
            ("Words", f"{one.words:,}"),
            *((f"Version of {esc(name)}", esc(told)) for name, told in one.versions.items()),
            *(
                (esc(_words(name)), f"<code>{esc(cut(json.dumps(told, default=str), 400))}</code>")
                for name, told in one.settings.items()
            ),
        ]
        listed = "".join(f"<dt>{name}</dt><dd>{told}</dd>" for name, told in held)
        yield (
            f'<details class="run e{at % plots.COLOURS}"{" open" if len(trainings) == 1 else ""}>'
            f"<summary>{esc(one.label)}</summary><dl>{listed}</dl></details>"
        )


def _told(name: str, value: float) -> str:
    if name.endswith(("accuracy", "success")):
        return f"{100 * value:.1f} %"
    return f"{value:,.1f}" if name.endswith("score") else f"{value:,.6g}"


def _words(name: str) -> str:
    return cut(name.replace("_", " "), 60)
