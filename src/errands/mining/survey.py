"""A first look at a whole table: which rows are variants of one product, what titles come down to,
and what the columns hold that nobody reads.

Rows belong together where they share an id and what they are called, or where a column says so
(Shopify's handle, WooCommerce's parent, Google's item group). The look costs one more reading of
the file; what it keeps of a row is a few bytes.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from errands.mining.kinds import MOST_TITLES, TitleNouns
from errands.mining.plain_text import plain
from errands.mining.table.cells import Row, flat, is_nothing, values_at
from errands.mining.table.column_evidence import ColumnEvidence
from errands.mining.table.column_map import ColumnMap, is_named
from errands.mining.table.table_file import BadRow

__all__ = ["MOST_ROWS", "TableSurvey", "first_text", "mark"]

MOST_ROWS: Final = 2_000
"""Rows of one product; what is more is left out."""
_LONGEST: Final = 400


def mark(text: str) -> bytes:
    """A short stand-in for a text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=10).digest()


def first_text(row: Row, columns: ColumnMap, field: str) -> str:
    """The first column of a field that is filled, as a text."""
    for name in columns.columns.get(field, ()):
        for cell in values_at(row, name):
            if not is_nothing(cell):
                return flat(cell).strip()
    return ""


def row_key(row: Row, columns: ColumnMap, own_id: str | None) -> str:
    """What the rows of one product share: the group's id, else the row's; '' where there is none.

    WooCommerce writes `id:44` for the parent that has no number of its own.
    """
    group = first_text(row, columns, "group")
    if group:
        return group.casefold()
    cells = (cell for name in columns.columns.get("id", ()) for cell in values_at(row, name))
    text = " ".join(flat(cell).strip() for cell in cells if not is_nothing(cell))
    if not text and own_id is not None and not is_nothing(row.get(own_id)):
        text = f"id:{row[own_id]}"
    return text.casefold()


def bare_title(row: Row, columns: ColumnMap) -> str:
    """A title without the values of the row's options, to be compared."""
    title = " ".join(plain(first_text(row, columns, "title")[:_LONGEST]).casefold().split())
    for name, column in columns.options.items():
        value = row.get(column)
        if isinstance(value, str) and 0 < len(value.strip()) < len(title) and not is_named(name):
            title = title.replace(value.strip().casefold(), " ")
    return " ".join("".join(sign if sign.isalnum() else " " for sign in title).split())


class TableSurvey:
    """What the rows of a table tell together."""

    def __init__(self, rows: Iterable[Row | BadRow], columns: ColumnMap, header: Iterable[str]):
        self._columns = columns
        self.left_out = 0
        """Rows beyond the most that a product may have."""
        self._own_id = next((name for name in header if name.strip().lower() == "id"), None)
        self._grouped = "group" in columns.columns
        self.evidence = ColumnEvidence(header, columns)
        self.nouns = TitleNouns(self._look(rows))

    def _look(self, rows: Iterable[Row | BadRow]) -> Iterator[tuple[str, str]]:
        """Reads all rows, and gives the titles on the way."""
        titles: dict[bytes, bytes] = {}
        last: dict[bytes, int] = {}
        several: set[bytes] = set()
        given = 0
        for number, row in enumerate(rows):
            if isinstance(row, BadRow):
                continue
            try:
                self.evidence.see(row)
                key = row_key(row, self._columns, self._own_id)
                title = bare_title(row, self._columns)
            except RecursionError:
                continue
            if title and given < MOST_TITLES:
                given += 1
                brand = first_text(row, self._columns, "brand")
                yield plain(first_text(row, self._columns, "title")[:_LONGEST]), brand
            if not key:
                continue
            short = mark(key)
            if title:
                titled = titles.setdefault(short, mark(title))
                if titled != mark(title) and not self._grouped:
                    continue
            if short in last:
                several.add(short)
            last[short] = number
        self._titles = {short: titles[short] for short in several if short in titles}
        self._last = {short: last[short] for short in several}

    def products(self, rows: Iterable[Row | BadRow]) -> Iterator[tuple[Row | BadRow, list[Row]]]:
        """Each row that is a product, and the rows that are further variants of it."""
        open_groups: dict[bytes, list[Row]] = {}
        for number, row in enumerate(rows):
            short = None if isinstance(row, BadRow) else self._member(row)
            if short is None or isinstance(row, BadRow):
                yield row, []
                continue
            group = open_groups.setdefault(short, [])
            if len(group) < MOST_ROWS:
                group.append(row)
            else:
                self.left_out += 1
            if number == self._last[short]:
                del open_groups[short]
                yield group[0], group[1:]

    def _member(self, row: Row) -> bytes | None:
        """The group that a row belongs to, if there is one."""
        try:
            key = row_key(row, self._columns, self._own_id)
            if not key or (short := mark(key)) not in self._last:
                return None
            title = bare_title(row, self._columns)
        except RecursionError:
            return None
        if self._grouped or not title or self._titles.get(short) == mark(title):
            return short
        return None
