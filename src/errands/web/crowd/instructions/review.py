"""The desk for written instructions: the admin's pages and calls, and the workers' beside them."""

from typing import Annotated, Any, Final, Literal

import msgspec
from starlette.responses import Response

from errands.crowd.accounts.qualifications import Qualification
from errands.crowd.instructions.assignments import (
    STATUSES,
    Status,
    WritingAssignment,
    WritingAssignments,
)
from errands.crowd.instructions.collection import WritingSettings, checked_settings, write_settings
from errands.crowd.instructions.human_file import WritingSummary, human_file, summary
from errands.crowd.instructions.writing_lists import (
    Writer,
    WritingAssignmentPage,
    listed,
    waiting,
    writers,
)
from errands.errors import SettingError
from errands.web.core.application import Route
from errands.web.core.http_errors import HttpError
from errands.web.crowd.accounts import page
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.instructions.review_pages import DESK, FILE, one_body, overview_body
from errands.web.crowd.instructions.writing import (
    RECORDS,
    Handler,
    WritingPages,
    explained,
    work_paths,
)
from errands.web.crowd.openapi import operation, paths
from errands.web.crowd.site import CrowdSite, RouteGroup

__all__ = ["instruction_routes"]

API: Final = "/v1/office/instructions"
LONGEST_NOTE: Final = 2_000
_QUEUE: Final = 20
"""Writings to review on one page."""
Note = Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)]


class InstructionVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether an instruction is taken."""

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
_COLLECTING: Final = msgspec.json.Decoder(WritingSettings)


def instruction_routes(site: CrowdSite) -> RouteGroup:
    """Collecting instructions, for the admin and for workers."""
    writings = WritingAssignments(site.database)
    admin, work = _ReviewPages(site, writings), WritingPages(site, writings)
    return RouteGroup([*admin.routes(), *work.routes()], _paths, work.offers)


class _ReviewPages:
    def __init__(self, site: CrowdSite, writings: WritingAssignments) -> None:
        self._site = site
        self._database = site.database
        self._writings = writings

    def routes(self) -> list[Route]:
        at = self._site.auth

        def shown(path: str, work: Handler, method: str) -> Route:
            return Route(path, at.page(explained(work), "admin"), methods=[method])

        def api(path: str, work: Handler, method: str) -> Route:
            return Route(path, at.api(explained(work), "admin"), methods=[method])

        return [
            shown(DESK, self.overview, "GET"),
            shown(FILE, self.file, "GET"),
            shown(f"{DESK}/settings", self.settings, "POST"),
            shown(f"{DESK}/people/{{id:int}}", self.decide, "POST"),
            shown(f"{DESK}/{{id:int}}", self.one, "GET"),
            shown(f"{DESK}/{{id:int}}/review", self.review, "POST"),
            api(API, self.api_overview, "GET"),
            api(f"{API}/file", self.file, "GET"),
            api(f"{API}/settings", self.api_settings, "GET"),
            api(f"{API}/settings", self.api_set, "PUT"),
            api(f"{API}/people", self.api_people, "GET"),
            api(f"{API}/people/{{id:int}}", self.api_decide, "POST"),
            api(f"{API}/{{id:int}}", self.api_one, "GET"),
            api(f"{API}/{{id:int}}/review", self.api_review, "POST"),
        ]

    async def overview(self, request: CrowdRequest) -> Response:
        body = overview_body(
            request.check,
            summary(self._database),
            self._writings.settings,
            waiting(self._database, _QUEUE),
            writers(self._database),
            self._listed(request),
            request.http.query_params,
        )
        if self._site.shopping is None:
            said = "This server has no shop, so nobody can write."
            body = f'<div class="callout"><p>{said}</p></div>{body}'
        return page("Instructions", body, request, DESK)

    async def one(self, request: CrowdRequest) -> Response:
        writing = self._one(request.number("id"))
        person = self._site.people.person(writing.person)
        name = "" if person is None else person.name
        body = one_body(request.check, writing, name)
        return page(f"Instruction {writing.id}", body, request, DESK)

    async def settings(self, request: CrowdRequest) -> Response:
        form = request.form
        given = {
            "pay": _number(form.text("pay"), float),
            "wanted": _number(form.text("wanted"), int),
            "trials": _number(form.text("trials"), int),
            "seed": _number(form.text("seed", "0"), int),
            "review": form.text("review") == "1",
        }
        write_settings(self._database, checked_settings(given))
        return redirect(f"{DESK}#settings")

    async def review(self, request: CrowdRequest) -> Response:
        told = _told({"verdict": request.form.text("verdict")}, request, InstructionVerdict)
        self._writings.review(request.number("id"), told.verdict, request.person, told.note)
        return redirect(f"{DESK}#review")

    async def decide(self, request: CrowdRequest) -> Response:
        told = _told({"status": request.form.text("status")}, request, InstructionDecision)
        self._decided(request, told)
        return redirect(f"{DESK}#people")

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
        return json_response(self._writings.settings)

    async def api_set(self, request: CrowdRequest) -> Response:
        write_settings(self._database, request.read(_COLLECTING))
        return json_response(self._writings.settings)

    async def api_people(self, request: CrowdRequest) -> Response:
        return json_response(InstructionWriters(writers(self._database)))

    async def api_decide(self, request: CrowdRequest) -> Response:
        return json_response(self._decided(request, request.read(_DECISION)))

    async def api_one(self, request: CrowdRequest) -> Response:
        return json_response(self._one(request.number("id")))

    async def api_review(self, request: CrowdRequest) -> Response:
        told = request.read(_VERDICT)
        id = request.number("id")
        return json_response(self._writings.review(id, told.verdict, request.person, told.note))

    def _decided(self, request: CrowdRequest, told: InstructionDecision) -> Qualification:
        person = self._site.people.person(request.number("id"))
        if person is None or person.role != "worker":
            raise HttpError(404, "not_found", "There is no such worker.")
        return self._writings.decide(person.id, told.status, request.person, told.note)

    def _one(self, id: int) -> WritingAssignment:
        found = self._writings.any(id)
        if found is None:
            raise HttpError(404, "not_found", "There is no such instruction.")
        return found

    def _listed(self, request: CrowdRequest) -> WritingAssignmentPage:
        given = request.http.query_params
        status: Status | None = None
        if given.get("status"):
            status = next((one for one in STATUSES if one == given["status"]), None)
            if status is None:
                raise SettingError(f"There is no such status; expected {', '.join(STATUSES)}.")
        worker = _number(given["worker"], int) if given.get("worker") else None
        at = _number(given["page"], int) if given.get("page") else 1
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


def _told(given: dict[str, str], request: CrowdRequest, record: Any) -> Any:
    """A form as the record that programs send."""
    try:
        return msgspec.convert({**given, "note": request.form.text("note").strip()}, record)
    except msgspec.ValidationError as failure:
        raise HttpError(400, "bad_request", f"The form is not as expected: {failure}.") from None


def _paths() -> dict[str, Any]:
    text = {"type": "string"}
    query: dict[str, dict[str, Any]] = {
        "worker": {"type": "integer", "minimum": 1},
        "status": {"type": "string", "enum": list(STATUSES)},
        "page": {"type": "integer", "minimum": 1},
    }
    settings = {"pay": text, "wanted": text, "trials": text, "seed": text, "review": text}
    said = {
        DESK: {"get": operation("Written instructions", media="text/html", query=query)},
        FILE: {"get": operation("The accepted ones as items_human_ins.json")},
        f"{DESK}/settings": {"post": operation("Set", form=settings, status="303")},
        f"{DESK}/people/{{id}}": {
            "post": operation("Qualify", form={"status": text, "note": text}, status="303")
        },
        f"{DESK}/{{id}}": {"get": operation("One instruction", media="text/html")},
        f"{DESK}/{{id}}/review": {
            "post": operation("Review", form={"verdict": text, "note": text}, status="303")
        },
        API: {"get": operation("Figures and a list", answer=InstructionsOverview, query=query)},
        f"{API}/file": {"get": operation("The accepted ones as items_human_ins.json")},
        f"{API}/settings": {
            "get": operation("How instructions are collected", answer=WritingSettings),
            "put": operation("Set that", body=WritingSettings, answer=WritingSettings),
        },
        f"{API}/people": {"get": operation("Who writes", answer=InstructionWriters)},
        f"{API}/people/{{id}}": {
            "post": operation("Qualify", body=InstructionDecision, answer=Qualification)
        },
        f"{API}/{{id}}": {"get": operation("One instruction", answer=WritingAssignment)},
        f"{API}/{{id}}/review": {
            "post": operation("Accept or refuse", body=InstructionVerdict, answer=WritingAssignment)
        },
        **work_paths(),
    }
    records = [
        *(InstructionVerdict, InstructionDecision, InstructionsOverview, InstructionWriters),
        *(WritingSettings, Qualification, WritingAssignment, *RECORDS),
    ]
    return paths(said, records)
