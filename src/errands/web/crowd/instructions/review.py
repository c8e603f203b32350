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
from errands.web.core import elements as ui
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, redirect
from errands.web.crowd.instructions.review_pages import FILE, HERE, one_body, overview_body
from errands.web.crowd.routes import Routes, api, page
from errands.web.crowd.site import CrowdSite, staff_response

__all__ = ["InstructionRoutes"]

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
            body = ui.callout("This server has no shop, so nobody can write.") + body
        return staff_response("Instructions", body, request, HERE)

    @page("GET", _ONE, "One instruction")
    async def one(self, request: CrowdRequest) -> Response:
        assignment = self._one(request.number("id"))
        person = self._site.accounts.person(assignment.person)
        name = "" if person is None else person.name
        body = one_body(request.check, assignment, name)
        return staff_response(f"Instruction {assignment.id}", body, request, HERE)

    @page("POST", f"{HERE}/settings", "Save settings", form=WritingSettings.__struct_fields__)
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

    @page("POST", f"{_ONE}/review", "Approve or reject", form=["verdict", "note"])
    async def review(self, request: CrowdRequest) -> Response:
        record = _record({"verdict": request.form.text("verdict")}, request, InstructionVerdict)
        self._assignments.review(request.number("id"), record.verdict, request.person, record.note)
        return redirect(f"{HERE}#review")

    @page("POST", f"{HERE}/people/{{id:int}}", "Qualify or disqualify", form=["status", "note"])
    async def decide(self, request: CrowdRequest) -> Response:
        record = _record({"status": request.form.text("status")}, request, InstructionDecision)
        self._decide(request, record)
        return redirect(f"{HERE}#people")

    @page("GET", FILE, "The accepted ones as items_human_ins.json", media="application/json")
    @api("GET", f"{API}/file", "The accepted ones as items_human_ins.json")
    async def file(self, request: CrowdRequest) -> Response:
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": 'attachment; filename="items_human_ins.json"',
            "X-Content-Type-Options": "nosniff",
        }
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
