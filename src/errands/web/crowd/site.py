"""The part of the application where people work: an office with several desks.

    application([office_part(Office(database, people), [front_desk, ...])], Auth(token))

A desk is a function from the office to its routes and its pages of the OpenAPI description. All
desks share the database, the people and the reception.
"""

import contextlib
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from starlette.datastructures import URLPath
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send

from errands.crowd.accounts.accounts import Accounts, Person
from errands.crowd.store.database import Database
from errands.envs.episode import ShopContext
from errands.reports.html.markup import esc
from errands.turk.tasks.loader import TaskSet
from errands.web.core.application import AppPart
from errands.web.core.forms import Form
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import Auth, CrowdRequest
from errands.web.crowd.document import ASSETS, HEADERS, document, worker_links
from errands.web.crowd.openapi import operation
from errands.web.crowd.openapi import paths as described
from errands.web.shop.visitors import Visitors

__all__ = ["CrowdSite", "RouteFactory", "RouteGroup", "WorkCard", "crowd_part", "dollars"]

_INSIDE: Final = ("/office/", "/work/", "/frame/", "/mturk/", "/v1/office/", "/v1/work/")


@dataclass(frozen=True)
class CrowdSite:
    """What all desks share."""

    database: Database
    people: Accounts
    auth: Auth
    shopping: ShopContext | None = None
    """The shop, where there is one."""
    shoppers: Visitors | None = None
    tasks: TaskSet | None = None
    """Tasks that a requester may take instead of uploading."""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Signs addresses that only this office can have made."""


class WorkCard(NamedTuple):
    """What a desk has for a worker."""

    title: str
    text: str
    """Markup that is safe already."""
    address: str = ""
    """Where the work begins; empty: there is nothing to do now."""
    label: str = "Begin"
    done: int = 0
    """How much of it the worker has done."""
    earned: float = 0.0
    """In dollars."""


@dataclass(frozen=True)
class RouteGroup:
    """Routes, what the OpenAPI description says of them, and what there is to do for a worker."""

    routes: Sequence[BaseRoute]
    paths: Callable[[], dict[str, Any]]
    offers: Callable[[Person, str], Sequence[WorkCard]] = lambda person, token: ()
    """For a worker and the token of their link."""


RouteFactory = Callable[[CrowdSite], RouteGroup]


def crowd_part(site: CrowdSite, seats: Iterable[RouteFactory]) -> AppPart:
    """The office as a part of an application."""
    desks = [seat(site) for seat in seats]

    async def home(request: CrowdRequest) -> Response:
        token = request.http.path_params["token"]
        offers = [offer for desk in desks for offer in desk.offers(request.person, token)]
        return Response(
            _home(request.person, token, offers), headers=HEADERS, media_type="text/html"
        )

    state = {"draining": False}

    async def nowhere(request: Request, form: Form) -> Response:
        raise HttpError(404, "not_found", "The address leads to no page of this office.")

    lost = site.auth.open_page(nowhere)

    def paths() -> dict[str, Any]:
        said = [desk.paths() for desk in desks]
        home = {"get": operation("A worker's own page", media="text/html")}
        said.append(described({"/work/{token}": home}))
        return {
            "schemas": {name: one for held in said for name, one in held["schemas"].items()},
            "paths": {name: one for held in said for name, one in held["paths"].items()},
        }

    return AppPart(
        routes=(
            _CrowdRoutes(
                [
                    *(route for desk in desks for route in desk.routes),
                    Route("/work/{token}", site.auth.worker_page(home), methods=["GET"]),
                    *ASSETS.routes(),
                ],
                lost,
            ),
        ),
        paths=paths,
        lifespan=contextlib.nullcontext,
        metrics=lambda: "",
        ready=lambda: not state["draining"],
        drain=lambda: state.update(draining=True),
        busy=lambda: site.auth.in_flight > 0,
    )


class _CrowdRoutes(BaseRoute):
    """All addresses of the office behind one look: shoppers are not to wait for its routes."""

    def __init__(
        self, routes: Sequence[BaseRoute], lost: Callable[[Request], Awaitable[Response]]
    ) -> None:
        async def nothing_there(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"].startswith("/v1/"):
                raise HTTPException(404)
            response = await lost(Request(scope, receive))
            await response(scope, receive, send)

        self._router = Router(routes, redirect_slashes=False, default=nothing_there)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path: str = scope["path"]
        is_ours = scope["type"] == "http" and (path == "/office" or path.startswith(_INSIDE))
        return (Match.FULL if is_ours else Match.NONE), {}

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        return self._router.url_path_for(name, **path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._router(scope, receive, send)


def _home(person: Person, token: str, offers: Sequence[WorkCard]) -> bytes:
    """A worker's own page."""
    cards = "".join(
        f'<div class="card"><h2>{esc(offer.title)}</h2>{offer.text}'
        f'<p class="note">{offer.done} done, {dollars(offer.earned)} earned</p>'
        + (
            f'<p><a class="btn primary" href="{esc(offer.address)}">{esc(offer.label)}</a></p>'
            if offer.address
            else ""
        )
        + "</div>"
        for offer in offers
    )
    total = dollars(sum(offer.earned for offer in offers))
    body = (
        f'<section><p>You have earned <b>{total}</b> so far.</p><div class="cards">{cards}</div>'
        '<p class="note">This page and its address are yours alone: who has the address can work'
        " in your name.</p></section>"
    )
    ways = worker_links(token)
    return document(
        "Your work", body, ways=ways, here=ways[0][0], below=f"<p>{esc(person.name)}</p>"
    )


def dollars(amount: float) -> str:
    """An amount of money.

    >>> dollars(1234.5)
    '$1,234.50'
    """
    return f"${amount:,.2f}"
