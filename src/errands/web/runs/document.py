"""What every page about runs is put into: head, title, the way back, style sheet, policy.

Nothing is loaded from elsewhere, and no script or style stands in a page itself.
"""

from collections.abc import Sequence
from typing import Final

from errands.reports.html.markup import cut, esc
from errands.runs.episode import RunInfo
from errands.web.core.assets import Assets

__all__ = ["ASSETS", "HEADERS", "document", "protocol_of", "sorry_page", "title_of"]

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
REFRESH: Final = 5
"""Seconds after which a page of a run in progress loads itself again where no scripts run."""
Crumb = tuple[str, str]


ASSETS: Final = Assets("runs", __file__)


def document(
    title: str,
    body: str,
    *,
    crumbs: Sequence[Crumb] = (),
    below: str = "",
    live: bool = False,
) -> bytes:
    """A whole page. `below` stands under the title; `live` pages load themselves again."""
    again = f'<noscript><meta http-equiv="refresh" content="{REFRESH}"></noscript>' if live else ""
    moving = f' data-again="{REFRESH}"' if live else ""
    trail = "".join(
        f'<a href="{esc(address)}">{esc(cut(name, 60))}</a><span aria-hidden="true">›</span>'
        for address, name in crumbs
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{esc(title)} - Errands</title>\n{again}"
        f'<link rel="icon" href="data:,">\n'
        f"{ASSETS.tags}</head>\n"
        '<body>\n<a class="skip" href="#main">Skip to the content</a>\n'
        '<header class="top"><div class="inner"><p class="brand"><a href="/runs">Errands</a></p>'
        f"<h1>{esc(title)}</h1>{below}</div></header>\n"
        '<nav class="jump" aria-label="Where you are"><div class="inner">'
        f'{trail}<a href="" aria-current="page">{esc(cut(title, 60))}</a></div></nav>\n'
        f'<main id="main" tabindex="-1"{moving}>{body}</main>\n</body>\n</html>\n'
    ).encode("utf-8", "replace")


def title_of(info: RunInfo) -> str:
    """What a run is called."""
    model = info.agent_settings.get("model")
    return f"{info.agent} {model}" if isinstance(model, str) and model else info.agent


def protocol_of(info: RunInfo) -> str:
    return str(info.protocol.get("id") or info.protocol_key)


def sorry_page(title: str, message: str) -> bytes:
    """What cannot be shown, and why."""
    body = (
        f'<section><div class="callout bad"><h2>Not shown</h2><p>{esc(message)}</p></div>'
        '<p><a href="/runs">All runs</a></p></section>'
    )
    return document(title, body, crumbs=[("/runs", "Runs")])
