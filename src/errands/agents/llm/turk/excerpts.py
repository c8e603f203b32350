"""A page made to fit: what is left out of its HTML when a model has no room for all of it.

First go scripts, styles and comments, then what only changes the looks, and then text far from
the field, while the top of the page, where the instructions are, stays. What was left out is
said in a note.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.nesting import shallow
from errands.turk.pages.field import MARK, excerpt

__all__ = ["Fitted", "field_names", "fit", "fit_all", "original_window", "window"]

_SILENT: Final = ("script", "style", "link", "meta", "noscript", "template")
_LOOKS: Final = ("style", "class", "onclick", "onchange", "align", "valign", "bgcolor", "width",
                 "height", "cellpadding", "cellspacing", "border")  # fmt: skip
_UNASKED: Final = frozenset({"hidden", "submit", "button", "image", "reset", "file"})
_TOP_SHARE: Final = 0.3
_BEFORE: Final = 5
_AFTER: Final = 9
_FRAGMENT: Final = re.compile(r"[^>]+>?|>")
_MARKED: Final = re.compile(rf'\s{MARK}(?:="")?')
_SPACES: Final = re.compile(r"(?<![ \t])[ \t]*\n\s*|[ \t]{2,}")


class Fitted(NamedTuple):
    """HTML within its bounds, and what to say of what is missing."""

    html: str
    note: str = ""


def _first(tree: LexborHTMLParser, name: str) -> LexborNode | None:
    """The element that a name means: the first in the document that has it."""
    for node in tree.css("[name]"):
        if node.attributes.get("name") == name:
            return node
    return None


def field_names(html: str) -> list[str]:
    """Names of a page's fields, in order, for an agent that is not given them."""
    names: dict[str, None] = {}
    for node in LexborHTMLParser(shallow(html)).css("input[name], select[name], textarea[name]"):
        name = node.attributes.get("name")
        if name and (node.attributes.get("type") or "").lower() not in _UNASKED:
            names[name] = None
    return list(names)


def window(html: str, name: str) -> str:
    """The few lines around a field: five before and nine after; empty where there is none."""
    node = _first(LexborHTMLParser(shallow(html)), name)
    if node is None:
        return ""
    outer = _grandparent(node)
    node.attrs[MARK] = ""
    return excerpt(outer.html or "", end_tag="</select>" if node.tag == "select" else None)


def original_window(html: str, name: str) -> str:
    """What the original sent for `relevant`: the fragments around the one that is the field.

    It cut the field's grandparent at every `>` and looked for a fragment that equals the whole
    element. White space or text before the element, or anything inside of it, and there is none:
    then it took the first nine fragments, whatever they show.
    """
    node = _first(LexborHTMLParser(shallow(html)), name)
    if node is None:
        return ""
    own = node.html or ""
    fragments = [piece for piece in _FRAGMENT.findall(_grandparent(node).html or "") if piece]
    at = fragments.index(own) if own in fragments else -1
    return "\n".join(fragments[max(0, at - _BEFORE) : at + _AFTER + 1])


def _grandparent(node: LexborNode) -> LexborNode:
    outer = node
    for _ in range(2):
        parent = outer.parent
        if parent is not None and parent.is_element_node:
            outer = parent
    return outer


def fit(html: str, room: int, name: str | None = None) -> Fitted:
    """A page in at most so many characters; around the field of this name, where there is one."""
    if len(html) <= room:
        return Fitted(html)
    tree = LexborHTMLParser(shallow(html))
    node = _first(tree, name) if name is not None else None
    if node is not None:
        node.attrs[MARK] = ""
    for element in tree.css(",".join(_SILENT)):
        element.decompose()
    lean = _without_comments(tree.html or "")
    if len(lean) - len(MARK) <= room:
        return Fitted(_MARKED.sub("", lean, count=1), _note("scripts, styles and comments"))
    for element in tree.css("*"):
        for look in _LOOKS:
            if look in element.attributes:
                del element.attrs[look]
    lean = _SPACES.sub(_one_space, _without_comments(tree.html or ""))
    marked = _MARKED.search(lean)
    lean = _MARKED.sub("", lean, count=1)
    gone = "scripts, styles, comments and attributes for the looks"
    if len(lean) <= room:
        return Fitted(lean, _note(gone))
    return _around(lean, room, marked.start() if marked else None, gone)


def fit_all(html: str, room: int, names: Sequence[str]) -> Fitted:
    """A page in at most so many characters: where cut, its top and the lines around each field."""
    whole = fit(html, room)
    if "characters" not in whole.note:
        return whole
    top = fit(html, max(int(room * _TOP_SHARE), 1))
    pieces = [top.html]
    left = room - len(top.html)
    shown = 0
    for name in names:
        piece = f"\n[...]\n{window(html, name)}"
        if len(piece) > left:
            break
        pieces.append(piece)
        left -= len(piece)
        shown += 1
    rest = len(names) - shown
    lost = f"; {rest} of the {len(names)} fields are not shown" if rest else ""
    return Fitted(
        "".join(pieces), _note(f"all but the page's top and the lines around its fields{lost}")
    )


def _around(html: str, room: int, at: int | None, gone: str) -> Fitted:
    """The top of the page, and the neighbourhood of the field: two thirds of it come before."""
    if at is None:
        kept = html[: max(room - 40, 0)]
        return Fitted(f"{kept}\n[...]", _lost(gone, len(html) - len(kept)))
    top = int(room * _TOP_SHARE)
    near = room - top - 20
    begin = max(0, at - near * 2 // 3)
    end = min(len(html), begin + near)
    begin = max(0, end - near)
    if begin <= top:
        kept = html[: room - 20]
        return Fitted(f"{kept}\n[...]", _lost(gone, len(html) - len(kept)))
    tail = "" if end == len(html) else "\n[...]"
    kept_length = top + end - begin
    return Fitted(
        f"{html[:top]}\n[...]\n{html[begin:end]}{tail}", _lost(gone, len(html) - kept_length)
    )


def _lost(gone: str, characters: int) -> str:
    return _note(f"{gone}, and {characters:,} characters far from the field (marked [...])")


def _note(what: str) -> str:
    return f"(The page was too long. Left out: {what}.)"


def _one_space(found: re.Match[str]) -> str:
    return "\n" if "\n" in found[0] else " "


def _without_comments(html: str) -> str:
    pieces = []
    at = 0
    while (start := html.find("<!--", at)) >= 0 and (end := html.find("-->", start)) >= 0:
        pieces.append(html[at:start])
        at = end + 3
    return "".join([*pieces, html[at:]])
