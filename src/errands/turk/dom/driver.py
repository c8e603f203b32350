"""The `dom` driver: pages without a browser, in milliseconds.

HTML is parsed as browsers parse it (lexbor); scripts are never run and nothing is fetched. What
the scripts of a page do in reply to actions can be given as effect rules.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.home import real
from errands.nesting import DEEPEST, MOST_ATTRIBUTES, MOST_OPTIONS, too_deep
from errands.turk.dom.css import StyleSheet, parse_sheet
from errands.turk.dom.effects import EffectApplier, EffectRule, by_trigger
from errands.turk.dom.forms import Forms
from errands.turk.dom.libraries import library_style
from errands.turk.dom.media import media_matches
from errands.turk.dom.page import ACTIONS, DomPage
from errands.turk.dom.visibility import Cascade
from errands.turk.pages.driver import DriverError

__all__ = ["DomDriver", "parsed"]

_LARGEST: Final = 64 * 2**20
_SHEET: Final = 4 * 2**20
_NOSCRIPT = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(script|style|textarea|title|xmp|iframe|noembed|noframes)\b.*?(?:</\1|\Z)"
    r"|(<noscript\b[^>]*+(?:>|\Z))(.*?)(?=</noscript|\Z)",
    re.I | re.S,
)
# Without a flag for case, searching leaps from one "<" to the next.
_HAS_NOSCRIPT = re.compile("<[nN][oO][sS][cC][rR][iI][pP][tT]")


class DomDriver:
    """Opens pages without a browser.

    `libraries` gives the text of a style sheet that a page links by its address, None where it
    is not known and has no effect (default: the well-known libraries). `effect_rules` are what the
    pages that it opens do by themselves and in reply to actions.
    """

    def __init__(
        self,
        libraries: Callable[[str], str | None] = library_style,
        effect_rules: Iterable[EffectRule] = (),
    ) -> None:
        self._libraries = libraries
        self._rules = by_trigger(effect_rules)

    @property
    def name(self) -> str:
        return "dom"

    @property
    def actions(self) -> frozenset[str]:
        return frozenset(ACTIONS)

    def open(self, html: str, *, files: Path | None = None) -> DomPage:
        tree, source = parsed(html)
        for node in tree.css("script[integrity], link[integrity]"):
            del node.attrs["integrity"]  # As in the browser: see `without_integrity`.
        for node in tree.css("textarea:has(*)"):
            # The parser opens formatting that was left unclosed in it again; browsers do not.
            text = node.text(deep=True).replace("&", "&amp;").replace("<", "&lt;")
            node.inner_html = text
        forms = Forms(tree)
        cascade = Cascade(tree, source, self._sheets(tree, files), forms.checked)
        effects = EffectApplier(tree, forms, cascade, self._rules)
        effects.at_load()
        return DomPage(tree, forms, cascade, effects)

    def close(self) -> None:
        pass

    def _sheets(self, tree: LexborHTMLParser, files: Path | None) -> list[StyleSheet]:
        """The page's style sheets in order, those they import first."""
        sheets: list[StyleSheet] = []
        for node in tree.css("style, link[rel][href]"):
            attributes = node.attributes
            if not media_matches(attributes.get("media") or ""):
                continue
            if node.tag == "style":
                kind = (attributes.get("type") or "").strip().lower()
                text = node.text() if kind in ("", "text/css") else None
            else:
                text = self._linked(node, files)
            if text is not None:
                self._add(sheets, text, files, set())
        return sheets

    def _add(self, sheets: list[StyleSheet], text: str, files: Path | None, seen: set[str]) -> None:
        sheet = parse_sheet(text[:_SHEET])
        for address in sheet.imports:
            if address not in seen and len(seen) < 20:
                seen.add(address)
                imported = self._load(address, files)
                if imported is not None:
                    self._add(sheets, imported, files, seen)
        sheets.append(sheet)

    def _linked(self, node: LexborNode, files: Path | None) -> str | None:
        attributes = node.attributes
        relations = (attributes.get("rel") or "").lower().split()
        if "stylesheet" not in relations or "alternate" in relations or "disabled" in attributes:
            return None
        return self._load((attributes.get("href") or "").strip(), files)

    def _load(self, address: str, files: Path | None) -> str | None:
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        if parts.scheme or parts.netloc:
            return self._libraries(address) if parts.scheme in ("", "http", "https") else None
        if files is None or not parts.path:
            return None
        try:
            root = real(files)
            path = real(root / unquote(parts.path).lstrip("/"))
            if not path.is_relative_to(root) or not path.is_file():
                return None
            with path.open("rb") as file:
                return file.read(_SHEET).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None


def parsed(html: str) -> tuple[LexborHTMLParser, str]:
    """The tree of a page, and the text that it was made of."""
    source = _prepared(html)
    try:
        return LexborHTMLParser(source), source
    except Exception as error:
        raise DriverError(f"The page could not be parsed: {error}") from error


def _prepared(html: str) -> str:
    """The text as a parser of a browser with scripts sees it; bounded."""
    if len(html) > _LARGEST:
        raise DriverError(f"The page has {len(html)} characters; the most is {_LARGEST}.")
    source = html.replace("\r\n", "\n").replace("\r", "\n") if "\r" in html else html
    try:
        source.encode()
    except UnicodeEncodeError:
        source = source.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if source.startswith("\ufeff"):
        source = source[1:]
    if _HAS_NOSCRIPT.search(source):
        # With scripts, the content of noscript is text that nobody sees.
        source = _NOSCRIPT.sub(lambda m: m[2] if m[2] else m[0], source)
    if too_deep(source) is not None:
        raise DriverError(
            f"The page nests elements more than {DEEPEST} deep, has end tags for nothing, or more"
            f" than {MOST_ATTRIBUTES} attributes of an element or {MOST_OPTIONS} options of a list."
        )
    return source
