"""Written instructions: the admin's pages and calls."""

from typing import Annotated, Any, Final, Literal

import msgspec
from starlette.responses import Response

from errands.crowd.accounts.accounts import Qualification
from errands.crowd.errors import NotFound
from errands.crowd.instructions.assignments import (
    STATUSES,
    Status,
    Writer,
    WritingAssignment,
    WritingAssignmentPage,
    WritingAssignments,
    WritingSettings,
    checked_settings,
    listed,
    waiting,
    write_settings,
    writers,
)
from errands.crowd.instructions.human_file import WritingSummary, human_file, summary
from errands.errors import SettingError
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.document import callout
from errands.web.crowd.instructions.review_pages import FILE, HERE, one_body, overview_body
from errands.web.crowd.routes import Routes
from errands.web.crowd.site import CrowdSite, staff_page

__all__ = ["instruction_routes"]

API: Final = "/v1/office/instructions"
LONGEST_NOTE: Final = 2_000
_QUEUE: Final = 20
"""Instructions to review on one page."""
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


_VERDICT: Final = msgspec.json.Decoder(InstructionVerdict)
_DECISION: Final = msgspec.json.Decoder(InstructionDecision)
_SETTINGS: Final = msgspec.json.Decoder(WritingSettings)


def instruction_routes(site: CrowdSite) -> Routes:
    """Written instructions for the admin."""
    pages = _ReviewPages(site)
    routes = Routes(site.auth, "admin")
    page, call = routes.page, routes.api
    query: dict[str, dict[str, Any]] = {
        "worker": {"type": "integer", "minimum": 1},
        "status": {"type": "string", "enum": list(STATUSES)},
        "page": {"type": "integer", "minimum": 1},
    }
    settings = ["pay", "wanted", "trials", "seed", "review"]
    json, file = "application/json", "The accepted ones as items_human_ins.json"
    page("GET", HERE, pages.overview, "Written instructions", query=query)
    page("GET", FILE, pages.file, file, media=json)
    page("POST", f"{HERE}/settings", pages.settings, "Save settings", form=settings)
    page(
        "POST",
        f"{HERE}/people/{{id:int}}",
        pages.decide,
        "Qualify or disqualify",
        form=["status", "note"],
    )
    page("GET", f"{HERE}/{{id:int}}", pages.one, "One instruction")
    page(
        "POST",
        f"{HERE}/{{id:int}}/review",
        pages.review,
        "Approve or reject",
        form=["verdict", "note"],
    )
    call(
        "GET",
        API,
        pages.api_overview,
        "Figures and a list",
        answer=InstructionsOverview,
        query=query,
    )
    call("GET", f"{API}/file", pages.file, file)
    call("GET", f"{API}/settings", pages.api_settings, "The settings", answer=WritingSettings)
    call(
        "PUT",
        f"{API}/settings",
        pages.api_set,
        "Save settings",
        body=WritingSettings,
        answer=WritingSettings,
    )
    call("GET", f"{API}/people", pages.api_people, "Writers", answer=InstructionWriters)
    call(
        "POST",
        f"{API}/people/{{id:int}}",
        pages.api_decide,
        "Qualify or disqualify",
        body=InstructionDecision,
        answer=Qualification,
    )
    call("GET", f"{API}/{{id:int}}", pages.api_one, "One instruction", answer=WritingAssignment)
    call(
        "POST",
        f"{API}/{{id:int}}/review",
        pages.api_review,
        "Approve or reject",
        body=InstructionVerdict,
        answer=WritingAssignment,
    )
    return routes


class _ReviewPages:
    def __init__(self, site: CrowdSite) -> None:
        self._site = site
        self._database = site.database
        self._assignments = WritingAssignments(site.database)

    async def overview(self, request: CrowdRequest) -> Response:
        body = overview_body(
            request.check,
            summary(self._database),
            self._assignments.settings,
            waiting(self._database, _QUEUE),
            writers(self._database),
            self._listed(request),
            request.http.query_params,
        )
        if self._site.shopping is None:
            body = callout("This server has no shop, so nobody can write.") + body
        return staff_page("Instructions", body, request, HERE)

    async def one(self, request: CrowdRequest) -> Response:
        assignment = self._one(request.number("id"))
        person = self._site.accounts.person(assignment.person)
        name = "" if person is None else person.name
        body = one_body(request.check, assignment, name)
        return staff_page(f"Instruction {assignment.id}", body, request, HERE)

    async def settings(self, request: CrowdRequest) -> Response:
        form = request.form
        values = {
            "pay": _number(form.text("pay"), float),
            "wanted": _number(form.text("wanted"), int),
            "trials": _number(form.text("trials"), int),
            "seed": _number(form.text("seed", "0"), int),
            "review": form.text("review") == "1",
        }
        write_settings(self._database, checked_settings(values))
        return redirect(f"{HERE}#settings")

    async def review(self, request: CrowdRequest) -> Response:
        record = _record({"verdict": request.form.text("verdict")}, request, InstructionVerdict)
        self._assignments.review(request.number("id"), record.verdict, request.person, record.note)
        return redirect(f"{HERE}#review")

    async def decide(self, request: CrowdRequest) -> Response:
        record = _record({"status": request.form.text("status")}, request, InstructionDecision)
        self._decide(request, record)
        return redirect(f"{HERE}#people")

    async def file(self, request: CrowdRequest) -> Response:
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": 'attachment; filename="items_human_ins.json"',
            "X-Content-Type-Options": "nosniff",
        }
        content = human_file(self._database)
        return Response(content, headers=headers, media_type="application/json")

    async def api_overview(self, request: CrowdRequest) -> Response:
        return json_response(InstructionsOverview(summary(self._database), self._listed(request)))

    async def api_settings(self, request: CrowdRequest) -> Response:
        return json_response(self._assignments.settings)

    async def api_set(self, request: CrowdRequest) -> Response:
        write_settings(self._database, request.read(_SETTINGS))
        return json_response(self._assignments.settings)

    async def api_people(self, request: CrowdRequest) -> Response:
        return json_response(InstructionWriters(writers(self._database)))

    async def api_decide(self, request: CrowdRequest) -> Response:
        return json_response(self._decide(request, request.read(_DECISION)))

    async def api_one(self, request: CrowdRequest) -> Response:
        return json_response(self._one(request.number("id")))

    async def api_review(self, request: CrowdRequest) -> Response:
        record = request.read(_VERDICT)
        id = request.number("id")
        return json_response(
            self._assignments.review(id, record.verdict, request.person, record.note)
        )

    def _decide(self, request: CrowdRequest, record: InstructionDecision) -> Qualification:
        person = self._site.accounts.person(request.number("id"))
        if person is None or person.role != "worker":
            raise NotFound("There is no such worker.")
        return self._assignments.decide(person.id, record.status, request.person, record.note)

    def _one(self, id: int) -> WritingAssignment:
        assignment = self._assignments.any(id)
        if assignment is None:
            raise NotFound("There is no such instruction.")
        return assignment

    def _listed(self, request: CrowdRequest) -> WritingAssignmentPage:
        query = request.http.query_params
        status: Status | None = None
        if query.get("status"):
            status = next((one for one in STATUSES if one == query["status"]), None)
            if status is None:
                raise SettingError(f"There is no such status; expected {', '.join(STATUSES)}.")
        worker = _number(query["worker"], int) if query.get("worker") else None
        at = _number(query["page"], int) if query.get("page") else 1
        return listed(self._database, person=worker, status=status, page=at)


def _number(text: str, kind: Any) -> Any:
    """A number of a form or an address; none that no database can hold."""
    try:
        number = kind(text)
    except ValueError:
        raise SettingError(f"{text[:40]!r} is not a number.") from None
    if not abs(number) < 2**62:
        raise SettingError("That number is too large.")
    return number


def _record(values: dict[str, str], request: CrowdRequest, record: Any) -> Any:
    """A form as the record that programs send."""
    try:
        return msgspec.convert({**values, "note": request.form.text("note").strip()}, record)
    except msgspec.ValidationError as failure:
        raise HttpError(400, "bad_request", f"The form is not as expected: {failure}.") from None
