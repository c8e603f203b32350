"""A real shop as ours: what was fetched of it, in place of a catalogue, and the shop over that.

The pages, the renderers and the agents are those of the shop (`errands.shop`). What differs is
where products come from: a search, or opening an item, requests a page, once; everything else
happens here. One page of ours shows ten results, whatever the site's pages hold; the site's next
page is requested when ours has run out of results.
"""

import bisect
import math
from dataclasses import dataclass, field
from typing import Final

import msgspec

from errands.envs.config import ShopConfig
from errands.shop.navigation import PER_PAGE, RESULT_LIMIT, RESULTS, Page, Shop, State
from errands.shop.product import Card, Product, normalize_value
from errands.shop.rewards.nouns import NounTagger
from errands.transfer.fetch.fetcher import Fetch, MissingPage, PageRequest
from errands.transfer.sites.claims import unread_item, unread_results
from errands.transfer.sites.record import SiteCard, SiteProduct, with_missing
from errands.transfer.sites.site import SiteError, SiteReader

__all__ = ["LiveCatalog", "LiveProduct", "LiveShop", "price_tag", "to_product"]

NO_PRICE: Final = "N/A"
_DOLLARS: Final = ("", "USD")
_BRACKETS: Final = str.maketrans("[]", "()")


class LiveProduct(Product, frozen=True):
    """A product of a real shop, as our pages show it."""

    tag: str = NO_PRICE

    @property
    def price_tag(self) -> str:
        return self.tag


def price_tag(prices: tuple[float, ...], currency: str) -> str:
    """What our pages print as the price.

    >>> price_tag((5.0, 20.5), "USD"), price_tag((9.0,), "EUR"), price_tag((), "")
    ('$5.0 to $20.5', 'EUR 9.0', 'N/A')
    """
    sign = "$" if currency in _DOLLARS else f"{currency} "
    return " to ".join(f"{sign}{price}" for price in prices[:2]) or NO_PRICE


def to_product(record: SiteProduct, asin: str, site: str, tagger: NounTagger) -> LiveProduct:
    """A record as a product of ours.

    Option values are spelt as ours are (small letters, ` | ` for a slash), with round brackets, as
    an action's argument cannot hold square ones. A range costs its upper end, and what has no
    price, or one in another currency than dollars, costs too much for any cap.
    """
    options: dict[str, tuple[str, ...]] = {}
    images: dict[str, str | None] = {}
    for name, values in record.options.items():
        spelt = [normalize_value(value).translate(_BRACKETS) for value in values]
        options[name.lower()] = tuple(dict.fromkeys(value for value in spelt if value))
        for value, shown in zip(values, spelt, strict=True):
            images.setdefault(shown, record.option_images.get(value))
    usable = bool(record.prices) and record.currency in _DOLLARS
    return LiveProduct(
        asin=asin,
        title=record.title,
        description=record.description,
        bullets=record.bullets,
        prices=record.prices,
        options=options,
        option_images=images,
        image=record.image,
        category="",
        query=f"{site}:{asin}",  # No goal's: what a real product was found by says nothing.
        product_category=record.category,
        attributes=(),
        price=max(record.prices) if usable else math.inf,
        nouns=tuple(tagger.nouns(record.title)),
        tag=price_tag(record.prices, record.currency),
    )


@dataclass
class _Results:
    """What a query has found so far."""

    numbers: dict[int, None] = field(default_factory=dict)
    """In order, each once."""
    ends: list[int] = field(default_factory=list)
    """How many there were after each page of the site that was read."""
    is_over: bool = False
    claimed: int = 0
    """How many the site says there are."""


@dataclass(eq=False)
class LiveCatalog:
    """All that one episode has seen of a real shop: a `ProductSource`, as a catalogue is."""

    site: SiteReader
    fetch: Fetch
    tagger: NounTagger
    details: bool = False
    """Whether to ask for parts of an item that are on pages of their own, too."""
    stand_in: bool = False
    """Whether to show an item that has no page as its entry among the results tells it."""
    notes: list[str] = field(default_factory=list)
    """What pages lacked, for the record."""
    _results: dict[str, _Results] = field(default_factory=dict)
    _cards: list[SiteCard] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _site_products: dict[int, SiteProduct] = field(default_factory=dict)
    _products: dict[int, LiveProduct] = field(default_factory=dict)

    def hits(self, query: str, count: int) -> tuple[int, ...]:
        """What a query has found, at least so many if the site has them."""
        results = self._results.setdefault(query, _Results())
        results.is_over = results.is_over or not query.strip()
        while len(results.numbers) < count and not results.is_over:
            page = len(results.ends) + 1
            answer = self.fetch(PageRequest("search", self.site.search_url(query, page)))
            page_results = self.site.read_results(answer.body, answer.url)
            reason = unread_results(answer.body, page_results, is_first=not results.numbers)
            if reason:
                raise SiteError(_unread(answer.url, self.site.name, "results were", reason))
            if page_results.missing:
                self.notes.append(f"results page {page}: no {', no '.join(page_results.missing)}")
            known = len(results.numbers)
            results.numbers |= dict.fromkeys(self._number(card) for card in page_results.cards)
            results.claimed = max(results.claimed, page_results.total or 0)
            results.ends.append(len(results.numbers))
            results.is_over = not page_results.has_next or len(results.numbers) == known
        return tuple(results.numbers)

    def total(self, query: str) -> int:
        """How many results our page tells of: what the site claims, up to what our shop ever
        tells, for that is what agents have learnt from; or more if more were fetched."""
        results = self._results.get(query)
        return max(len(results.numbers), min(results.claimed, RESULT_LIMIT)) if results else 0

    def page_of(self, query: str, place: int) -> int:
        """Which page of the site the result at a place came from."""
        results = self._results.get(query)
        ends = results.ends if results is not None else []
        return min(bisect.bisect_right(ends, place) + 1, max(len(ends), 1))

    def _number(self, card: SiteCard) -> int:
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
        card = self._cards[number]
        return Card(card.id, card.title, price_tag(card.prices, card.currency))

    def product(self, number: int) -> LiveProduct:
        """An item; opening it for the first time asks for its page."""
        if number not in self._products:
            card = self._cards[number]
            record = self._site_products[number] = self._open(card)
            self._products[number] = to_product(record, card.id, self.site.name, self.tagger)
        return self._products[number]

    def site_product(self, number: int) -> SiteProduct:
        """The record behind an item that was opened."""
        return self._site_products[number]

    def page_url(self, page: Page) -> str:
        """Where a page of ours is on the site; empty for what is only inside."""
        state = page.state
        if state.page == RESULTS:
            first = (state.number - 1) * PER_PAGE
            return self.site.search_url(state.query, self.page_of(state.query, first))
        if state.product < 0:
            return ""
        card = self._cards[state.product]
        return self.site.item_url(card.id) or card.url

    def _open(self, card: SiteCard) -> SiteProduct:
        url = card.url or self.site.item_url(card.id)
        try:
            answer = self.fetch(PageRequest("item", url))
        except MissingPage:
            if not self.stand_in:
                raise
            self.notes.append(f"item {card.id}: no page is held; shown as among the results")
            return _as_listed(card)
        record = self.site.read_item(answer.body, answer.url)
        if reason := unread_item(answer.body, record):
            raise SiteError(_unread(answer.url, self.site.name, "product was", reason))
        record = _filled(record, card)
        self.notes += [f"item {card.id}: {doubt}" for doubt in record.doubts]
        if self.details:
            for part, link in record.details.items():
                try:
                    extra = self.fetch(PageRequest("item", link))
                except MissingPage:
                    if not self.stand_in:
                        raise
                    continue
                record = self.site.read_detail(record, part, extra.body)
        if record.missing:
            self.notes.append(f"item {card.id}: no {', no '.join(record.missing)}")
        return record

    def __getitem__(self, asin: str) -> Product:
        """A product by its id, without asking for anything: as far as it is known."""
        number = self._numbers[asin.lower()]
        return self._products.get(number) or to_product(
            _as_listed(self._cards[number]), asin, self.site.name, self.tagger
        )


def _unread(url: str, site: str, what: str, reason: str) -> str:
    return (
        f"{url}: no {what} read, although {reason}; the reader {site} does not know its layout:"
        f" save the page and see `errands transfer read FILE --site {site}`."
    )


def _as_listed(card: SiteCard) -> SiteProduct:
    return with_missing(
        SiteProduct(
            id=card.id, url=card.url, title=card.title, prices=card.prices,
            currency=card.currency, image=card.image,
        )
    )  # fmt: skip


def _filled(record: SiteProduct, card: SiteCard) -> SiteProduct:
    """An item with what only its entry among the results told."""
    listed = {
        name: getattr(card, name)
        for name in ("id", "title", "prices", "image")
        if not getattr(record, name)
    }
    if "prices" in listed:
        listed["currency"] = card.currency
    return with_missing(msgspec.structs.replace(record, **listed))


class LiveShop(Shop):
    """Our shop's pages over a real shop's products."""

    def __init__(self, catalog: LiveCatalog, config: ShopConfig) -> None:
        super().__init__(
            catalog,
            search_anywhere=config.search_anywhere,
            show_attrs=config.show_attrs,
            locked_when_done=config.after_purchase == "locked",
        )
        self._live = catalog

    def _results(self, state: State) -> Page:
        hits = self._live.hits(state.query, state.number * PER_PAGE)
        page = super()._results(msgspec.structs.replace(state, hits=hits))
        return page._replace(total=self._live.total(state.query))
