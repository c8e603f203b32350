"""The HTML document around every page that is not the shop's, and the headers it is sent with.

Nothing is loaded from elsewhere, and no script or style stands in a page itself.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from errands.markup import EMPTY, Markup, html, join
from errands.web.core.assets import Assets

__all__ = ["document", "navigation", "page_headers"]

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
    kind: str = "",
    head: Markup = EMPTY,
    main: Markup = EMPTY,
) -> bytes:
    """A whole page: `below` stands under the title, `kind` is the body's class, `head` is more for
    the head, `main` are further attributes of the main element."""
    return html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<title>{title} - Errands</title>\n{head}<link rel="icon" href="data:,">\n'
        "{tags}</head>\n<body{kind}>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        '<header class="top"><div class="inner"><p class="brand">{brand}</p>'
        "<h1>{title}</h1>{below}</div></header>\n{navigation}\n"
        '<main id="main" tabindex="-1"{main}>{body}</main>\n</body>\n</html>\n',
        title=title,
        head=head,
        tags=assets.tags,
        kind=html(' class="{}"', kind) if kind else EMPTY,
        brand=brand,
        below=below,
        navigation=navigation,
        main=main,
        body=body,
    ).encode("utf-8", "replace")
