"""Markup of a project's results: filters, a table of answers, approve and reject."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from errands.crowd.hits.assignments import Assignment
from errands.crowd.hits.projects import Project
from errands.crowd.hits.reviews import STATUSES, ResultPage
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, cut, table
from errands.web.core import elements as ui
from errands.web.crowd.hits.project_pages import PROJECTS
from errands.web.crowd.hits.tasks import VERDICTS

__all__ = ["FILTERS", "results_body"]

FILTERS: Final = ("worker", "status", "item", "text")
"""Names of what results are chosen by, in addresses and forms."""
_LONGEST: Final = 400
"""Characters of an answer; files have all of them."""


def results_body(
    project: Project,
    page: ResultPage,
    workers: Sequence[str],
    names: Mapping[int, str],
    query: Mapping[str, str],
    check: str,
) -> Markup:
    """One page of results; `query` are the filters, `names` those of accounts."""
    here = f"{PROJECTS}/{project.id}/results"
    chosen = {name: query[name] for name in FILTERS if query.get(name)}
    address = urlencode(chosen)
    rows = [
        _row(one, names, here, {**chosen, "page": str(page.page)}, check) for one in page.results
    ]
    head = ["instance", "worker", "submitted", "status", "answers", "decision"]
    caption = f"{page.total:,} found, page {page.page:,} of {page.pages:,}"
    waiting = any(one.status == "submitted" and not one.verdict for one in page.results)
    return ui.fragment(
        ui.section(
            html('<p><a href="{}/{}">Back to the project</a></p>', PROJECTS, project.id),
            _filter(here, workers, names, query),
            ui.actions(
                ui.link_button("Download these (CSV)", f"{here}.csv?{address}"),
                ui.button(
                    *("Approve all of these that wait", f"{here}/approve", check),
                    fields=list(chosen.items()),
                )
                if waiting
                else EMPTY,
            ),
            html('<div class="results texts">{}</div>', table(head, rows, caption))
            if rows
            else ui.paragraph("Nothing was found.", "note"),
            ui.actions(*(_turn(here, page, chosen, by, label) for by, label in _TURNS)),
        ),
    )


_TURNS: Final = ((-1, "Previous page"), (1, "Next page"))


def _filter(
    here: str, workers: Sequence[str], names: Mapping[int, str], query: Mapping[str, str]
) -> Markup:
    people = [("", "all"), *((worker, _who(worker, names)) for worker in workers)]
    statuses = [("", "all"), *((one, _label(one)) for one in STATUSES)]
    item = query.get("item", "")
    return html(
        '<form class="filter" method="get" action="{}">{}{}{}{}{}</form>',
        here,
        ui.select("Worker", "worker", people, query.get("worker", "")),
        ui.select("Status", "status", statuses, query.get("status", "")),
        ui.field("Instance", "item", item, type="number", min=1),
        ui.field("Text in the answers", "text", query.get("text", "")),
        ui.submit("Filter"),
    )


def _label(status: str) -> str:
    return VERDICTS["" if status == "submitted" else status][0]


def _who(worker: str, names: Mapping[int, str]) -> str:
    name = names.get(int(worker[1:]), "") if worker[1:].isdecimal() else ""
    return f"{worker} {name}".strip()


def _row(
    one: Assignment,
    names: Mapping[int, str],
    here: str,
    chosen: Mapping[str, str],
    check: str,
) -> list[Markup | str]:
    took = ""
    if one.submitted is not None and one.accepted is not None:
        took = f"{one.submitted - one.accepted:,.0f} s"
    return [
        html('<a href="{}/items/{}">{}</a>', here.removesuffix("/results"), one.item, one.item + 1),
        _who(one.worker, names) if one.person is not None else one.worker,
        html(
            "{}<br><small>{}</small>",
            EMPTY if one.submitted is None else ui.moment(one.submitted),
            took,
        ),
        html(
            "{}{}",
            badge("from a file")
            if one.status == "imported" and not one.verdict
            else badge(*VERDICTS[one.verdict]),
            html("<br><small>{}</small>", one.feedback) if one.feedback else EMPTY,
        ),
        _answers(one),
        _decision(one, here, chosen, check),
    ]


def _answers(one: Assignment) -> Markup:
    given = [(name, text) for name, text in one.answers.items() if text.strip()]
    if not given:
        return html('<span class="note">nothing</span>')
    return html(
        "<dl>{}</dl>",
        join(html("<dt>{}</dt><dd>{}</dd>", name, cut(text, _LONGEST)) for name, text in given),
    )


def _decision(one: Assignment, here: str, chosen: Mapping[str, str], check: str) -> Markup:
    fields = [("assignment", one.mark), *chosen.items()]
    approve = reject = EMPTY
    if one.verdict != "approved":
        approved = [*fields, ("verdict", "approved")]
        approve = ui.button("Approve", here, check, kind="primary", fields=approved)
    if one.verdict != "rejected":
        # A form of its own: the key Enter in the reason must not approve.
        reject = ui.form(
            here,
            html(
                '<label for="{0}">Reason, which the worker reads</label>'
                '<input type="text" id="{0}" name="reason" maxlength="1000" required>',
                f"reason-{one.id}",
            ),
            ui.submit("Reject", "bad"),
            check=check,
            fields=[*fields, ("verdict", "rejected")],
            kind="decision",
        )
        reject = html("<details><summary>Reject</summary>{}</details>", reject)
    return approve + reject


def _turn(here: str, page: ResultPage, chosen: Mapping[str, str], by: int, label: str) -> Markup:
    if not 1 <= page.page + by <= page.pages:
        return EMPTY
    return ui.link_button(label, f"{here}?{urlencode({**chosen, 'page': page.page + by})}")
