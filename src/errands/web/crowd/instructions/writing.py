"""Writing instructions: a worker's pages (the guide, a product, the form), and the same by JSON.

Ticks and choices are sent by their number, so no text of a product has to survive the way through
a form.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.errors import Conflict, NotAllowed
from errands.crowd.instructions.assignments import (
    CLOSED,
    LAPSE_SECONDS,
    WriterAccount,
    WritingAssignment,
    WritingAssignments,
    WritingSettings,
    listed,
)
from errands.crowd.instructions.checks import (
    FEWEST_WORDS,
    LONGEST_INSTRUCTION,
    DraftProblem,
    InstructionDraft,
    ShownProduct,
)
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, cut, table
from errands.shop.render.images import picture_source
from errands.web.core import elements as ui
from errands.web.core.forms import Form
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.routes import Routes, WorkCard, api, worker_page
from errands.web.crowd.site import CrowdSite, worker_response

__all__ = ["BADGES", "WritingRoutes", "product_view", "status_badge"]

_POINTS: Final = html(
    """
<p>You see a product. Imagine a clever assistant who shops for you, and write what you would say
to have it buy this very product.</p>
<ul>
<li>Use at least one of the product's attributes; more are better where they fit. Tick those that
you used.</li>
<li>Where there are options, choose one value of each, and ask for it.</li>
<li>Say what kind of thing it is, so that it can be found, but do not copy the title: it is there
for you to understand the product. Neither the whole title nor, of a title with six words or more,
four fifths of it in one row are taken.</li>
<li>Say attributes and options in words of your own if that sounds better.</li>
<li>Write as you would speak, and not always the same way: {} words or more, at most
{:,} characters.</li>
</ul>
""",
    FEWEST_WORDS,
    LONGEST_INSTRUCTION,
)

EXAMPLE: Final = html("""
<details class="card example"><summary>Show or hide an example</summary>
<h3>Dorvane Gooseneck Electric Kettle with Thermometer, Matt Finish, Quiet Boil, Pour Over Spout for
Tea and Filter Coffee, Gift Box</h3>
<p class="note">Home &amp; Kitchen › Coffee &amp; Tea › Kettles</p>
<p><b>Attributes:</b> ☑ stainless steel, ☐ easy clean, ☑ quick release</p>
<p><b>Options:</b> colour: ◉ forest green, ○ black; size: ○ 1 litre, ◉ 0.8 litre</p>
<p><b>Good:</b> Could you get me a small kettle in dark green for making pour over coffee? 0.8 litre
is enough. It should be stainless steel, with a lid that comes off quickly.</p>
<p><b>Too little:</b> I want a kettle. <span class="note">No attribute, no option.</span></p>
<p><b>Too much:</b> Buy the Dorvane Gooseneck Electric Kettle with Thermometer, Matt Finish, Quiet
Boil, Pour Over Spout for Tea and Filter Coffee. <span class="note">That is the title.</span></p>
</details>
""")

_NAMES: Final = {
    "attributes": "Attributes",
    "options": "Options",
    "instruction": "Your instruction",
    "comment": "Comment",
}
BADGES: Final = {
    "taken": ("open", ""),
    "submitted": ("waits for review", "part"),
    "accepted": ("approved", "won"),
    "refused": ("rejected", "failed"),
    "given_back": ("returned", ""),
}

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
        account = self._assignments.account(person.id)
        has_open = self._assignments.open_one(person.id) is not None
        done = account.accepted + account.refused + account.waiting
        is_offered = self._assignments.is_offered and not person.is_guest
        if self._catalog is None or not (is_offered or has_open or done):
            return []
        notes = {
            "waiting": "Your trial examples are being reviewed.",
            "refused": "You have not been qualified for this.",
        }
        note = notes.get(account.status) or ("" if is_offered or has_open else CLOSED)
        return [
            WorkCard(
                TITLE,
                html(
                    "<p>Write what you would ask a shopper for. {} each.</p>{}",
                    ui.dollars(self._assignments.settings.pay),
                    ui.paragraph(note) if note else EMPTY,
                ),
                f"/work/{token}/instructions",
                "Continue" if has_open else "Start" if is_offered and account.may_write else "View",
                done,
                account.earned,
            )
        ]

    @worker_page("GET", _HOME, "A worker's product and the form")
    async def home(self, request: CrowdRequest) -> Response:
        assignment = self._assignments.open_one(request.person.id)
        account = self._assignments.account(request.person.id)
        if assignment is None or account.status == "refused":
            return self._idle(request, _thanks(request.http))
        return _page(request, _form_body(_home(request), assignment, account))

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
        draft = _draft_of_form(request.form, assignment.shown)
        try:
            submission = self._assignments.submit(person, id, draft)
        except (Conflict, NotAllowed) as failure:
            body = _stuck_body(_home(request), str(failure), draft.instruction)
            return _page(request, body, 409 if isinstance(failure, Conflict) else 403)
        if submission.problems:
            account = self._assignments.account(person)
            body = _form_body(_home(request), assignment, account, draft, submission.problems)
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
        if person.is_guest:
            raise NotAllowed("This is for workers who were invited.")
        return self._assignments.begin(person, self._catalog)

    def _idle(self, request: CrowdRequest, message: Markup) -> Response:
        person = request.person.id
        own = listed(self._site.database, person=person).writings
        last = [one for one in own if one.status not in ("taken", "given_back")][:_LAST]
        account, settings = self._assignments.account(person), self._assignments.settings
        is_offered = self._assignments.is_offered and not request.person.is_guest
        body = _idle_body(_home(request), account, settings, last, message, is_offered=is_offered)
        return _page(request, body)


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


def status_badge(status: str) -> Markup:
    return badge(*BADGES[status])


def _draft_of_form(form: Form, seen: ShownProduct) -> InstructionDraft:
    """What a form says; numbers that nobody was shown are nothing."""
    ticked = (_place(seen.attributes, number) for number in form.texts("attribute"))
    chosen = {
        name: _place(values, form.text(f"option-{place}"))
        for place, (name, values) in enumerate(seen.options.items())
    }
    return InstructionDraft(
        instruction=form.text("instruction"),
        attributes=tuple(one for one in ticked if one is not None),
        options={name: value for name, value in chosen.items() if value is not None},
        comment=form.text("comment"),
    )


def _place(values: Sequence[str], number: str) -> str | None:
    if not (number.isascii() and number.isdecimal() and len(number) < 9):
        return None
    return values[int(number)] if int(number) < len(values) else None


def _idle_body(
    home: str,
    account: WriterAccount,
    settings: WritingSettings,
    last: Sequence[WritingAssignment],
    message: Markup,
    *,
    is_offered: bool,
) -> Markup:
    """The page of somebody who has no open product."""
    start = EMPTY
    if not is_offered:
        start = ui.callout(CLOSED)
    elif account.may_write:
        label = "Next product" if last else "First product"
        start = ui.actions(ui.button(label, home, kind="primary"))
    pay = f"Each instruction is paid {ui.dollars(settings.pay)} once it is approved."
    return ui.fragment(
        message,
        ui.section(_status(account), ui.paragraph(pay), start),
        ui.section(_POINTS, title="What to do", kind="guide"),
        EXAMPLE,
        _last(last),
    )


def _status(account: WriterAccount) -> Markup:
    if account.status == "waiting":
        return ui.paragraph("Your trial examples are being reviewed. Come back when that is done.")
    if account.status == "granted":
        return ui.paragraph("You are qualified. Write as many as you like.")
    if account.status == "refused":
        note = ui.paragraph(account.note) if account.note else EMPTY
        return ui.paragraph("You have not been qualified for writing instructions.") + note
    return ui.paragraph(
        f"You begin with {account.trials_wanted} trial examples, which are reviewed before you"
        f" go on. {account.trials_handed_in} of them are submitted."
    )


def _form_body(
    home: str,
    assignment: WritingAssignment,
    account: WriterAccount,
    draft: InstructionDraft | None = None,
    problems: Sequence[DraftProblem] = (),
) -> Markup:
    """A product and the form; with a draft and what is wrong with it, nothing typed is lost."""
    draft = draft or InstructionDraft("", ())
    wrong = {problem.field: problem.message for problem in problems}
    product = assignment.shown
    trial = f"Trial example {account.trials_handed_in + 1} of {account.trials_wanted}."
    # Who has done it before, or has only something to mend, comes to the product sooner.
    is_new = assignment.is_trial and not problems
    one = f"{home}/{assignment.id}"
    return ui.fragment(
        _alert(problems),
        html(
            '<details class="card guide"{}><summary>What to do</summary>{}</details>',
            html(" open") if is_new else EMPTY,
            _POINTS,
        ),
        EXAMPLE,
        ui.section(
            ui.paragraph(trial) if assignment.is_trial else EMPTY,
            html("<p>Yours until {}.</p>", ui.moment(assignment.taken + LAPSE_SECONDS, left=True)),
            product_view(product),
            ui.form(
                one,
                _attributes(product, draft, wrong),
                _options(product, draft, wrong),
                _area(
                    "instruction",
                    f"{FEWEST_WORDS} words or more; not the title.",
                    draft.instruction,
                    wrong,
                    required=True,
                ),
                _area(
                    "comment",
                    "If you like: is something odd here, or hard to do?",
                    draft.comment,
                    wrong,
                ),
                ui.submit(f"Submit for {ui.dollars(assignment.pay)}", "primary"),
            ),
            ui.actions(
                ui.button("Return this product", f"{one}/give-back"),
                html(
                    '<span class="note">It goes to somebody else, and does not come again.</span>'
                ),
            ),
            title="The product",
            kind="writing",
        ),
    )


def _stuck_body(home: str, message: str, text: str) -> Markup:
    """Something cannot be submitted; what was typed is there to be copied."""
    typed = html('<h2>What you wrote</h2><p class="wrote">{}</p>', text) if text.strip() else EMPTY
    return ui.section(
        ui.callout(message, "bad", role="alert"),
        typed,
        html("<p>{}</p>", ui.link_button("Continue", home)),
    )


def product_view(product: ShownProduct) -> Markup:
    """Picture, title and category of a product."""
    return html(
        '<div class="card product"><img src="{}" alt="The product" width="200" height="200">'
        '<div><h3>{}</h3><p class="note">{}</p></div></div>',
        picture_source(product.image),
        product.title,
        product.category,
    )


def _attributes(product: ShownProduct, draft: InstructionDraft, wrong: Mapping[str, str]) -> Markup:
    ticks = join(
        ui.tick("attribute", place, text, text in draft.attributes)
        for place, text in enumerate(product.attributes)
    )
    return _group("attributes", "Tick those you used, one or more.", ticks, wrong)


def _options(product: ShownProduct, draft: InstructionDraft, wrong: Mapping[str, str]) -> Markup:
    if not product.options:
        return EMPTY
    groups = join(
        html(
            '<fieldset class="option"><legend>{}</legend><div class="choices">{}</div></fieldset>',
            name,
            join(
                ui.tick(
                    *(f"option-{place}", number, value, draft.options.get(name) == value),
                    type="radio",
                    required=True,
                )
                for number, value in enumerate(values)
            ),
        )
        for place, (name, values) in enumerate(product.options.items())
    )
    return _group("options", "Choose one value of each, and ask for it.", groups, wrong)


def _group(name: str, hint: str, content: Markup, wrong: Mapping[str, str]) -> Markup:
    described, problem = _described(name, wrong)
    return html(
        '<fieldset id="{0}" tabindex="-1"{1}><legend>{2}</legend><small id="{0}-hint">{3}</small>'
        "{4}{5}</fieldset>",
        *(name, described, _NAMES[name], hint, problem, content),
    )


def _area(
    name: str, hint: str, text: str, wrong: Mapping[str, str], required: bool = False
) -> Markup:
    described, problem = _described(name, wrong)
    # The first line end of a text area belongs to the markup, not to the text.
    return html(
        '<div class="field"><label for="{0}">{1}</label><small id="{0}-hint">{2}</small>{3}'
        '<textarea id="{0}" name="{0}"{4}{5}>\n{6}</textarea></div>',
        *(name, _NAMES[name], hint, problem, described),
        ui.attributes(aria_invalid="true" if name in wrong else None, required=required),
        text,
    )


def _described(name: str, wrong: Mapping[str, str]) -> tuple[Markup, Markup]:
    if name not in wrong:
        return html(' aria-describedby="{}-hint"', name), EMPTY
    problem = html('<p class="wrong" id="{}-wrong">{}</p>', name, wrong[name])
    return html(' aria-describedby="{0}-hint {0}-wrong"', name), problem


def _alert(problems: Sequence[DraftProblem]) -> Markup:
    if not problems:
        return EMPTY
    lines = join(
        html(
            '<li><a href="#{}">{}</a>: {}</li>',
            *(problem.field, _NAMES[problem.field], problem.message),
        )
        for problem in problems
    )
    message = html(
        "<p>This cannot be submitted yet; nothing you wrote is lost.</p><ul>{}</ul>", lines
    )
    return ui.section(ui.callout(message, "bad", role="alert"))


def _last(last: Sequence[WritingAssignment]) -> Markup:
    if not last:
        return EMPTY
    rows = [
        [
            cut(one.instruction, 160) or "-",
            cut(one.shown.title, 80),
            status_badge(one.status),
            one.note or "-",
        ]
        for one in last
    ]
    shown = table(["instruction", "product", "status", "remark"], rows)
    return ui.section(shown, title="Your last ones", kind="texts")
