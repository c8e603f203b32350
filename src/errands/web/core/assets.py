"""The style sheet and the script of a part of the site, each a file of its own.

Their addresses change with their content, so that browsers may keep them for long.
"""

import hashlib
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from errands.markup import Markup, html
from errands.reports.html.page import style_sheet
from errands.web.core.application import Route

__all__ = ["Assets"]

_HEADERS: Final = {
    "Cache-Control": "max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}


class Assets:
    """The style sheet of reports with what a part adds: `NAME.css` and `NAME.js` in its folder."""

    def __init__(self, name: str, beside: str, files: str = "") -> None:
        """`files` is what the two are called where that is not the `name` in their addresses."""
        self._name = name
        self._beside = Path(beside).with_name(files or name)
        self._address = f"/{name}/static/{name}"

    @cached_property
    def _sheet(self) -> bytes:
        own = self._beside.with_suffix(".css").read_text(encoding="utf-8")
        return f"{style_sheet()}\n{own}".encode()

    @cached_property
    def _script(self) -> bytes:
        return self._beside.with_suffix(".js").read_bytes()

    @cached_property
    def tags(self) -> Markup:
        """For the head of a page."""
        return html(
            '<link rel="stylesheet" href="{address}.css?v={version}">\n'
            '<script src="{address}.js?v={version}" defer></script>\n',
            address=self._address,
            version=hashlib.blake2b(self._sheet + self._script, digest_size=6).hexdigest(),
        )

    def routes(self) -> list[Route]:
        """Where the files are."""
        return [
            Route(f"{self._address}.css", _file(self._sheet, "text/css"), methods=["GET"]),
            Route(f"{self._address}.js", _file(self._script, "text/javascript"), methods=["GET"]),
        ]


def _file(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return endpoint
