"""Where a worker is sent shopping, and tells that it is done.

The shop's own pages are the same for everybody; here is the instruction, the guide, the way into
the shop, and a place for the code that the shop shows after the purchase.
"""

from typing import Any, Final

import msgspec
from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.crowd.shopping.assignments import (
    Settled,
    ShoppingAssignment,
    ShoppingAssignments,
    ShoppingError,
    ShoppingSettings,
)
from errands.crowd.shopping.worker_quality import WorkerStatus
from errands.reports.html.markup import badge, esc, table
from errands.web.core.application import Route
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import CrowdRequest, json_response, redirect
from errands.web.crowd.document import HEADERS, button, document, field, worker_links
from errands.web.crowd.openapi import operation, paths
from errands.web.crowd.shopping.guide import GUIDE
from errands.web.crowd.site import CrowdSite, RouteGroup, WorkCard, dollars
from errands.web.shop.visitors import Visitors

__all__ = ["WorkerAssignment", "shopping_routes"]

_TITLE: Final = "Shopping"


class Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The completion code that the shop shows after the purchase."""

    code: str


class WorkerAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """An outing as its worker may see it: nothing of the goal but the instruction."""

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
    """After that it may be taken back."""
    ended: float | None
    reward: float | None
    pay: float
    offered: float
    is_coded: bool
    """Whether its code was handed in."""


class Shopping(msgspec.Struct, frozen=True, kw_only=True):
    """All that a worker can know of their shopping."""

    standing: WorkerStatus
    may_begin: bool
    why_not: str
    """Where none may begin."""
    trials: int
    """How many errands the trial has."""
    done: int
    earned: float
    errands: list[WorkerAssignment]


_CODE: Final = msgspec.json.Decoder(Code)


def shopping_routes(site: CrowdSite) -> RouteGroup:
    """Errands for workers; an office without a shop has none."""
    if site.shoppers is None or site.shopping is None:
        return RouteGroup((), lambda: paths({}))
    outings = ShoppingAssignments(site.database, site.shopping.goals, seed=site.shoppers.seed)
    outings.settle()
    site.shoppers.watch(outings)
    desk = _ShoppingPages(outings, site.shoppers)
    at = site.auth
    own, api = "/work/{token}/shopping", "/v1/work/shopping"
    routes = [
        Route(own, at.worker_page(desk.show), methods=["GET"]),
        Route(own, at.worker_page(desk.begin), methods=["POST"]),
        Route(f"{own}/code", at.worker_page(desk.hand_in), methods=["POST"]),
        Route(f"{own}/return", at.worker_page(desk.give_back), methods=["POST"]),
        Route(api, at.api(desk.api_show, "worker"), methods=["GET"]),
        Route(api, at.api(desk.api_begin, "worker"), methods=["POST"]),
        Route(f"{api}/code", at.api(desk.api_hand_in, "worker"), methods=["POST"]),
        Route(f"{api}/return", at.api(desk.api_give_back, "worker"), methods=["POST"]),
    ]
    return RouteGroup(routes, _paths, desk.offers)


class _ShoppingPages:
    def __init__(self, outings: ShoppingAssignments, shoppers: Visitors) -> None:
        self._assignments = outings
        self._shoppers = shoppers

    def offers(self, person: Person, token: str) -> list[WorkCard]:
        """What the worker's home page says."""
        told = self._told(person)
        is_out = any(one.state == "open" for one in told.errands)
        text = "<p>Find and buy what somebody asks for, in our shop.</p>"
        if not (is_out or told.may_begin):
            text += f"<p>{esc(told.why_not)}</p>"
        return [
            WorkCard(
                title=_TITLE,
                text=text,
                address=f"/work/{token}/shopping",
                label="Go on" if is_out else "Begin" if told.may_begin else "Look",
                done=told.done,
                earned=told.earned,
            )
        ]

    async def show(self, request: CrowdRequest) -> Response:
        return self._page(request)

    async def begin(self, request: CrowdRequest) -> Response:
        self._begun(request.person)
        return redirect(_own(request))

    async def hand_in(self, request: CrowdRequest) -> Response:
        try:
            self._assignments.hand_in(request.person.id, request.form.text("code"))
        except ShoppingError as wrong:
            return self._page(request, str(wrong), 409 if isinstance(wrong, Settled) else 400)
        return redirect(_own(request))

    async def give_back(self, request: CrowdRequest) -> Response:
        try:
            self._assignments.give_back(request.person.id)
        except Settled as settled:
            raise _refused(settled) from None
        return redirect(_own(request))

    async def api_show(self, request: CrowdRequest) -> Response:
        return json_response(self._told(request.person))

    async def api_begin(self, request: CrowdRequest) -> Response:
        self._begun(request.person)
        return json_response(self._told(request.person), 201)

    async def api_hand_in(self, request: CrowdRequest) -> Response:
        try:
            self._assignments.hand_in(request.person.id, request.read(_CODE).code)
        except Settled as settled:
            raise _refused(settled) from None
        return json_response(self._told(request.person))

    async def api_give_back(self, request: CrowdRequest) -> Response:
        try:
            self._assignments.give_back(request.person.id)
        except Settled as settled:
            raise _refused(settled) from None
        return json_response(self._told(request.person))

    def _begun(self, person: Person) -> None:
        try:
            self._assignments.begin(person.id, self._shoppers.begin)
        except Settled as settled:
            raise _refused(settled) from None

    def _told(self, person: Person) -> Shopping:
        settings = self._assignments.settings()
        held = self._assignments.of(person.id)
        stands = self._assignments.standing(person.id)
        done = [one for one in held if one.state == "done"]
        why_not = ""
        if any(one.state == "open" for one in held):
            why_not = "You are out shopping already."
        elif stands == "refused":
            why_not = "There is no more shopping for you. Thank you for what you did."
        elif not settings.is_open:
            why_not = "There is no shopping to do at the moment."
        return Shopping(
            standing=stands,
            may_begin=not why_not,
            why_not=why_not,
            trials=settings.trials,
            done=len(done),
            earned=sum(one.pay for one in done),
            errands=[self._errand(number, one, settings) for number, one in enumerate(held, 1)],
        )

    def _errand(
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
        told = self._told(request.person)
        token = request.http.path_params["token"]
        body = _body(told, _own(request), wrong, self._assignments.settings())
        content = document(
            _TITLE, body, ways=worker_links(token), below=f"<p>{esc(request.person.name)}</p>"
        )
        return Response(content, status, HEADERS, media_type="text/html")


def _own(request: CrowdRequest) -> str:
    return f"/work/{request.http.path_params['token']}/shopping"


def _refused(settled: Settled) -> HttpError:
    return HttpError(409, "conflict", str(settled))


def _body(told: Shopping, own: str, wrong: str, settings: ShoppingSettings) -> str:
    now = next((one for one in told.errands if one.state == "open"), None)
    done = [one for one in told.errands if one.state == "done"]
    parts = [f'<div class="callout bad" role="alert"><p>{esc(wrong)}</p></div>'] if wrong else []
    if now is None and done and done[-1] is told.errands[-1]:
        parts.append(_recorded(done[-1]))
    parts.append(_errand_out(now, own) if now is not None else _next(told, own, settings))
    if any(not one.is_coded for one in done) or now is not None:
        parts.append(
            f'<section><h2>Your code</h2><form class="card" method="post" action="{esc(own)}/code">'
            + field(
                "Completion code",
                "code",
                hint="Ten characters, on the page after the purchase.",
                required=True,
                more=' maxlength="40" autocomplete="off" spellcheck="false"',
            )
            + '<button class="btn" type="submit">Hand it in</button></form></section>'
        )
    parts.append(f"<section>{GUIDE}</section>")
    if told.errands:
        parts.append(f'<section class="words"><h2>What you did</h2>{_list(told)}</section>')
    return f'<div class="outings">{"".join(parts)}</div>'


def _recorded(last: WorkerAssignment) -> str:
    coded = " Your code was taken." if last.is_coded else ""
    return (
        '<section><div class="callout good" role="status"><p><b>Recorded.</b> Your purchase scored'
        f" <b>{100 * (last.reward or 0):.0f}</b> of 100, and {dollars(last.pay)} is noted for"
        f" you.{coded}</p></div></section>"
    )


def _errand_out(now: WorkerAssignment, own: str) -> str:
    trial = " It belongs to your trial." if now.is_trial else ""
    return (
        f'<section><h2>Your errand</h2><div class="card errand"><blockquote>{esc(now.instruction)}'
        f"</blockquote><p>{dollars(now.offered)} when it is done.{trial}</p>"
        f'<div class="deeds"><a class="btn primary" href="{esc(now.address)}" target="_blank"'
        ' rel="noopener">To the shop (opens a new tab)</a>'
        f'<a class="btn" href="{esc(own)}" data-look-again>I have bought something</a>'
        f"{button('Give it back', f'{own}/return', kind='bad')}</div>"
        '<p class="note">Come back to this page when you have bought something. Who gives an errand'
        " back is not paid for it, and does not get it again.</p></div></section>"
    )


def _next(told: Shopping, own: str, settings: ShoppingSettings) -> str:
    if not told.may_begin:
        return f'<section><div class="callout"><p>{esc(told.why_not)}</p></div></section>'
    said = f"<p>{dollars(settings.pay)} for each errand, whatever it scores.</p>"
    if told.standing == "trying":
        said += (
            f"<p>Your first {told.trials} errands are a trial: {told.done} of them are done. Who"
            f" scores more than {100 * settings.bar:.0f} on average gets more of them.</p>"
        )
    return (
        f'<section><h2>An errand for you</h2><div class="card">{said}'
        f"{button('Go shopping', own, kind='primary')}</div></section>"
    )


def _list(told: Shopping) -> str:
    rows = []
    for one in reversed(told.errands):
        state = {"open": badge("open"), "done": badge("done", "won")}.get(
            one.state, badge("given back")
        )
        score = "" if one.reward is None else f"{100 * one.reward:.0f}"
        rows.append(
            [
                str(one.number),
                esc(one.instruction),
                state,
                score,
                dollars(one.pay),
                "handed in" if one.is_coded else "",
            ]
        )
    return table(["errand", "wanted", "state", "score", "pay", "code"], rows)


def _paths() -> dict[str, Any]:
    own, api = "/work/{token}/shopping", "/v1/work/shopping"
    return paths(
        {
            own: {
                "get": operation("A worker's errand", media="text/html"),
                "post": operation("Begin an errand", form={}, status="303"),
            },
            f"{own}/code": {
                "post": operation(
                    "Hand in a completion code", form={"code": {"type": "string"}}, status="303"
                )
            },
            f"{own}/return": {"post": operation("Give the errand back", form={}, status="303")},
            api: {
                "get": operation("A worker's errands", answer=Shopping),
                "post": operation("Begin an errand", answer=Shopping, status="201"),
            },
            f"{api}/code": {
                "post": operation("Hand in a completion code", body=Code, answer=Shopping)
            },
            f"{api}/return": {"post": operation("Give the errand back", answer=Shopping)},
        },
        [Code, Shopping],
    )
