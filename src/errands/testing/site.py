"""Is a site reader right? What real shops are read by, as tests for anybody's reader.

Given one page of results and one of an item, it names addresses of its own hosts only, reads both
pages, says what is missing on them, and no page, however broken, brings it down.
"""

import math
import time
from collections.abc import Iterator
from typing import Any, Final

from errands.transfer.environment import LiveShopEnv
from errands.transfer.fetch.fetcher import FetchedPage, PageRequest
from errands.transfer.sites.address import is_within
from errands.transfer.sites.record import CARD_PARTS, PARTS, SiteCard, SiteProduct, SiteResults
from errands.transfer.sites.site import SiteError, SiteReader

__all__ = ["SiteConformance"]

QUERIES: Final = (
    "red shoes", "ünïcode 靴", "a/b?c=d&e#f", "../../cart", "50% off + more", "\"quoted\" 'text'",
    "\n\r\t", "\ud800", "x" * 2_000, "http://evil.example/",
)  # fmt: skip
ODD_IDS: Final = ("../cart", "a/b", "?buy=1", "#x", "//evil.example/", "@evil.example", "ü", " ")


class SiteConformance:
    """To test your own site reader, subclass this and give it two saved pages:

    class TestMine(SiteConformance):
        def site(self) -> SiteReader:
            return MyShop()

        def results_page(self) -> str:
            return Path("results.html").read_text()

        def item_page(self) -> str:
            return Path("item.html").read_text()

    The page of results lists at least two products; the item is complete but for `may_lack`.
    """

    may_lack: frozenset[str] = frozenset(
        {"rating", "bullets", "description", "options", "category"}
    )
    """Parts that the item page need not have; id, title, price and image it must."""

    def site(self) -> SiteReader:
        """The reader, made anew."""
        raise NotImplementedError("Override `site(self)`: it makes the site reader to test.")

    def results_page(self) -> str:
        """The HTML of a page of results."""
        raise NotImplementedError(
            "Override `results_page(self)`: it gives the HTML of a page of results."
        )

    def item_page(self) -> str:
        """The HTML of an item."""
        raise NotImplementedError("Override `item_page(self)`: it gives the HTML of an item.")

    # Addresses

    def test_it_has_a_name_and_hosts(self) -> None:
        site = self.site()
        assert site.name, "a site has a name"
        assert site.name == site.name.strip(), f"the name {site.name!r} has spaces around it"
        assert isinstance(site.hosts, tuple), "hosts are a tuple"
        assert site.hosts, "a site has at least one host"
        for host in site.hosts:
            assert is_within(f"https://{host}/", site.hosts), f"{host!r} is no host"

    def test_searches_stay_at_home(self) -> None:
        site = self.site()
        for query in QUERIES:
            urls = [site.search_url(query, page) for page in (1, 2)]
            for url in urls:
                assert is_within(url, site.hosts), f"the search for {query[:40]!r} goes to {url}"
                assert site.admits("search", url), f"its own search is not admitted: {url}"
                url.encode("ascii")
            assert urls[0] != urls[1], "page 2 has another address than page 1"
        assert len({site.search_url(query, 1) for query in QUERIES[:5]}) == 5, "queries are told"

    def test_items_stay_at_home(self) -> None:
        site = self.site()
        for card in self._results().cards:
            for url in filter(None, (site.item_url(card.id), card.url)):
                assert site.admits("item", url), f"{url} of {card.id!r} is no item of the site"
                assert not site.admits("search", url), f"the item {url} passes for a search"
        for id in ODD_IDS:
            url = site.item_url(id)
            assert not url or is_within(url, site.hosts) or not site.admits("item", url), url

    def test_nothing_else_is_admitted(self) -> None:
        site = self.site()
        own = site.hosts[0]
        search, item = site.search_url("x", 1), self._item_url()
        foreign = [
            "https://evil.example/", f"https://evil.example/?u={search}", f"https://{own}.evil.example/",
            f"https://{own}@evil.example/", "javascript:alert(1)", "file:///etc/passwd", "", "x", "http://[",
            *(url.replace(own, "evil.example") for url in (search, item)),
            *(url.replace("http", "ftp", 1) for url in (search, item)),
            *(url.replace(own, f"user:word@{own}") for url in (search, item)),
            *(url.replace(own, f"{own.partition(':')[0]}:1") for url in (search, item)),
            *(f"https://{own}/{act}" for act in ("cart", "checkout", "buy", "login", "basket/add")),
        ]  # fmt: skip
        for url in foreign:
            for kind in ("search", "item"):
                assert not site.admits(kind, url), f"{url!r} is admitted as {kind}"

    # Pages

    def test_it_knows_its_pages(self) -> None:
        site = self.site()
        assert site.kind(self.results_page()) == "search"
        assert site.kind(self.item_page()) == "item"
        assert site.kind("<html><p>Hello</p></html>") == "", "a page of nobody's is none of its own"
        for html in (self.results_page(), self.item_page()):
            assert site.refusal(html) == "", "a page is taken for a refusal"

    def test_results_are_read(self) -> None:
        results = self._results()
        _check_results(results)
        assert len(results.cards) > 1, "fewer than two products were read"
        assert not results.missing, f"the page lacks {results.missing}"
        for card in results.cards:
            assert card.title, f"{card.id!r} has no title"
        assert any(card.prices for card in results.cards), "no product has a price"
        assert self.site().read_results(self.results_page()) == self.site().read_results(
            self.results_page()
        ), "the same page is read differently"

    def test_an_item_is_read(self) -> None:
        product = self._product()
        _check_product(product)
        lacking = set(product.missing) - self.may_lack
        assert not lacking, f"the item lacks {sorted(lacking)}; see `may_lack`"
        site = self.site()
        for part, link in product.details.items():
            assert site.admits("item", link), f"{part} is on {link}, which is no item of the site"

    def test_what_is_missing_is_said(self) -> None:
        site = self.site()
        for html in ("", "<html></html>", "<p>Sold out</p>"):
            assert "results" in site.read_results(html).missing, "no results, and not a word of it"
            nothing = site.read_item(html)
            _check_product(nothing)
            assert {"title", "price"} <= set(nothing.missing), "an empty page has a title or price"

    def test_broken_pages_do_not_bring_it_down(self) -> None:
        """They give a record that says what is missing, or a `SiteError`; nothing else."""
        site = self.site()
        for html in _broken(self.results_page(), self.item_page()):
            for read in (site.kind, site.refusal, site.read_results, site.read_item):
                try:
                    record: Any = read(html)
                except SiteError:
                    continue
                if isinstance(record, SiteResults):
                    _check_results(record)
                elif isinstance(record, SiteProduct):
                    _check_product(record)
                else:
                    assert isinstance(record, str), f"{read.__name__} gave {record!r}"

    def test_long_pages_do_not_cost_hours(self) -> None:
        site = self.site()
        for html, read in (
            (self.results_page(), site.read_results),
            (self.item_page(), site.read_item),
        ):
            begun = time.process_time()
            read((html * 50)[:2_000_000])
            spent = time.process_time() - begun
            assert spent < 20, f"{read.__name__} took {spent:.0f} seconds for a long page"

    # The whole way

    def test_an_agent_can_shop_there(self) -> None:
        """A search, the first item, its options and the purchase, all in our shop's pages."""
        requests: list[PageRequest] = []

        def fetch(request: PageRequest) -> FetchedPage:
            requests.append(request)
            page = self.results_page() if request.kind == "search" else self.item_page()
            return FetchedPage(request.url, 200, page)

        env = LiveShopEnv(["something nice"], self.site(), fetch)
        env.reset()
        *_, info = env.step("search[something nice]")
        results = self._results()
        cards = results.cards
        clickables = info["available_actions"]["clickables"]
        assert cards[0].id.lower() in clickables, "the first result cannot be clicked"
        *_, info = env.step(f"click[{cards[0].id.lower()}]")
        assert "buy now" in info["available_actions"]["clickables"], "the item has no page"
        chosen = {}
        for name, values in self._product().options.items():
            before = env.episode.page
            for value in info["available_actions"]["clickables"]:
                if before.clicks.get(value) == name.lower():
                    env.step(f"click[{value}]")
                    chosen[name.lower()] = value
                    break
            assert not values or name.lower() in chosen, f"no value of {name!r} can be clicked"
        *_, terminated, _, info = env.step("click[buy now]")
        assert terminated, "buying does not end the episode"
        assert info["purchase"]["options"] == chosen
        kinds = [request.kind for request in requests]
        # A short page that links to a next one is filled up with the site's second.
        searches = 2 if results.has_next else 1
        assert 1 <= kinds.count("search") <= searches, "more than was shown was searched for"
        assert kinds.count("item") == 1, "more than one item was requested"
        assert len(set(kinds)) == 2, "more was requested"

    def _results(self) -> SiteResults:
        site = self.site()
        return site.read_results(self.results_page(), site.search_url("x", 1))

    def _product(self) -> SiteProduct:
        return self.site().read_item(self.item_page(), self._item_url())

    def _item_url(self) -> str:
        site = self.site()
        card = self._results().cards[0]
        return card.url or site.item_url(card.id)


def _check_results(results: SiteResults) -> None:
    assert isinstance(results, SiteResults), f"read_results gave a {type(results).__name__}"
    ids = [card.id.lower() for card in results.cards]
    assert all(ids), "a product without an id cannot be opened; leave it out"
    assert len(set(ids)) == len(ids), "a product is listed twice"
    assert ("results" in results.missing) == (not ids), "missing: results"
    for card in results.cards:
        _check_prices(card)
        assert set(card.missing) == _absent(card, CARD_PARTS), f"missing of {card.id!r}"


def _check_product(product: SiteProduct) -> None:
    assert isinstance(product, SiteProduct), f"read_item gave a {type(product).__name__}"
    _check_prices(product)
    assert set(product.missing) == _absent(product, PARTS), "missing does not say what is missing"
    for name, values in product.options.items():
        assert name, "an option has no name"
        assert values, f"the option {name!r} has no values"
        assert all(values), f"an empty value of {name!r}"
        assert len(set(values)) == len(values), f"a value of {name!r} comes twice"


def _check_prices(record: SiteProduct | SiteCard) -> None:
    assert len(record.prices) <= 2, "a price is one amount, or the two ends of a range"
    for price in record.prices:
        assert isinstance(price, float), f"the price is {price!r}; expected a number"
        assert math.isfinite(price), f"the price is {price!r}"
        assert price >= 0, f"the price is {price!r}"
    assert not record.currency or len(record.currency) == 3, f"currency {record.currency!r}"


def _absent(record: SiteProduct | SiteCard, parts: tuple[str, ...]) -> set[str]:
    return {part for part in parts if not getattr(record, "prices" if part == "price" else part)}


def _broken(results: str, item: str) -> Iterator[str]:
    """Pages cut off, mixed up, emptied and spoilt."""
    yield from ("", "\x00", "<", "<!--", "\ud800", "{}", "null", "<html>" * 3_000, "<div " * 3_000)
    yield "<script type='application/ld+json'>" + "[" * 5_000
    for html in (results, item):
        yield from (html[: len(html) * part // 7] for part in range(1, 7))
        yield html[len(html) // 2 :]
        yield html[::-1]
        yield html.replace("<", "&lt;")
        yield html.replace('"', "")
        yield html.replace("$", "").replace(".", ",")
        yield "".join(char if number % 97 else "\ufffd" for number, char in enumerate(html))
        yield "<p>".join(html[at : at + 50] for at in range(0, min(len(html), 20_000), 50))
    yield results + item
