"""Where workers write instructions: pages below their link, and the same for programs."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.instructions.assignments import (
    AlreadyDone,
    NotAllowed,
    NotFound,
    WriterAccount,
    WritingAssignment,
    WritingAssignments,
)
from errands.crowd.instructions.checks import InstructionDraft, ShownProduct
from errands.crowd.instructions.writing_lists import listed
from errands.reports.html.markup import esc
from errands.web.core.application import Route
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.document import HEADERS, document, worker_links
from errands.web.crowd.instructions.writing_pages import (
    draft_of_form,
    form_body,
    idle_body,
    stuck_body,
)
from errands.web.crowd.openapi import operation
from errands.web.crowd.site import CrowdSite, WorkCard, dollars

__all__ = ["RECORDS", "WritingPages", "explained", "work_paths"]

TITLE: Final = "Writing instructions"
WORK: Final = "/v1/work/instructions"
_LAST: Final = 10


class InstructionPiece(msgspec.Struct, frozen=True):
    """A product in a worker's hands, and what they wrote."""

    id: int
    asin: str
    product: ShownProduct
    status: str
    is_trial: bool
    instruction: str
    attributes: tuple[str, ...]
    options: dict[str, str]
    comment: str
    note: str
    pay: float


class InstructionWork(msgspec.Struct, frozen=True):
    """How a worker stands, what they are paid for each, and what they have in hand."""

    account: WriterAccount
    pay: float
    in_hand: InstructionPiece | None


RECORDS: Final = (InstructionDraft, InstructionPiece, InstructionWork)
_SUBMISSION: Final = msgspec.json.Decoder(InstructionDraft)
Handler = Callable[[CrowdRequest], Awaitable[Response]]


def explained(work: Handler) -> Handler:
    """What the rules of writing refuse, with the status that fits."""

    async def answer(request: CrowdRequest) -> Response:
        try:
            return await work(request)
        except NotFound as failure:
            raise HttpError(404, "not_found", str(failure)) from None
        except NotAllowed as failure:
            raise HttpError(403, "forbidden", str(failure)) from None
        except AlreadyDone as failure:
            raise HttpError(409, "already_done", str(failure)) from None

    return answer


class WritingPages:
    """The worker's side."""

    def __init__(self, site: CrowdSite, writings: WritingAssignments) -> None:
        self._site = site
        self._writings = writings
        self._catalog = None if site.shopping is None else site.shopping.catalog

    def routes(self) -> list[Route]:
        at = self._site.auth
        home, one = "/work/{token}/instructions", "/work/{token}/instructions/{id:int}"

        def page(path: str, work: Handler, method: str) -> Route:
            return Route(path, at.worker_page(explained(work)), methods=[method])

        def api(path: str, work: Handler, method: str) -> Route:
            return Route(path, at.api(explained(work), "worker"), methods=[method])

        return [
            page(home, self.home, "GET"),
            page(home, self.take, "POST"),
            page(one, self.hand_in, "POST"),
            page(f"{one}/give-back", self.give_back, "POST"),
            api(WORK, self.api_home, "GET"),
            api(f"{WORK}/next", self.api_take, "POST"),
            api(f"{WORK}/{{id:int}}", self.api_one, "GET"),
            api(f"{WORK}/{{id:int}}", self.api_hand_in, "POST"),
            api(f"{WORK}/{{id:int}}/give-back", self.api_give_back, "POST"),
        ]

    def offers(self, person: Person, token: str) -> list[WorkCard]:
        if self._catalog is None:
            return []
        account = self._writings.account(person.id)
        settings = self._writings.settings
        text = f"<p>Write what you would ask a shopper for. {dollars(settings.pay)} each.</p>"
        if account.standing == "waiting":
            text += "<p>Your trial examples are being reviewed.</p>"
        elif account.standing == "refused":
            text += "<p>You have not been qualified for this.</p>"
        held = self._writings.in_hand(person.id)
        return [
            WorkCard(
                TITLE,
                text,
                f"/work/{token}/instructions",
                "Go on" if held or not account.may_write else "Begin",
                account.accepted + account.refused + account.waiting,
                account.earned,
            )
        ]

    async def home(self, request: CrowdRequest) -> Response:
        held = self._writings.in_hand(request.person.id)
        account = self._writings.account(request.person.id)
        if held is None or account.standing == "refused":
            return self._idle(request, self._thanks(request))
        pay = self._writings.settings.pay
        return _page(request, form_body(_home(request), held, account, pay))

    async def take(self, request: CrowdRequest) -> Response:
        if self._taken(request.person) is None:
            said = "There is no product left for you now; come back another day."
            return self._idle(request, f'<div class="callout" role="status"><p>{said}</p></div>')
        return redirect(_home(request))

    async def hand_in(self, request: CrowdRequest) -> Response:
        person, id = request.person.id, request.number("id")
        held = self._writings.of(person, id)
        draft = draft_of_form(request.form, held.shown)
        try:
            handed = self._writings.hand_in(person, id, draft)
        except (AlreadyDone, NotAllowed) as failure:
            body = stuck_body(_home(request), str(failure), draft.instruction)
            return _page(request, body, 409 if isinstance(failure, AlreadyDone) else 403)
        if handed.problems:
            account, pay = self._writings.account(person), self._writings.settings.pay
            body = form_body(_home(request), held, account, pay, draft, handed.problems)
            return _page(request, body, 400)
        return redirect(f"{_home(request)}?{'done' if handed.is_new else 'again'}={id}")

    async def give_back(self, request: CrowdRequest) -> Response:
        self._writings.give_back(request.person.id, request.number("id"))
        return redirect(_home(request))

    async def api_home(self, request: CrowdRequest) -> Response:
        held = self._writings.in_hand(request.person.id)
        account = self._writings.account(request.person.id)
        in_hand = None if held is None else _piece(held)
        return json_response(InstructionWork(account, self._writings.settings.pay, in_hand))

    async def api_take(self, request: CrowdRequest) -> Response:
        before = self._writings.in_hand(request.person.id)
        taken = self._taken(request.person)
        if taken is None:
            raise HttpError(409, "nothing_left", "There is no product left for you now.")
        return json_response(_piece(taken), 200 if before == taken else 201)

    async def api_one(self, request: CrowdRequest) -> Response:
        return json_response(_piece(self._writings.of(request.person.id, request.number("id"))))

    async def api_hand_in(self, request: CrowdRequest) -> Response:
        draft = request.read(_SUBMISSION)
        handed = self._writings.hand_in(request.person.id, request.number("id"), draft)
        if not handed.problems:
            return json_response(_piece(handed.writing), 201 if handed.is_new else 200)
        message = " ".join(problem.message for problem in handed.problems)
        failure = HttpError(400, "bad_instruction", message).answer()
        wrong = [problem._asdict() for problem in handed.problems]
        return json_response({**failure, "problems": wrong}, 400)

    async def api_give_back(self, request: CrowdRequest) -> Response:
        return json_response(
            _piece(self._writings.give_back(request.person.id, request.number("id")))
        )

    def _taken(self, person: Person) -> WritingAssignment | None:
        if self._catalog is None:
            raise HttpError(409, "no_shop", "This office has no shop, so there are no products.")
        return self._writings.take(person, self._catalog)

    def _idle(self, request: CrowdRequest, said: str = "") -> Response:
        person = request.person.id
        account = self._writings.account(person)
        mine = listed(self._site.database, person=person).writings
        last = [one for one in mine if one.status not in ("taken", "given_back")][:_LAST]
        body = idle_body(_home(request), account, self._writings.settings, last, said)
        return _page(request, body)

    def _thanks(self, request: CrowdRequest) -> str:
        asks = request.http.query_params
        if "again" in asks:
            said = "That was handed in before; nothing has changed."
        elif "done" in asks:
            said = "Your instruction is taken. Thank you."
        else:
            return ""
        return f'<div class="callout" role="status"><p>{said}</p></div>'


def _home(request: CrowdRequest) -> str:
    return f"/work/{request.http.path_params['token']}/instructions"


def _page(request: CrowdRequest, body: str, status: int = 200) -> Response:
    ways = [*worker_links(request.http.path_params["token"]), (_home(request), "Instructions")]
    below = f"<p>{esc(request.person.name)}</p>"
    content = document(TITLE, body, ways=ways, here=_home(request), below=below)
    return Response(content, status, HEADERS, media_type="text/html")


def _piece(writing: WritingAssignment) -> InstructionPiece:
    return InstructionPiece(
        id=writing.id,
        asin=writing.asin,
        product=writing.shown,
        status=writing.status,
        is_trial=writing.is_trial,
        instruction=writing.instruction,
        attributes=writing.attributes,
        options=writing.options,
        comment=writing.comment,
        note=writing.note,
        pay=writing.pay,
    )


def work_paths() -> dict[str, Any]:
    """The worker's side of the OpenAPI description."""
    text = {"type": "string"}
    home, one = "/work/{token}/instructions", "/work/{token}/instructions/{id}"
    fields = {"instruction": text, "attribute": text, "option-0": text, "comment": text}
    piece = InstructionPiece
    taken = operation("The product in hand, or another", answer=piece, status="201")
    handed = operation("Hand it in", body=InstructionDraft, answer=piece, status="201")
    return {
        home: {
            "get": operation("A worker's product and the form", media="text/html"),
            "post": _or_page(operation("Take up a product", form={}, status="303")),
        },
        one: {"post": operation("Hand in an instruction", form=fields, status="303")},
        f"{one}/give-back": {"post": operation("Give a product back", form={}, status="303")},
        WORK: {"get": operation("How a worker stands", answer=InstructionWork)},
        f"{WORK}/next": {"post": _or_same(taken)},
        f"{WORK}/{{id}}": {
            "get": operation("One of a worker's own", answer=piece),
            "post": _or_same(handed),
        },
        f"{WORK}/{{id}}/give-back": {"post": operation("Give it back", answer=piece)},
    }


def _or_page(said: dict[str, Any]) -> dict[str, Any]:
    page = {"text/html": {"schema": {"type": "string"}}}
    nothing = {"description": "Nothing is left", "content": page}
    return {**said, "responses": {**said["responses"], "200": nothing}}


def _or_same(said: dict[str, Any]) -> dict[str, Any]:
    same = {**said["responses"]["201"], "description": "As it was: nothing changed"}
    return {**said, "responses": {**said["responses"], "200": same}}
