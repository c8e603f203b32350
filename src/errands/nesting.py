"""How much of a page is read: parsers take time for every element times its depth, for every
attribute times those beside it, for every option times those of its list.

Browsers stop at a few hundred elements inside of one another. So does who only reads a page, by
`shallow`; who must not leave anything out refuses it, by `too_deep`.
"""

import re
from typing import Final

__all__ = ["DEEPEST", "MOST_ATTRIBUTES", "MOST_TAGS", "shallow", "too_deep"]

DEEPEST: Final = 4_000
"""Elements inside of one another, as far as tags tell: they need not be closed, nor close."""
MOST_TAGS: Final = 50_000
"""Of a page, those that close included: in a second or two whatever they do to each other."""
MOST_ATTRIBUTES: Final = 2_000
"""Of one element."""
_MOST_OPTIONS: Final = 20_000
_SMALL: Final = 2 * MOST_ATTRIBUTES
"""Characters in which there are not more attributes."""
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)")
_VALUE: Final = r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+"""
_ATTRIBUTE: Final = rf"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+{_VALUE})?+"
_EACH: Final = re.compile(_ATTRIBUTE)
_ELEMENT: Final = re.compile(
    rf"<!--.*?(?:-->|\Z)|<([a-zA-Z][^\s/>]*+)((?:{_ATTRIBUTE})*+)", re.DOTALL
)
"""Comments, and tags with their attributes."""
_TEXTS: Final = {
    name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "textarea")
}
"""Elements in which there are no tags, and where they end."""
_FLAT: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd "
    "option optgroup tr td th thead tbody tfoot rp rt body html head b i u a em strong font "
    "small big s tt code strike nobr select noscript script style textarea title iframe".split()
)
"""Tags that do not nest, or whose depth costs nothing."""


def too_deep(html: str) -> int | None:
    """Where a page begins to nest too deeply, or to have too many tags, or an element too many
    attributes; None: nowhere."""
    ends = [_too_many_tags(html), _too_many_attributes(html)]
    return min((end for end in ends if end is not None), default=None)


def _too_many_tags(html: str) -> int | None:
    if html.count("<") <= DEEPEST:
        return None
    depth = options = 0
    for number, match in enumerate(_TAG.finditer(html)):
        name = match[2].lower()
        options += name == "option"
        if number >= MOST_TAGS or options > _MOST_OPTIONS:
            return match.start()
        if name in _FLAT:
            continue
        depth = max(0, depth - 1) if match[1] else depth + 1
        if depth > DEEPEST:
            return match.start()
    return None


def _too_many_attributes(html: str) -> int | None:
    if len(html) <= _SMALL:
        return None
    at = 0
    while (match := _ELEMENT.search(html, at)) is not None:
        name, attributes = match.groups()
        if name is not None and len(attributes) > _SMALL and _are_too_many(attributes):
            return match.start()
        at = match.end()
        if name is not None and (end := _TEXTS.get(name.lower())) is not None:
            closed = end.search(html, at)
            at = len(html) if closed is None else closed.start()
    return None


def _are_too_many(attributes: str) -> bool:
    at = count = 0
    while count <= MOST_ATTRIBUTES and (one := _EACH.match(attributes, at)) is not None:
        at, count = one.end(), count + 1
    return count > MOST_ATTRIBUTES


def shallow(html: str) -> str:
    """A page up to where it nests too deeply."""
    return html[: too_deep(html)]
