"""A product as the shop knows it, where a shop gets products from, and how one is read from an
original WebShop record.

`parse_product` applies the loading rules of the original (title, bullets, price tag, options)
and refuses, with a reason that can be counted, a record on which the original would crash or
which it would drop. Nothing here reads files.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

__all__ = [
    "DEFAULT_PRICE",
    "LONGEST_ASIN",
    "Card",
    "Product",
    "ProductSource",
    "Unusable",
    "parse_price",
    "parse_product",
    "price_label",
]

DEFAULT_PRICE = 100.0
"""What a product without a price costs."""

LONGEST_ASIN = 10
"""Characters of the longest product id."""

UNMINED = ("DUMMY_ATTR",)
"""The attributes of a product for which nothing was mined (they match no goal)."""

_TEXTS = ("name", "full_description", "category", "query", "product_category")
_REQUIRED = (
    "asin name full_description small_description customization_options category query"
    " product_category images"
).split()

_NOT_A_DIGIT = re.compile(r"[^\d.]")
_AMOUNT = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Product(msgspec.Struct, frozen=True, array_like=True):
    """All that is known of a product; `attributes`, `query`, categories and `nouns` stay hidden."""

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    prices: tuple[float, ...]
    """One price, or the low and the high end of a range."""
    options: dict[str, tuple[str, ...]]
    """Option name to values, in page order; repeated values are kept."""
    option_images: dict[str, str | None]
    """Option value to the picture shown once it is chosen."""
    image: str
    category: str
    query: str
    product_category: str
    attributes: tuple[str, ...]
    price: float
    """What the product costs when a reward is computed: for a range, a price drawn from it."""
    nouns: tuple[str, ...] = ()
    """Lower-cased nouns of the title, repeats kept; filled, like `price`, by the builder."""

    @property
    def price_tag(self) -> str:
        """The price as the pages print it."""
        return price_tag(self.prices)


class Card(NamedTuple):
    """What a results page shows of a product."""

    asin: str
    title: str
    price_tag: str


class ProductSource(Protocol):
    """Where a shop gets its products from: a catalogue, or the pages of a real shop.

    A source numbers its products; `State` and `Page` of `errands.shop.navigation` hold numbers.
    """

    def find(self, query: str, k: int, /) -> tuple[int, ...]:
        """The numbers of the best k products for a query, best first."""
        ...

    def number(self, asin: str, /) -> int:
        """The number of a product, or -1."""
        ...

    def card(self, number: int, /) -> Card:
        """What results show of a product."""
        ...

    def product(self, number: int, /) -> Product:
        """A product whose page is opened."""
        ...

    def __getitem__(self, asin: str, /) -> Product:
        """A product by its id; raises `KeyError` where there is none."""
        ...


class Unusable(Exception):
    """A record that is left out of the catalogue; the message is the reason it is counted under."""


def price_tag(prices: Sequence[float]) -> str:
    """The display string of one price or of a range.

    >>> price_tag([5.0, 20.5])
    '$5.0 to $20.5'
    """
    return " to ".join(f"${price}" for price in prices[:2])


def price_label(tag: str) -> str:
    """A price tag as people write it; agents read the tag as it is, which is the original's.

    >>> price_label("$5.0 to $1234.5")
    '$5.00 to $1,234.50'
    """
    return _AMOUNT.sub(lambda amount: f"{float(amount[0]):,.2f}", tag)


def parse_price(pricing: str | None) -> tuple[float, ...]:
    """The price, or the two ends of a price range, in a `pricing` string.

    >>> parse_price("$1,299.00"), parse_price("$5.00 - $20.50"), parse_price("")
    ((1299.0,), (5.0, 20.5), (100.0,))
    """
    if not pricing:
        return (DEFAULT_PRICE,)
    if not isinstance(pricing, str):
        raise Unusable("price is not text")
    parts = pricing.split("$")[1:]
    if not parts:
        raise Unusable("price without $")
    try:
        return tuple(float(_NOT_A_DIGIT.sub("", part)) for part in parts)[:2]
    except ValueError:
        raise Unusable("price is not a number") from None


def normalize_value(value: str) -> str:
    """An option value as pages, goals and rewards spell it."""
    return value.strip().replace("/", " | ").lower()


def parse_options(raw: Any) -> tuple[dict[str, tuple[str, ...]], dict[str, str | None]]:
    """Options and option pictures out of a `customization_options` value."""
    options: dict[str, tuple[str, ...]] = {}
    images: dict[str, str | None] = {}
    if not raw:
        return options, images
    if not isinstance(raw, Mapping):
        raise Unusable("options are not an object")
    for name, entries in raw.items():
        if entries is None:
            continue
        if not isinstance(entries, list):
            raise Unusable("option values are not a list")
        values: list[str] = []
        for entry in entries:
            if not isinstance(entry, Mapping) or not isinstance(entry.get("value"), str):
                raise Unusable("option without a value")
            value = normalize_value(entry["value"])
            values.append(value)
            image = entry.get("image")
            images[value] = image if isinstance(image, str) else None
        options[name.lower()] = tuple(values)
    return options, images


def parse_product(record: Any, attributes: Sequence[str] | None) -> Product:
    """Read one record of an items file; raises `Unusable` where it cannot be a product.

    `attributes` are the mined attributes of this asin, or None where none are known.
    """
    if not isinstance(record, Mapping):
        raise Unusable("record is not an object")
    missing = [key for key in _REQUIRED if key not in record]
    if missing:
        raise Unusable(f"no {missing[0]}")
    asin = record["asin"]
    if not isinstance(asin, str) or asin == "nan" or len(asin) > LONGEST_ASIN or not asin:
        raise Unusable("asin is not an id of at most 10 characters")
    for key in _TEXTS:
        if not isinstance(record[key], str):
            raise Unusable(f"{key} is not text")
    images = record["images"]
    if not isinstance(images, Sequence) or isinstance(images, str) or not images:
        raise Unusable("no image")
    bullets = record["small_description"]
    if not isinstance(bullets, list):
        bullets = [bullets]
    if not all(isinstance(bullet, str) for bullet in bullets):
        raise Unusable("small_description is not text")
    options, option_images = parse_options(record["customization_options"])
    prices = parse_price(record.get("pricing"))
    return Product(
        asin=asin,
        title=record["name"],
        description=record["full_description"],
        bullets=tuple(bullets),
        prices=prices,
        options=options,
        option_images=option_images,
        image=str(images[0]),
        category=record["category"],
        query=record["query"].lower().strip(),
        product_category=record["product_category"],
        attributes=UNMINED if attributes is None else tuple(attributes),
        price=prices[0],
    )
