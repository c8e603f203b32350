"""A catalogue as files of the original WebShop formats.

The files hold what the shop knows, in the original's spelling: `parse_product` makes equal
products of them, and a catalogue built from them with the same seed and tagger is the same
catalogue. What was left out when the catalogue was built (unusable records, ratings, more
pictures, who wrote an instruction) is not in it, and so not in the files.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from errands.atomic import atomic_files
from errands.errors import CatalogError
from errands.home import real
from errands.progress import Progress, silent
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.goal_store import Entry, StoredGoals
from errands.shop.product import UNMINED, Product, normalize_value

__all__ = [
    "ExportedFile",
    "JsonFile",
    "export_catalog",
    "item_record",
    "spelled_price",
    "spelled_value",
]

_CHUNK = 512


class ExportedFile(NamedTuple):
    """One written file."""

    path: Path
    members: int
    """Products, or products of which the file says something."""
    bytes: int


def export_catalog(
    catalog: Catalog,
    *,
    items: Path,
    attributes: Path,
    human: Path | None = None,
    nouns: Path | None = None,
    replace: bool = False,
    progress: Progress = silent,
) -> dict[str, ExportedFile]:
    """Write a catalogue's products, attributes and instructions; all files or none appear."""
    named = {"items": items, "attributes": attributes, "human": human, "nouns": nouns}
    outs = {name: path for name, path in named.items() if path is not None}
    for path in outs.values():
        if real(path).is_relative_to(real(catalog.path)):
            raise CatalogError(f"{path} is inside the catalogue; name a file elsewhere.")
    with atomic_files(list(outs.values()), replace=replace) as works, ExitStack() as stack:
        files = {
            name: stack.enter_context(JsonFile(work, "[]" if name == "items" else "{}"))
            for name, work in zip(outs, works, strict=True)
        }
        synthetic, spoken = _instructions(catalog, "synthetic"), _instructions(catalog, "human")
        for row, (product, told, said) in enumerate(zip(catalog, synthetic, spoken, strict=True)):
            files["items"].element(item_record(product))
            mined = _mined_record(product, told)
            if mined:
                files["attributes"].member(product.asin, mined)
            if said and human is not None:
                files["human"].member(product.asin, [_human_record(product, one) for one in said])
            if nouns is not None:
                files["nouns"].member(product.asin, product.nouns)
            if row % _CHUNK == 0 or row + 1 == len(catalog):
                progress("writing products", row + 1, len(catalog))
        stack.close()
        return {
            name: ExportedFile(path, files[name].members, files[name].bytes)
            for name, path in outs.items()
        }


def item_record(product: Product) -> dict[str, Any]:
    """A product as in items_shuffle.json."""
    return {
        "asin": product.asin,
        "name": product.title,
        "full_description": product.description,
        "small_description": product.bullets,
        "pricing": " - ".join(map(spelled_price, product.prices)),
        "customization_options": _options_record(product) or "",
        "category": product.category,
        "query": product.query,
        "product_category": product.product_category,
        "images": (product.image,),
    }


def spelled_price(price: float) -> str:
    """A price that reads as exactly this number; with cents where they say it all.

    >>> spelled_price(877.8), spelled_price(0.125), spelled_price(1e22)
    ('$877.80', '$0.125', '$10000000000000000000000.00')
    """
    cents = f"{price:.2f}"
    if float(cents) == price and price < np.inf:
        return f"${cents}"
    # No exponents: the original's rules would drop the letter. Enough nines are infinite.
    return f"${np.format_float_positional(price) if price < np.inf else '9' * 400}"


def spelled_value(value: str) -> str:
    """An option value as it may have been before it was normalised.

    >>> spelled_value("7.5 women | 6 men"), spelled_value("a | | ")
    ('7.5 women/6 men', 'a |/')
    """
    spelled = value.replace(" | ", "/")
    if normalize_value(spelled) == value:
        return spelled
    # Only bars at the ends must be strokes again, lest their spaces be stripped.
    if value.startswith(" | "):
        value = "/" + value[3:]
    return value[:-3] + "/" if value.endswith(" | ") else value


def _options_record(product: Product) -> dict[str, list[dict[str, str | None]]]:
    images = product.option_images
    options = {
        name: [{"value": spelled_value(value), "image": images[value]} for value in values]
        for name, values in product.options.items()
    }
    offered = {value for values in product.options.values() for value in values}
    return options if len(offered) == len(images) else _with_hidden(product, options, offered)


def _with_hidden(
    product: Product, options: dict[str, list[dict[str, str | None]]], offered: set[str]
) -> dict[str, list[dict[str, str | None]]]:
    """With the values of an option that a later one of the same name has hidden."""
    hidden = [
        {"value": spelled_value(value), "image": image}
        for value, image in product.option_images.items()
        if value not in offered
    ]
    whole: dict[str, list[dict[str, str | None]]] = {}
    for name, entries in options.items():
        for other in (name.upper(), name.capitalize()):
            if hidden and other != name and other.lower() == name:
                whole[other], hidden = hidden, []
        whole[name] = entries
    return whole


def _mined_record(product: Product, told: list[Entry]) -> dict[str, Any]:
    """A product as in items_ins_v2.json; empty where nothing was mined."""
    mined: dict[str, Any] = {}
    if product.attributes != UNMINED:
        mined["attributes"] = product.attributes
    for entry in told:
        mined["instruction"] = entry.instruction
        mined["instruction_attributes"] = entry.attributes
    return mined


def _human_record(product: Product, entry: Entry) -> dict[str, Any]:
    """An instruction as in items_human_ins.json."""
    chosen = entry.options or ()
    named = [
        f"{name}: {value}"
        for value in chosen
        for name, values in product.options.items()
        if value in values
    ]
    return {
        "asin": product.asin,
        "instruction": entry.instruction,
        "attributes": () if product.attributes == UNMINED else product.attributes,
        "options": named or ("",),
        "instruction_attributes": entry.attributes,
        "instruction_options": chosen,
    }


def _instructions(catalog: Catalog, kind: str) -> Iterator[list[Entry]]:
    """What the goals of a kind say of each product, in load order."""
    entries: Iterator[tuple[int, Entry]] = iter(())
    if catalog.manifest.goals.get(kind):
        goals = catalog.goals(kind)
        assert isinstance(goals, StoredGoals)
        entries = goals.told()
    following = next(entries, None)
    for row in range(len(catalog)):
        said: list[Entry] = []
        while following is not None and following[0] == row:
            said.append(following[1])
            following = next(entries, None)
        yield said


class JsonFile:
    """One JSON array or object, a line for each member."""

    def __init__(self, path: Path, brackets: str) -> None:
        self.members = 0
        self.bytes = 0
        self._path = path
        self._open, self._close = brackets[0], brackets[1]
        self._encode = msgspec.json.Encoder().encode
        self._lines: list[bytes] = []

    def __enter__(self) -> Self:
        self._file = self._path.open("wb")
        return self

    def __exit__(self, kind: type[BaseException] | None, *failure: object) -> None:
        try:
            if kind is None:
                self._flush()
                # No line ends in an empty file: the builder takes the bare brackets for nothing.
                empty = self._open + self._close
                self._write((f"\n{self._close}\n" if self.members else empty).encode())
        finally:
            self._file.close()

    def element(self, value: Any) -> None:
        self._line(self._encode(value))

    def member(self, name: str, value: Any) -> None:
        self._line(self._encode(name) + b":" + self._encode(value))

    def _line(self, line: bytes) -> None:
        self._lines.append(line)
        if len(self._lines) == _CHUNK:
            self._flush()

    def _flush(self) -> None:
        if self._lines:
            before = b",\n" if self.members else f"{self._open}\n".encode()
            self._write(before + b",\n".join(self._lines))
            self.members += len(self._lines)
            self._lines.clear()

    def _write(self, data: bytes) -> None:
        self.bytes += self._file.write(data)
