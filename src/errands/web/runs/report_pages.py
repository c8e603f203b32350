"""Pages with the figures of whole reports: of one run, and of several beside each other."""

from collections.abc import Sequence
from urllib.parse import urlencode

from errands.reports.content import Report
from errands.reports.html import sections
from errands.reports.html.markup import esc
from errands.web.runs.document import document, title_of
from errands.web.runs.library import RunEntry

__all__ = ["compare_page", "report_page"]


def report_page(held: RunEntry, report: Report) -> bytes:
    """All figures of one run, as its report shows them."""
    runs = list(enumerate(report.runs))
    info = held.info
    parts = [("Overview", [*sections.headlines(runs)])]
    if info.domain == "shop":
        parts.append(("WebShop", [*sections.shop(report, runs)]))
    else:
        parts.append(("TurkingBench", [*sections.turk(report, runs)]))
    parts.append(("Cost and time", [sections.usage(runs)]))
    errors = [*sections.errors(runs)]
    if errors:
        parts.append(("Errors", errors))
    body = "".join(f"<section><h2>{name}</h2>{''.join(held_)}</section>" for name, held_ in parts)
    crumbs = [("/runs", "Runs"), (f"/runs/{held.id}", title_of(info))]
    return document(f"Figures of {title_of(info)}", body + _notes(report), crumbs=crumbs)


def _notes(report: Report) -> str:
    notes = "".join(f"<li>{esc(note)}" for note in report.notes)
    return (
        '<section><h2>How the figures are made</h2><div class="callout">'
        f"<ul>{notes}</ul></div></section>"
    )


def compare_page(held: Sequence[RunEntry], report: Report) -> bytes:
    """Runs beside each other, over the episodes that both have played."""
    runs = list(enumerate(report.runs))
    colours = {run.label: at for at, run in runs}
    links = "".join(
        f'<li><a href="/runs/{one.id}">{esc(run.label)}</a> <small>{esc(one.name)}</small>'
        for one, run in zip(held, report.runs, strict=True)
    )
    told = "".join(sections.comparisons(report.comparisons, colours))
    if any("different protocols" in one.refused for one in report.comparisons):
        query = urlencode([("run", one.id) for one in held] + [("anyway", "1")])
        told += f'<p><a href="/runs/compare?{esc(query)}">Compare them all the same</a></p>'
    below = f"<p>{esc(report.title)}</p>"
    body = (
        f'<section><h2>Compared</h2><div class="callout"><ul>{links}</ul></div></section>'
        f"<section><h2>Comparisons</h2>{told}</section>"
        f"<section><h2>Overview</h2>{''.join(sections.headlines(runs))}</section>{_notes(report)}"
    )
    return document("Comparison", body, crumbs=[("/runs", "Runs")], below=below)
