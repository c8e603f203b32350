"""Reading a page's parts with care: texts, attributes and addresses.

Everything here answers with something empty where a part is not there. Nothing of a page is ever
run: scripts and styles are dropped before a text is taken.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

__all__ = [
    "LONGEST_PAGE", "MOST_BOXES", "MOST_PARTS", "absolute", "all_texts", "attribute", "canonical",
    "first_attribute", "first_match", "first_text", "meta", "parse", "plain", "result_count",
    "text_of",
]  # fmt: skip

LONGEST_PAGE: Final = 12_000_000
"""Characters of the longest page that is read; the rest of a longer one is cut off."""
MOST_PARTS: Final = 500
"""Parts of one kind that are looked at: a page that nests its parts must not cost hours."""
MOST_BOXES: Final = 30
"""Parts of one kind that hold further parts."""
_MOST_TRIED: Final = 10
_LONGEST_TEXT: Final = 20_000
_DROPPED: Final = "script, style, noscript, template"
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffc]")  # noqa: E501  # fmt: skip


def parse(html: str, *, keep_scripts: bool = False) -> LexborHTMLParser:
    """A page as a tree; without what is not for reading, unless scripts are data."""
    # A lone surrogate, as of a damaged file, cannot be handed to the parser.
    safe = html[:LONGEST_PAGE].encode("utf-8", "replace").decode("utf-8")
    tree = LexborHTMLParser(safe or "<html></html>")
    if not keep_scripts:
        for node in tree.css(_DROPPED):
            node.decompose()
    return tree


def plain(text: str | None) -> str:
    """A text in one line, without characters that steer a terminal or hide."""
    if not text:
        return ""
    return " ".join(_CONTROL.sub(" ", text[: 4 * _LONGEST_TEXT]).split())[:_LONGEST_TEXT]


def text_of(node: LexborNode | None, separator: str = " ") -> str:
    """What a part of the page says."""
    if node is None:
        return ""
    return plain(node.text(separator=separator))


def first_text(tree: LexborHTMLParser | LexborNode, *selectors: str) -> str:
    """The first text that one of the selectors finds, tried in order."""
    for selector in selectors:
        for node in tree.css(selector)[:_MOST_TRIED]:
            if said := text_of(node):
                return said
    return ""


def all_texts(tree: LexborHTMLParser | LexborNode, selector: str) -> list[str]:
    return [said for node in tree.css(selector)[:MOST_PARTS] if (said := text_of(node))]


def attribute(node: LexborNode | None, name: str) -> str:
    """An attribute's value, as a text in one line."""
    return "" if node is None else plain(node.attributes.get(name))


def first_attribute(tree: LexborHTMLParser | LexborNode, name: str, *selectors: str) -> str:
    """The first attribute of that name at what one of the selectors finds, tried in order."""
    for selector in selectors:
        for node in tree.css(selector)[:_MOST_TRIED]:
            if said := attribute(node, name):
                return said
    return ""


def meta(tree: LexborHTMLParser, name: str) -> str:
    """The content of a `meta` element, by its property or name."""
    return first_attribute(tree, "content", f'meta[property="{name}"]', f'meta[name="{name}"]')


def canonical(tree: LexborHTMLParser) -> str:
    """The address that a page says it has."""
    return first_attribute(tree, "href", 'link[rel="canonical"]')


def first_match(pattern: re.Pattern[str], texts: Iterable[str]) -> str:
    """A pattern's group in the first text that has it."""
    return next((match[1] for text in texts if (match := pattern.search(text))), "")


def absolute(link: str, base: str) -> str:
    """An address as a whole; empty where it is none that could be opened.

    >>> absolute("/dp/B01", "https://shop.example/s?k=x"), absolute("javascript:x()", "")
    ('https://shop.example/dp/B01', '')
    """
    try:
        joined = urljoin(base, link.strip()) if link else ""
        parts = urlsplit(joined)
        usable = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:  # a bracket that is no address of the sixth version
        return ""
    return joined if usable else ""


_COUNT: Final = re.compile(
    r"(\d[\d.,]{0,14})\s?\+?\s?results|Total results: (\d{1,12})", re.IGNORECASE
)


def result_count(text: str) -> int | None:
    """How many results a page claims to have.

    >>> result_count("1-48 of over 2,000 results for x"), result_count("many")
    (2000, None)
    """
    found = _COUNT.search(text)
    return int(re.sub("[.,]", "", found[1] or found[2])) if found else None
