"""Products of any table as records of the original's items file, and what was left out and why.

Rows that are variants of one product become one, with their options, pictures and prices. Products
with an id or a title that was there before are dropped, as the paper did (A.1). What can be mended
is mended and counted as a remark: HTML, a missing picture, a missing price, huge fields.
"""

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.mining.kinds import MinedKind, TitleNouns, alternatives, is_title, narrow_names
from errands.mining.option_cells import (
    LONGEST_NAME,
    SHOWN,
    Value,
    option_groups,
    split_cell,
    values_of,
)
from errands.mining.plain_text import bullets_in, is_html, plain, plain_html
from errands.mining.survey import MOST_ROWS, TableSurvey, mark
from errands.mining.table.cells import Row, flat, is_nothing, structured, values_at
from errands.mining.table.column_evidence import Doubt
from errands.mining.table.column_map import ColumnMap, guessed, is_named
from errands.mining.table.separators import LOOKED_AT, doubtful_sign, found_separators
from errands.mining.table.table_file import BadRow, TableFile
from errands.prices import BadPrice, prices_of, usual_decimal
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
MOST_TAGS: Final = 20
ALIKE: Final = 5
"""Products of one price that are odd, even if no column seems to hold others."""
NEARLY_ALL: Final = 0.9
"""The share of products without a price that says that prices were not read."""
SAMPLE: Final = 300
"""Rows that a map is guessed by."""

_ID: Final = re.compile(r"[A-Z0-9_-]{1,10}")
_NOTHING: Final = frozenset({"", "nan", "none", "null", "n/a"})
_NO_CHOICE: Final = frozenset({"title", "default title", "default"})
"""What Shopify calls the option and the value of a product without variants."""
_NO_KIND: Final = "products"
_PATH_SIGNS: Final = (">", "›", "»", "|", " / ", "::", ";")
"""What parts a path, where the map does not say; the first that is there."""
_SEVERAL_PATHS: Final = re.compile(r">[^,>]*,[^,>]*>")
_ADDRESSES: Final = ("src", "url", "large", "link", "value")
"""What an object that is a picture calls its address."""
_WIX_PICTURE: Final = re.compile(r"[0-9a-f]{6}_[0-9a-f]{32}~mv2\S*")
_WIX_PICTURES: Final = "https://static.wixstatic.com/media/"
"""Where Wix keeps the pictures that its exports only name."""
_NEXT_ADDRESS: Final = re.compile(r"(?<![,;|~\s])[,;|~\s]+(?=https?://)")


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
    variants: int = 0
    """Rows that are further variants of the products."""
    separators: dict[str, str] = {}
    """Option to what was found to part its values in one cell."""
    doubts: list[Doubt] = []
    """What no product has although the table may have it."""


class ProductFile:
    """A table of products, read by a map; `taken` is complete once all items were."""

    def __init__(
        self,
        path: Path,
        column_map: ColumnMap | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._path = path
        self._given = column_map
        self._progress = progress
        table = TableFile(path, column_map)
        columns = guessed(table.header, column_map, _sample(table))
        found = found_separators(table.rows(), columns)
        split = {**columns.split, **found}
        self.map = msgspec.structs.replace(columns, split=split, decimal=_decimal(table, columns))
        self.header = table.header
        self.taken = RowCounts(separators=found)

    def items(self) -> Iterator[dict[str, Any]]:
        """The products, each once."""
        counts = self.taken
        ids: set[bytes] = set()
        titles: set[bytes] = set()
        survey = TableSurvey(TableFile(self._path, self._given).rows(), self.map, self.header)
        found = _FoundFields(self.map)
        table = TableFile(self._path, self._given, progress=self._progress)
        for row, variants in survey.products(table.rows()):
            counts.rows += 1 + len(variants)
            try:
                if isinstance(row, BadRow):
                    raise UnfitRow(str(row))
                remarks: list[str] = []
                item = item_of(row, self.map, remarks, variants=variants, nouns=survey.nouns)
                key = mark(item["asin"]), mark(" ".join(item["name"].casefold().split()))
                if key[0] in ids and ("id" in self.map.columns or key[1] not in titles):
                    raise UnfitRow("id was there before")
                if key[1] in titles:
                    found.leave_out(item)
                    raise UnfitRow("title was there before")
                ids.add(key[0])
                titles.add(key[1])
            except UnfitRow as reason:
                counts.dropped[str(reason)] += 1 + len(variants)
            except RecursionError:
                counts.dropped["values are nested too deeply"] += 1 + len(variants)
            else:
                counts.products += 1
                counts.variants += len(variants)
                counts.remarks.update(list(dict.fromkeys(remarks)))
                found.see(item)
                yield item
        if survey.left_out:
            counts.rows += survey.left_out
            counts.dropped[f"more than {MOST_ROWS:,} rows of one product"] = survey.left_out
        counts.doubts = found.doubts(survey, counts.products)


class _FoundFields:
    """Whether any product has what a shop is nothing without."""

    def __init__(self, columns: ColumnMap) -> None:
        self._columns = columns
        self._prices: set[str] = set()
        self._without_price = 0
        self._pictured = False
        self._chosen = False
        self._left_out: Counter[str] = Counter()

    def leave_out(self, item: Mapping[str, Any]) -> None:
        """A row with an id of its own and a title that was there."""
        self._left_out[item["name"]] += 1

    def see(self, item: Mapping[str, Any]) -> None:
        self._without_price += not item["pricing"]
        if len(self._prices) < 2:
            self._prices.add(item["pricing"])
        self._pictured = self._pictured or item["images"] != [PICTURE]
        self._chosen = self._chosen or bool(item["customization_options"])

    def doubts(self, survey: TableSurvey, products: int) -> list[Doubt]:
        """What no product has although the table may have it."""
        if products < 2:
            return []
        found: list[Doubt | None] = []
        if len(self._prices) == 1:
            price = next(iter(self._prices)) or "$100.00"
            doubt = survey.evidence.alike(f"All {products:,} products cost {price}")
            found.append(doubt if products >= ALIKE or doubt.column is not None else None)
        elif products >= ALIKE and self._without_price >= NEARLY_ALL * products:
            what = f"{self._without_price:,} of {products:,} products have no price"
            found.append(survey.evidence.alike(what))
        found.append(self._series(products))
        if not self._chosen:
            found.append(survey.evidence.missing("options", "No product has options"))
        if not self._pictured:
            found.append(survey.evidence.missing("images", "No product has a picture"))
        return [one for one in found if one is not None]

    def _series(self, products: int) -> Doubt | None:
        """What to say if most rows are left out because what they are called was there."""
        left_out = self._left_out.total()
        if "id" not in self._columns.columns or left_out < max(ALIKE, products):
            return None
        title, count = self._left_out.most_common(1)[0]
        column = self._columns.columns["title"][0]
        return Doubt(
            "title",
            f"{left_out:,} rows with ids of their own are left out because their title was there"
            f" before (such as {title[:40]!r}, {count + 1:,} times): if {column!r} only names a"
            f" series, write title = [{column!r}, '...'] with the column that tells its products"
            " apart below [columns] in a map (errands mine map FILE --out map.toml) and give it"
            " with --map.",
        )


def _sample(table: TableFile) -> list[Row]:
    return [row for row in islice(table.rows(), SAMPLE) if not isinstance(row, BadRow)]


def _decimal(table: TableFile, columns: ColumnMap) -> str:
    """Which mark comes before the cents, where the map does not say and the whole column does."""
    if columns.decimal != "auto":
        return columns.decimal
    rows = (row for row in islice(table.rows(), LOOKED_AT) if not isinstance(row, BadRow))
    texts = (
        cell
        for row in rows
        for name in columns.columns.get("price", ())
        for cell in values_at(row, name)
        if isinstance(cell, str)
    )
    return usual_decimal(texts) or "auto"


def item_of(
    row: Row,
    columns: ColumnMap,
    remarks: list[str],
    *,
    variants: Sequence[Row] = (),
    nouns: TitleNouns | None = None,
) -> dict[str, Any]:
    """A row, and its variants, as a record of the items file; what was mended is remarked on.

    `nouns` knows what the titles of the whole table come down to.
    """
    rows = [row, *variants]
    title = _cut(_title(rows, columns), LONGEST_TITLE, "title", remarks)
    if title.lower() in _NOTHING:
        raise UnfitRow("no title")
    first = _filled(rows, columns)
    description, features = _texts(first, columns, remarks)
    brand = _first(first, columns, "brand")
    filed = _first(first, columns, "category")
    path = [one for one in _path(first, columns) if not is_title(one, title)]
    parts = _parts_of_path(filed, columns)
    if len(parts) > 1:
        filed = parts[0]
        path = path or [plain(one) for one in parts]
    filed = filed or next((one for one in path if one.lower() != "home"), "")
    kind = _kind(first, columns, nouns or TitleNouns(), title, brand, [filed, *path],
                 [description, *features[:1]])  # fmt: skip
    if kind is None:
        remarks.append("no kind (query or path in the map): instructions say products")
    elif not kind.said:
        remarks.append("kind that its texts do not say: put below the description")
        description = f"{description}\n{kind.text.capitalize()}".strip()
    query = _NO_KIND if kind is None else kind.text
    return {
        "asin": _id(row, columns, title),
        "name": title,
        "brand": brand,
        "full_description": description,
        "small_description": features,
        "pricing": _pricing(rows, columns, remarks),
        "customization_options": _options(rows, columns, remarks) or "",
        "category": filed or "all",
        "query": query,
        "product_category": " › ".join(path or [filed or "all", query]),
        "images": _images(rows, columns, remarks),
    }


def _title(rows: Sequence[Row], columns: ColumnMap) -> str:
    """What a product is called; of variants that are called differently, what they share."""
    titles = [" ".join(_plain_cells(row, columns, "title")) for row in rows]
    titles = [one for one in titles if one.strip().lower() not in _NOTHING]
    if len(set(titles)) < 2 or _is_parent(rows, columns):
        return titles[0] if titles else ""
    return _shared_words(titles) or titles[0]


def _is_parent(rows: Sequence[Row], columns: ColumnMap) -> bool:
    """Whether the first row is no variant itself, but what the others are variants of."""
    grouped = [bool(_cells(row, columns, "group")) for row in rows]
    return len(rows) > 1 and not grouped[0] and any(grouped)


def _shared_words(titles: Sequence[str]) -> str:
    """The words that all titles begin with, if they are two, or half of the first title."""
    words = [title.split() for title in titles]
    alike = takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))
    kept = [each[0] for each in alike]
    while kept and not any(map(str.isalnum, kept[-1])):
        kept.pop()
    enough = len(kept) >= 2 or 2 * len(kept) >= len(words[0])
    return " ".join(kept).rstrip(" ,;:(-–—/") if enough else ""


def _filled(rows: Sequence[Row], columns: ColumnMap) -> Row:
    """The first row, what it leaves empty filled from its variants."""
    if len(rows) == 1:
        return rows[0]
    made = dict(rows[0])
    for name in (name for names in columns.columns.values() for name in names):
        if is_nothing(made.get(name)):
            held = next((row[name] for row in rows if not is_nothing(row.get(name))), None)
            if held is not None:
                made[name] = held
    return made


def _kind(
    row: Row,
    columns: ColumnMap,
    nouns: TitleNouns,
    title: str,
    brand: str,
    path: Sequence[str],
    texts: Sequence[str],
) -> MinedKind | None:
    """The kind of a product: what a map's column says, else what all that is known points to."""
    said = _first(row, columns, "query")
    if said and "query" in columns.given:
        return MinedKind(said.lower(), True)
    is_several = len(alternatives(said)) > 1
    path = [*path, said] if is_several else path
    names = narrow_names(path, title, brand)
    # "Toys & Games" are toys rather than anything; of three kinds nobody knows which.
    parted = [alternatives(one) for one in path]
    sure = narrow_names([one[0] for one in parted if 0 < len(one) < 3], title, brand)
    tags = [tag.strip() for cell in _listed(row, columns, "tags") for tag in cell.split(",")]
    filed = narrow_names(tags[:MOST_TAGS][::-1], title, brand)
    return nouns.kind_of(
        title,
        names,
        own="" if is_several else said.lower(),
        tags=filed,
        text="\n".join(texts),
        brand=brand,
        shared=set(names) - set(sure),
    )


def _cells(row: Row, columns: ColumnMap, field: str) -> list[Any]:
    cells = [cell for name in columns.columns.get(field, ()) for cell in values_at(row, name)]
    return [cell for cell in cells if not is_nothing(cell)]


def _plain_cells(row: Row, columns: ColumnMap, field: str) -> list[str]:
    return [plain(flat(cell)) for cell in _cells(row, columns, field)]


def _first(row: Row, columns: ColumnMap, field: str) -> str:
    first = next((text for text in _plain_cells(row, columns, field) if text), "")
    return (first or plain(columns.defaults.get(field, "")))[:LONGEST_NAME].strip()


def _listed(row: Row, columns: ColumnMap, field: str) -> list[str]:
    """The values of a field that may hold several, in one cell or in many."""
    separator = columns.split.get(field, "|")
    values: list[str] = []
    for cell in _cells(row, columns, field) or [columns.defaults.get(field, "")]:
        held = structured(cell)
        if isinstance(held, list | dict):
            values += _members(held)
        else:
            values += split_cell(str(cell), separator)
    return values


def _members(held: Any) -> list[str]:
    """The texts of a list; those of an object as `name: value`, or of the one list in it."""
    if isinstance(held, list):
        return [_specification(one) for one in held if not is_nothing(one)]
    lists = [one for one in held.values() if isinstance(one, list)]
    if len(held) == 1 and lists:
        return _members(lists[0])
    return [f"{name}: {flat(one)}" for name, one in held.items() if not is_nothing(one)]


def _specification(one: Any) -> str:
    """A specification as text: `{"key": "Fabric", "value": "Cotton"}` is `Fabric: Cotton`."""
    if isinstance(one, dict) and not is_nothing(one.get("value")):
        key = next((one[name] for name in ("key", "name", "label") if one.get(name)), None)
        if isinstance(key, str):
            return f"{key}: {flat(one['value'])}"
    return flat(one)


def _path(row: Row, columns: ColumnMap) -> list[str]:
    """The way to a product: the members of a list, or a text parted by the signs of paths."""
    cells = [structured(cell) for cell in _cells(row, columns, "path")]
    texts = [flat(one) for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
    texts = texts or [columns.defaults.get("path", "")]
    parts = _parts_of_path(texts[0], columns) if len(texts) == 1 else texts
    return [shown for one in parts if (shown := plain(one)).lower() not in _NOTHING]


def _parts_of_path(text: str, columns: ColumnMap) -> list[str]:
    separator = columns.split["path"]
    if columns.parts_path_by_itself:
        return split_cell(text.replace("›", separator), separator)
    sign = next((sign for sign in _PATH_SIGNS if sign in text), None)
    if sign is None:
        return split_cell(text, ",") if text.count(",") > 1 else [text] if text else []
    if sign == ">" and _SEVERAL_PATHS.search(text):
        # Several paths, each with parts of its own.
        text = text.split(",")[0]
    return [part for one in text.split(sign) if (part := one.strip(" >"))]


def _cut(text: str, most: int, what: str, remarks: list[str]) -> str:
    if len(text) <= most:
        return text
    remarks.append(f"{what} cut to {most:,} characters")
    return text[:most].rsplit(" ", 1)[0] or text[:most]


def _id(row: Row, columns: ColumnMap, title: str) -> str:
    """The id as it is where the shop can use it; else one made from it, always the same."""
    cells = _cells(row, columns, "group") or _cells(row, columns, "id")
    text = " ".join(flat(cell).strip() for cell in cells)
    if _ID.fullmatch(text.upper()) and text.lower() != "nan":
        return text.upper()
    digest = mark(f"id:{text}" if text else f"title:{title}")
    return base64.b32encode(digest).decode()[:LONGEST_ASIN]


def _texts(row: Row, columns: ColumnMap, remarks: list[str]) -> tuple[str, list[str]]:
    """Description and bullet points."""
    raw = [flat(cell) for cell in _cells(row, columns, "description")]
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


def _pricing(rows: Sequence[Row], columns: ColumnMap, remarks: list[str]) -> str:
    """The price, or the two ends of those of the variants."""
    prices: set[float] = set()
    missing = ""
    for row in rows:
        try:
            prices.update(_prices(row, columns) or _with_surcharge(row, rows[0], columns))
        except BadPrice as problem:
            if str(problem).startswith("price is above"):
                raise UnfitRow(str(problem)) from None
            missing = missing or str(problem)
    if not prices and not missing and (usual := columns.defaults.get("price")):
        prices.update(prices_of(usual, columns.decimal))
    if prices:
        return " - ".join(map(spelled_price, sorted({min(prices), max(prices)})))
    missing = missing or "no price"
    if columns.missing_price == "drop":
        raise UnfitRow(missing)
    remarks.append(f"{missing}: 100 dollars assumed")
    return ""


def _with_surcharge(row: Row, first: Row, columns: ColumnMap) -> list[float]:
    """The price of a variant that only says what it costs beyond the product's."""
    more = [float(one) for cell in _cells(row, columns, "surcharge") for one in prices_of(cell)]
    return [price + sum(more) for price in _prices(first, columns)] if more else []


def _prices(row: Row, columns: ColumnMap) -> list[float]:
    """The prices of the first column that has one; of variants inside it, all."""
    problem: BadPrice | None = None
    for name in columns.columns.get("price", ()):
        found: list[float] = []
        for cell in values_at(row, name):
            try:
                found += () if is_nothing(cell) else prices_of(cell, columns.decimal)
            except BadPrice as failure:
                problem = problem or failure
        if found:
            return found
    if problem is not None:
        raise problem
    return []


def _images(rows: Sequence[Row], columns: ColumnMap, remarks: list[str]) -> list[str]:
    addresses = list(dict.fromkeys(one for row in rows for one in _addresses(row, columns)))
    good = [one for one in addresses if one.startswith(SHOWN)]
    if not good:
        remarks.append(
            "picture is no web address: a drawn one" if addresses else "no picture: a drawn one"
        )
    return [one[:2_000] for one in good[:20]] or [PICTURE]


def _addresses(row: Row, columns: ColumnMap) -> list[str]:
    found: list[str] = []
    for cell in _cells(row, columns, "images"):
        held = structured(cell)
        for one in held if isinstance(held, list) else [held]:
            # Where an address begins anew, the one before it has ended.
            parted = _NEXT_ADDRESS.sub("\n", _address(one)).split("\n")
            found += [part for text in parted for part in split_cell(text, columns.split["images"])]
    if any("~mv2" in one for one in found):
        named = [name for one in found for name in one.split(";")]
        return [_WIX_PICTURES + one if _WIX_PICTURE.fullmatch(one) else one for one in named]
    return found


def _address(held: Any) -> str:
    if isinstance(held, dict):
        held = next((held[name] for name in _ADDRESSES if held.get(name)), "")
    return str(held)


def _options(
    rows: Sequence[Row], columns: ColumnMap, remarks: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """What a buyer chooses: the values of all variants, which say what a parent lists."""
    named: dict[str, list[Value]] = {}
    grouped = len(rows) > 1 and "group" in columns.columns
    for row in rows[1:] if _is_parent(rows, columns) else rows:
        found = _options_of(row, rows[0], columns, remarks)
        picture = next(iter(_addresses(row, columns)), "") if grouped else ""
        for place, (name, values) in enumerate(found.items()):
            if place == 0 and len(values) == 1 and picture.startswith(SHOWN):
                values = [(values[0][0], picture[:2_000])]
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
        only = len(unique) == 1 and name in _NO_CHOICE
        if unique and not only and not all(one.lower() in _NO_CHOICE for one in unique):
            made[name] = dict(list(unique.items())[:MOST_VALUES])
    choices = 1
    for name in sorted(made, key=lambda name: -len(made[name]))[::-1]:
        choices = min(choices * len(made[name]), MOST_CHOICES + 1)
        if choices > MOST_CHOICES:
            del made[name]
            remarks.append(f"an option left out: more than {MOST_CHOICES:,} combinations")
    return {
        name: [{"value": value, "image": image} for value, image in values.items()]
        for name, values in made.items()
    }


def _options_of(
    row: Row, first: Row, columns: ColumnMap, remarks: list[str]
) -> dict[str, list[Value]]:
    """The options that one row has: in columns of their own, then in one cell."""
    named: dict[str, list[Value]] = {}
    for key, column in columns.options.items():
        name = _option_name(key, row, first)
        for cell in values_at(row, column) if name else ():
            if is_nothing(cell):
                continue
            # Entities are read first, or `&amp;` would end a value.
            held = structured(unescape(cell) if isinstance(cell, str) else cell)
            values = values_of(held, columns.split.get(key, columns.split["options"]))
            named.setdefault(name, []).extend(values)
            sign = next((one for value, _ in values if (one := doubtful_sign(value))), None)
            if sign is not None:
                remarks.append(
                    f"{name} is one value with {sign!r} in it; if it is several, write"
                    f" {name} = {sign!r} below [split] in the map"
                )
    for cell in _cells(row, columns, "options"):
        for name, values in option_groups(cell, columns.split["options"]):
            named.setdefault(name, []).extend(values)
    return named


def _option_name(key: str, row: Row, first: Row) -> str:
    """The name of an option; where it stands in a column, in the row's or the first variant's."""
    if not is_named(key):
        return key
    cells = [cell for one in (row, first) for cell in values_at(one, key[1:-1])]
    said = next((cell for cell in cells if not is_nothing(cell)), "")
    return plain(flat(said)).lower()[:LONGEST_NAME]
