"""Products of any table as records of the original's items file, and what was left out and why.

Products with an id or a title that was there before are dropped, as the paper did (A.1). What can
be mended is mended and counted as a remark: HTML, a missing picture, a missing price, huge fields.
"""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from math import prod
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.mining.column_map import ColumnMap, guessed
from errands.mining.plain_text import bullets_in, is_html, plain, plain_html
from errands.mining.separators import doubtful_sign, found_separators
from errands.mining.table_file import BadRow, Row, TableFile
from errands.prices import BadPrice, prices_of
from errands.shop.build.export import spelled_price
from errands.shop.product import LONGEST_ASIN

__all__ = ["PICTURE", "ProductFile", "RowCounts", "item_of"]

PICTURE: Final = "picture:box/8a93a3/1"
"""Shown for a product that brings no picture."""
LONGEST_TITLE: Final = 400
LONGEST_DESCRIPTION: Final = 20_000
LONGEST_FEATURE: Final = 2_000
MOST_FEATURES: Final = 30
MOST_VALUES: Final = 50
MOST_CHOICES: Final = 1_000
"""Combinations of options, each of which will be a goal."""
LONGEST_VALUE: Final = 100
_LONGEST_NAME: Final = 100

_SHOWN: Final = ("https://", "http://", "picture:")
"""How the address of a picture begins."""
_Value = tuple[str, str | None]
"""A value of an option, and its picture."""
_ID: Final = re.compile(r"[A-Z0-9_-]{1,10}")
_NOTHING: Final = frozenset({"", "nan", "none", "null", "n/a"})


class UnfitRow(Exception):
    """A row that is no product; the message is the reason it is counted under."""


class RowCounts(msgspec.Struct):
    """What became of the rows of a file."""

    rows: int = 0
    products: int = 0
    dropped: Counter[str] = msgspec.field(default_factory=Counter)
    """Rows that are no products, by reason."""
    remarks: Counter[str] = msgspec.field(default_factory=Counter)
    """Products of which something was mended, by what it was."""
    separators: dict[str, str] = {}
    """Option to what was found to part its values in one cell."""


class ProductFile:
    """A table of products, read by a map; `taken` is complete once all items were."""

    def __init__(
        self,
        path: Path,
        column_map: ColumnMap | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._table = TableFile(path, column_map, progress=progress)
        columns = guessed(self._table.header, column_map)
        found = found_separators(TableFile(path, column_map).rows(), columns)
        self.map = msgspec.structs.replace(columns, split={**columns.split, **found})
        self.header = self._table.header
        self.taken = RowCounts(separators=found)

    def items(self) -> Iterator[dict[str, Any]]:
        """The products, each once."""
        counts = self.taken
        ids: set[bytes] = set()
        titles: set[bytes] = set()
        for row in self._table.rows():
            counts.rows += 1
            try:
                if isinstance(row, BadRow):
                    raise UnfitRow(str(row))
                remarks: list[str] = []
                item = item_of(row, self.map, remarks)
                key = _mark(item["asin"]), _mark(" ".join(item["name"].casefold().split()))
                if key[0] in ids:
                    raise UnfitRow("id was there before")
                if key[1] in titles:
                    raise UnfitRow("title was there before")
                ids.add(key[0])
                titles.add(key[1])
            except UnfitRow as reason:
                counts.dropped[str(reason)] += 1
            except RecursionError:
                counts.dropped["values are nested too deeply"] += 1
            else:
                counts.products += 1
                counts.remarks.update(remarks)
                yield item


def _mark(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=10).digest()


def item_of(row: Row, columns: ColumnMap, remarks: list[str]) -> dict[str, Any]:
    """A row as a record of the items file; what was mended is added to the remarks."""
    title = _cut(" ".join(_plain_cells(row, columns, "title")), LONGEST_TITLE, "title", remarks)
    if title.lower() in _NOTHING:
        raise UnfitRow("no title")
    description, features = _texts(row, columns, remarks)
    known = _first(row, columns, "category")
    category = known or "all"
    path = [plain(one) for one in _listed(row, columns, "path")]
    path = [one for one in path if one]
    query = _first(row, columns, "query") or (path[-1] if path else "")
    if not query:
        query = known or "products"
        remarks.append("no narrow kind (query or path in the map): instructions say the category")
    return {
        "asin": _id(row, columns, title),
        "name": title,
        "full_description": description,
        "small_description": features,
        "pricing": _pricing(row, columns, remarks),
        "customization_options": _options(row, columns, remarks) or "",
        "category": category,
        "query": query.lower(),
        "product_category": " › ".join(path or [category, query]),
        "images": _images(row, columns, remarks),
    }


def _cells(row: Row, columns: ColumnMap, field: str) -> list[Any]:
    cells = [row.get(name) for name in columns.columns.get(field, ())]
    return [cell for cell in cells if not _is_nothing(cell)]


def _is_nothing(cell: Any) -> bool:
    if cell is None or cell == [] or cell == {} or cell != cell:
        return True
    return isinstance(cell, str) and cell.strip().lower() in _NOTHING


def _plain_cells(row: Row, columns: ColumnMap, field: str) -> list[str]:
    return [plain(_flat(cell)) for cell in _cells(row, columns, field)]


def _flat(cell: Any) -> str:
    if isinstance(cell, list):
        return " ".join(map(_flat, cell))
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict) else str(cell)


def _first(row: Row, columns: ColumnMap, field: str) -> str:
    first = next((text for text in _plain_cells(row, columns, field) if text), "")
    return (first or plain(columns.defaults.get(field, "")))[:_LONGEST_NAME].strip()


def _listed(row: Row, columns: ColumnMap, field: str) -> list[str]:
    """The values of a field that may hold several, in one cell or in many."""
    separator = columns.split[field]
    values: list[str] = []
    for cell in _cells(row, columns, field) or [columns.defaults.get(field, "")]:
        if isinstance(cell, list):
            values += [_flat(one) for one in cell if not _is_nothing(one)]
        else:
            # Paths of the original are parted by a sign of their own.
            text = str(cell).replace("›", separator) if field == "path" else str(cell)
            values += _split(text, separator)
    return values


def _split(text: str, separator: str) -> list[str]:
    # A blank stands for any space; the end of a line is meant as it is.
    cut = text.split(separator) if separator.strip(" \t") else text.split()
    return [one.strip() for one in cut if one.strip()]


def _cut(text: str, most: int, what: str, remarks: list[str]) -> str:
    if len(text) <= most:
        return text
    remarks.append(f"{what} cut to {most:,} characters")
    return text[:most].rsplit(" ", 1)[0] or text[:most]


def _id(row: Row, columns: ColumnMap, title: str) -> str:
    """The id as it is where the shop can use it; else one made from it, always the same."""
    text = " ".join(_flat(cell).strip() for cell in _cells(row, columns, "id"))
    if _ID.fullmatch(text.upper()) and text.lower() != "nan":
        return text.upper()
    digest = _mark(f"id:{text}" if text else f"title:{title}")
    return base64.b32encode(digest).decode()[:LONGEST_ASIN]


def _texts(row: Row, columns: ColumnMap, remarks: list[str]) -> tuple[str, list[str]]:
    """Description and bullet points."""
    raw = [_flat(cell) for cell in _cells(row, columns, "description")]
    marked = any(map(is_html, raw))
    described = "\n".join(plain_html(one) if is_html(one) else plain(one) for one in raw)
    features = [plain(one) for one in _listed(row, columns, "features")]
    if not features and marked:
        features = [point for one in raw for point in bullets_in(one)]
    if marked:
        remarks.append("HTML taken out of the description")
    if len(features) > MOST_FEATURES:
        remarks.append(f"only the first {MOST_FEATURES} features kept")
    points = [_cut(one, LONGEST_FEATURE, "feature", remarks) for one in features if one]
    described = _cut(described.strip(), LONGEST_DESCRIPTION, "description", remarks)
    return described, points[:MOST_FEATURES]


def _pricing(row: Row, columns: ColumnMap, remarks: list[str]) -> str:
    cells = _cells(row, columns, "price") or [columns.defaults.get("price")]
    try:
        prices = prices_of(cells[0], columns.decimal)
        missing = "no price"
    except BadPrice as problem:
        if columns.missing_price == "drop" or str(problem).startswith("price is above"):
            raise UnfitRow(str(problem)) from None
        prices, missing = (), str(problem)
    if prices:
        return " - ".join(map(spelled_price, prices))
    if columns.missing_price == "drop":
        raise UnfitRow(missing)
    remarks.append(f"{missing}: 100 dollars assumed")
    return ""


def _images(row: Row, columns: ColumnMap, remarks: list[str]) -> list[str]:
    addresses = _listed(row, columns, "images")
    good = [one for one in addresses if one.startswith(_SHOWN)]
    if not good:
        remarks.append(
            "picture is no web address: a drawn one" if addresses else "no picture: a drawn one"
        )
    return [one[:2_000] for one in good[:20]] or [PICTURE]


def _options(row: Row, columns: ColumnMap, remarks: list[str]) -> dict[str, list[dict[str, Any]]]:
    named: dict[str, list[_Value]] = {}
    for name, column in columns.options.items():
        cell = row.get(column)
        if not _is_nothing(cell):
            if isinstance(cell, str):
                cell = unescape(cell)  # or `&amp;` would end a value
            separator = columns.split.get(name, columns.split["options"])
            values = _values(cell, separator)
            named.setdefault(name, []).extend(values)
            sign = next((one for value, _ in values if (one := doubtful_sign(value))), None)
            if sign is not None:
                remarks.append(
                    f"{name} is one value with {sign!r} in it; if it is several, write"
                    f" {name} = {sign!r} below [split] in the map"
                )
    for cell in _cells(row, columns, "options"):
        for name, values in _option_groups(cell, columns.split["options"]):
            named.setdefault(name, []).extend(values)
    made: dict[str, dict[str, str | None]] = {}
    for name, values in named.items():
        # Equal values would be one button twice; a single one is no choice, but can be asked for.
        unique: dict[str, str | None] = {}
        for value, image in values:
            if shown := plain(value)[:LONGEST_VALUE].strip():
                unique.setdefault(shown, image)
        if len(unique) > MOST_VALUES:
            remarks.append(f"only the first {MOST_VALUES} values of an option kept")
        if unique:
            made[name] = dict(list(unique.items())[:MOST_VALUES])
    while prod(map(len, made.values())) > MOST_CHOICES:
        del made[max(made, key=lambda name: len(made[name]))]
        remarks.append(f"an option left out: more than {MOST_CHOICES:,} combinations")
    return {
        name: [{"value": value, "image": image} for value, image in values.items()]
        for name, values in made.items()
    }


def _values(cell: Any, separator: str) -> list[_Value]:
    if not isinstance(cell, list):
        return [(one, None) for one in _split(_flat(cell), separator)]
    pairs = [
        (one.get("value"), one.get("image")) if isinstance(one, dict) else (one, None)
        for one in cell
    ]
    return [
        (_flat(value), image if isinstance(image, str) and image.startswith(_SHOWN) else None)
        for value, image in pairs
        if not _is_nothing(value)
    ]


def _option_groups(cell: Any, separator: str) -> Iterator[tuple[str, list[_Value]]]:
    """Options out of one cell: an object, JSON text, or `colour: red | blue; size: S | M`."""
    if isinstance(cell, str) and cell.lstrip().startswith("{"):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return
    if isinstance(cell, Mapping):
        groups: Sequence[tuple[str, Any]] = [(str(name), values) for name, values in cell.items()]
    elif isinstance(cell, str):
        pairs = (group.partition(":") for group in cell.split(";"))
        groups = [(name, values) for name, colon, values in pairs if colon]
    else:
        return
    for name, values in groups:
        shown = plain(name).lower()[:_LONGEST_NAME]
        if shown and not _is_nothing(values):
            yield shown, _values(values, separator)
