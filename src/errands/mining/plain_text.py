"""Texts of products as they come: HTML, entities, control characters, and far too much."""

import html
import re
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from errands.nesting import shallow

__all__ = ["bullets_in", "is_html", "plain", "plain_html"]

_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>|<!--")
_BLOCK: Final = re.compile(
    r"</?(?:p|div|br|li|ul|ol|tr|td|th|table|h[1-6]|section|article|header|footer|hr|dd|dt)\b[^<>]*>",
    re.IGNORECASE,
)
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]+"
)
_SPACES: Final = re.compile(r"[ \t\u00a0]+")
_LINES: Final = re.compile(r"(?<!\s)\s*\n\s*")
_LONGEST: Final = 1_000_000
"""Characters of a text that are looked at before it is cut."""
_MOST_POINTS: Final = 1_000
"""Of a text's lists, that are looked at."""
_AS_OFTEN: Final = 20
"""So often a text is read as a part of points: where lists nest, each holds all that are in it."""


def is_html(text: str) -> bool:
    return "<" in text and _TAG.search(text) is not None


def plain(value: Any) -> str:
    """A text on one line, without markup, entities and what cannot be seen."""
    text = "" if value is None or isinstance(value, bool) else str(value)[:_LONGEST]
    if is_html(text):
        text = plain_html(text).replace("\n", " ")
    elif "&" in text:
        text = html.unescape(text)
    return " ".join(_UNSEEN.sub(" ", text).split())


def plain_html(text: str) -> str:
    """The text of a piece of HTML; where a block ends, a line ends."""
    parsed = _parsed(_BLOCK.sub(lambda tag: f"\n{tag[0]}", text[:_LONGEST]))
    whole = parsed if parsed is not None else html.unescape(_TAG.sub(" ", text))
    seen = _LINES.sub("\n", _UNSEEN.sub(lambda run: "\n" if "\n" in run[0] else " ", whole))
    return "\n".join(_SPACES.sub(" ", line).strip() for line in seen.split("\n")).strip()


def bullets_in(text: str) -> list[str]:
    """The points of the lists in a piece of HTML."""
    if "<li" not in text.lower():
        return []
    points: list[str] = []
    left = _AS_OFTEN * len(text)
    try:
        for node in LexborHTMLParser(shallow(text[:_LONGEST])).css("li")[:_MOST_POINTS]:
            said = node.text(deep=True)
            left -= len(said)
            if left < 0:
                break
            points.append(plain(said))
    except (SelectolaxError, ValueError):
        return []
    return [one for one in points if one]


def _parsed(text: str) -> str | None:
    try:
        tree = LexborHTMLParser(shallow(text))
        tree.strip_tags(["script", "style", "template", "noscript", "iframe", "object"])
        body = tree.body
        return None if body is None else body.text(deep=True)
    except (SelectolaxError, ValueError):
        return None
