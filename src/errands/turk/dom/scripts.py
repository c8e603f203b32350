"""Reading a page: what on it could act by itself.

A page on which nothing could act is the same without a browser by construction. What scripts name
and use tells which rows of a table they might treat differently (`errands.turk.effects.rows`).
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from selectolax.lexbor import LexborHTMLParser

from errands.browser.libraries import library
from errands.turk.dom.css import parse_sheet
from errands.turk.dom.driver import parsed
from errands.turk.dom.submission import SCRIPT_TYPES

__all__ = ["PageScripts", "may_act", "read_scripts"]

_INERT: Final = frozenset(
    "jquery jquery-ui datatables lodash d3 popper font-awesome fonts crowd-html-elements".split()
)
"""Libraries that do nothing unless they are called (the last three are served empty)."""
_TOGGLES: Final = (
    "[data-toggle], [data-bs-toggle], [data-ride], [data-spy], [data-dismiss], [data-slide],"
    " [data-provide], [data-loading-text]"
)
"""What Bootstrap acts upon without being called."""
_VARIABLE = re.compile(r"\$\{([^{}]{1,200})\}")
_LITERAL = re.compile(r"""(?<=["'`])[^"'`\\\n$]{1,60}(?=["'`])""")
_TIMERS = re.compile(
    r"setTimeout|setInterval|requestAnimationFrame|requestIdleCallback|postMessage|Worker\("
    r"|[fF]ade|[sS]lide|animate|delay\(|async|\.then\("
)
_LATER: Final = 'script[src]:not([src*="//"]), iframe, meta[http-equiv="refresh" i]'
"""What may bring timers that are not read here."""
_ACTIVE = re.compile(
    r"""<(?:script|i?frame|style|link|meta|base|object|embed|noscript|template|set|animate\w*)\b|[<"'][^<>"']{0,200}\bon[a-z]{3,20}\s*=|javascript:""",
    re.I,
)
_KEYFRAMES = re.compile(r"@(?:-\w+-)?keyframes", re.I)
_LAYOUT = re.compile(
    r"overflow[-xy]*\s*:\s*(?:hidden|clip|auto|scroll)|(?:left|right|top|bottom|margin[-a-z]{0,40}"
    r"|text-indent)\s*:[^;}]{0,40}-\s?\d|transform\s*:|clip(?:-path)?\s*:|var\(|calc\("
    r"|position\s*:\s*fixed|appearance\s*:|content-visibility\s*:|@(?:container|scope|layer|supports|import|starting)",
    re.I,
)
"""What decides whether something is seen only once a page is laid out, or is not read here."""
_STATES = re.compile(
    r":(?:placeholder-shown|valid|invalid|in-range|out-of-range|user-|default|indeterminate"
    r"|disabled|enabled|read-|required|optional|lang|scope|autofill)",
    re.I,
)
_CLIPPED: Final = ", ".join(
    f"{name} {tag}"
    for name in (".sr-only", ".visually-hidden", ".ui-helper-hidden-accessible")
    for tag in ("input", "select", "textarea")
)


class PageScripts(msgspec.Struct, frozen=True):
    """What a template's scripts are."""

    reasons: tuple[str, ...]
    """What could act on the page by itself, in words; none: nothing could."""
    variables: frozenset[str]
    """Variables that stand inside scripts or handlers."""
    literals: frozenset[str]
    """Texts between quotes in scripts: what they may compare with."""
    timers: bool
    """Whether something may happen later than at once."""


@lru_cache(maxsize=256)
def read_scripts(template: str) -> PageScripts:
    """What could act on the pages of a template."""
    tree = parsed(template)[0]
    code = [*_inline_scripts(tree), *_handlers(tree)]
    whole = "\n".join(code)
    return PageScripts(
        tuple(_reasons(tree)),
        frozenset(_VARIABLE.findall(whole)),
        frozenset(filter(None, map(str.strip, _LITERAL.findall(whole)))),
        _TIMERS.search(whole) is not None or tree.css_first(_LATER) is not None,
    )


def may_act(value: str) -> bool:
    """Whether a text that is put into a page might bring a script, a handler or a frame."""
    if "<" not in value and "=" not in value:
        return "javascript:" in value.lower()
    return _ACTIVE.search(value) is not None


def _inline_scripts(tree: LexborHTMLParser) -> Iterator[str]:
    for node in tree.css("script"):
        attributes = node.attributes
        kind = (attributes.get("type") or "").strip().lower()
        if "src" not in attributes and kind in SCRIPT_TYPES and (text := node.text().strip()):
            yield text


def _handlers(tree: LexborHTMLParser) -> Iterator[str]:
    for node in tree.css("*"):
        for name, value in node.attributes.items():
            if name.startswith("on") and value:
                yield value


def _reasons(tree: LexborHTMLParser) -> Iterator[str]:
    inline = list(_inline_scripts(tree))
    if inline:
        yield f"{len(inline)} inline scripts" if len(inline) > 1 else "an inline script"
    handlers = sum(1 for _ in _handlers(tree))
    if handlers:
        yield f"{handlers} event handlers" if handlers > 1 else "an event handler"
    for node in tree.css("script[src], script[href]"):
        url = node.attributes.get("src") or node.attributes.get("href") or ""
        reason = _library_reason(tree, url.strip())
        if reason:
            yield reason
    yield from _frame_reasons(tree)
    if tree.css_first("animate, animateMotion, animateTransform, set") is not None:
        yield "an animated drawing"
    if tree.css_first("template[shadowrootmode]") is not None:
        yield "a part with a tree of its own"
    if tree.css_first("noscript") is not None:
        yield "a part for browsers without scripts"
    for node in tree.css("meta[http-equiv]"):
        if (node.attributes.get("http-equiv") or "").strip().lower() == "refresh":
            yield "a page that reloads itself"
    if tree.css_first('[inert], [hidden="until-found" i]') is not None:
        yield "a part that can be seen and not used, or found and not seen"
    yield from _style_reasons(tree)


def _library_reason(tree: LexborHTMLParser, url: str) -> str | None:
    address = f"https:{url}" if url.startswith("//") else url
    served = library(address, folder=lambda distribution: Path())
    if served is None:
        # Only the task's own files are served by relative addresses; others are refused.
        return None if _elsewhere(address) else f"the script {url[:80]!r}"
    if served.name == "bootstrap" and tree.css_first(_TOGGLES) is not None:
        return "Bootstrap with parts that it opens and closes"
    return None if served.name == "bootstrap" or served.name in _INERT else f"{served.name}"


def _frame_reasons(tree: LexborHTMLParser) -> Iterator[str]:
    if tree.css_first("iframe[srcdoc]") is not None:
        yield "a frame with markup of its own"
    for node in tree.css("iframe[src], frame[src], object[data], embed[src]"):
        address = (node.attributes.get("src") or node.attributes.get("data") or "").strip()
        # Whatever is elsewhere is refused.
        if address not in ("", "about:blank") and not _elsewhere(address):
            yield "a frame with a file of the task"


def _elsewhere(address: str) -> bool:
    """Whether an address is of another host, where nothing is loaded from."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("", "http", "https") and bool(parts.netloc)


def _style_reasons(tree: LexborHTMLParser) -> Iterator[str]:
    sheets = [node.text() for node in tree.css("style")]
    inline = [node.attributes.get("style") or "" for node in tree.css("[style]")]
    if any(_KEYFRAMES.search(text) for text in sheets):
        yield "an animation"
    if any(parse_sheet(text).attentive for text in sheets):
        yield "parts that styles show under the mouse or the focus"
    if any(_LAYOUT.search(text) for text in (*sheets, *inline)) or tree.css_first(_CLIPPED):
        yield "styles that take a layout"
    if any(_STATES.search(text) for text in sheets) or tree.css_first(".was-validated"):
        yield "styles that follow the state of fields"
