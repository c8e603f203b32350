"""Where a worker shops for a goal, and proves that it is done.

The shop's own pages are the same for everybody; here is the instruction, the guide, the link to
the shop, and a field for the code that the shop shows after the purchase.
"""

from typing import Final

import msgspec
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.errors import Conflict
from errands.crowd.shopping.assignments import (
    ShoppingAssignment,
    ShoppingAssignments,
    ShoppingSettings,
    WrongCode,
)
from errands.markup import EMPTY, html
from errands.web.core import elements as ui
from errands.web.crowd.auth import Auth, CrowdRequest, redirect
from errands.web.crowd.routes import Routes, WorkCard, api, worker_page
from errands.web.crowd.shopping.assignment_pages import (
    WorkerAssignment,
    WorkerShopping,
    shopping_body,
)
from errands.web.crowd.site import CrowdSite, worker_response
from errands.web.shop.visitors import Visitors

__all__ = ["shopping_routes"]

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
        self._assignments.begin(request.person.id, self._shoppers.begin)
        return redirect(_own(request))

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
        self._assignments.begin(request.person.id, self._shoppers.begin)
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
        elif not settings.is_open:
            why_not = "There is no shopping to do at the moment."
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
        body = shopping_body(shopping, _own(request), wrong, self._assignments.settings())
        return worker_response(_TITLE, body, request, status)


def _own(request: CrowdRequest) -> str:
    return f"/work/{request.token}/shopping"
