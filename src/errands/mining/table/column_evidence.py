"""What columns that a map does not use seem to hold: prices, pictures, options.

Where no product has any of these although such a column is there, the map is wrong, and a shop made
by it would be worth nothing: every price a hundred dollars, no choice to make.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from errands.mining.table.cells import Row, is_nothing, values_at
from errands.mining.table.column_map import ColumnMap
from errands.prices import BadPrice, currency_in, prices_of

__all__ = ["ColumnEvidence", "Doubt"]

_MAP: Final = "(errands mine map FILE --out map.toml) and give it with --map."
SEEN: Final = 1_000
"""Rows that are looked at."""
_VALUES: Final = 20
"""Different cells of a column that are kept."""
_SHARE: Final = 0.5
"""Of the filled cells that must look like it."""
_NAMES: Final[Mapping[str, re.Pattern[str]]] = {
    "price": re.compile(
        r"pric|cost|mrp|amount|\beur\b|\busd\b|\binr\b|\bgbp\b|preis|prix|precio", re.I
    ),
    "images": re.compile(r"image|img|picture|photo|pic\b|thumb|gallery|media|bild", re.I),
    "options": re.compile(r"colou?r|size|variant|variation|option|flavou?r|scent|choice", re.I),
}
"""What the names of such columns have in them."""
_NOT_OPTIONS: Final = re.compile(
    r"qty|quantity|sku|id\b|price|weight|barcode|image|img|policy|grams|tax|guide|chart|count|serving"
    r"|inventory|linked|visible|global|position|chargeable|screen",
    re.I,
)
_NOT_PRICE: Final = re.compile(
    r"shipping|tax|unit|currency|range|date|measure|per\b|drop|include|rating|score|star|weight|height"
    r"|width|length|depth|size|percent|discount|100g|_g\b|lat\b|lon\b|version|rank",
    re.I,
)
_CENTS: Final = re.compile(r"\d{1,6}[.,]\d\d")
"""What is a price where a whole column is so, whatever it is called."""
_ANSWERS: Final = frozenset("yes no true false y n 0 1".split())
"""Cells that say whether there is something, not what."""
_PARTS: Final = "|;["
"""What parts several values in a cell: choices, where one value may be a fact."""
_LONGEST_OPTION: Final = 200
_ADDRESS: Final = re.compile(r"https?://\S+")
_PICTURE: Final = re.compile(r"\.(?:jpe?g|png|webp|gif|avif|bmp)\b", re.I)


class Doubt(msgspec.Struct, frozen=True):
    """Something that no product has, or all have alike."""

    field: str
    sentence: str
    column: str | None = None
    """Which seems to hold it."""
    sure: bool = False
    """Whether a shop without it would be of a table that was not understood."""


class ColumnEvidence:
    """Gathers a few cells of each column that is not used."""

    def __init__(self, header: Iterable[str], columns: ColumnMap) -> None:
        used = {name for names in columns.columns.values() for name in names}
        used.update(columns.options.values())
        self._cells: dict[str, dict[str, None]] = {name: {} for name in header if name not in used}
        self._rows = 0

    def see(self, row: Row) -> None:
        if self._rows >= SEEN or not self._cells:
            return
        self._rows += 1
        for name, held in self._cells.items():
            if len(held) < _VALUES:
                cells = (cell for cell in values_at(row, name) if not is_nothing(cell))
                held.update(dict.fromkeys(str(cell)[:300] for cell in cells if _is_plain(cell)))

    def column_with(self, field: str) -> tuple[str, str] | None:
        """A column that seems to hold what a field wants, and one of its cells."""
        for name, held in self._cells.items():
            good = [cell for cell in held if _looks_like(field, name, cell)]
            if len(good) > 1 and len(good) >= _SHARE * len(held):
                return name, good[0]
        return None

    def missing(self, field: str, what: str) -> Doubt | None:
        """What to say of a field that no product has, if a column seems to have it."""
        found = self.column_with(field)
        if found is None:
            return None
        name, example = found
        wanted = {"price": "prices", "images": "pictures", "options": "options"}[field]
        line = f"{field} = {name!r} below [columns]"
        if field == "options":
            line = f'"{_option_name(name)}" = {name!r} below [options]'
        return Doubt(
            field,
            f"{what}, but the column {name!r} seems to hold {wanted} (such as {example[:40]!r}):"
            f" write {line} in a map {_MAP}",
            name,
            field != "options"
            or any(sign in cell for cell in self._cells[name] for sign in _PARTS),
        )

    def alike(self, what: str) -> Doubt:
        """What to say of a price that all products have."""
        return self.missing("price", what) or Doubt(
            "price",
            f"{what}: if the table has others, write price = '...' with the name of their column"
            f" below [columns] in a map {_MAP}",
        )


def _option_name(column: str) -> str:
    return re.sub(r"[\W_]+", " ", column.rpartition(".")[2]).strip().lower() or "option"


def _is_plain(cell: Any) -> bool:
    """Whether a cell is no object, nor a list of such, whose values have paths of their own."""
    inner = cell if isinstance(cell, list) else [cell]
    return not any(isinstance(one, dict) for one in inner)


def _looks_like(field: str, path: str, cell: str) -> bool:
    # Of choices the name itself tells: `skus[].colour` is no number of stock.
    name = path.rpartition(".")[2] if field == "options" else path
    named = _NAMES[field].search(name) is not None
    if field == "price":
        if _NOT_PRICE.search(name):
            return False
        if not named and not currency_in(cell) and not _CENTS.fullmatch(cell.strip()):
            return False
        try:
            return bool(prices_of(cell))
        except BadPrice:
            return False
    if field == "images":
        is_picture = _PICTURE.search(cell) is not None
        return _ADDRESS.match(cell) is not None and (named or is_picture)
    return (
        named
        and cell.strip().lower() not in _ANSWERS
        and _NOT_OPTIONS.search(name) is None
        and len(cell) <= _LONGEST_OPTION
        and _ADDRESS.match(cell) is None
    )
