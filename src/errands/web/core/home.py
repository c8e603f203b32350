"""The front door of a website: `/` shows its places, or leads to the only one.

A shop that is served alone has `/` for itself and begins a session there, as the original's site
does; so it has `/?goal=4` and what is posted to `/` in any company.
"""

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match
from starlette.types import Scope

from errands.markup import Markup, html, join
from errands.web.core import elements as ui
from errands.web.core.application import AppPart, Route
from errands.web.core.document import Assets, document, page_headers
from errands.web.core.places import SHOP, Place, bar, places

__all__ = ["ASSETS", "HEADERS", "home_parts"]

ASSETS: Final = Assets("home", __file__)
HEADERS: Final = page_headers("img-src 'self' data:")


def home_parts(parts: Sequence[AppPart]) -> list[AppPart]:
    """The front door of a website of these parts; none where a part has the root for itself."""
    served = [part.place.name for part in parts if part.place]
    roots = [route for part in parts for route in part.routes if getattr(route, "path", "") == "/"]
    if not served or roots:
        return []
    routes = ASSETS.routes()
    if served != [SHOP]:
        routes.append(_HomeRoute("/", _home, methods=["GET"]))
    return [AppPart(routes)]


class _HomeRoute(Route):
    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, more = super().matches(scope)
        is_ours = match == Match.FULL and not scope["query_string"].startswith(b"goal=")
        return (match, more) if is_ours else (Match.NONE, {})


async def _home(request: Request) -> Response:
    served = places()
    if len(served) == 1:
        return RedirectResponse(served[0].address, 303, {"Cache-Control": "no-store"})
    content = document(
        "Welcome",
        ui.section(html('<div class="cards">{}</div>', join(map(_card, served)))),
        assets=ASSETS,
        bar=bar(),
        below=ui.paragraph("The shop and the crowd work where web agents are trained and tested."),
    )
    return Response(content, headers=HEADERS, media_type="text/html")


def _card(place: Place) -> Markup:
    return html(
        '<div class="card"><h2>{}</h2><p>{}</p>{}</div>',
        place.name,
        place.about,
        ui.link_button(place.action, place.address),
    )
