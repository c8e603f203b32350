"""The original's table of colours and sizes, which its rewards do not use."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from errands.shop.rewards.rules import COLORS

__all__ = ["SIZE_PATTERNS", "SIZE_SET", "normalize_color_size"]

UNMATCHED: Final = "not_matched"

SIZE_SET: Final = (
    "xx-large,3x-large,4x-large,5x-large,x-large,x-small,medium,large,small,queen,twin,full,king,"
    "one size,pack"
).split(",")

SIZE_PATTERNS: Final = [
    re.compile(pattern)
    for pattern in (
        *SIZE_SET,
        r"(.*)neck(.*)sleeve",
        r"(.*) women \| (.*) men",
        *(rf"(.*)w {between}" for between in (r"x(.*)l", r"by (.*)l", r"x(.*)h")),
        *(rf"(.*){word}" for word in "wide x-wide narrow petite inch plus mm".split()),
        r"women(.*)",
        r"(.*)x(.*)",
        *(rf"(.*){unit}" for unit in "ft feet meter yards".split()),
        r"(.*)\*(.*)",
        r"(.*)\-(.*)",
        *(rf"(\d+){unit}$" for unit in '" f m cm g'.split()),
    )
]
"""The first that is found in a size is its kind."""


def normalize_color_size(
    product_prices: dict[tuple[Any, str, str], Any],
) -> tuple[dict[str, str], dict[str, str]]:
    """The colour word in each colour, and the pattern of each size, of a table of prices by
    product, colour and size."""
    colors, sizes = ({key[place].lower() for key in product_prices} for place in (1, 2))
    return _table(colors, _color), _table(sizes, _size)


def _table(values: Iterable[str], kind: Callable[[str], str]) -> dict[str, str]:
    return {"N.A.": UNMATCHED, **{value: kind(value) for value in values}}


def _color(value: str) -> str:
    return next((color for color in COLORS if color in value), UNMATCHED)


def _size(value: str) -> str:
    number = "numeric_size" if value.replace(".", "", 1).isdigit() else UNMATCHED
    return next((kind.pattern for kind in SIZE_PATTERNS if kind.search(value)), number)
