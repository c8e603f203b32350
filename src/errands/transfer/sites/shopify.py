"""The product that Shopify's themes put into a page as JSON: title, price, options and pictures.

Themes write it into a script of type `application/json`, or hand it to one of their own; both are
read as data, and nothing is run. Prices are in cents there, whole numbers, and only texts and
numbers with a mark are the price itself.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from errands.prices import Money
from errands.transfer.sites.markup import MOST_PARTS, absolute, attribute, plain, without_tags

__all__ = ["ShopifyProduct", "shopify_product"]

_BEGINS: Final = re.compile(
    r'(?:"?\bproduct"? ?[:=] ?|\bproductJson ?= ?|\bproduct_json ?= ?)(?=\{ ?"id": ?\d)'
)
_MOST_TRIED: Final = 10
_LONGEST: Final = 2_000_000
_DEEPEST: Final = 4
_DECODER: Final = json.JSONDecoder(strict=False)
_ONE: Final = "Default Title"
"""The only variant of a product that has none."""


class ShopifyProduct(NamedTuple):
    """What such data says."""

    title: str
    prices: tuple[float, ...]
    description: str
    image: str
    options: dict[str, tuple[str, ...]]
    images: dict[str, str]
    """Of option values."""

    def money(self, currency: str) -> Money:
        return Money(self.prices, currency) if self.prices else Money()


def shopify_product(tree: LexborHTMLParser) -> ShopifyProduct | None:
    """The product of a page of Shopify's; scripts must still be in it."""
    for data in _data(tree):
        if (found := _product_in(data, 0)) is not None:
            return _read(found)
    return None


def _data(tree: LexborHTMLParser) -> Iterator[Any]:
    scripts = tree.css("script")[:MOST_PARTS]
    sources = [(attribute(node, "type").lower(), node.text(deep=True) or "") for node in scripts]
    for kind, source in sources:
        if kind == "application/json" and '"variants"' in source and len(source) < _LONGEST:
            try:
                yield _DECODER.decode(source.strip())
            except (ValueError, RecursionError):
                continue
    for kind, source in sources:
        if kind in ("", "text/javascript") and '"variants"' in source and len(source) < _LONGEST:
            for begins in list(_BEGINS.finditer(source))[:_MOST_TRIED]:
                try:
                    yield _DECODER.raw_decode(source, begins.end())[0]
                except (ValueError, RecursionError):
                    continue


def _product_in(data: Any, depth: int) -> dict[str, Any] | None:
    """The first product in some data: what has a title, options and variants."""
    if not isinstance(data, dict) or depth > _DEEPEST:
        return None
    variants = data.get("variants")
    if (
        isinstance(variants, list)
        and isinstance(data.get("title"), str)
        and isinstance(data.get("options"), list)
        and all(isinstance(one, dict) for one in variants)
    ):
        return data
    for value in list(data.values())[:_MOST_TRIED]:
        if (found := _product_in(value, depth + 1)) is not None:
            return found
    return None


def _read(data: dict[str, Any]) -> ShopifyProduct:
    variants = data["variants"][:MOST_PARTS]
    names = [
        plain(each if isinstance(each, str) else str(each.get("name", "")))
        for each in data["options"][:3]
        if isinstance(each, str | dict)
    ]
    groups: dict[str, dict[str, None]] = {}
    images: dict[str, str] = {}
    for variant in variants:
        for number, name in enumerate(names, 1):
            value = variant.get(f"option{number}")
            if isinstance(value, str) and (said := plain(value)) and said != _ONE and name:
                groups.setdefault(name, {})[said] = None
                if number == 1 and (link := _picture(variant.get("featured_image"))):
                    images.setdefault(said, link)
    amounts = [_amount(one.get("price")) for one in variants] or [_amount(data.get("price"))]
    prices = sorted({amount for amount in amounts if amount is not None})
    return ShopifyProduct(
        title=plain(data["title"]),
        prices=tuple(prices if len(prices) < 2 else (prices[0], prices[-1])),
        description=without_tags(text) if isinstance(text := data.get("description"), str) else "",
        image=_picture(data.get("featured_image")),
        options={name: tuple(values) for name, values in groups.items()},
        images=images,
    )


def _picture(value: Any) -> str:
    link = value.get("src") if isinstance(value, dict) else value
    return absolute(link, "https://") if isinstance(link, str) else ""


def _amount(value: Any) -> float | None:
    """A price; whole numbers are cents."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value / 100 if 0 <= value < 10**11 else None
    try:
        amount = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return amount if 0 <= amount < 1e9 else None
