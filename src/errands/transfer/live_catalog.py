"""A real shop as ours: what was fetched, laid out on shelves, and the rules of the house over it.

The pages, the renderers and the agents are those of the shop (`errands.shop`). What differs is
where products come from: a search, or opening an item, asks the fetcher, once; everything else
happens here. One page of ours shows ten results, whatever the site's pages hold; the site's next
page is asked for when ours has run out of results.
"""

import bisect
import math
from typing import Any, Final, NamedTuple

import msgspec

from errands.shop.navigation import PER_PAGE, RESULT_LIMIT, RESULTS, Page, Shop, State
from errands.shop.product import Card, Product, normalize_value
from errands.shop.rewards.nouns import NounTagger
from errands.transfer.fetch.fetcher import Fetch, NotHeld, Request
from errands.transfer.sites.record import FoundCard, FoundProduct, completed
from errands.transfer.sites.site import Site

__all__ = ["RealProduct", "RealShop", "Shelf", "price_tag", "to_product"]

NO_PRICE: Final = "N/A"
_DOLLARS: Final = ("", "USD")
_BRACKETS: Final = str.maketrans("[]", "()")


class RealProduct(Product, frozen=True):
    """A product of a real shop, as our pages show it."""

    tag: str = NO_PRICE

    @property
    def price_tag(self) -> str:
        return self.tag


class _NoManifest(NamedTuple):
    """What stands where a catalogue says what it is made of."""

    goals: dict[str, int]


def price_tag(prices: tuple[float, ...], currency: str) -> str:
    """What our pages print as the price.

    >>> price_tag((5.0, 20.5), "USD"), price_tag((9.0,), "EUR"), price_tag((), "")
    ('$5.0 to $20.5', 'EUR 9.0', 'N/A')
    """
    sign = "$" if currency in _DOLLARS else f"{currency} "
    return " to ".join(f"{sign}{price}" for price in prices[:2]) or NO_PRICE


def to_product(found: FoundProduct, asin: str, site: str, tagger: NounTagger) -> RealProduct:
    """A record as a product of ours.

    Option values are spelt as ours are (small letters, ` | ` for a slash), with round brackets, as
    an action's argument cannot hold square ones. A range costs its upper end, and what has no
    price, or one in another currency than dollars, costs too much for any cap.
    """
    options: dict[str, tuple[str, ...]] = {}
    images: dict[str, str | None] = {}
    for name, values in found.options.items():
        spelt = [normalize_value(value).translate(_BRACKETS) for value in values]
        options[name.lower()] = tuple(dict.fromkeys(value for value in spelt if value))
        for value, shown in zip(values, spelt, strict=True):
            images.setdefault(shown, found.option_images.get(value))
    usable = bool(found.prices) and found.currency in _DOLLARS
    return RealProduct(
        asin=asin,
        title=found.title,
        description=found.description,
        bullets=found.bullets,
        prices=found.prices,
        options=options,
        option_images=images,
        image=found.image,
        category="",
        query=f"{site}:{asin}",  # No goal's: what a real product was found by says nothing.
        product_category=found.category,
        attributes=(),
        price=max(found.prices) if usable else math.inf,
        nouns=tuple(tagger.nouns(found.title)),
        tag=price_tag(found.prices, found.currency),
    )


class _Results:
    """What a query has found so far."""

    def __init__(self) -> None:
        self.numbers: dict[int, None] = {}
        """In order, each once."""
        self.ends: list[int] = []
        """How many there were after each page of the site that was read."""
        self.is_over = False
        self.claimed = 0
        """How many the site says there are."""


class Shelf:
    """All that one episode has seen of a real shop; in place of a catalogue."""

    def __init__(
        self,
        site: Site,
        fetch: Fetch,
        tagger: NounTagger,
        *,
        details: bool = False,
        stand_in: bool = False,
    ) -> None:
        """`details` also asks for parts of an item that are on pages of their own; `stand_in`
        shows an item of which no page is held as its entry among the results tells it."""
        self.site = site
        self.manifest = _NoManifest({})
        self.notes: list[str] = []
        """What pages lacked, for the record."""
        self._fetch = fetch
        self._tagger = tagger
        self._details = details
        self._stand_in = stand_in
        self._results: dict[str, _Results] = {}
        self._cards: list[FoundCard] = []
        self._numbers: dict[str, int] = {}
        self._found: dict[int, FoundProduct] = {}
        self._products: dict[int, RealProduct] = {}

    def hits(self, query: str, count: int) -> tuple[int, ...]:
        """What a query has found, at least so many if the site has them."""
        held = self._results.setdefault(query, _Results())
        held.is_over = held.is_over or not query.strip()
        while len(held.numbers) < count and not held.is_over:
            page = len(held.ends) + 1
            answer = self._fetch(Request("search", self.site.search_url(query, page)))
            listing = self.site.read_results(answer.body, answer.url)
            if listing.missing:
                self.notes.append(f"results page {page}: no {', no '.join(listing.missing)}")
            known = len(held.numbers)
            held.numbers |= dict.fromkeys(self._number(card) for card in listing.cards)
            held.claimed = max(held.claimed, listing.total or 0)
            held.ends.append(len(held.numbers))
            held.is_over = not listing.has_next or len(held.numbers) == known
        return tuple(held.numbers)

    def total(self, query: str) -> int:
        """How many results our page tells of: what the site claims, up to what our shop ever
        tells, for that is what agents have learnt from; or more if more were fetched."""
        held = self._results.get(query)
        return max(len(held.numbers), min(held.claimed, RESULT_LIMIT)) if held else 0

    def page_of(self, query: str, place: int) -> int:
        """Which page of the site the result at a place came from."""
        held = self._results.get(query)
        ends = held.ends if held is not None else []
        return min(bisect.bisect_right(ends, place) + 1, max(len(ends), 1))

    def _number(self, card: FoundCard) -> int:
        key = card.id.lower()
        if key not in self._numbers:
            self._numbers[key] = len(self._cards)
            self._cards.append(card)
        return self._numbers[key]

    def number(self, asin: str) -> int:
        """The number of a product that was seen, or -1."""
        return self._numbers.get(asin.lower(), -1)

    def find(self, query: str, limit: int) -> tuple[int, ...]:
        return self.hits(query, PER_PAGE)

    def card(self, number: int) -> Card:
        held = self._cards[number]
        return Card(held.id, held.title, price_tag(held.prices, held.currency))

    def product(self, number: int) -> RealProduct:
        """An item; opening it for the first time asks for its page."""
        if number not in self._products:
            found = self._open(self._cards[number])
            self._found[number] = found
            asin = self._cards[number].id
            self._products[number] = to_product(found, asin, self.site.name, self._tagger)
        return self._products[number]

    def found(self, number: int) -> FoundProduct:
        """The record behind an item that was opened."""
        return self._found[number]

    def address(self, number: int) -> str:
        """Where an item is on the site."""
        card = self._cards[number]
        return self.site.item_url(card.id) if self.site.item_url(card.id) else card.url

    def _open(self, card: FoundCard) -> FoundProduct:
        url = card.url or self.site.item_url(card.id)
        try:
            answer = self._fetch(Request("item", url))
        except NotHeld:
            if not self._stand_in:
                raise
            self.notes.append(f"item {card.id}: no page is held; shown as among the results")
            return _as_listed(card)
        found = _filled(self.site.read_item(answer.body, answer.url), card)
        if self._details:
            for part, link in found.details.items():
                try:
                    extra = self._fetch(Request("item", link))
                except NotHeld:
                    if not self._stand_in:
                        raise
                    continue
                found = self.site.read_detail(found, part, extra.body)
        if found.missing:
            self.notes.append(f"item {card.id}: no {', no '.join(found.missing)}")
        return found

    def __getitem__(self, asin: str) -> Product:
        """A product by its id, without asking for anything: as far as it is known."""
        number = self._numbers[asin.lower()]
        held = self._products.get(number)
        return held or to_product(
            _as_listed(self._cards[number]), asin, self.site.name, self._tagger
        )


def _as_listed(card: FoundCard) -> FoundProduct:
    return completed(
        FoundProduct(
            id=card.id, url=card.url, title=card.title, prices=card.prices,
            currency=card.currency, image=card.image,
        )
    )  # fmt: skip


def _filled(found: FoundProduct, card: FoundCard) -> FoundProduct:
    """An item with what only its entry among the results told."""
    told: dict[str, Any] = {}
    if not found.id:
        told["id"] = card.id
    if not found.title:
        told["title"] = card.title
    if not found.prices:
        told.update(prices=card.prices, currency=card.currency)
    if not found.image:
        told["image"] = card.image
    return completed(msgspec.structs.replace(found, **told))


class RealShop(Shop):
    """Our shop's rules over a real shop's products."""

    def __init__(self, shelf: Shelf, *, search_anywhere: bool = True) -> None:
        super().__init__(shelf, search_anywhere=search_anywhere)
        self.shelf = shelf

    def _results(self, state: State) -> Page:
        hits = self.shelf.hits(state.query, state.number * PER_PAGE)
        page = super()._results(msgspec.structs.replace(state, hits=hits))
        return page._replace(total=self.shelf.total(state.query))

    def address(self, page: Page) -> str:
        """Where a page of ours is on the site; empty for what is only inside."""
        state = page.state
        if state.page == RESULTS:
            first = (state.number - 1) * PER_PAGE
            return self.shelf.site.search_url(state.query, self.shelf.page_of(state.query, first))
        return self.shelf.address(state.product) if state.product >= 0 else ""
