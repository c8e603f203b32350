"""The report as one HTML page that needs nothing else: no other file, no network.

All of it can be read without scripts. The one script that is there shows pages in frames.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TextIO

from errands import __version__
from errands.reports.html import sections
from errands.reports.html import training_sections as curve_sections
from errands.reports.html.frames import Shelf, policy, script
from errands.reports.html.markup import badge, cut, esc
from errands.reports.html.plots import COLOURS
from errands.reports.html.replay import (
    MOST_STEPS,
    Watch,
    outcome,
    replay,
    said_instruction,
    views,
)  # fmt: skip
from errands.reports.report import Report, Run
from errands.reports.statistics.training import Training
from errands.reports.wording import count, duration
from errands.runs.episode import Episode, RunInfo
from errands.runs.store.base import Store

__all__ = ["EACH", "MOST", "single_page", "training_page", "write_page"]

EACH: Final = 32_000
"""Characters of pages for each listed episode."""
MOST: Final = 10_000_000
"""And for all of them together."""
_OUTCOMES: Final = {
    "won": "reward 1",
    "part": "between",
    "none": "reward 0",
    "failed": "failed",
}


@cache
def style_sheet() -> str:
    """The style sheet, with a rule for each page that an episode can show."""
    source = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    pages = "".join(
        f".v{n}:checked~.p{n}{',' if n < MOST_STEPS else '{display:block}'}"
        for n in range(MOST_STEPS + 1)
    )
    return f"{source}\n{pages}\n"


def _document(title: str, body: Iterable[str]) -> Iterator[str]:
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{esc(title)} - Errands report</title>\n"
        f'<link rel="icon" href="data:,">\n<style>\n{style_sheet()}</style>\n</head>\n<body>\n'
    )
    yield from body
    yield f"\n<script>{script()}</script>\n</body>\n</html>\n"


def write_page(
    file: TextIO,
    report: Report,
    stores: Sequence[Store],
    *,
    watch: Watch | None = None,
    each: int = EACH,
    most: int = MOST,
) -> None:
    """Write the page, episode by episode, so that it never stands in memory as a whole."""
    for part in _document(report.title, _body(report, stores, watch, each, most)):
        file.write(part)


def _body(
    report: Report, stores: Sequence[Store], watch: Watch | None, each: int, most: int
) -> Iterator[str]:
    runs = list(enumerate(report.runs))
    shop = [(at, run) for at, run in runs if run.info.half == "shop"]
    forms = [(at, run) for at, run in runs if run.info.half == "turk"]
    colours = {run.label: at for at, run in runs}
    failed = any(run.figures.failures for run in report.runs)
    trainings = [(at, run.training) for at, run in runs if run.training is not None]
    there = [
        ("overview", "Overview", True),
        ("shop", "Shop", bool(shop)),
        ("paperwork", "Paperwork", bool(forms)),
        ("training", "Training", bool(trainings)),
        ("comparisons", "Comparisons", bool(report.comparisons)),
        ("cost", "Cost and time", True),
        ("errors", "Errors", failed),
        ("episodes", "Episodes", True),
        ("runs", "Runs", True),
    ]
    yield _top(report, [(ident, title) for ident, title, is_there in there if is_there])
    yield "<main>"
    yield _section("overview", "Overview", [_remarks(report), *sections.headlines(runs)])
    if shop:
        yield _section("shop", "Shop", sections.shop(report, shop))
    if forms:
        yield _section("paperwork", "Paperwork", sections.paperwork(report, forms))
    if trainings:
        yield _section("training", "Training", _trained(trainings))
    if report.comparisons:
        made = sections.comparisons(report.comparisons, colours)
        yield _section("comparisons", "Comparisons", made)
    yield _section("cost", "Cost and time", [sections.usage(runs)])
    if failed:
        yield _section("errors", "Errors", sections.errors(runs))
    shelf = Shelf()
    yield '<section id="episodes"><h2>Episodes</h2>'
    yield (
        '<p class="note">Open an episode and walk through it: click “next”, or choose a number and'
        " use the arrow keys.</p>"
    )
    yield from _episodes(runs, stores, watch, min(each * _listed(report), most), shelf)
    yield "</section>"
    yield _section("runs", "Runs", sections.repeating(runs))
    yield "</main>"
    notes = "".join(f"<li>{esc(note)}" for note in report.notes)
    yield (
        f"<footer><h2>How the figures are made</h2><ul>{notes}</ul><p>Made by errands"
        f" {esc(report.errands)}. This page is one file and loads nothing.</p>"
        "</footer>"
    )
    yield _shelved(shelf)


def _trained(trainings: Sequence[tuple[int, Training]]) -> Iterator[str]:
    """How the models that played were trained."""
    yield (
        '<p class="note">The curves of the checkpoints that these runs played with; `errands train'
        " report` shows more of them.</p>"
    )
    yield curve_sections.notes(trainings)
    yield from curve_sections.drawn(trainings)


def _listed(report: Report) -> int:
    return sum(len(run.listed.numbers) for run in report.runs)


def _top(report: Report, links: Sequence[tuple[str, str]]) -> str:
    halves = {"shop": "the shop", "turk": "paperwork"}
    where = " and ".join(
        name for half, name in halves.items() if any(r.info.half == half for r in report.runs)
    )
    episodes = sum(run.figures.episodes for run in report.runs)
    nav = "".join(f'<a href="#{ident}">{title}</a>' for ident, title in links)
    return (
        '<header class="top"><div class="inner"><p class="brand">Errands report</p>'
        f"<h1>{esc(report.title)}</h1><p>{count(len(report.runs), 'run')} on {where},"
        f" {count(episodes, 'episode')}</p></div></header>"
        f'<nav class="jump" aria-label="Sections"><div class="inner">{nav}</div></nav>'
    )


def _section(ident: str, title: str, parts: Iterable[str]) -> str:
    return f'<section id="{ident}"><h2>{title}</h2>{"".join(parts)}</section>'


def _remarks(report: Report) -> str:
    """Each remark once, with the runs it is about."""
    about: dict[str, list[str]] = {}
    for run in report.runs:
        for remark in run.remarks:
            about.setdefault(remark, []).append(run.label)
    if not about:
        return ""
    listed = "".join(
        f"<li><b>{esc(', '.join(labels))}:</b> {esc(remark)}" for remark, labels in about.items()
    )
    return f'<div class="callout"><h3>To know first</h3><ul>{listed}</ul></div>'


def _episodes(
    runs: Sequence[tuple[int, Run]],
    stores: Sequence[Store],
    watch: Watch | None,
    left: float,
    shelf: Shelf,
) -> Iterator[str]:
    waiting = sum(len(run.listed.numbers) for _, run in runs)
    for (at, run), store in zip(runs, stores, strict=True):
        label = named_filters(at)
        yield (
            f'<details class="run e{at % COLOURS}"{" open" if at == 0 else ""}><summary>'
            f"{sections.named(run)} <small>{esc(run.listed.said)}</small></summary>"
            f'<div class="list">{label}'
        )
        for episode in store.episodes(run.listed.numbers):
            # What one episode does not use is left to those after it.
            made, used = _episode(at, run, episode, watch, left / max(waiting, 1), shelf)
            left -= used
            waiting -= 1
            yield made
        if not run.listed.numbers:
            yield '<p class="note">There are no episodes.</p>'
        yield "</div></details>"


def named_filters(at: int) -> str:
    """Buttons that show only episodes that ended in one way."""
    parts = []
    for name, title in {"all": "all", **_OUTCOMES}.items():
        ident = f"f{at}-{name}"
        chosen = " checked" if name == "all" else ""
        parts.append(
            f'<input type="radio" class="filter f-{name}" name="f{at}" id="{ident}"{chosen}>'
            f'<label for="{ident}">{title}</label>'
        )
    return "".join(parts)


def _episode(
    at: int, run: Run, episode: Episode, watch: Watch | None, allowance: float, shelf: Shelf
) -> tuple[str, int]:
    summary = episode.summary
    shown = views(run.info, episode, watch)
    name = f"e{at}-{summary.number}"
    command = f"errands report {run.info.id} --episode {summary.number}"
    steps, used = replay(
        episode, shown, name=name, shelf=shelf, allowance=allowance, command=command
    )
    kind = outcome(summary)
    told = "failed" if summary.reward is None else f"{summary.reward:.2f}"
    why = run.listed.kinds.get(summary.number, "")
    marks = badge(why) if why and why not in ("drawn", "failed") else ""
    what = said_instruction(shown[0]) or summary.key
    facts = f"{count(summary.steps, 'step')}, {duration(summary.seconds)}"
    return (
        f'<details class="episode {kind}" id="{name}"><summary>{badge(told, kind)}'
        f'<span class="what"><b>{summary.number}</b> {esc(cut(what, 160))}</span>{marks}'
        f'<small>{facts}</small></summary><p class="note">{esc(summary.key)}</p>{steps}</details>',
        used,
    )


def single_page(info: RunInfo, command: str, episode: Episode, watch: Watch | None = None) -> str:
    """One episode alone, with all its pages."""
    summary = episode.summary
    shown = views(info, episode, watch)
    shelf = Shelf()
    steps, _ = replay(episode, shown, name="e", shelf=shelf)
    title = f"Episode {summary.number} of {info.agent}"
    what = said_instruction(shown[0])
    told = f"<p>{esc(what)}</p>" if what else ""
    body = (
        '<header class="top"><div class="inner"><p class="brand">Errands episode</p>'
        f"<h1>{esc(title)}</h1><p>{esc(summary.key)}, {esc(info.protocol_key)}</p>{told}</div>"
        '</header><main><section id="episodes"><h2>Step by step</h2>'
        f'<div class="card"><div class="episode alone">{steps}</div></div></section>'
        f"{_section('runs', 'The run', [_card(sections.run_facts(info, command))])}</main>"
    )
    return "".join(_document(title, [body, _shelved(shelf)]))


def training_page(trainings: Sequence[Training], title: str = "") -> str:
    """How trainings went, on a page of its own."""
    held = list(enumerate(trainings))
    title = title or f"Training of {', '.join(one.label for one in trainings)}"
    links = {"overview": "Overview", "curves": "Curves", "time": "Time", "settings": "Settings"}
    nav = "".join(f'<a href="#{ident}">{name}</a>' for ident, name in links.items())
    parts = {
        "overview": [curve_sections.notes(held), curve_sections.cards(held)],
        "curves": [*curve_sections.drawn(held)],
        "time": [curve_sections.times(held)],
        "settings": [*curve_sections.facts(held)],
    }
    body = (
        '<header class="top"><div class="inner"><p class="brand">Errands training</p>'
        f"<h1>{esc(cut(title, 200))}</h1><p>{count(len(held), 'training')}</p></div></header>"
        f'<nav class="jump" aria-label="Sections"><div class="inner">{nav}</div></nav><main>'
        f"{''.join(_section(ident, links[ident], made) for ident, made in parts.items())}</main>"
        f"<footer><p>Made by errands {esc(__version__)}. This page is one file and loads"
        " nothing.</p></footer>"
    )
    return "".join(_document(title, [body]))


def _shelved(shelf: Shelf) -> str:
    return f'<script type="text/plain" id="shelf">{shelf.block()}</script>'


def _card(held: str) -> str:
    return f'<div class="card facts-of">{held}</div>'
