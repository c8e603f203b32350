"""What is read off a real shop's page: a product, or a list of results.

Pages change, and parts of them are absent. A reader therefore never fails for what a page lacks:
it gives a record, and the record says what is missing.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

__all__ = [
    "CARD_PARTS",
    "PARTS",
    "SiteCard",
    "SiteProduct",
    "SiteResults",
    "site_results",
    "with_missing",
]

PARTS: Final = (
    "id", "title", "price", "rating", "bullets", "description", "image", "options", "category",
)  # fmt: skip
"""What an item page may tell; `missing` is those of them that it does not."""

CARD_PARTS: Final = ("title", "price", "image")


class SiteProduct(msgspec.Struct, frozen=True, kw_only=True):
    """A product as its page shows it, in the page's own spelling."""

    id: str = ""
    url: str = ""
    title: str = ""
    prices: tuple[float, ...] = ()
    """One price, or the two ends of a range; empty where the page has none."""
    currency: str = ""
    """Three letters, or empty where the page has no price or does not say."""
    price_note: str = ""
    """What kind of price it is, where it is not simply the price: `bid`, `used`."""
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
    doubts: tuple[str, ...] = ()
    """Where two places of the page contradict one another, in words; what is told is the better
    guess."""
    missing: tuple[str, ...] = PARTS


class SiteCard(msgspec.Struct, frozen=True, kw_only=True):
    """A product on a page of results."""

    id: str
    url: str = ""
    title: str = ""
    prices: tuple[float, ...] = ()
    currency: str = ""
    image: str = ""
    missing: tuple[str, ...] = CARD_PARTS


class SiteResults(msgspec.Struct, frozen=True, kw_only=True):
    """A page of results, in its order."""

    cards: tuple[SiteCard, ...] = ()
    has_next: bool = False
    """Whether the page links to a next one."""
    total: int | None = None
    """How many results the site claims to have; None where it does not say."""
    left_out: int = 0
    """Entries that are no products, or say nothing by which to open them."""
    missing: tuple[str, ...] = ()
    """`results` where there are none, and `ids` where some entries cannot be opened."""


def with_missing(product: SiteProduct) -> SiteProduct:
    """The same record, with `missing` as it is."""
    return msgspec.structs.replace(product, missing=_absent(product, PARTS))


def _absent(record: SiteProduct | SiteCard, parts: tuple[str, ...]) -> tuple[str, ...]:
    names = {"price": "prices"}
    return tuple(part for part in parts if not getattr(record, names.get(part, part)))


def site_results(
    cards: Iterable[SiteCard],
    *,
    has_next: bool,
    left_out: int = 0,
    no_id: int = 0,
    total: int | None = None,
) -> SiteResults:
    """A page of results; a product that comes twice, as adverts do, is listed once.

    Of cards without an id, those with a title are products that cannot be opened, the others none.
    """
    listed: dict[str, SiteCard] = {}
    for card in cards:
        if card.id:
            checked = msgspec.structs.replace(card, missing=_absent(card, CARD_PARTS))
            listed.setdefault(card.id.lower(), checked)
        else:
            no_id += bool(card.title)
            left_out += not card.title
    return SiteResults(
        cards=tuple(listed.values()),
        has_next=has_next,
        total=total,
        left_out=left_out + no_id,
        missing=("results",) * (not listed) + ("ids",) * bool(no_id),
    )
