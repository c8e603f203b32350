"""The text a person reads on a page, a line a block."""

import re
from typing import Final

from selectolax.lexbor import LexborNode

from errands.turk.dom.visibility import Box, Cascade

__all__ = ["page_text"]

_INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big button cite code data del dfn em font i img input ins kbd label "
    "mark q s samp select small span strike strong sub sup textarea time tt u var svg".split()
)
_CELLS: Final = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\n\f\r]+")


def page_text(root: LexborNode, cascade: Cascade) -> str:
    """Lines of visible text; white space is collapsed except in `pre`."""
    lines: list[str] = []
    parts: list[str] = []

    def end_line() -> None:
        line = _SPACE.sub(" ", "".join(parts)).strip()
        parts.clear()
        if line:
            lines.append(line)

    # Nodes to visit; a string is what follows a node already visited.
    stack: list[tuple[LexborNode | str, Box]] = [(root, cascade.box(root))]
    while stack:
        node, around = stack.pop()
        if isinstance(node, str):
            if node == "\n":
                end_line()
            else:
                parts.append(node)
            continue
        if node.is_text_node:
            text = node.text_content
            if text and around.shown:
                parent = node.parent
                if "\n" in text and parent is not None and parent.tag == "pre":
                    for line in text.split("\n"):
                        parts.append(line)
                        end_line()
                else:
                    parts.append(text)
            continue
        tag = node.tag or ""
        if tag == "br":
            end_line()
            continue
        if not node.is_element_node:
            continue
        box = cascade.box(node)
        if not box.rendered:
            continue
        if tag in ("textarea", "select", "input", "iframe", "object", "video", "audio", "canvas"):
            parts.append(" ")
            continue
        if tag in _CELLS:
            parts.append(" ")
            stack.append((" ", box))
        elif tag not in _INLINE or box.display not in ("inline", "contents"):
            end_line()
            stack.append(("\n", box))
        child = node.last_child
        while child is not None:
            stack.append((child, box))
            child = child.prev
    end_line()
    return "\n".join(lines)
