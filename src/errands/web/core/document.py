"""The HTML document around every page that is not the shop's, its headers, style sheet and script.

Nothing is loaded from elsewhere, and no script or style stands in a page itself: each is a file,
whose address changes with its content, so that browsers may keep it for long.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.page import style_sheet
from errands.web.core.application import Route
from errands.web.core.places import site_sheet

__all__ = ["Assets", "document", "file_headers", "navigation", "page_headers"]

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
        return f"{style_sheet()}\n{site_sheet()}\n{own}".encode()

    @cached_property
    def _script(self) -> bytes:
        """Empty where a part needs none."""
        script = self._beside.with_suffix(".js")
        return script.read_bytes() if script.exists() else b""

    @cached_property
    def tags(self) -> Markup:
        """For the head of a page."""
        version = hashlib.blake2b(self._sheet + self._script, digest_size=6).hexdigest()
        address = self._address
        tags = html('<link rel="stylesheet" href="{}.css?v={}">\n', address, version)
        if self._script:
            tags += html('<script src="{}.js?v={}" defer></script>\n', address, version)
        return tags

    def routes(self) -> list[Route]:
        """Where the files are."""
        files = [("css", self._sheet, "text/css"), ("js", self._script, "text/javascript")]
        return [
            Route(f"{self._address}.{ending}", _file(content, kind), methods=["GET"])
            for ending, content, kind in files
            if content
        ]


_BRAND: Final = Markup("Errands")


def page_headers(policy: str) -> Mapping[str, str]:
    """Headers of a page; `policy` is what it may load beside its own styles and scripts."""
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'self'; script-src 'self'; {policy};"
            " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def file_headers(name: str = "") -> dict[str, str]:
    """Headers of what is no page; with a name, browsers save it as a file."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    if name:
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return headers


def navigation(links: Iterable[tuple[str, str]], here: str) -> Markup:
    """The links (address, name) below the title; `here` is the address that is open."""
    shown = join(
        html(
            '<a href="{}"{}>{}</a>',
            address,
            html(' aria-current="page"') if address == here else EMPTY,
            name,
        )
        for address, name in links
    )
    return html('<nav class="jump" aria-label="Site"><div class="inner">{}</div></nav>', shown)


def document(
    title: str,
    body: Markup,
    *,
    assets: Assets,
    navigation: Markup = EMPTY,
    below: Markup = EMPTY,
    brand: Markup = _BRAND,
    bar: Markup = EMPTY,
    kind: str = "",
    head: Markup = EMPTY,
    main: Markup = EMPTY,
) -> bytes:
    """A whole page: `below` stands under the title, `bar` above it instead of the brand, `kind` is
    the body's class, `head` is more for the head, `main` are further attributes of the main part.
    """
    return html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<title>{title} - Errands</title>\n{head}<link rel="icon" href="data:,">\n'
        "{tags}</head>\n<body{kind}>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        '{bar}<header class="top"><div class="inner">{brand}'
        "<h1>{title}</h1>{below}</div></header>\n{navigation}\n"
        '<main id="main" tabindex="-1"{main}>{body}</main>\n</body>\n</html>\n',
        title=title,
        head=head,
        tags=assets.tags,
        kind=html(' class="{}"', kind) if kind else EMPTY,
        bar=bar,
        brand=EMPTY if bar else html('<p class="brand">{}</p>', brand),
        below=below,
        navigation=navigation,
        main=main,
        body=body,
    ).encode("utf-8", "replace")


def _file(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return endpoint
