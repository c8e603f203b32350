"""The document around every page about runs: title, breadcrumbs, style sheet, policy."""

from collections.abc import Sequence
from typing import Final

from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import cut
from errands.runs.episode import RunInfo
from errands.web.core import document as core
from errands.web.core.document import Assets
from errands.web.core.places import RUNS, bar

__all__ = ["ASSETS", "HEADERS", "document", "error_page", "protocol_of", "title_of"]

HEADERS: Final = core.page_headers("img-src 'self' data:; connect-src 'self'; frame-src 'self'")
REFRESH: Final = 5
"""Seconds after which a page of a run in progress loads itself again where no scripts run."""
ASSETS: Final = Assets("runs", __file__)
_BRAND: Final = Markup('<a href="/runs">Errands</a>')
Crumb = tuple[str, str]


def document(
    title: str,
    body: Markup,
    *,
    crumbs: Sequence[Crumb] = (),
    below: Markup = EMPTY,
    live: bool = False,
) -> bytes:
    """A whole page. `below` stands under the title; `live` pages load themselves again."""
    head = main = EMPTY
    if live:
        head = html('<noscript><meta http-equiv="refresh" content="{}"></noscript>', REFRESH)
        main = html(' data-again="{}"', REFRESH)
    links = join(
        html('<a href="{}">{}</a><span aria-hidden="true">›</span>', address, cut(name, 60))
        for address, name in crumbs
    )
    navigation = html(
        '<nav class="jump" aria-label="Where you are"><div class="inner">'
        '{}<a href="" aria-current="page">{}</a></div></nav>',
        links,
        cut(title, 60),
    )
    return core.document(
        title,
        body,
        assets=ASSETS,
        navigation=navigation,
        below=below,
        brand=_BRAND,
        bar=bar(RUNS),
        head=head,
        main=main,
    )


def title_of(info: RunInfo) -> str:
    """What a run is called."""
    model = info.agent_settings.get("model")
    return f"{info.agent} {model}" if isinstance(model, str) and model else info.agent


def protocol_of(info: RunInfo) -> str:
    return str(info.protocol.get("id") or info.protocol_key)


def error_page(title: str, message: str) -> bytes:
    """What cannot be shown, and why."""
    body = html(
        '<section><div class="callout bad"><h2>Not shown</h2><p>{}</p></div>'
        '<p><a href="/runs">All runs</a></p></section>',
        message,
    )
    return document(title, body, crumbs=[("/runs", "Runs")])
