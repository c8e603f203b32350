"""What every page of the office is put into: head, navigation, style sheet, policy.

Nothing is loaded from elsewhere; no script or style stands in a page itself.
"""

from collections.abc import Sequence
from typing import Final

from errands.crowd.accounts.accounts import Person
from errands.reports.html.markup import esc
from errands.web.core.assets import Assets
from errands.web.core.http_errors import HttpError

__all__ = ["ASSETS", "HEADERS", "button", "document", "error_page", "field"]

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https: data:;"
        " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Link = tuple[str, str]
"""Where a link leads, and what it says."""

_TITLES: Final = {
    "not_found": "There is no such page",
    "forbidden": "Not for you",
    "forged": "That did not come from here",
    "logged_out": "Logged out",
    "too_large": "That is too large",
    "unavailable": "Closed for a moment",
    "internal": "Something went wrong on our side",
}


ASSETS: Final = Assets("office", __file__, files="crowd")


def document(
    title: str,
    body: str,
    *,
    ways: Sequence[Link] = (),
    here: str = "",
    below: str = "",
    wide: bool = False,
) -> bytes:
    """A whole page. `ways` are the navigation, `here` is the one that is open; `body` and `below`
    (under the title) are markup that is safe already."""
    links = "".join(
        f'<a href="{esc(address)}"{_current(address == here)}>{esc(name)}</a>'
        for address, name in ways
    )
    navigation = f'<nav class="jump" aria-label="Site"><div class="inner">{links}</div></nav>'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{esc(title)} - Errands</title>\n<link rel="icon" href="data:,">\n'
        f"{ASSETS.tags}</head>\n"
        f'<body class="office{" wide" if wide else ""}">\n'
        '<a class="skip" href="#main">Skip to the content</a>\n'
        '<header class="top"><div class="inner"><p class="brand">Errands</p>'
        f"<h1>{esc(title)}</h1>{below}</div></header>\n{navigation if ways else ''}\n"
        f'<main id="main" tabindex="-1">{body}</main>\n</body>\n</html>\n'
    ).encode("utf-8", "replace")


def _current(is_open: bool) -> str:
    return ' aria-current="page"' if is_open else ""


def staff_links(person: Person) -> list[Link]:
    """The navigation of somebody who is logged in."""
    ways = [("/office", "Office"), ("/office/projects", "Crowd work")]
    if person.role == "admin":
        ways += [
            ("/office/instructions", "Instructions"),
            ("/office/demonstrations", "Demonstrations"),
            ("/office/people", "People"),
        ]
    return ways


def worker_links(token: str) -> list[Link]:
    """The navigation of a worker."""
    return [(f"/work/{token}", "Your work")]


def field(
    label: str,
    name: str,
    value: str = "",
    *,
    type: str = "text",
    hint: str = "",
    required: bool = False,
    more: str = "",
) -> str:
    """A labelled field of a form; `more` are further attributes, safe already."""
    told = f'<small id="{esc(name)}-hint">{esc(hint)}</small>' if hint else ""
    described = f' aria-describedby="{esc(name)}-hint"' if hint else ""
    needed = " required" if required else ""
    return (
        f'<p class="field"><label for="{esc(name)}">{esc(label)}</label>{told}'
        f'<input id="{esc(name)}" name="{esc(name)}" type="{type}" value="{esc(value)}"'
        f"{described}{needed}{more}></p>"
    )


def button(
    label: str, address: str, check: str = "", *, kind: str = "", fields: Sequence[Link] = ()
) -> str:
    """A form that is one button; `fields` are hidden ones."""
    hidden = "".join(
        f'<input type="hidden" name="{esc(name)}" value="{esc(value)}">'
        for name, value in (*([("check", check)] if check else []), *fields)
    )
    return (
        f'<form class="one" method="post" action="{esc(address)}">{hidden}'
        f'<button class="btn {kind}" type="submit">{esc(label)}</button></form>'
    )


def error_page(refusal: HttpError, ways: Sequence[Link] = ()) -> bytes:
    """What cannot be done, and why; `ways` lead on."""
    title = _TITLES.get(refusal.code, "That did not work")
    body = f'<section><div class="callout bad"><p>{esc(refusal.message)}</p></div></section>'
    return document(title, body, ways=ways)
