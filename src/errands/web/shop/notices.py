"""Pages that say no, for people: what is the matter, and where to go on."""

from collections.abc import Sequence
from html import escape
from typing import Final

from errands.shop.render.html import document
from errands.web.core.http_errors import HttpError
from errands.web.shop.assets import site_assets

__all__ = ["notice"]

Way = tuple[str, str]
"""What a link says, and where it leads."""

_TITLES: Final = {
    "not_found": "There is no such page",
    "no_page": "There is no such page",
    "no_errand": "There is no such errand",
    "no_product": "There is no such product",
    "no_option": "There is no such option",
    "bought_already": "You have bought something already",
    "method_not_allowed": "That does not work here",
    "too_large": "That is too long",
    "timeout": "That took too long",
    "busy": "The shop is crowded",
    "unavailable": "The shop is closed for a moment",
    "internal": "Something went wrong on our side",
}


def notice(refusal: HttpError, ways: Sequence[Way] = ()) -> str:
    """The page for a refusal."""
    title = _TITLES.get(refusal.code, "That did not work")
    links = "".join(
        f'<li><a class="btn" href="{escape(address)}">{escape(name)}</a></li>'
        for name, address in ways or [("Go to the shop", "/")]
    )
    message = escape(refusal.message.encode("utf-8", "replace").decode())
    worn = site_assets()
    return document(
        title,
        "notice-page",
        '<header class="bar"><div class="brand"></div></header>\n<main>\n'
        f'<div class="notice"><h1>{escape(title)}</h1><p>{message}</p>\n'
        f'<ul class="ways">{links}</ul></div>\n</main>',
        sheet=worn.sheet,
        icon=worn.icon,
    )
