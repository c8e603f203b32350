"""Where workers write instructions: pages below their link, and the same for programs."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from errands.crowd.accounts.people import Person
from errands.crowd.instructions.checks import Draft, ShownProduct
from errands.crowd.instructions.writing import (
    AlreadyDone,
    NotAllowed,
    NotFound,
    WriterAccount,
    Writing,
    Writings,
)
from errands.crowd.instructions.writing_lists import listed
from errands.reports.html.markup import esc
from errands.web.core.http_errors import Refusal
from errands.web.crowd.auth import Asked, as_json, see
from errands.web.crowd.document import HEADERS, document, work_ways
from errands.web.crowd.instructions.writing_pages import (
    draft_of_form,
    form_body,
    idle_body,
    stuck_body,
)
from errands.web.crowd.openapi import operation
from errands.web.crowd.site import Offer, Office, dollars

__all__ = ["RECORDS", "WritingDesk", "explained", "work_paths"]

TITLE: Final = "Writing instructions"
WORK: Final = "/v1/work/instructions"
_LAST: Final = 10
Text = Annotated[str, msgspec.Meta(max_length=10_000)]


class InstructionDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An instruction that is handed in."""

    instruction: Text
    attributes: Annotated[list[Text], msgspec.Meta(max_length=1000)]
    options: dict[Text, Text] = {}
    comment: Text = ""


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
Work = Callable[[Asked], Awaitable[Response]]


def explained(work: Work) -> Work:
    """What the rules of writing refuse, with the status that fits."""

    async def answer(asked: Asked) -> Response:
        try:
            return await work(asked)
        except NotFound as failure:
            raise Refusal(404, "not_found", str(failure)) from None
        except NotAllowed as failure:
            raise Refusal(403, "forbidden", str(failure)) from None
        except AlreadyDone as failure:
            raise Refusal(409, "already_done", str(failure)) from None

    return answer


class WritingDesk:
    """The worker's side."""

    def __init__(self, office: Office, writings: Writings) -> None:
        self._office = office
        self._writings = writings
        self._catalog = None if office.shopping is None else office.shopping.catalog

    def routes(self) -> list[Route]:
        at = self._office.reception
        home, one = "/work/{token}/instructions", "/work/{token}/instructions/{id:int}"

        def page(path: str, work: Work, method: str) -> Route:
            return Route(path, at.worker_page(explained(work)), methods=[method])

        def api(path: str, work: Work, method: str) -> Route:
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

    def offers(self, person: Person, token: str) -> list[Offer]:
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
            Offer(
                TITLE,
                text,
                f"/work/{token}/instructions",
                "Go on" if held or not account.may_write else "Begin",
                account.accepted + account.refused + account.waiting,
                account.earned,
            )
        ]

    async def home(self, asked: Asked) -> Response:
        held = self._writings.in_hand(asked.person.id)
        account = self._writings.account(asked.person.id)
        if held is None or account.standing == "refused":
            return self._idle(asked, self._thanks(asked))
        pay = self._writings.settings.pay
        return _page(asked, form_body(_home(asked), held, account, pay))

    async def take(self, asked: Asked) -> Response:
        if self._taken(asked.person) is None:
            said = "There is no product left for you now; come back another day."
            return self._idle(asked, f'<div class="callout" role="status"><p>{said}</p></div>')
        return see(_home(asked))

    async def hand_in(self, asked: Asked) -> Response:
        person, id = asked.person.id, asked.number("id")
        held = self._writings.of(person, id)
        draft = draft_of_form(asked.form, held.shown)
        try:
            handed = self._writings.hand_in(person, id, draft)
        except (AlreadyDone, NotAllowed) as failure:
            body = stuck_body(_home(asked), str(failure), draft.instruction)
            return _page(asked, body, 409 if isinstance(failure, AlreadyDone) else 403)
        if handed.problems:
            account, pay = self._writings.account(person), self._writings.settings.pay
            body = form_body(_home(asked), held, account, pay, draft, handed.problems)
            return _page(asked, body, 400)
        return see(f"{_home(asked)}?{'done' if handed.is_new else 'again'}={id}")

    async def give_back(self, asked: Asked) -> Response:
        self._writings.give_back(asked.person.id, asked.number("id"))
        return see(_home(asked))

    async def api_home(self, asked: Asked) -> Response:
        held = self._writings.in_hand(asked.person.id)
        account = self._writings.account(asked.person.id)
        in_hand = None if held is None else _piece(held)
        return as_json(InstructionWork(account, self._writings.settings.pay, in_hand))

    async def api_take(self, asked: Asked) -> Response:
        before = self._writings.in_hand(asked.person.id)
        taken = self._taken(asked.person)
        if taken is None:
            raise Refusal(409, "nothing_left", "There is no product left for you now.")
        return as_json(_piece(taken), 200 if before == taken else 201)

    async def api_one(self, asked: Asked) -> Response:
        return as_json(_piece(self._writings.of(asked.person.id, asked.number("id"))))

    async def api_hand_in(self, asked: Asked) -> Response:
        told = asked.read(_SUBMISSION)
        draft = Draft(told.instruction, tuple(told.attributes), told.options, told.comment)
        handed = self._writings.hand_in(asked.person.id, asked.number("id"), draft)
        if not handed.problems:
            return as_json(_piece(handed.writing), 201 if handed.is_new else 200)
        message = " ".join(problem.message for problem in handed.problems)
        failure = Refusal(400, "bad_instruction", message).answer()
        wrong = [problem._asdict() for problem in handed.problems]
        return as_json({**failure, "problems": wrong}, 400)

    async def api_give_back(self, asked: Asked) -> Response:
        return as_json(_piece(self._writings.give_back(asked.person.id, asked.number("id"))))

    def _taken(self, person: Person) -> Writing | None:
        if self._catalog is None:
            raise Refusal(409, "no_shop", "This office has no shop, so there are no products.")
        return self._writings.take(person, self._catalog)

    def _idle(self, asked: Asked, said: str = "") -> Response:
        person = asked.person.id
        account = self._writings.account(person)
        mine = listed(self._office.database, person=person).writings
        last = [one for one in mine if one.status not in ("taken", "given_back")][:_LAST]
        body = idle_body(_home(asked), account, self._writings.settings, last, said)
        return _page(asked, body)

    def _thanks(self, asked: Asked) -> str:
        asks = asked.request.query_params
        if "again" in asks:
            said = "That was handed in before; nothing has changed."
        elif "done" in asks:
            said = "Your instruction is taken. Thank you."
        else:
            return ""
        return f'<div class="callout" role="status"><p>{said}</p></div>'


def _home(asked: Asked) -> str:
    return f"/work/{asked.request.path_params['token']}/instructions"


def _page(asked: Asked, body: str, status: int = 200) -> Response:
    ways = [*work_ways(asked.request.path_params["token"]), (_home(asked), "Instructions")]
    below = f"<p>{esc(asked.person.name)}</p>"
    content = document(TITLE, body, ways=ways, here=_home(asked), below=below)
    return Response(content, status, HEADERS, media_type="text/html")


def _piece(writing: Writing) -> InstructionPiece:
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
