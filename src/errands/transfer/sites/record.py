"""What is read off a real shop's page: a product, or a list of results.

Pages change, and parts of them are absent. A reader therefore never fails for what a page lacks:
it gives a record, and the record says what is missing.
"""

from typing import Any, Final

import msgspec

__all__ = ["CARD_PARTS", "PARTS", "FoundCard", "FoundProduct", "Listing", "completed", "listing"]

PARTS: Final = (
    "id", "title", "price", "rating", "bullets", "description", "image", "options", "category",
)  # fmt: skip
"""What an item page may tell; `missing` is those of them that it does not."""

CARD_PARTS: Final = ("title", "price", "image")


class FoundProduct(msgspec.Struct, frozen=True, kw_only=True):
    """A product as its page shows it, in the page's own spelling."""

    id: str = ""
    url: str = ""
    title: str = ""
    prices: tuple[float, ...] = ()
    """One price, or the two ends of a range; empty where the page has none."""
    currency: str = ""
    """Three letters, or empty where the page has no price or does not say."""
    price_note: str = ""
    """What kind of price it is, where it is not simply the price: `bid`."""
    rating: str = ""
    bullets: tuple[str, ...] = ()
    description: str = ""
    image: str = ""
    options: dict[str, tuple[str, ...]] = {}
    option_images: dict[str, str] = {}
    option_links: dict[str, str] = {}
    """Where a value would lead. Never followed: options stay inside."""
    category: str = ""
    """From the coarsest to the finest, with ` › ` between."""
    details: dict[str, str] = {}
    """Parts that the site keeps on pages of their own, and the addresses of those."""
    missing: tuple[str, ...] = PARTS


class FoundCard(msgspec.Struct, frozen=True, kw_only=True):
    """A product on a page of results."""

    id: str
    url: str = ""
    title: str = ""
    prices: tuple[float, ...] = ()
    currency: str = ""
    image: str = ""
    missing: tuple[str, ...] = CARD_PARTS


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A page of results, in its order."""

    cards: tuple[FoundCard, ...] = ()
    has_next: bool = False
    """Whether the page links to a next one."""
    total: int | None = None
    """How many results the site claims to have; None where it does not say."""
    left_out: int = 0
    """Entries that are no products, or say nothing by which to open them."""
    missing: tuple[str, ...] = ()
    """`results` where there are none, and `ids` where some entries cannot be opened."""


def completed(found: FoundProduct) -> FoundProduct:
    """The same record, with `missing` as it is."""
    held: dict[str, Any] = {
        part: getattr(found, "prices" if part == "price" else part) for part in PARTS
    }
    missing = tuple(part for part, value in held.items() if not value)
    return msgspec.structs.replace(found, missing=missing)


def _checked(found: FoundCard) -> FoundCard:
    """The same card, with `missing` as it is."""
    held: dict[str, Any] = {"title": found.title, "price": found.prices, "image": found.image}
    return msgspec.structs.replace(
        found, missing=tuple(part for part, value in held.items() if not value)
    )


def listing(
    cards: list[FoundCard],
    *,
    has_next: bool,
    left_out: int,
    no_id: int,
    total: int | None = None,
) -> Listing:
    """A page of results; a product that comes twice, as adverts do, is kept once."""
    kept: dict[str, FoundCard] = {}
    for found in cards:
        kept.setdefault(found.id.lower(), _checked(found))
    missing = []
    if not kept:
        missing.append("results")
    if no_id:
        missing.append("ids")
    return Listing(
        cards=tuple(kept.values()),
        has_next=has_next,
        total=total,
        left_out=left_out + no_id,
        missing=tuple(missing),
    )
