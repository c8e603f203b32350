"""Crowd work as a part of an application: its addresses behind one test, and what they share.

application([crowd_part(CrowdSite(database, accounts, auth), [account_routes, ...])], ...)
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.datastructures import URLPath
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.store.database import Database
from errands.envs.episode import ShopContext
from errands.markup import EMPTY, Markup, html, join
from errands.turk.tasks.loader import TaskSet
from errands.web.core import elements as ui
from errands.web.core.application import AppPart, without_slash
from errands.web.core.elements import Link
from errands.web.core.forms import Form
from errands.web.core.http_errors import not_found
from errands.web.core.places import CROWD, Place
from errands.web.crowd.auth import Auth, CrowdRequest
from errands.web.crowd.document import ASSETS, document, html_response, staff_links, worker_links
from errands.web.crowd.routes import Routes, WorkCard, worker_page
from errands.web.shop.visitors import Visitors

__all__ = ["CrowdSite", "RouteFactory", "crowd_part", "staff_response", "worker_response"]

_PREFIXES: Final = (
    *("/office/", "/work/", "/join/", "/frame/", "/mturk/"),
    *("/v1/office/", "/v1/work/"),
)


@dataclass(frozen=True)
class CrowdSite:
    """What all parts of crowd work share."""

    database: Database
    accounts: Accounts
    auth: Auth
    shopping: ShopContext | None = None
    """The shop, where there is one."""
    shoppers: Visitors | None = None
    tasks: TaskSet | None = None
    """Tasks that a requester may publish instead of uploading."""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Signs addresses that only this site can have made."""


RouteFactory = Callable[[CrowdSite], Routes]


def staff_response(
    title: str, body: Markup, request: CrowdRequest, here: str = "", *, below: Markup = EMPTY
) -> Response:
    """A page for somebody who is logged in."""
    person = request.person
    name = EMPTY if person.role == "admin" else ui.paragraph(person.name)
    return html_response(
        document(title, body, ways=staff_links(person), here=here, below=below or name)
    )


def worker_response(
    title: str,
    body: Markup,
    request: CrowdRequest,
    status: int = 200,
    *,
    here: Link | None = None,
    wide: bool = False,
) -> Response:
    """A page below a worker's link; `here` is its place in the navigation."""
    ways = worker_links(request.token)
    if here is not None and here not in ways:
        ways.append(here)
    content = document(
        title,
        body,
        ways=ways,
        here=here[0] if here else "",
        below=EMPTY if wide else ui.paragraph(request.person.name),
        wide=wide,
    )
    return html_response(content, status)


class _WorkerHome(Routes):
    """A worker's own page, which leads to what there is to do."""

    def __init__(self, site: CrowdSite, groups: Sequence[Routes]) -> None:
        super().__init__(site.auth)
        self._groups = groups

    @worker_page("GET", "/work/{token}", "A worker's own page")
    async def home(self, request: CrowdRequest) -> Response:
        person, token = request.person, request.token
        cards = [card for group in self._groups for card in group.cards(person, token)]
        return worker_response("Your work", _home(cards), request, here=worker_links(token)[0])


def crowd_part(site: CrowdSite, factories: Iterable[RouteFactory]) -> AppPart:
    """Crowd work as a part of an application."""
    groups = [factory(site) for factory in factories]
    groups.append(_WorkerHome(site, tuple(groups)))

    async def missing(request: Request, form: Form) -> Response:
        raise not_found("There is no page at this address.")

    def paths() -> dict[str, Any]:
        described = [group.paths() for group in groups]
        return {
            kind: {name: one for part in described for name, one in part[kind].items()}
            for kind in ("schemas", "paths")
        }

    return AppPart(
        routes=(
            _CrowdRoutes(
                [*(route for group in groups for route in group.routes()), *ASSETS.routes()],
                site.auth.open_page(missing),
            ),
        ),
        place=Place(
            CROWD,
            "/office",
            "Tasks for people: publish them, invite workers, collect and export their answers."
            " Workers come by their own link.",
            "Log in",
        ),
        paths=paths,
        busy=lambda: site.auth.in_flight > 0,
    )


class _CrowdRoutes(BaseRoute):
    """All addresses of crowd work behind one test: shoppers are not to wait for its routes."""

    def __init__(
        self, routes: Sequence[BaseRoute], not_found: Callable[[Request], Awaitable[Response]]
    ) -> None:
        async def default(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"].startswith("/v1/"):
                raise HTTPException(404)
            request = Request(scope, receive)
            has_slash = scope["path"].endswith("/")
            response = await (without_slash if has_slash else not_found)(request)
            await response(scope, receive, send)

        self._router = Router(routes, redirect_slashes=False, default=default)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path: str = scope["path"]
        is_ours = scope["type"] == "http" and (path == "/office" or path.startswith(_PREFIXES))
        return (Match.FULL if is_ours else Match.NONE), {}

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        return self._router.url_path_for(name, **path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._router(scope, receive, send)


def _home(cards: Sequence[WorkCard]) -> Markup:
    """A worker's own page."""
    shown = join(
        html(
            '<div class="card"><h2>{}</h2>{}<p class="note">{} done, {} earned</p>{}</div>',
            card.title,
            card.text,
            card.done,
            ui.dollars(card.earned),
            html("<p>{}</p>", ui.link_button(card.label, card.address, "primary"))
            if card.address
            else EMPTY,
        )
        for card in cards
    )
    return ui.section(
        html(
            "<p>You have earned <b>{}</b> so far.</p>", ui.dollars(sum(one.earned for one in cards))
        ),
        html('<div class="cards">{}</div>', shown)
        if cards
        else ui.paragraph("There is no work for you at the moment. Come back later."),
        ui.paragraph(
            "This page and its address are yours alone: anybody who has the address can work in"
            " your name.",
            "note",
        ),
    )
