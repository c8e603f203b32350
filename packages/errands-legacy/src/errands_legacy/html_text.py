"""The text of an HTML page as the original reads it, for code that has the page's source only."""

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Final, NamedTuple

from errands.shop.render.text import SEPARATOR

__all__ = ["UNSEEN", "TextNode", "plain_text", "rich_text", "visible_nodes"]

UNSEEN: Final = {"style", "script", "head", "title", "meta", "[document]"}
"""Elements whose texts no page shows."""
_VOID: Final = set("area base br col embed hr img input link meta source track wbr".split())


class TextNode(NamedTuple):
    """A text, and the element that it is in."""

    tag: str
    kind: str
    """The element's class."""
    text: str


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[TextNode] = []
        self._open = [("[document]", "")]
        self._text = ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.end_text()
        if tag not in _VOID:
            self._open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        self.end_text()
        if any(name == tag for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_comment(self, data: str) -> None:
        self.end_text()

    def handle_decl(self, decl: str) -> None:
        self.end_text()

    def end_text(self) -> None:
        text, self._text = self._text, ""
        tag, kind = self._open[-1]
        if not text or tag in UNSEEN:
            return
        if not text.strip(" \n\t\f\r") and "pre" not in (name for name, _ in self._open):
            text = "\n" if "\n" in text else " "
        if text != "\n":
            self.nodes.append(TextNode(tag, kind, text))


def visible_nodes(html: str) -> list[TextNode]:
    """The texts that a page shows, in order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_text()
    return reader.nodes


def plain_text(html: str) -> str:
    """The `text` mode."""
    return SEPARATOR.join(node.text.strip() for node in visible_nodes(html))


def rich_text(html: str, is_chosen: Callable[[str], bool], is_seen: Callable[[str], bool]) -> str:
    """The `text_rich` mode; what is chosen and seen is not in the page."""
    lines: list[str] = []
    clicked: list[str] = []
    for tag, kind, text in visible_nodes(html):
        if tag == "button":
            lines.append(f"[button] {text} [button_]")
        elif tag == "label":
            mark = "clicked button" if is_chosen(text) else "button"
            lines.append(f"  [{mark}] {text} [{mark}_]")
            if is_chosen(text):
                clicked.append(f"You have clicked {text}.")
        elif kind == "product-link":
            mark = "clicked button" if is_seen(text) else "button"
            lines.append(f"\n[{mark}] {text} [{mark}_]")
        else:
            lines.append(text)
    return "".join(f"{line}\n" for line in [*reversed(clicked), *lines])
