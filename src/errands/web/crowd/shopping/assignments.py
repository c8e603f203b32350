"""Where a worker shops for a goal, and proves that it is done.

The shop's own pages are the same for everybody; here is the instruction, the guide, the link to
the shop, and a field for the code that the shop shows after the purchase.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.errors import Conflict, NotAllowed
from errands.crowd.shopping.assignments import (
    CLOSED,
    ShoppingAssignment,
    ShoppingAssignments,
    ShoppingSettings,
    WrongCode,
)
from errands.crowd.shopping.worker_quality import WorkerStatus
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, table
from errands.web.core import elements as ui
from errands.web.crowd.auth import Auth, CrowdRequest, redirect
from errands.web.crowd.routes import Routes, WorkCard, api, worker_page
from errands.web.crowd.site import CrowdSite, worker_response
from errands.web.shop.visitors import Visitors

__all__ = ["shopping_routes", "state_badge"]


class WorkerAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """A shopping assignment as its worker may see it: nothing of the goal but the instruction."""

    number: int
    """Counted for this worker, from 1."""
    state: str
    """`open`, `done` or `returned`."""
    is_trial: bool
    instruction: str
    address: str
    """Where the shop is, on this site; who has it can shop."""
    began: float
    until: float
    """After that it may expire."""
    ended: float | None
    reward: float | None
    pay: float
    offered: float
    is_coded: bool
    """Whether its code was submitted."""


class WorkerShopping(msgspec.Struct, frozen=True, kw_only=True):
    """All that a worker can know of their shopping."""

    status: WorkerStatus = msgspec.field(name="standing")
    may_begin: bool
    why_not: str
    """Where none may begin."""
    trials: int
    """How many assignments the trial has."""
    done: int
    earned: float
    assignments: list[WorkerAssignment] = msgspec.field(name="errands")

    @property
    def open_assignment(self) -> WorkerAssignment | None:
        return next((one for one in self.assignments if one.state == "open"), None)


_TITLE: Final = "Shopping"
_OWN: Final = "/work/{token}/shopping"
_API: Final = "/v1/work/shopping"


class CompletionCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The completion code that the shop shows after the purchase."""

    code: str


def shopping_routes(site: CrowdSite) -> Routes:
    """Shopping assignments for workers; a site without a shop has none."""
    if site.shoppers is None or site.shopping is None:
        return Routes(site.auth)
    assignments = ShoppingAssignments(site.database, site.shopping.goals, seed=site.shoppers.seed)
    assignments.finish_missed()
    site.shoppers.watch(assignments)
    return _ShoppingRoutes(site.auth, assignments, site.shoppers)


class _ShoppingRoutes(Routes):
    roles = ("worker",)

    def __init__(self, auth: Auth, assignments: ShoppingAssignments, shoppers: Visitors) -> None:
        super().__init__(auth)
        self._assignments = assignments
        self._shoppers = shoppers

    def cards(self, person: Person, token: str) -> list[WorkCard]:
        """What the worker's own page says."""
        shopping = self._shopping(person)
        has_open = shopping.open_assignment is not None
        is_over = not (has_open or shopping.may_begin)
        if is_over and not shopping.assignments:
            return []
        return [
            WorkCard(
                title=_TITLE,
                text=html(
                    "<p>Find and buy what an instruction asks for, in our shop.</p>{}",
                    ui.paragraph(shopping.why_not) if is_over else EMPTY,
                ),
                address=f"/work/{token}/shopping",
                label="Continue" if has_open else "View" if is_over else "Start",
                done=shopping.done,
                earned=shopping.earned,
            )
        ]

    @worker_page("GET", _OWN, "A worker's shopping")
    async def show(self, request: CrowdRequest) -> Response:
        return self._page(request)

    @worker_page("POST", _OWN, "Start an assignment", form=[])
    async def begin(self, request: CrowdRequest) -> Response:
        self._begin(request.person)
        return redirect(_own(request))

    def _begin(self, person: Person) -> None:
        if person.is_guest:
            raise NotAllowed("This is for workers who were invited.")
        self._assignments.begin(person.id, self._shoppers.begin)

    @worker_page("POST", f"{_OWN}/code", "Submit a completion code", form=["code"])
    async def submit_code(self, request: CrowdRequest) -> Response:
        try:
            self._assignments.submit_code(request.person.id, request.form.text("code"))
        except (WrongCode, Conflict) as wrong:
            return self._page(request, str(wrong), 409 if isinstance(wrong, Conflict) else 400)
        return redirect(_own(request))

    @worker_page("POST", f"{_OWN}/return", "Return the assignment", form=[])
    async def return_(self, request: CrowdRequest) -> Response:
        self._assignments.return_(request.person.id)
        return redirect(_own(request))

    @api("GET", _API, "A worker's shopping")
    async def api_show(self, request: CrowdRequest) -> WorkerShopping:
        return self._shopping(request.person)

    @api("POST", _API, "Start an assignment", status=201)
    async def api_begin(self, request: CrowdRequest) -> WorkerShopping:
        self._begin(request.person)
        return self._shopping(request.person)

    @api("POST", f"{_API}/code", "Submit a completion code")
    async def api_submit_code(self, request: CrowdRequest, sent: CompletionCode) -> WorkerShopping:
        self._assignments.submit_code(request.person.id, sent.code)
        return self._shopping(request.person)

    @api("POST", f"{_API}/return", "Return the assignment")
    async def api_return(self, request: CrowdRequest) -> WorkerShopping:
        self._assignments.return_(request.person.id)
        return self._shopping(request.person)

    def _shopping(self, person: Person) -> WorkerShopping:
        settings = self._assignments.settings()
        own = self._assignments.of(person.id)
        status = self._assignments.status(person.id)
        done = [one for one in own if one.state == "done"]
        why_not = ""
        if any(one.state == "open" for one in own):
            why_not = "You have an open assignment already."
        elif status == "refused":
            why_not = "There is no more shopping for you. Thank you for what you did."
        elif person.is_guest or not self._assignments.is_offered:
            why_not = CLOSED
        return WorkerShopping(
            status=status,
            may_begin=not why_not,
            why_not=why_not,
            trials=settings.trials,
            done=len(done),
            earned=sum(one.pay for one in done),
            assignments=[self._record(number, one, settings) for number, one in enumerate(own, 1)],
        )

    def _record(
        self, number: int, one: ShoppingAssignment, settings: ShoppingSettings
    ) -> WorkerAssignment:
        return WorkerAssignment(
            number=number,
            state=one.state,
            is_trial=one.is_trial,
            instruction=self._assignments.goals[one.goal].instruction_text,
            address=f"/{one.name}",
            began=one.began,
            until=one.began + 3600 * settings.hours,
            ended=one.ended,
            reward=one.reward,
            pay=one.pay,
            offered=one.offered,
            is_coded=one.coded is not None,
        )

    def _page(self, request: CrowdRequest, wrong: str = "", status: int = 200) -> Response:
        shopping = self._shopping(request.person)
        body = _shopping_body(shopping, _own(request), wrong, self._assignments.settings())
        return worker_response(_TITLE, body, request, status)


def _own(request: CrowdRequest) -> str:
    return f"/work/{request.token}/shopping"


def _shopping_body(
    shopping: WorkerShopping, own: str, wrong: str, settings: ShoppingSettings
) -> Markup:
    """The page; `own` is its address, `wrong` what is wrong with a code."""
    now = shopping.open_assignment
    done = [one for one in shopping.assignments if one.state == "done"]
    pieces = [ui.callout(wrong, "bad", role="alert")] if wrong else []
    if now is None and done and done[-1] is shopping.assignments[-1]:
        pieces.append(_recorded(done[-1]))
    pieces.append(_next(shopping, own, settings) if now is None else _open(now, own))
    if any(not one.is_coded for one in done) or now is not None:
        pieces.append(_code_form(own))
    pieces.append(ui.section(GUIDE))
    if shopping.assignments:
        pieces.append(
            ui.section(_table(shopping.assignments), title="Your assignments", kind="words")
        )
    return html('<div class="shopping">{}</div>', join(pieces))


def _recorded(last: WorkerAssignment) -> Markup:
    message = html(
        "<p><b>Recorded.</b> Your purchase scored <b>{:.0f}</b> of 100, and you have earned {}.{}"
        "</p>",
        100 * (last.reward or 0),
        ui.dollars(last.pay),
        " Your code was accepted." if last.is_coded else "",
    )
    return ui.section(ui.callout(message, "good" if last.reward else "", role="status"))


def _open(now: WorkerAssignment, own: str) -> Markup:
    return ui.section(
        html(
            '<div class="card instruction"><blockquote>{}</blockquote><p>{} when it is done.{}'
            " Yours until {}.</p>"
            '{}<p class="note">Come back to this page when you have bought something. An'
            " assignment that you return is not paid, and does not come again.</p></div>",
            now.instruction,
            ui.dollars(now.offered),
            " It is part of your trial." if now.is_trial else "",
            ui.moment(now.until, left=True),
            ui.actions(
                html(
                    '<a class="btn primary" href="{}" target="_blank" rel="noopener">Open the shop'
                    " (new tab)</a>",
                    now.address,
                ),
                html('<a class="btn" href="{}" data-look-again>I have bought something</a>', own),
                ui.button("Return", f"{own}/return", kind="bad"),
            ),
        ),
        title="Your assignment",
    )


def _next(shopping: WorkerShopping, own: str, settings: ShoppingSettings) -> Markup:
    if not shopping.may_begin:
        return ui.section(ui.callout(shopping.why_not))
    trial = EMPTY
    if shopping.status == "trying":
        trial = ui.paragraph(
            f"Your first {shopping.trials} assignments are a trial: {shopping.done} of them are"
            f" done. Those who score more than {100 * settings.bar:.0f} on average get more."
        )
    return ui.section(
        html(
            '<div class="card"><p>{} for each assignment, whatever it scores.</p>{}{}</div>',
            ui.dollars(settings.pay),
            trial,
            ui.button("Start shopping", own, kind="primary"),
        ),
        title="An assignment for you",
    )


def _code_form(own: str) -> Markup:
    return ui.section(
        ui.form(
            f"{own}/code",
            ui.field(
                "Completion code",
                "code",
                hint="Ten characters, on the page after the purchase.",
                required=True,
                maxlength=40,
                autocomplete="off",
                spellcheck="false",
            ),
            ui.submit("Submit"),
        ),
        title="Your code",
    )


def _table(assignments: Sequence[WorkerAssignment]) -> Markup:
    rows = [
        [
            str(one.number),
            one.instruction,
            state_badge(one.state, one.reward),
            "" if one.reward is None else f"{100 * one.reward:.0f}",
            ui.dollars(one.pay),
            "submitted" if one.is_coded else "",
        ]
        for one in reversed(assignments)
    ]
    return table(["number", "instruction", "state", "score", "pay", "code"], rows)


def state_badge(state: str, reward: float | None) -> Markup:
    """How an assignment stands; green is for purchases that were worth something."""
    return badge(state, "won" if state == "done" and reward else "")


# What the WebShop paper told its workers (its last appendix), in our own words and for our shop.
GUIDE: Final = html("""
<details class="card guide"><summary><h2>How it works</h2></summary>
<ol>
<li><b>Read what is wanted.</b> It stands at the top of every page of the shop: a kind of product,
properties it must have, often a colour, a size or another option, and a price.</li>
<li><b>Search.</b> Write a few words of your own that the right product would have in its text.
Do not paste the whole sentence: too many words find the wrong things. Look at what comes, and
search again with other words. The search is a simple one; quotation marks and the like do
nothing.</li>
<li><b>Look through the results.</b> There are ten on a page, and Next shows more. The blue number
of a product opens it.</li>
<li><b>Choose options.</b> If what is wanted names a size, a colour or the like, click on it on the
product's page, even if the title says it already. An option that reads just like what is wanted is
a good sign that you have the right product.</li>
<li><b>Check.</b> Everything that is wanted should stand in the product's <em>text</em>: its title,
description, features or options. Pictures may help you look, but they do not count: a product that
looks right and does not say so is no match. Keep an eye on the price.</li>
<li><b>Buy, or go on.</b> If it fits, click Buy Now. If not, go back to the results, or back to the
search and try other words. You can buy once.</li>
<li><b>Done.</b> You see a score and a code. Your page here knows by itself that you are done; the
code is your proof, and can be submitted below. The score does not change what you are paid.</li>
</ol>
<h3>An example</h3>
<p>Wanted: <q>a lightweight garden hose, green, 50 feet, for less than 40 dollars</q>. Pasting all
of that is a poor search. <q>lightweight garden hose</q> is a better one; if nothing suits,
<q>expandable hose 50 feet</q> may. A hose whose options list <q>green</q> and <q>50 feet</q> beats
one that is merely green in its picture.</p>
</details>
<details class="card guide"><summary><h2>What makes a good score</h2></summary>
<h3>It goes well for those who</h3>
<ul>
<li>change their search until promising products come up,</li>
<li>open several products, and the next page of results if need be,</li>
<li>find each thing that is wanted in the title, the description or the features,</li>
<li>choose every option that is asked for, nearly word for word.</li>
</ul>
<h3>It goes badly for those who</h3>
<ul>
<li>paste the whole sentence into the search and leave it at that,</li>
<li>take the first product without reading it,</li>
<li>buy something that does not even have the options that are asked for.</li>
</ul>
</details>
""")
