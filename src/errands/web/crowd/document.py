"""The document around every page of crowd work: navigation, style sheet, policy."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.markup import EMPTY, Markup
from errands.web.core import document as core
from errands.web.core import elements as ui
from errands.web.core.document import Assets
from errands.web.core.elements import Link
from errands.web.core.http_errors import HttpError
from errands.web.core.places import CROWD, bar

__all__ = [
    *("ASSETS", "HEADERS", "document", "error_page", "html_response"),
    *("staff_links", "worker_links"),
]

HEADERS: Final = core.page_headers("img-src 'self' https: data:; frame-src 'self'")
_TITLES: Final = {
    "not_found": "Page not found",
    "forbidden": "Not allowed",
    "forged": "Form expired",
    "logged_out": "Logged out",
    "too_large": "Too large",
    "unavailable": "Unavailable at the moment",
    "internal": "Internal error",
}


ASSETS: Final = Assets("office", __file__, files="crowd")


def document(
    title: str,
    body: Markup,
    *,
    ways: Sequence[Link] = (),
    here: str = "",
    below: Markup = EMPTY,
    wide: bool = False,
) -> bytes:
    """A whole page. `ways` are the navigation, `here` is the one that is open; `below` is shown
    under the title."""
    return core.document(
        title,
        body,
        assets=ASSETS,
        bar=bar(CROWD, ways[0][0] if ways else ""),
        navigation=core.navigation(ways, here) if ways else EMPTY,
        below=below,
        kind="crowd wide" if wide else "crowd",
    )


def html_response(content: bytes, status: int = 200) -> Response:
    """A page of crowd work, with its policy."""
    return Response(content, status, HEADERS, media_type="text/html")


def staff_links(person: Person) -> list[Link]:
    """The navigation of somebody who is logged in."""
    ways = [("/office", "Overview"), ("/office/projects", "Projects")]
    if person.role == "admin":
        ways += [
            ("/office/instructions", "Instructions"),
            ("/office/demonstrations", "Demonstrations"),
            ("/office/people", "Accounts"),
        ]
    return ways


def worker_links(token: str) -> list[Link]:
    """The navigation of a worker."""
    return [(f"/work/{token}", "Your work")]


def error_page(refusal: HttpError, ways: Sequence[Link] = ()) -> bytes:
    """What cannot be done, and why; `ways` lead on."""
    title = _TITLES.get(refusal.code, "That did not work")
    return document(title, ui.section(ui.callout(refusal.message, "bad")), ways=ways)
