"""The report as one HTML page that needs nothing else: no other file, no network.

All of it can be read without scripts. The one script that is there shows pages in frames.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TextIO

from errands import __version__
from errands.markup import EMPTY, Markup, html, join
from errands.reports.content import DOMAINS, Report, Run
from errands.reports.formatting import count, duration
from errands.reports.html import sections
from errands.reports.html import training_sections as curve_sections
from errands.reports.html.elements import badge, cut
from errands.reports.html.frames import StyleSheets, policy, script
from errands.reports.html.plots import COLOURS
from errands.reports.html.replay import (
    MOST_STEPS,
    Watch,
    instruction_of,
    outcome,
    packed_block,
    replay,
    views,
)
from errands.reports.statistics.training import Training
from errands.reports.tables import answers_table, usage_table
from errands.runs.episode import Episode, RunInfo
from errands.runs.failures import FAILURES, failure_of
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

_Section = tuple[str, str, Iterable[Markup] | None]
"""Its anchor, its title, and what stands in it."""


@cache
def style_sheet() -> Markup:
    """The style sheet, with a rule for each page that an episode can show."""
    source = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    pages = "".join(
        f".v{n}:checked~.p{n}{',' if n < MOST_STEPS else '{display:block}'}"
        for n in range(MOST_STEPS + 1)
    )
    causes = ",".join(
        f".f-x{n}:checked~.episode:not(.x{n})" for n in range(max(map(len, FAILURES.values())))
    )
    return Markup(f"{source}\n{pages}\n{causes}{{display:none}}\n")  # noqa: S704 (our own file)


def _document(title: str, body: Iterable[Markup]) -> Iterator[Markup]:
    yield html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="{}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        "<title>{} - Errands report</title>\n"
        '<link rel="icon" href="data:,">\n<style>\n{}</style>\n</head>\n<body>\n',
        policy(),
        title,
        style_sheet(),
    )
    yield from body
    yield html("\n<script>{}</script>\n</body>\n</html>\n", script())


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
) -> Iterator[Markup]:
    runs = list(enumerate(report.runs))
    shop = [(at, run) for at, run in runs if run.info.domain == "shop"]
    forms = [(at, run) for at, run in runs if run.figures.turk is not None]
    colours = {run.label: at for at, run in runs}
    for group in report.seeds:
        colours[group.label] = colours[group.runs[0]]
    repeated = report.seeds or any(run.figures.repeats for run in report.runs)
    lost = any(run.figures.causes for run in report.runs)
    failed = any(run.figures.failures for run in report.runs)
    asked = any(run.figures.answers for run in report.runs)
    trainings = [(at, run.training) for at, run in runs if run.training is not None]
    sheets = StyleSheets()
    room = min(each * _listed(report), most)
    parts: list[_Section] = [
        ("overview", "Overview", [_remarks(report), *sections.headlines(runs)]),
        ("repeats", "Seeds and repeats", sections.grouped(report) if repeated else None),
        ("causes", "What cost points", sections.causes(runs) if lost else None),
        ("shop", "WebShop", sections.shop(report, shop) if shop else None),
        ("turk", "TurkingBench", sections.turk(report, forms) if forms else None),
        ("training", "Training", _trained(trainings) if trainings else None),
        (
            "comparisons",
            "Comparisons",
            sections.comparisons(report.comparisons, colours) if report.comparisons else None,
        ),
        (
            "answers",
            "Model answers",
            [sections.table(answers_table(report.runs))] if asked else None,
        ),
        ("cost", "Cost and time", [sections.table(usage_table(report.runs))]),
        ("errors", "Errors", sections.errors(runs) if failed else None),
        ("episodes", "Episodes", _episodes(runs, stores, watch, room, sheets)),
        ("runs", "Runs", sections.repeating(runs)),
    ]
    yield _top(report)
    yield from _main(parts)
    yield html(
        "<footer><h2>How the figures are made</h2><ul>{}</ul>{}</footer>",
        join(html("<li>{}", note) for note in report.notes),
        _maker(report.errands),
    )
    yield _packed_sheets(sheets)


def _main(parts: Sequence[_Section]) -> Iterator[Markup]:
    """The sections of a page, those without content left out, below links to them."""
    shown = [(ident, title, content) for ident, title, content in parts if content is not None]
    yield html(
        '<nav class="jump" aria-label="Sections"><div class="inner">{}</div></nav>',
        join(html('<a href="#{}">{}</a>', ident, title) for ident, title, _ in shown),
    )
    yield html("<main>")
    for ident, title, content in shown:
        yield html('<section id="{}"><h2>{}</h2>', ident, title)
        yield from content
        yield html("</section>")
    yield html("</main>")


def _maker(version: str) -> Markup:
    return html("<p>Made by errands {}. This page is one file and loads nothing.</p>", version)


def _trained(trainings: Sequence[tuple[int, Training]]) -> Iterator[Markup]:
    """How the models that played were trained."""
    yield html(
        '<p class="note">The curves of the checkpoints that these runs played with; `errands train'
        " report` shows more of them.</p>"
    )
    yield curve_sections.notes(trainings)
    yield from curve_sections.drawn(trainings)


def _listed(report: Report) -> int:
    return sum(len(run.listed.numbers) for run in report.runs)


def _top(report: Report) -> Markup:
    domains = {run.info.domain for run in report.runs}
    where = " and ".join(name for domain, name in DOMAINS.items() if domain in domains)
    episodes = sum(run.figures.episodes for run in report.runs)
    summary = f"{count(len(report.runs), 'run')} on {where}, {count(episodes, 'episode')}"
    return _header("report", report.title, html("<p>{}</p>", summary))


def _header(kind: str, title: str, below: Markup) -> Markup:
    return html(
        '<header class="top"><div class="inner"><p class="brand">Errands {}</p>'
        "<h1>{}</h1>{}</div></header>",
        kind,
        title,
        below,
    )


def _remarks(report: Report) -> Markup:
    """Each remark once, with the runs it is about."""
    about: dict[str, list[str]] = {}
    for run in report.runs:
        for remark in run.remarks:
            about.setdefault(remark, []).append(run.label)
    return sections.callout(
        "To know first",
        (html("<b>{}:</b> {}", ", ".join(labels), remark) for remark, labels in about.items()),
    )


def _episodes(
    runs: Sequence[tuple[int, Run]],
    stores: Sequence[Store],
    watch: Watch | None,
    left: float,
    sheets: StyleSheets,
) -> Iterator[Markup]:
    yield html(
        '<p class="note">Open an episode and walk through it: click “next”, or choose a number and'
        " use the arrow keys.</p>"
    )
    waiting = sum(len(run.listed.numbers) for _, run in runs)
    for (at, run), store in zip(runs, stores, strict=True):
        yield html(
            '<details class="run e{}"{}><summary>{} <small>{}</small></summary>'
            '<div class="list">{}',
            at % COLOURS,
            html(" open") if at == 0 else EMPTY,
            sections.named(run),
            run.listed.rule,
            _filters(at, run),
        )
        for episode in store.episodes(run.listed.numbers):
            # What one episode does not use is left to those after it.
            made, used = _episode(at, run, episode, watch, left / max(waiting, 1), sheets)
            left -= used
            waiting -= 1
            yield made
        if not run.listed.numbers:
            yield html('<p class="note">There are no episodes.</p>')
        yield html("</div></details>")


def _filters(at: int, run: Run) -> Markup:
    """Buttons that show only episodes that ended in one way, or that one cause cost something."""
    causes = {
        sections.cause_class(run.info.domain, cause.name): cause.name
        for cause in run.figures.causes
    }
    return join(
        html(
            '<input type="radio" class="filter f-{name}" name="f{at}" id="f{at}-{name}"{}>'
            '<label for="f{at}-{name}">{}</label>',
            html(" checked") if name == "all" else EMPTY,
            title,
            name=name,
            at=at,
        )
        for name, title in {"all": "all", **_OUTCOMES, **causes}.items()
    )


def _episode(
    at: int, run: Run, episode: Episode, watch: Watch | None, allowance: float, sheets: StyleSheets
) -> tuple[Markup, int]:
    summary = episode.summary
    shown = views(run.info, episode, watch)
    name = f"e{at}-{summary.number}"
    command = f"errands report {run.info.id} --episode {summary.number}"
    steps, used = replay(
        episode, shown, name=name, sheets=sheets, allowance=allowance, command=command
    )
    kind = outcome(summary)
    cause = failure_of(run.info.domain, summary.reward, summary.parts)
    why = run.listed.kinds.get(summary.number, "")
    markup = html(
        '<details class="episode {} {}" id="{}"><summary>{}<span class="what"><b>{}</b> {}</span>{}'
        '{}<small>{}, {}</small></summary><p class="note">{}</p>{}</details>',
        kind,
        sections.cause_class(run.info.domain, cause),
        name,
        badge("failed" if summary.reward is None else f"{summary.reward:.2f}", kind),
        summary.number,
        cut(instruction_of(shown[0]) or summary.key, 160),
        badge(why) if why in ("best", "worst") else EMPTY,
        badge(cause, "cause") if cause else EMPTY,
        count(summary.steps, "step"),
        duration(summary.seconds),
        summary.key,
        steps,
    )
    return markup, used


def single_page(
    info: RunInfo, command: str, episode: Episode, watch: Watch | None = None
) -> Markup:
    """One episode alone, with all its pages."""
    summary = episode.summary
    shown = views(info, episode, watch)
    sheets = StyleSheets()
    steps, _ = replay(episode, shown, name="e", sheets=sheets)
    title = f"Episode {summary.number} of {info.agent}"
    instruction = instruction_of(shown[0])
    below = html("<p>{}, {}</p>", summary.key, info.protocol_key)
    if instruction:
        below += html("<p>{}</p>", instruction)
    body = html(
        '{}<main><section id="episodes"><h2>Step by step</h2>'
        '<div class="card"><div class="episode alone">{}</div></div></section>'
        '<section id="runs"><h2>The run</h2><div class="card facts-of">{}</div></section></main>',
        _header("episode", title, below),
        steps,
        sections.run_facts(info, command),
    )
    return join(_document(title, [body, _packed_sheets(sheets)]))


def training_page(trainings: Sequence[Training], title: str = "") -> Markup:
    """How trainings went, on a page of its own."""
    coloured = list(enumerate(trainings))
    title = title or f"Training of {', '.join(one.label for one in trainings)}"
    top = _header("training", cut(title, 200), html("<p>{}</p>", count(len(coloured), "training")))
    parts: list[_Section] = [
        ("overview", "Overview", [curve_sections.notes(coloured), curve_sections.cards(coloured)]),
        ("curves", "Curves", curve_sections.drawn(coloured)),
        ("time", "Time", [curve_sections.times(coloured)]),
        ("settings", "Settings", curve_sections.facts(coloured)),
    ]
    footer = html("<footer>{}</footer>", _maker(__version__))
    return join(_document(title, [top, *_main(parts), footer]))


def _packed_sheets(sheets: StyleSheets) -> Markup:
    return packed_block(sheets.block(), html('id="sheets"'))
