"""Writing instructions: a worker's pages, and the same for programs."""

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.errors import Conflict, NotAllowed
from errands.crowd.instructions.assignments import (
    WriterAccount,
    WritingAssignment,
    WritingAssignments,
    listed,
)
from errands.crowd.instructions.checks import InstructionDraft, ShownProduct
from errands.markup import EMPTY, Markup, html
from errands.web.core import elements as ui
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.instructions.writing_pages import (
    draft_of_form,
    form_body,
    idle_body,
    stuck_body,
)
from errands.web.crowd.routes import Routes, WorkCard, api, worker_page
from errands.web.crowd.site import CrowdSite, worker_response

__all__ = ["WritingRoutes"]

TITLE: Final = "Writing instructions"
_HOME: Final = "/work/{token}/instructions"
_FORM: Final = ("instruction", "attribute", "option-0", "comment")
API: Final = "/v1/work/instructions"
_API_ONE: Final = f"{API}/{{id:int}}"
_LAST: Final = 10


class InstructionPiece(msgspec.Struct, frozen=True):
    """A product of a worker, and what they wrote."""

    id: int
    asin: str
    shown: ShownProduct = msgspec.field(name="product")
    status: str
    is_trial: bool
    instruction: str
    attributes: tuple[str, ...]
    options: dict[str, str]
    comment: str
    note: str
    pay: float


_NEW_OR_SAME: Final[Any] = {"answer": InstructionPiece, "status": 201, "or_same": True}


class InstructionWork(msgspec.Struct, frozen=True):
    """A worker's account, what they are paid for each, and the product they have begun with."""

    account: WriterAccount
    pay: float
    in_hand: InstructionPiece | None


class WritingRoutes(Routes):
    """Writing assignments for workers."""

    roles = ("worker",)

    def __init__(self, site: CrowdSite) -> None:
        super().__init__(site.auth)
        self._site = site
        self._assignments = WritingAssignments(site.database)
        self._catalog = None if site.shopping is None else site.shopping.catalog

    def cards(self, person: Person, token: str) -> list[WorkCard]:
        """What the worker's own page says."""
        if self._catalog is None:
            return []
        account = self._assignments.account(person.id)
        notes = {
            "waiting": "Your trial examples are being reviewed.",
            "refused": "You have not been qualified for this.",
        }
        note = notes.get(account.status)
        has_open = self._assignments.open_one(person.id) is not None
        return [
            WorkCard(
                TITLE,
                html(
                    "<p>Write what you would ask a shopper for. {} each.</p>{}",
                    ui.dollars(self._assignments.settings.pay),
                    ui.paragraph(note) if note else EMPTY,
                ),
                f"/work/{token}/instructions",
                "Continue" if has_open or not account.may_write else "Start",
                account.accepted + account.refused + account.waiting,
                account.earned,
            )
        ]

    @worker_page("GET", _HOME, "A worker's product and the form")
    async def home(self, request: CrowdRequest) -> Response:
        assignment = self._assignments.open_one(request.person.id)
        account = self._assignments.account(request.person.id)
        if assignment is None or account.status == "refused":
            return self._idle(request, _thanks(request.http))
        pay = self._assignments.settings.pay
        return _page(request, form_body(_home(request), assignment, account, pay))

    @worker_page("POST", _HOME, "Start with a product", form=[], or_page="Nothing is left")
    async def begin(self, request: CrowdRequest) -> Response:
        if self._begun(request.person) is None:
            message = "There is no product left for you now; come back another day."
            return self._idle(request, ui.callout(message, role="status"))
        return redirect(_home(request))

    @worker_page("POST", f"{_HOME}/{{id:int}}", "Submit an instruction", form=_FORM)
    async def submit(self, request: CrowdRequest) -> Response:
        person, id = request.person.id, request.number("id")
        assignment = self._assignments.of(person, id)
        draft = draft_of_form(request.form, assignment.shown)
        try:
            submission = self._assignments.submit(person, id, draft)
        except (Conflict, NotAllowed) as failure:
            body = stuck_body(_home(request), str(failure), draft.instruction)
            return _page(request, body, 409 if isinstance(failure, Conflict) else 403)
        if submission.problems:
            account, pay = self._assignments.account(person), self._assignments.settings.pay
            body = form_body(
                *(_home(request), assignment, account, pay, draft, submission.problems)
            )
            return _page(request, body, 400)
        return redirect(f"{_home(request)}?{'done' if submission.is_new else 'again'}={id}")

    @worker_page("POST", f"{_HOME}/{{id:int}}/give-back", "Return a product", form=[])
    async def return_(self, request: CrowdRequest) -> Response:
        self._assignments.return_(request.person.id, request.number("id"))
        return redirect(_home(request))

    @api("GET", API, "A worker's account")
    async def api_home(self, request: CrowdRequest) -> InstructionWork:
        one = self._assignments.open_one(request.person.id)
        account = self._assignments.account(request.person.id)
        piece = None if one is None else _piece(one)
        return InstructionWork(account, self._assignments.settings.pay, piece)

    @api("POST", f"{API}/next", "The open product, or another", **_NEW_OR_SAME)
    async def api_begin(self, request: CrowdRequest) -> Response:
        before = self._assignments.open_one(request.person.id)
        begun = self._begun(request.person)
        if begun is None:
            raise Conflict("There is no product left for you now.", "nothing_left")
        return json_response(_piece(begun), 200 if before == begun else 201)

    @api("GET", _API_ONE, "One of a worker's own")
    async def api_one(self, request: CrowdRequest) -> InstructionPiece:
        return _piece(self._assignments.of(request.person.id, request.number("id")))

    @api("POST", _API_ONE, "Submit it", **_NEW_OR_SAME)
    async def api_submit(self, request: CrowdRequest, draft: InstructionDraft) -> Response:
        submission = self._assignments.submit(request.person.id, request.number("id"), draft)
        if not submission.problems:
            return json_response(_piece(submission.assignment), 201 if submission.is_new else 200)
        message = " ".join(problem.message for problem in submission.problems)
        failure = HttpError(400, "bad_instruction", message).answer()
        wrong = [problem._asdict() for problem in submission.problems]
        return json_response({**failure, "problems": wrong}, 400)

    @api("POST", f"{_API_ONE}/give-back", "Return it")
    async def api_return(self, request: CrowdRequest) -> InstructionPiece:
        return _piece(self._assignments.return_(request.person.id, request.number("id")))

    def _begun(self, person: Person) -> WritingAssignment | None:
        if self._catalog is None:
            raise Conflict("This site has no shop, so there are no products.", "no_shop")
        return self._assignments.begin(person, self._catalog)

    def _idle(self, request: CrowdRequest, message: Markup) -> Response:
        person = request.person.id
        own = listed(self._site.database, person=person).writings
        last = [one for one in own if one.status not in ("taken", "given_back")][:_LAST]
        account, settings = self._assignments.account(person), self._assignments.settings
        return _page(request, idle_body(_home(request), account, settings, last, message))


def _thanks(request: Request) -> Markup:
    if "again" in request.query_params:
        return ui.callout("That was submitted before; nothing has changed.", role="status")
    if "done" in request.query_params:
        return ui.callout("Your instruction was submitted. Thank you.", role="status")
    return EMPTY


def _home(request: CrowdRequest) -> str:
    return f"/work/{request.token}/instructions"


def _page(request: CrowdRequest, body: Markup, status: int = 200) -> Response:
    return worker_response(TITLE, body, request, status, here=(_home(request), "Instructions"))


def _piece(writing: WritingAssignment) -> InstructionPiece:
    return msgspec.convert(writing, InstructionPiece, from_attributes=True)
