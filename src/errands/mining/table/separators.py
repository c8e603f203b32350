"""What parts the values of an option in one cell (`black;blue`), found out from its column.

A map can say it. Where it does not, a sign counts as a separator only if the whole column speaks
for it: wrongly parted values would be options that no product has. A sign that may be one, or not,
is left alone and told.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from typing import Final

from errands.mining.table.column_map import ColumnMap
from errands.mining.table.table_file import BadRow, Row

__all__ = ["doubtful_sign", "found_separators"]

LOOKED_AT: Final = 10_000
"""Rows of a table whose cells are looked at."""
_CERTAIN: Final = ("\n", ";")
"""Signs that no value has in itself."""
_LONGEST_VALUE: Final = 40
"""Characters; a longer piece is a part of a sentence."""
_BETWEEN_WORDS: Final = re.compile(
    r"(?<=\w)\s*([;,/])\s*(?=[^\W\d])|(?<=[^\W\d_])\s*([;,/])\s*(?=\w)"
)


def found_separators(rows: Iterable[Row | BadRow], columns: ColumnMap) -> dict[str, str]:
    """Option to what parts its values, where the map leaves it open and the column is plain."""
    if columns.parts_options_by_itself:
        return {}
    cells: dict[str, set[str]] = {
        name: set() for name in columns.options if name not in columns.split
    }
    if not cells:
        return {}
    for row in islice(rows, LOOKED_AT):
        if isinstance(row, BadRow):
            continue
        for name in cells:
            cell = row.get(columns.options[name])
            if isinstance(cell, str) and cell.strip():
                cells[name].add(unescape(cell))
    found = ((name, _separator(texts, columns.split["options"])) for name, texts in cells.items())
    return {name: sign for name, sign in found if sign is not None}


def _separator(cells: set[str], usual: str) -> str | None:
    if any(usual in cell for cell in cells):
        return None
    for sign in (*_CERTAIN, ","):
        pieces = {cell: _pieces(cell, sign) for cell in cells}
        lists = [cut for cut in pieces.values() if len(cut) > 1]
        if not lists:
            continue
        if any(len(piece) > _LONGEST_VALUE for cut in lists for piece in cut):
            return None
        return sign if sign in _CERTAIN or _is_list(lists, cells, sign) else None
    return None


def _pieces(cell: str, sign: str) -> list[str]:
    return [piece.strip() for piece in cell.split(sign) if piece.strip()]


def _is_list(lists: list[list[str]], cells: set[str], sign: str) -> bool:
    """Whether a sign that values may have in themselves ("black, matte"; "1,5 l") parts values:
    there are now two of them, now three, or a piece is the whole cell elsewhere."""
    if any(re.search(rf"\d{sign}\d", cell) for cell in cells):
        return False
    whole = {cell.strip().lower() for cell in cells}
    pieces: Iterator[str] = (piece.lower() for cut in lists for piece in cut)
    return len({len(cut) for cut in lists}) > 1 or any(piece in whole for piece in pieces)


def doubtful_sign(value: str) -> str | None:
    """A sign in a value that may part several.

    >>> doubtful_sign("black/blue"), doubtful_sign("1/2 inch"), doubtful_sign("1,5 l")
    ('/', None, None)
    """
    match = _BETWEEN_WORDS.search(value)
    return None if match is None else match[1] or match[2]
