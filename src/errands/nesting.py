"""How deep the elements of a page nest: parsers take time for every element times its depth.

Browsers stop at a few hundred. So does who only reads a page, by `shallow`; who must not leave
anything out refuses it, by `too_deep`.
"""

import re
from typing import Final

__all__ = ["DEEPEST", "shallow", "too_deep"]

DEEPEST: Final = 4_000
"""Elements inside of one another."""
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_FLAT: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd "
    "option optgroup tr td th thead tbody tfoot rp rt body html head b i u a em strong font "
    "small big s tt code strike nobr select noscript script style textarea title iframe".split()
)
"""Tags that do not nest, or whose depth costs nothing."""


def too_deep(html: str) -> int | None:
    """Where a page begins to nest too deeply; None: nowhere."""
    if html.count("<") <= DEEPEST:
        return None
    depth = 0
    for match in _TAG.finditer(html):
        if match[2].lower() in _FLAT:
            continue
        depth = max(0, depth - 1) if match[1] else depth + 1
        if depth > DEEPEST:
            return match.start()
    return None


def shallow(html: str) -> str:
    """A page up to where it nests too deeply."""
    return html[: too_deep(html)]
