"""Written instructions: the admin's pages and calls."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from errands.crowd.accounts.accounts import Qualification
from errands.crowd.errors import NotFound
from errands.crowd.instructions.assignments import (
    STATUSES,
    Status,
    Writer,
    WriterAccount,
    WritingAssignment,
    WritingAssignmentPage,
    WritingAssignments,
    WritingSettings,
    committed,
    listed,
    waiting,
    write_settings,
    writers,
)
from errands.crowd.instructions.human_file import WritingSummary, human_file, summary
from errands.errors import SettingError
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, cut, table
from errands.web.core import elements as ui
from errands.web.core.document import file_headers
from errands.web.core.http_errors import existing
from errands.web.crowd.auth import CrowdRequest, redirect
from errands.web.crowd.instructions.writing import BADGES, product_view, status_badge
from errands.web.crowd.routes import Routes, api, page
from errands.web.crowd.site import CrowdSite, staff_response

__all__ = ["InstructionRoutes"]

HERE: Final = "/office/instructions"
FILE: Final = f"{HERE}/items_human_ins.json"
_WRITERS: Final = {
    "trial": ("doing trials", ""),
    "waiting": ("waits for you", "part"),
    "granted": ("qualified", "won"),
    "refused": ("not qualified", "failed"),
}

API: Final = "/v1/office/instructions"
LONGEST_NOTE: Final = 2_000
_QUEUE: Final = 20
"""Instructions to review on one page."""
_ONE: Final = f"{HERE}/{{id:int}}"
_FILTERS: Final = {
    "worker": {"type": "integer", "minimum": 1},
    "status": {"type": "string", "enum": list(STATUSES)},
    "page": {"type": "integer", "minimum": 1},
}
Note = Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)]


class InstructionVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether an instruction is approved."""

    verdict: Literal["accepted", "refused"]
    note: Note = ""


class InstructionDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether somebody may go on after their trials."""

    status: Literal["granted", "refused"]
    note: Note = ""


class InstructionsOverview(msgspec.Struct, frozen=True):
    """Figures, and one page of the list."""

    summary: WritingSummary
    list: WritingAssignmentPage


class InstructionWriters(msgspec.Struct, frozen=True):
    """Everybody who has begun to write."""

    writers: list[Writer]


class InstructionRoutes(Routes):
    """Written instructions for the admin."""

    roles = ("admin",)

    def __init__(self, site: CrowdSite) -> None:
        super().__init__(site.auth)
        self._site = site
        self._database = site.database
        self._assignments = WritingAssignments(site.database)

    @page("GET", HERE, "Written instructions", query=_FILTERS)
    async def overview(self, request: CrowdRequest) -> Response:
        body = _overview_body(
            request.check,
            summary(self._database),
            self._assignments.settings,
            waiting(self._database, _QUEUE),
            writers(self._database),
            self._listed(request),
            request.http.query_params,
            committed(self._database),
        )
        if self._site.shopping is None:
            body = ui.callout("This server has no shop, so nobody can write.") + body
        return staff_response("Instructions", body, request, HERE)

    @page("GET", _ONE, "One instruction")
    async def one(self, request: CrowdRequest) -> Response:
        assignment = self._one(request.number("id"))
        person = self._site.accounts.person(assignment.person)
        name = "" if person is None else person.name
        body = _one_body(request.check, assignment, name)
        return staff_response(f"Instruction {assignment.id}", body, request, HERE)

    @page("POST", f"{HERE}/settings", "Save settings", form=WritingSettings.__struct_fields__)
    async def settings(self, request: CrowdRequest) -> Response:
        write_settings(self._database, request.form_record(WritingSettings))
        return redirect(f"{HERE}#settings")

    @page("POST", f"{_ONE}/review", "Approve or reject", form=["verdict", "note"])
    async def review(self, request: CrowdRequest) -> Response:
        sent = request.form_record(InstructionVerdict)
        self._assignments.review(request.number("id"), sent.verdict, request.person, sent.note)
        return redirect(f"{HERE}#review")

    @page("POST", f"{HERE}/people/{{id:int}}", "Qualify or disqualify", form=["status", "note"])
    async def decide(self, request: CrowdRequest) -> Response:
        self._decide(request, request.form_record(InstructionDecision))
        return redirect(f"{HERE}#people")

    @page("GET", FILE, "The accepted ones as items_human_ins.json", media="application/json")
    @api("GET", f"{API}/file", "The accepted ones as items_human_ins.json")
    async def file(self, request: CrowdRequest) -> Response:
        headers = file_headers("items_human_ins.json")
        content = human_file(self._database)
        return Response(content, headers=headers, media_type="application/json")

    @api("GET", API, "Figures and a list", query=_FILTERS)
    async def api_overview(self, request: CrowdRequest) -> InstructionsOverview:
        return InstructionsOverview(summary(self._database), self._listed(request))

    @api("GET", f"{API}/settings", "The settings")
    async def api_settings(self, request: CrowdRequest) -> WritingSettings:
        return self._assignments.settings

    @api("PUT", f"{API}/settings", "Save settings")
    async def api_set(self, request: CrowdRequest, settings: WritingSettings) -> WritingSettings:
        write_settings(self._database, settings)
        return self._assignments.settings

    @api("GET", f"{API}/people", "Writers")
    async def api_people(self, request: CrowdRequest) -> InstructionWriters:
        return InstructionWriters(writers(self._database))

    @api("POST", f"{API}/people/{{id:int}}", "Qualify or disqualify")
    async def api_decide(
        self, request: CrowdRequest, decision: InstructionDecision
    ) -> Qualification:
        return self._decide(request, decision)

    @api("GET", f"{API}/{{id:int}}", "One instruction")
    async def api_one(self, request: CrowdRequest) -> WritingAssignment:
        return self._one(request.number("id"))

    @api("POST", f"{API}/{{id:int}}/review", "Approve or reject")
    async def api_review(
        self, request: CrowdRequest, sent: InstructionVerdict
    ) -> WritingAssignment:
        return self._assignments.review(
            request.number("id"), sent.verdict, request.person, sent.note
        )

    def _decide(self, request: CrowdRequest, record: InstructionDecision) -> Qualification:
        person = self._site.accounts.person(request.number("id"))
        if person is None or person.role != "worker":
            raise NotFound("There is no such worker.")
        return self._assignments.decide(person.id, record.status, request.person, record.note)

    def _one(self, id: int) -> WritingAssignment:
        return existing(self._assignments.any(id), "There is no such instruction.")

    def _listed(self, request: CrowdRequest) -> WritingAssignmentPage:
        query = request.http.query_params
        status: Status | None = None
        if query.get("status"):
            status = next((one for one in STATUSES if one == query["status"]), None)
            if status is None:
                raise SettingError(f"There is no such status; expected {', '.join(STATUSES)}.")
        worker, at = request.query_number("worker", None), request.query_number("page", 1)
        return listed(self._database, person=worker, status=status, page=at)


def _overview_body(
    check: str,
    summary: WritingSummary,
    settings: WritingSettings,
    queue: Sequence[WritingAssignment],
    people: Sequence[Writer],
    page: WritingAssignmentPage,
    query: Mapping[str, str],
    spent: float,
) -> Markup:
    """The whole page; `query` are the filters of the list, `spent` is promised or earned."""
    names = {writer.person: writer.name for writer in people}
    return ui.fragment(
        _figures(summary),
        _queue(check, queue, names),
        _people(check, people),
        _list(page, names, query),
        _settings(check, settings, spent),
    )


def _one_body(check: str, assignment: WritingAssignment, name: str) -> Markup:
    """One instruction with everything that is known of it."""
    return ui.section(_card(check, assignment, name), html('<p><a href="{}">All</a></p>', HERE))


def _figures(summary: WritingSummary) -> Markup:
    counts = summary.statuses
    rows = [
        ["approved", str(counts.get("accepted", 0))],
        ["waiting for review", str(counts.get("submitted", 0))],
        ["rejected", str(counts.get("refused", 0))],
        ["open", str(counts.get("taken", 0))],
        ["returned", str(counts.get("given_back", 0))],
        ["submitted as trials", str(summary.trials)],
        ["products with an instruction", str(summary.products)],
        ["writers of them", str(summary.writers)],
        ["pay for approved ones", ui.dollars(summary.pay)],
    ]
    return ui.section(
        html('<div class="figures">{}</div>', table(["instructions", "number"], rows)),
        ui.actions(ui.link_button("Download approved ones", FILE, "primary")),
        html(
            '<p class="note">The file is what <code>errands catalog build --human</code> reads.</p>'
        ),
        title="So far",
    )


def _queue(check: str, queue: Sequence[WritingAssignment], names: Mapping[int, str]) -> Markup:
    cards = join(_card(check, one, names.get(one.person, "")) for one in queue)
    return ui.section(
        cards or ui.paragraph("Nothing waits.", "note"), title="To review", id="review"
    )


def _card(check: str, assignment: WritingAssignment, name: str) -> Markup:
    product = assignment.shown
    options = join(
        (
            html(
                "{}: {}",
                option,
                _marked(assignment.options.get(option, "-"), option in assignment.options),
            )
            for option in product.options
        ),
        "; ",
    )
    return html(
        '<article class="card review"><p>{} {} {}, {}</p>{}<p class="wrote">{}</p>'
        "<p><b>Attributes:</b> {}</p><p><b>Options:</b> {}</p>{}{}{}</article>",
        status_badge(assignment.status),
        badge("trial", "insider") if assignment.is_trial else EMPTY,
        name,
        ui.dollars(assignment.pay),
        product_view(product),
        assignment.instruction or html("<i>nothing yet</i>"),
        join((_marked(one, one in assignment.attributes) for one in product.attributes), ", "),
        options or "none",
        _remark("Comment", assignment.comment),
        _remark("Your remark", assignment.note),
        _verdict(check, assignment),
    )


def _remark(label: str, text: str) -> Markup:
    return html("<p><b>{}:</b> {}</p>", label, text) if text else EMPTY


def _marked(text: str, is_used: bool) -> Markup:
    return html("<mark>{}</mark>" if is_used else "{}", text)


def _verdict(check: str, assignment: WritingAssignment) -> Markup:
    if assignment.status in ("taken", "given_back"):
        return EMPTY
    return ui.form(
        f"{HERE}/{assignment.id}/review",
        ui.field(
            "Remark, which the writer sees", "note", assignment.note, id=f"note-{assignment.id}"
        ),
        ui.actions(
            ui.submit("Approve", "primary", name="verdict", value="accepted"),
            ui.submit("Reject", "bad", name="verdict", value="refused"),
        ),
        check=check,
        kind="plain",
    )


def _people(check: str, people: Sequence[Writer]) -> Markup:
    rows = [
        [
            one.name,
            badge(*_WRITERS[one.account.status]),
            _trials(one.account),
            f"{one.account.accepted} approved, {one.account.refused} rejected",
            ui.dollars(one.account.earned),
            _decision(check, one),
        ]
        for one in people
    ]
    head = ["writer", "status", "trials", "instructions", "earned", "decision"]
    shown = table(head, rows) if rows else ui.paragraph("Nobody has begun.", "note")
    return ui.section(shown, title="Writers", id="people", kind="texts")


def _trials(account: WriterAccount) -> str:
    return (
        f"{account.trials_handed_in} of {account.trials_wanted} submitted,"
        f" {account.trials_reviewed} reviewed, {account.trials_accepted} approved"
    )


def _decision(check: str, writer: Writer) -> Markup:
    account, note = writer.account, f"decision-{writer.person}"
    grant = refuse = EMPTY
    if account.status != "granted" and account.may_be_granted:
        # All were good: that is what the button in colour suggests.
        kind = "primary" if account.trials_accepted >= account.trials_wanted else ""
        grant = ui.submit("Qualify", kind, name="status", value="granted")
    if account.status != "refused":
        refuse = ui.submit("Disqualify", "bad", name="status", value="refused")
    return ui.form(
        f"{HERE}/people/{writer.person}",
        html(
            '<label for="{0}">Remark</label><input type="text" id="{0}" name="note" value="{1}">',
            *(note, account.note),
        ),
        grant,
        refuse,
        check=check,
        kind="decision",
    )


def _list(
    page: WritingAssignmentPage, names: Mapping[int, str], query: Mapping[str, str]
) -> Markup:
    rows = [
        [
            html('<a href="{}/{}">{}</a>', HERE, one.id, one.id),
            names.get(one.person, ""),
            status_badge(one.status),
            cut(one.instruction, 160) or "-",
            cut(one.shown.title, 80),
            ui.dollars(one.pay),
        ]
        for one in page.writings
    ]
    head = ["number", "writer", "status", "instruction", "product", "pay"]
    caption = f"{page.total:,} found, page {page.page:,} of {page.pages:,}"
    return ui.section(
        _filter(names, query),
        table(head, rows, caption) if rows else ui.paragraph("Nothing was found.", "note"),
        ui.actions(_turn(page, query, -1, "Newer"), _turn(page, query, 1, "Older")),
        title="All",
        id="all",
        kind="texts",
    )


def _filter(names: Mapping[int, str], query: Mapping[str, str]) -> Markup:
    workers = [("", "all"), *((str(person), name) for person, name in names.items())]
    statuses = [("", "all"), *((status, BADGES[status][0]) for status in STATUSES)]
    return html(
        '<form class="filter" method="get" action="{}#all">{}{}{}</form>',
        HERE,
        ui.select("Writer", "worker", workers, query.get("worker", "")),
        ui.select("Status", "status", statuses, query.get("status", "")),
        ui.submit("Filter"),
    )


def _turn(page: WritingAssignmentPage, query: Mapping[str, str], by: int, label: str) -> Markup:
    if not 1 <= page.page + by <= page.pages:
        return EMPTY
    kept = {name: value for name, value in query.items() if value and name != "page"}
    return ui.link_button(label, f"{HERE}?{urlencode({**kept, 'page': page.page + by})}#all")


def _settings(check: str, settings: WritingSettings, spent: float) -> Markup:
    pay_hint = "What has begun keeps its pay."
    budget_hint = f"For all of them; {ui.dollars(spent)} are promised or earned."
    trials_hint = "2 to 5, before somebody is qualified."
    content = ui.form(
        f"{HERE}/settings",
        ui.checkbox("Workers can begin new ones", "is_open", settings.is_open),
        ui.number("Budget, in dollars", "budget", settings.budget, hint=budget_hint),
        ui.number(
            "Pay for an instruction, in dollars", "pay", settings.pay, max=1000, hint=pay_hint
        ),
        ui.number("Instructions for each product", "wanted", settings.wanted, min=1, max=1000),
        ui.number("Trial examples", "trials", settings.trials, min=2, max=5, hint=trials_hint),
        ui.number("Seed by which products are drawn", "seed", settings.seed),
        ui.checkbox("Review what qualified people write, too", "review", settings.review),
        ui.actions(ui.submit("Save")),
        check=check,
    )
    return ui.section(content, title="Settings", id="settings")
