"""The places of a website (shop, crowd work, runs, environment API) and the bar between them.

Each part of an application may be a `Place`. Which ones a server has is known to every page while
a request is answered; with one alone there is nothing to go between, and no bar.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from errands.markup import EMPTY, Markup, html, join
from errands.shop.render.images import picture

__all__ = ["API", "CROWD", "RUNS", "SHOP", "Place", "bar", "places", "site_sheet", "with_places"]

SHOP: Final = "Shop"
CROWD: Final = "Crowd work"
RUNS: Final = "Runs"
API: Final = "Environment API"
_ORDER: Final = (SHOP, CROWD, RUNS, API)


class Place(NamedTuple):
    """A part of a website that people go to."""

    name: str
    address: str
    about: str
    """A sentence or two, for the home page."""
    action: str
    """What its button on the home page says."""


_SERVED: ContextVar[tuple[Place, ...]] = ContextVar("places", default=())


def places() -> tuple[Place, ...]:
    """The places of the website that is answering."""
    return _SERVED.get()


def with_places(app: ASGIApp, served: Sequence[Place]) -> ASGIApp:
    """An application whose pages know its places."""
    known = tuple(sorted(served, key=lambda place: _ORDER.index(place.name)))

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        _SERVED.set(known)
        await app(scope, receive, send)

    return answer


def bar(here: str = "", address: str = "", *, is_silent: bool = False) -> Markup:
    """The bar for a page of the place `here`, whose own link may lead to another `address`.

    A silent one has no text nodes: its names are drawn by the style sheet.
    """
    served = places()
    return _bar(served, here, address, is_silent) if len(served) > 1 else EMPTY


@lru_cache(4096)
def _bar(served: tuple[Place, ...], here: str, address: str, is_silent: bool) -> Markup:
    def link(name: str, to: str, current: Markup = EMPTY) -> Markup:
        if is_silent:
            return html('<a href="{}" aria-label="{}"{}></a>', to, name, current)
        return html('<a href="{}"{}>{}</a>', to, current, name)

    return html(
        '<nav class="places" aria-label="Errands"><div>{}{}</div></nav>',
        link("Errands", "/"),
        join(
            link(name, address or to, html(' aria-current="true"'))
            if name == here
            else link(name, to)
            for name, to, *_ in served
        ),
    )


@cache
def site_sheet() -> str:
    """Styles of the bar and of pictures that cannot be loaded, for every page of a website."""
    sheet = Path(__file__).with_name("places.css").read_text(encoding="utf-8")
    return sheet.replace("NO_PICTURE", f"data:image/svg+xml,{quote(picture(''))}")
