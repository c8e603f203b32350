"""CSV that is written as it should be, read in a few passes over the whole text.

The `csv` module looks at every character. Almost every table is regular, though: quotes only
around whole cells, all rows of one width. Such a text is cut at its quotes; what stands outside
of them, with a mark for each piece inside, is cut at line ends and commas; and the pieces are put
back. A text that is not regular is left to `csv`, which knows what to make of it.
"""

import itertools
from typing import Final

__all__ = ["read_plain"]

_MARK: Final = "\0"
"""Stands for a piece in quotes. Texts that hold one themselves are not taken."""


def read_plain(text: str) -> tuple[list[str], list[list[str]]] | None:
    """The header and the columns below it; None where the text is not regular.

    Regular tables have a header of two cells or more, at least one row, and equally many cells in
    every row. Lines that are blank are no rows.
    """
    if _MARK in text:
        return None
    pieces = text.split('"')
    if len(pieces) % 2 == 0:
        return None
    outline = _MARK.join(pieces[0::2])
    if "\r" in outline:
        outline = outline.replace("\r\n", "\n").replace("\r", "\n")
    lines = [line for line in outline.split("\n") if line and not line.isspace()]
    if len(lines) < 2:
        return None
    commas = lines[0].count(",")
    if not commas or any(line.count(",") != commas for line in lines):
        return None
    cells = _filled(",".join(lines).split(","), pieces[1::2])
    if cells is None:
        return None
    width = commas + 1
    return cells[:width], [cells[place::width] for place in range(width, 2 * width)]


def _filled(cells: list[str], quoted: list[str]) -> list[str] | None:
    """Every mark replaced by its piece; None where a cell is only partly in quotes."""
    if not quoted:
        return cells
    pieces = iter(quoted)
    take = pieces.__next__
    irregular = False

    def joined(cell: str) -> str:
        # Several pieces side by side: the quotes between them were doubled, and mean one.
        nonlocal irregular
        if cell.strip(_MARK):
            irregular = True
        return '"'.join(itertools.islice(pieces, cell.count(_MARK)))

    filled = [
        cell if _MARK not in cell else take() if cell == _MARK else joined(cell) for cell in cells
    ]
    return None if irregular else filled
