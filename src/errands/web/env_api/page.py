"""The page about the environment API: how a program begins, and every call there is."""

from collections.abc import Mapping
from typing import Final

from errands.markup import Markup, html
from errands.reports.html.elements import table
from errands.web.core import elements as ui
from errands.web.core.document import document
from errands.web.core.home import ASSETS, HEADERS
from errands.web.core.openapi import Json
from errands.web.core.places import API, Place, bar

__all__ = ["HEADERS", "PLACE", "api_page"]

PLACE: Final = Place(
    API,
    "/api",
    "Shop and form pages as environments for programs: reset and step over HTTP and WebSocket,"
    " for trainers and agents on other machines.",
    "See the calls",
)
_CURL: Final = """\
curl {address}/v1/sessions -d '{{"environment": "shop"}}'
curl {address}/v1/sessions/SESSION/reset -d '{{"options": {{"goal": 4}}}}'
curl {address}/v1/sessions/SESSION/step -d '{{"action": "search[red shoes]"}}'"""
_PYTHON: Final = """\
import errands, gymnasium

env = gymnasium.make("errands/RemoteShop-v0", url="{address}")
observation, info = env.reset(options={{"goal": 4}})
observation, reward, terminated, truncated, info = env.step("search[red shoes]")"""


def api_page(address: str, paths: Mapping[str, Json]) -> bytes:
    """For the server at that address, which has these paths (as OpenAPI describes them)."""
    calls = [
        (html("<code>{} {}</code>", method.upper(), path), operation["summary"])
        for path, methods in paths.items()
        for method, operation in methods.items()
        if method != "parameters"
    ]
    body = (
        _example("From a shell", _CURL, address)
        + _example("From Python", _PYTHON, address)
        + ui.section(
            table(("call", "what it does"), calls),
            html(
                '<p class="note">A WebSocket at <code>/v1/socket</code> takes the same calls, as'
                ' JSON or msgpack. <a href="/openapi.json">/openapi.json</a> describes all of it to'
                " programs. A server with a token wants <code>Authorization: Bearer TOKEN</code>"
                " with every call.</p>"
            ),
            title="Calls",
        )
    )
    return document(API, body, assets=ASSETS, bar=bar(API))


def _example(title: str, text: str, address: str) -> Markup:
    shown = html('<pre tabindex="0"><code>{}</code></pre>', text.format(address=address))
    return ui.section(shown, title=title)
