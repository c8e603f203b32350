"""The text a person reads on a page, a line a block.

The same steps as `text` of `browser/probe.js`, on styles that are worked out here: a line ends
where a box begins or ends that is not part of a line, at `br`, and where white space is kept; cells
are apart; each option of a drop-down is a line. What is not displayed or not visible is left out.
"""

import re
from typing import Final

from selectolax.lexbor import LexborNode

from errands.turk.dom.visibility import Box, Cascade

__all__ = ["page_text"]

_IN_LINE: Final = frozenset(
    "inline inline-block inline-flex inline-grid inline-table contents ruby ruby-text "
    "-webkit-inline-box -webkit-inline-flex".split()
)
_REPLACED: Final = frozenset(
    "textarea input iframe object embed video audio canvas meter progress".split()
)
_SPACES = re.compile(r"[ \t\n\v\f\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
_BREAK = re.compile(r"\r\n|[\n\r]")


class _Lines:
    """Text that is put together line by line."""

    def __init__(self) -> None:
        self.whole: list[str] = []
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        self._parts.append(text)

    def end(self) -> None:
        line = _SPACES.sub(" ", "".join(self._parts)).strip(" ")
        self._parts.clear()
        if line:
            self.whole.append(line)


def page_text(root: LexborNode, cascade: Cascade) -> str:
    """Lines of visible text, white space collapsed."""
    lines = _Lines()
    # Nodes to visit; a string is what follows a node already visited.
    stack: list[tuple[LexborNode | str, Box]] = [(root, cascade.box(root))]
    while stack:
        node, around = stack.pop()
        if isinstance(node, str):
            if node == "\n":
                lines.end()
            else:
                lines.add(node)
        elif node.is_text_node:
            _add_text(lines, node, around)
        elif node.is_element_node:
            box = cascade.box(node)
            if box.rendered and _enter(lines, node, box, cascade):
                end = _edge(box.display)
                if end:
                    stack.append((end, box))
                child = node.last_child
                while child is not None:
                    stack.append((child, box))
                    child = child.prev
    lines.end()
    return "\n".join(lines.whole)


def _add_text(lines: _Lines, node: LexborNode, around: Box) -> None:
    text = node.text_content
    if not text or around.visibility != "visible":
        return
    if around.preserves:
        first, *rest = _BREAK.split(text)
        lines.add(first)
        for line in rest:
            lines.end()
            lines.add(line)
    else:
        lines.add(text)


def _enter(lines: _Lines, node: LexborNode, box: Box, cascade: Cascade) -> bool:
    """Begin an element; whether there is text in it."""
    tag = node.tag or ""
    if tag == "br":
        lines.end()
        return False
    if tag == "select":
        _add_options(lines, node, box, cascade)
        return False
    if tag in _REPLACED:
        lines.add(" ")
        return False
    if _edge(box.display) == "\n":
        lines.end()
    else:
        lines.add(_edge(box.display))
    return True


def _edge(display: str) -> str:
    """What parts an element from what is before and after it."""
    if display in _IN_LINE:
        return ""
    return " " if display == "table-cell" else "\n"


def _add_options(lines: _Lines, select: LexborNode, box: Box, cascade: Cascade) -> None:
    lines.end()
    if box.visibility == "visible":
        for option in select.css("option"):
            if cascade.box(option).display != "none":
                lines.add(option.text(deep=True))
                lines.end()
