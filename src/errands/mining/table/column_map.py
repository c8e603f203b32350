"""Which column of a table holds what: a small TOML file, or a guess by common names.

[columns]
id = "sku"
title = "product_name"
description = ["short_text", "long_text"]   # several are joined
images = "media[].src"                      # values inside values, by their path

[options]                                   # a choice that a buyer makes = its column
color = "colours"
"{Option1 Name}" = "Option1 Value"          # its name stands in a column, too

[split]                                     # where one cell holds several values
features = "|"
options = ";"                               # of all options; or of one, by its name:
color = "/"

[defaults]                                  # where a cell is empty, or there is no column
category = "garden"

[reading]
encoding = "cp1252"
delimiter = ";"
decimal = ","
missing_price = "drop"                      # or "assume": 100 dollars, as the original did
"""

import codecs
import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import DataError, SettingError
from errands.mining.table.cells import Row, is_nothing, values_at
from errands.prices import currency_in

__all__ = ["FIELDS", "ColumnMap", "guessed", "is_named", "read_map", "starter"]

FIELDS: Final[Mapping[str, str]] = {
    "id": "what tells products apart; made from the title where there is none",
    "group": "the id that the rows of one product share, if each is a variant of it",
    "title": "what the product is called",
    "price": "a number, with a currency or without, or a range; of several columns the first",
    "surcharge": "what a variant costs beyond the product's price",
    "category": "the broad kind of goods; mining is done for each",
    "query": "the narrow kind, as a shopper would search for it",
    "path": "the way through the shop to it: Home > Kitchen > Mugs",
    "tags": "words it is filed under",
    "brand": "who makes it",
    "description": "text, HTML or plain",
    "features": "the bullet points",
    "options": "choices of a buyer, in one cell: colour: red | blue; size: S | M",
    "images": "addresses of pictures; the first is shown",
}
"""All that is known of a product, and what it is."""

_KNOWN: Final[Mapping[str, str]] = {
    "id": "asin handle_id sku id product_id item_id productid itemid uniq_id uid pid handle"
    " object_id ean gtin upc code barcode",
    "group": "handle handle_id item_group_id parent parent_sku parent_asin parent_id group_id"
    " style_id",
    "title": "title name product_name product_title item_name product productname item"
    " product_display_name display_name",
    "price": "sale_price selling_price discounted_price discount_price final_price current_price"
    " offer_price special_price price_current price_sale price pricing variant_price unit_price"
    " variants_price_amount variants_price price_range_min_variant_price_amount price_amount"
    " price_value product_price regular_price retail_price actual_price list_price original_price"
    " market_price mrp msrp"
    " compare_at_price variant_compare_at_price cost",
    "surcharge": "surcharge",
    "category": "category main_category_en main_category department dept section product_type"
    " master_category category_name",
    "query": "query subcategory sub_category type kind product_kind article_type class sub_class"
    " subclass",
    "path": "product_category_tree category_tree category_path_name category_path product_category"
    " breadcrumb breadcrumbs google_product_category category_name categories_name categories_en"
    " categories collections_title collection taxonomy google_shopping_google_product_category",
    "tags": "tags keywords labels",
    "brand": "brand brand_name brands vendor manufacturer maker brands_en",
    "description": "description full_description long_description product_description body_html"
    " details body text short_description summary generic_name",
    "features": "features small_description bullets bullet_points about about_product"
    " feature_bullets highlights key_features product_highlight product_specifications"
    " specifications specs technical_details other_attributes product_details",
    "options": "customization_options variations variation_options options choices variants",
    "images": "images_src images_url images_large images_hi_res images image image_urls image_url"
    " hosted_image_urls image_link image_links picture pictures img img_link img_url image_src"
    " main_image main_image_url base_image product_image product_image_url featured_image"
    " large_image photo photos thumbnail thumbnail_image variant_image additional_image_link"
    " additional_image_links additional_images gallery",
}
"""Names that columns commonly have, the likeliest first."""

_MORE_IMAGES: Final = frozenset(
    "variant_image additional_image_link additional_image_links additional_images gallery".split()
)

_OPTIONS: Final[Mapping[str, str]] = {
    "color": "color colour colors colours",
    "size": "size sizes",
    "flavor": "flavor flavour flavors flavours",
    "style": "style styles",
    "scent": "scent scents fragrance",
}
_OPTION_NAMES: Final = re.compile(
    r"(option|attribute|variation|variant_option)_?(\d{1,2})_(name|type)"
)
_NAMES_OF_OPTIONS: Final = re.compile(r"((?:product_)?option)_name_?(\d{1,2})")
"""Columns with the name of an option, whose values stand in the column beside it: Shopify and
WooCommerce count the options (`Option1 Name`), Wix and Squarespace their names and values."""

_SPLIT: Final[Mapping[str, str]] = {"features": "|", "options": "|", "images": "|", "path": ">"}
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_USELESS: Final = frozenset({""})
_TRADE: Final = frozenset(
    "simple variable variation grouped external virtual downloadable configurable bundle hardgood"
    " software blacktie game music movie physical digital product normal unknown new used standard"
    " default".split()
) | {""}
"""Kinds of records, not of things."""
_DECIMALS: Final = ("auto", ".", ",")
_MISSING_PRICE: Final = ("assume", "drop")


class ColumnMap(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look for what."""

    columns: Mapping[str, tuple[str, ...]]
    """Field to the columns that hold it."""
    options: Mapping[str, str] = {}
    """Name of an option to the column with its values."""
    split: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(_SPLIT))
    """Field, or name of an option, to what is between its values in one cell."""
    defaults: Mapping[str, str] = {}
    encoding: str = "utf-8-sig"
    delimiter: str | None = None
    """None: found out from the first line."""
    decimal: str = "auto"
    missing_price: str = "assume"

    given: frozenset[str] = frozenset()
    """Fields that a map names; the others were guessed."""

    @property
    def parts_path_by_itself(self) -> bool:
        """Whether it says what parts a path."""
        return self.split["path"] != _SPLIT["path"]

    @property
    def parts_options_by_itself(self) -> bool:
        """Whether it says what parts the values of all options."""
        return self.split["options"] != _SPLIT["options"]

    def told(self) -> dict[str, str]:
        """Field to columns, to be printed."""
        columns = {field: " + ".join(names) for field, names in self.columns.items()}
        return columns | {f"option {name}": column for name, column in self.options.items()}


def _plain(name: str) -> str:
    """A name of a column as known names are spelled, without the currency of its cells."""
    bare, bracket, rest = name.strip().partition("(")
    if bracket and bare.strip() and currency_in(rest):
        name = bare
    words = _HUMP.sub("_", name.strip().removeprefix("g:"))
    return re.sub(r"[\W_]+", "_", words.lower()).strip("_")


def guessed(
    header: Sequence[str], partial: ColumnMap | None = None, sample: Sequence[Row] = ()
) -> ColumnMap:
    """A map for a table with these columns; what `partial` says is not guessed.

    Of the columns with a known name those that `sample` rows show to be empty come last, and kinds
    that are words of the trade (`simple`, `HardGood`) are none.
    """
    base = ColumnMap(columns={}) if partial is None else partial
    by_plain: dict[str, str] = {}
    for name in header:
        by_plain.setdefault(_plain(name), name)
    empty = {name for name in by_plain.values() if _only(sample, name, _USELESS)}
    used = {name for names in base.columns.values() for name in names} | set(base.options.values())
    columns = dict(base.columns)
    for field, names in _KNOWN.items():
        likely = [by_plain[name] for name in names.split() if name in by_plain]
        free = [name for name in likely if name not in used]
        free = [name for name in free if name not in empty] or free[:1]
        if field in ("query", "category"):
            free = [name for name in free if not _only(sample, name, _TRADE)]
        if field in columns or field in base.defaults or not free:
            continue
        columns[field] = _chosen(field, free)
        if field != "group":
            used.update(columns[field])
    if columns.get("group") == columns.get("id"):
        columns.pop("group", None)
    options = dict(base.options)
    if partial is None or not (partial.options or "options" in partial.columns):
        for name, values in _named_options(by_plain):
            if values in empty:
                continue
            options[f"{{{name}}}"] = values
            used.update((name, values))
        for name, known in _OPTIONS.items():
            chosen = next((by_plain[one] for one in known.split() if one in by_plain), None)
            if chosen is not None and chosen not in used:
                options[name] = chosen
    given = frozenset(base.columns) | frozenset(base.defaults)
    made = msgspec.structs.replace(base, columns=columns, options=options, given=given)
    _check_header(made, header)
    return made


def _chosen(field: str, free: list[str]) -> tuple[str, ...]:
    if field == "price":
        # A price inside values is another one than the product's own.
        outer = [name for name in free if "." not in name]
        return tuple(outer or free[:1])
    if field == "images":
        return (free[0], *(one for one in free[1:] if _plain(one) in _MORE_IMAGES))
    return (free[0],)


def _named_options(by_plain: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Columns with the names of options, each with the one that has the values."""
    for plain, name in by_plain.items():
        match = _OPTION_NAMES.fullmatch(plain)
        if match is not None:
            stem = f"{match[1]}_{match[2]}" if f"{match[1]}_{match[2]}_" in plain else None
            stem = stem or f"{match[1]}{match[2]}"
            beside = [f"{stem}_{last}" for last in ("value", "value_s", "values")]
        elif (match := _NAMES_OF_OPTIONS.fullmatch(plain)) is not None:
            beside = [plain.replace("_name", f"_{last}") for last in ("value", "description")]
        else:
            continue
        values = next((by_plain[one] for one in beside if one in by_plain), None)
        if values is not None:
            yield name, values


def _only(sample: Sequence[Row], name: str, words: Collection[str]) -> bool:
    """Whether a column of the sample holds nothing but some words."""
    cells = [cell for row in sample for cell in values_at(row, name)]
    return bool(cells) and all(_plain_cell(cell) in words for cell in cells)


def _plain_cell(cell: Any) -> str:
    if is_nothing(cell):
        return ""
    return cell.split(",")[0].strip().lower() if isinstance(cell, str) else "filled"


def _check_header(made: ColumnMap, header: Sequence[str]) -> None:
    options = {f"option {name}": (column,) for name, column in made.options.items()}
    named = {f"option {name}": (name[1:-1],) for name in made.options if is_named(name)}
    for field, names in {**made.columns, **options, **named}.items():
        for name in names:
            if name not in header:
                near = difflib.get_close_matches(name, header, 1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise SettingError(
                    f"The map says that {field} is in the column {name!r}, which the products do"
                    f" not have; they have {_listed(header)}.{hint}"
                )
    if "title" not in made.columns:
        raise SettingError(
            "No column is known to hold the titles; say which in a map: [columns] title ="
            f' "...". The products have {_listed(header)}.'
        )


def _listed(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(repr(name[:60]) for name in names[:most]) or "none at all"
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def read_map(path: Path) -> ColumnMap:
    """A map out of its file."""
    try:
        raw = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as failure:
        raise DataError(
            f"{path} cannot be read ({failure.strerror}); expected a map of columns. `errands mine"
            " map FILE` writes one to begin with."
        ) from None
    except (ValueError, RecursionError) as failure:
        raise DataError(f"{path} is not TOML: {failure}.") from None
    try:
        return _understood(raw)
    except SettingError as problem:
        raise SettingError(f"{path}: {problem}") from None


_SECTIONS: Final[Mapping[str, Collection[str] | None]] = {
    "columns": FIELDS,
    "options": None,
    "split": _SPLIT,
    "defaults": ("category", "query", "path", "price"),
    "reading": ("encoding", "delimiter", "decimal", "missing_price"),
}
"""What may stand in each section; None: anything."""


def _understood(raw: Mapping[str, Any]) -> ColumnMap:
    for section, lines in raw.items():
        if section not in _SECTIONS:
            raise SettingError(f"there is no section [{section}]; expected {', '.join(_SECTIONS)}.")
        if not isinstance(lines, dict):
            raise SettingError(f"{section} is not a section; write [{section}] above its lines.")
        known = _SECTIONS[section] or lines
        if section == "split":
            options = raw.get("options")
            own = list(options) if isinstance(options, dict) else []
            known = list(dict.fromkeys([*known, *own, *_names(options), *_OPTIONS]))
        for name in lines:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise SettingError(
                    f"[{section}] knows no {name!r}; expected {', '.join(known)}.{hint}"
                )
    columns: dict[str, tuple[str, ...]] = {}
    for field, names in raw.get("columns", {}).items():
        listed = names if isinstance(names, list) else [names]
        if not listed or not all(isinstance(name, str) and name for name in listed):
            raise SettingError(
                f"[columns] {field} is not the name of a column, nor a list of such."
            )
        columns[field] = tuple(listed)
    reading = _texts(raw, "reading")
    return ColumnMap(
        columns=columns,
        options=_names(_texts(raw, "options")),
        split={**_SPLIT, **_names(_texts(raw, "split"))},
        defaults=_texts(raw, "defaults"),
        encoding=_encoding(reading.get("encoding", "utf-8-sig")),
        delimiter=_delimiter(reading.get("delimiter")),
        decimal=_one_of("decimal", reading.get("decimal", "auto"), _DECIMALS),
        missing_price=_one_of(
            "missing_price", reading.get("missing_price", "assume"), _MISSING_PRICE
        ),
    )


def is_named(option: str) -> bool:
    """Whether the name of an option stands in a column: `{Option1 Name}`."""
    return option.startswith("{") and option.endswith("}")


def _names(lines: object) -> dict[str, str]:
    """Lines by the names of options as they are shown."""
    if not isinstance(lines, dict):
        return {}
    return {n.strip() if is_named(n.strip()) else n.strip().lower(): t for n, t in lines.items()}


def _texts(raw: Mapping[str, Any], section: str) -> dict[str, str]:
    lines: dict[str, str] = raw.get(section, {})
    for name, value in lines.items():
        if not isinstance(value, str) or not value:
            raise SettingError(f"[{section}] {name} is not a text in quotes.")
    return lines


def _encoding(name: str) -> str:
    try:
        codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError):
        raise SettingError(
            f"[reading] encoding: there is no {name!r}; expected utf-8, cp1252, latin-1 or alike."
        ) from None
    # A mark at the beginning, which spreadsheets write, is no part of the first column's name.
    return "utf-8-sig" if codecs.lookup(name).name == "utf-8" else name


def _delimiter(sign: str | None) -> str | None:
    if sign is not None and (len(sign) != 1 or sign in '\n\r"'):
        raise SettingError(f"[reading] delimiter is {sign!r}; expected one character.")
    return sign


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise SettingError(f"[reading] {name} is {value!r}; expected {' or '.join(known)}.")
    return value


def starter(made: ColumnMap, header: Sequence[str]) -> str:
    """A map as a file to go on from: what was found, and comments for what was not."""
    lines = [
        "# Which column of your products holds what. Lines with # are not read.",
        "",
        "[columns]",
    ]
    for field, what in FIELDS.items():
        names = made.columns.get(field)
        if names is None:
            lines.append(f'# {field} = "..."  # {what}')
        elif field == "query" and field not in made.given:
            # What a map names is taken as it is; a guess is weighed against titles and paths.
            lines.append(f"# {field} = {_quoted(names[0])}  # {what}")
        else:
            value = _quoted(names[0]) if len(names) == 1 else f"[{', '.join(map(_quoted, names))}]"
            lines.append(f"{field} = {value}  # {what}")
    lines += ["", "[options]  # what a buyer chooses = the column with the values"]
    lines += [f"{_quoted(name)} = {_quoted(column)}" for name, column in made.options.items()]
    lines += ["", "[split]  # between several values in one cell"]
    lines += [
        f"{field if field in _SPLIT else _quoted(field)} = {_quoted(text)}"
        for field, text in made.split.items()
    ]
    used = {n for names in made.columns.values() for n in names} | set(made.options.values())
    rest = [name for name in header if name not in used]
    if rest:
        lines += ["", "# Not used: " + ", ".join(map(_quoted, rest))]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's, but for the one character below."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
