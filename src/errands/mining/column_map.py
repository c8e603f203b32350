"""Which column of a table holds what: a small TOML file, or a guess by common names.

[columns]
id = "sku"
title = "product_name"
description = ["short_text", "long_text"]   # several are joined

[options]                                   # a choice that a buyer makes = its column
color = "colours"

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
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import DataError, SettingError

__all__ = ["FIELDS", "ColumnMap", "guessed", "read_map", "starter"]

FIELDS: Final[Mapping[str, str]] = {
    "id": "what tells products apart; made from the title where there is none",
    "title": "what the product is called",
    "price": "a number, with a currency or without, or a range",
    "category": "the broad kind of goods; mining is done for each",
    "query": "the narrow kind, as a shopper would search for it",
    "path": "the way through the shop to it: Home > Kitchen > Mugs",
    "description": "text, HTML or plain",
    "features": "the bullet points",
    "options": "choices of a buyer, in one cell: colour: red | blue; size: S | M",
    "images": "addresses of pictures; the first is shown",
}
"""All that is known of a product, and what it is."""

_KNOWN: Final[Mapping[str, str]] = {
    "id": "asin sku id product_id item_id productid itemid uniq_id uid handle ean gtin upc code",
    "title": "title name product_name product_title item_name product productname item",
    "price": "price pricing selling_price sale_price final_price actual_price retail_price cost",
    "category": "category main_category department dept section product_type",
    "query": "query subcategory sub_category type kind product_kind class",
    "path": "product_category category_path breadcrumb breadcrumbs google_product_category"
    " categories taxonomy",
    "description": "description full_description long_description product_description body_html"
    " details body text",
    "features": "features small_description bullets bullet_points about about_product"
    " feature_bullets highlights key_features",
    "options": "customization_options options variants choices",
    "images": "images image image_url image_urls image_link picture pictures img img_link"
    " image_src photo",
}
"""Names that columns commonly have, the likeliest first."""

_OPTIONS: Final[Mapping[str, str]] = {
    "color": "color colour colors colours",
    "size": "size sizes",
    "flavor": "flavor flavour flavors flavours",
    "style": "style styles",
}

_SPLIT: Final[Mapping[str, str]] = {"features": "|", "options": "|", "images": "|", "path": ">"}
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

    @property
    def parts_options_by_itself(self) -> bool:
        """Whether it says what parts the values of all options."""
        return self.split["options"] != _SPLIT["options"]

    def told(self) -> dict[str, str]:
        """Field to columns, to be printed."""
        columns = {field: " + ".join(names) for field, names in self.columns.items()}
        return columns | {f"option {name}": column for name, column in self.options.items()}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


def guessed(header: Sequence[str], partial: ColumnMap | None = None) -> ColumnMap:
    """A map for a table with these columns; what `partial` says is not guessed."""
    base = ColumnMap(columns={}) if partial is None else partial
    by_plain: dict[str, str] = {}
    for name in header:
        by_plain.setdefault(_plain(name), name)
    used = {name for names in base.columns.values() for name in names} | set(base.options.values())
    columns = dict(base.columns)
    for field, names in _KNOWN.items():
        likely = (by_plain[name] for name in names.split() if name in by_plain)
        chosen = next((name for name in likely if name not in used), None)
        if field not in columns and field not in base.defaults and chosen is not None:
            columns[field] = (chosen,)
            used.add(chosen)
    options = dict(base.options)
    if partial is None or not (partial.options or "options" in partial.columns):
        for name, known in _OPTIONS.items():
            chosen = next((by_plain[one] for one in known.split() if one in by_plain), None)
            if chosen is not None and chosen not in used:
                options[name] = chosen
    made = msgspec.structs.replace(base, columns=columns, options=options)
    _check_header(made, header)
    return made


def _check_header(made: ColumnMap, header: Sequence[str]) -> None:
    options = {f"option {name}": (column,) for name, column in made.options.items()}
    for field, names in {**made.columns, **options}.items():
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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as failure:
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


def _names(lines: object) -> dict[str, str]:
    """Lines by the names of options as they are shown."""
    return {n.strip().lower(): text for n, text in lines.items()} if isinstance(lines, dict) else {}


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
