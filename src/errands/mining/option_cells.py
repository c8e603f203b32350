"""Options out of cells: lists of values, objects, JSON, `colour: red | blue; size: S | M`.

What shops call an option comes in many shapes; each is read into names with values.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from errands.mining.plain_text import plain
from errands.mining.table.cells import flat, is_nothing, structured

__all__ = ["LONGEST_NAME", "SHOWN", "Value", "option_groups", "split_cell", "values_of"]

LONGEST_NAME: Final = 100
SHOWN: Final = ("https://", "http://", "picture:")
"""How the address of a picture begins."""
Value = tuple[str, str | None]
"""A value of an option, and its picture."""

_CALLED: Final = ("name", "title", "label", "option", "attribute", "key", "type")
_HELD: Final = ("values", "value", "options", "terms", "choices", "variations")
_OF_VARIANTS: Final = frozenset(
    "color colour size flavor flavour style scent material pattern length width capacity finish"
    " storage".split()
)
"""What an object that is a variant calls its options."""
_INSIDE: Final = ("selectedOptions", "selected_options", "options", "attributes", "option_values")
"""Where a variant lists its options."""


_DRAWN_COLOR: Final = re.compile(r"#[0-9a-fA-F]{3,8}:(?=.)")
"""What Wix writes before the name of a colour."""


def split_cell(text: str, separator: str) -> list[str]:
    # A blank stands for any space; the end of a line is meant as it is.
    cut = text.split(separator) if separator.strip(" \t") else text.split()
    return [_DRAWN_COLOR.sub("", one.strip()) for one in cut if one.strip()]


def values_of(cell: Any, separator: str) -> list[Value]:
    """The values in a cell, each with its picture."""
    if not isinstance(cell, list):
        return [(one, None) for one in split_cell(flat(cell), separator)]
    pairs = [
        (flat(one), one.get("image")) if isinstance(one, dict) else (one, None)
        for one in cell
        if not is_nothing(one) and not (isinstance(one, dict) and is_nothing(one.get("value", 1)))
    ]
    return [
        (flat(value), image if isinstance(image, str) and image.startswith(SHOWN) else None)
        for value, image in pairs
        if not is_nothing(value)
    ]


def option_groups(cell: Any, separator: str) -> Iterator[tuple[str, list[Value]]]:
    """Names of options, each with values, out of one cell; a name may come again."""
    cell = structured(cell)
    if isinstance(cell, Mapping):
        groups: Sequence[tuple[Any, Any]] = list(cell.items())
    elif isinstance(cell, list):
        groups = [pair for one in cell if isinstance(one, dict) for pair in _of_object(one)]
    elif isinstance(cell, str) and cell.lstrip()[:1] not in ("{", "["):
        pairs = (group.partition(":") for group in cell.split(";"))
        groups = [(name, values) for name, colon, values in pairs if colon]
    else:
        return
    for name, values in groups:
        shown = plain(flat(name)).lower()[:LONGEST_NAME]
        # Addresses have a colon, too.
        if shown and not is_nothing(values) and not str(values).startswith("//"):
            yield shown, values_of(values, separator)


def _of_object(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The options that an object of a list tells: it is an option itself, or it is a variant."""
    called = next((one[name] for name in _CALLED if isinstance(one.get(name), str)), None)
    held = next((one[name] for name in _HELD if not is_nothing(one.get(name))), None)
    if called is not None and held is not None and not _is_variant(one):
        yield called, held if isinstance(held, list) else [held]
        return
    for place in _INSIDE:
        inner = one.get(place)
        if isinstance(inner, Mapping):
            yield from ((name, [value]) for name, value in inner.items() if _is_text(value))
        elif isinstance(inner, list):
            for each in inner:
                if isinstance(each, dict) and not _is_variant(each):
                    yield from _of_object(each)
    yield from ((n, [v]) for n, v in one.items() if n.lower() in _OF_VARIANTS and _is_text(v))


def _is_variant(one: Mapping[str, Any]) -> bool:
    """Whether an object is something that is sold, not an option of it."""
    return any(name in one for name in ("price", "sku", "asin", "selectedOptions", "option1"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
