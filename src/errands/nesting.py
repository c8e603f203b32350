"""How much of a page is read: parsers take time for every element times its depth, for every end
tag without a beginning times all that is open, for every attribute times those beside it, for every
option times those of its list.

Browsers stop at a few hundred elements inside of one another. So does who only reads a page, by
`shallow`; who must not leave anything out refuses it, by `too_deep`.
"""

import re
from collections import Counter
from typing import Final

__all__ = ["DEEPEST", "MOST_ATTRIBUTES", "MOST_OPTIONS", "shallow", "too_deep"]

DEEPEST: Final = 4_000
"""Elements inside of one another."""
MOST_ATTRIBUTES: Final = 2_000
"""Of different names, of one element."""
MOST_OPTIONS: Final = 10_000
"""Of one list."""
_SMALL: Final = 1 << 16
"""Characters that take no more than a fraction of a second, whatever they are."""
_MOST_SOUGHT: Final = 50_000_000
"""Open elements that end tags without a beginning are compared with, together."""
_NAME: Final = r"[^\s/>][^\s/>=]*+"
_VALUE: Final = r"""(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTE: Final = re.compile(rf"[\s/]*+({_NAME}){_VALUE}")
_TAG: Final = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(/?)([a-zA-Z][^\s/>]*+)((?:[\s/]*+{_NAME}{_VALUE})*+)", re.DOTALL
)
"""Comments, and tags with their attributes."""
_TEXTS: Final = frozenset({"script", "style", "textarea"})
"""Elements in which there are no tags."""
_END_OF_TEXT: Final = re.compile(r"</(script|style|textarea)", re.IGNORECASE)
_FLAT: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd option tr td "
    "th thead tbody tfoot rp rt body html head a nobr select noscript script style textarea title "
    "iframe".split()
)
"""Tags that do not nest."""
_LIGHT: Final = frozenset("b i u em strong font small big s tt code strike".split())
"""Tags whose depth costs nothing, but where something looks for what is open."""


def too_deep(html: str) -> int | None:
    """Where a page begins to take too much time; None: nowhere."""
    if html.count("<") <= DEEPEST and len(html) <= _SMALL:
        return None
    opened: Counter[str] = Counter()
    at = depth = light = options = sought = 0
    while (match := _TAG.search(html, at)) is not None:
        at = match.end()
        if match[2] is None:
            continue
        name = match[2].lower()
        change = -1 if match[1] else 1
        if name == "select" or (match[1] and not opened[name]):
            sought += depth + light
            options = 0 if name == "select" else options
            change = max(change, 0)
        options += name == "option"
        opened[name] += change
        if name in _LIGHT:
            light += change
        elif name not in _FLAT:
            depth += change
        if (
            depth > DEEPEST
            or sought > _MOST_SOUGHT
            or options > MOST_OPTIONS
            or (len(match[3]) > 2 * MOST_ATTRIBUTES and _are_too_many(match[3]))
        ):
            return match.start()
        if name in _TEXTS and not match[1]:
            ends = (one for one in _END_OF_TEXT.finditer(html, at) if one[1].lower() == name)
            at = next((one.start() for one in ends), len(html))
    return None


def _are_too_many(attributes: str) -> bool:
    at, names = 0, set[str]()
    while len(names) <= MOST_ATTRIBUTES and (one := _ATTRIBUTE.match(attributes, at)) is not None:
        at = one.end()
        names.add(one[1].lower())
    return len(names) > MOST_ATTRIBUTES


def shallow(html: str) -> str:
    """A page up to where it takes too much time."""
    return html[: too_deep(html)]
