"""The document around every page of the site: head, policy, where you are, footer.

Pages load one thing, the style sheet beside them; all of them can be read without scripts. Pages
with a table run one script of ours, which the policy names by its hash.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from errands import __version__
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import cut
from errands.reports.html.page import style_sheet

__all__ = ["STYLE", "document", "site_style"]

STYLE: Final = "style.css"
Crumb = tuple[str, str]


@cache
def site_style() -> str:
    """The style sheet of the whole site: that of reports, and what is ours."""
    own = Path(__file__).with_name("board.css").read_text(encoding="utf-8")
    return f"{style_sheet()}\n{own}"


@cache
def _script() -> Markup:
    source = Path(__file__).with_name("board.js").read_text(encoding="utf-8")
    return Markup(source)  # noqa: S704 (our own file)


@cache
def _policy(scripted: bool) -> Markup:
    # Opened from a disk, a site has no origin that 'self' could stand for; hence `file:`.
    checksum = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return html(
        "default-src 'none'; style-src 'self' file:; script-src {}; form-action 'none';"
        " base-uri 'none'",
        Markup(f"'sha256-{checksum}'" if scripted else "'none'"),  # noqa: S704 (base64)
    )


def document(
    title: str,
    body: Markup,
    *,
    up: str = "",
    crumbs: Sequence[Crumb] = (),
    below: Markup = EMPTY,
    jumps: Sequence[Crumb] = (),
    scripted: bool = False,
) -> str:
    """A whole page. `up` leads to the site's root; `below` stands under the title."""
    links = [*crumbs, *jumps]
    return html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        "<title>{title}</title>\n"
        '<link rel="stylesheet" href="{up}{style}">\n</head>\n<body>\n'
        '<a class="skip" href="#main">To the content</a>\n'
        '<header class="top"><div class="inner"><p class="brand">Errands leaderboard</p>'
        "<h1>{title}</h1>{below}</div></header>\n"
        '<nav class="jump" aria-label="Where you are"><div class="inner">{links}</div></nav>\n'
        '<main id="main">{body}</main>\n'
        "<footer><p>Made by errands {version}. Every row was played again before it was ranked."
        "</p></footer>\n{script}</body>\n</html>\n",
        policy=_policy(scripted),
        title=cut(title, 200),
        up=up,
        style=STYLE,
        below=below,
        links=join(html('<a href="{}">{}</a>', address, cut(name, 60)) for address, name in links),
        body=body,
        version=__version__,
        script=html("<script>{}</script>\n", _script()) if scripted else EMPTY,
    )
