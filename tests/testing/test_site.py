"""Our site readers pass the kit, and readers with one defect each do not."""

from functools import cached_property
from typing import Any

import msgspec
import pytest
from kits import failures
from made_up_shops import GOODS, MadeUpShop

from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import ITEM, RESULTS, Shop, State
from errands.shop.render.html import html
from errands.testing import SiteConformance
from errands.transfer.fetch.fetcher import PageRequest
from errands.transfer.sites.amazon import Amazon
from errands.transfer.sites.record import SiteProduct, SiteResults
from errands.transfer.sites.site import RequestKind, SiteReader, site_named


class MadeUpKit(SiteConformance):
    name = ""
    search = ""

    def site(self) -> SiteReader:
        return site_named(self.name, search=self.search)

    @cached_property
    def _pages(self) -> tuple[str, str]:
        shop, site = MadeUpShop(self.name), self.site()
        results = shop(PageRequest("search", site.search_url("shoe", 1))).body
        return results, shop(PageRequest("item", f"https://x/{GOODS[0]['id']}")).body

    def results_page(self) -> str:
        return self._pages[0]

    def item_page(self) -> str:
        return self._pages[1]


class TestAmazon(MadeUpKit):
    name = "amazon"


class TestEbay(MadeUpKit):
    name = "ebay"


class TestSchemaOrg(MadeUpKit):
    name = "schema.org"
    search = "https://shop.example/search?q={query}&page={page}"


class TestWebShop(SiteConformance):
    may_lack = SiteConformance.may_lack | {"image"}

    @pytest.fixture(autouse=True)
    def _catalog(self, little: Catalog) -> None:
        self.shop = Shop(little)

    def site(self) -> SiteReader:
        return site_named("webshop")

    def results_page(self) -> str:
        hits = tuple(range(12))
        return html(self.shop.look(State(RESULTS, "x", 1, hits)), "")

    def item_page(self) -> str:
        return html(self.shop.look(State(ITEM, "x", 1, (0,), 0)), "")


class AnyHost(Amazon):
    def admits(self, kind: RequestKind, url: str) -> bool:
        return url.startswith("https://")


class Unquoted(Amazon):
    def search_url(self, query: str, page: int) -> str:
        return f"https://www.amazon.com/s?k={query}&page={page}"


class OnePage(Amazon):
    def search_url(self, query: str, page: int) -> str:
        return super().search_url(query, 1)


class Crashes(Amazon):
    def read_item(self, html: str, url: str = "") -> SiteProduct:
        html.index("productTitle")
        return super().read_item(html, url)


class SaysNothing(Amazon):
    def read_item(self, html: str, url: str = "") -> SiteProduct:
        return msgspec.structs.replace(super().read_item(html, url), missing=())


class Twice(Amazon):
    def read_results(self, html: str, url: str = "") -> SiteResults:
        results = super().read_results(html, url)
        return msgspec.structs.replace(results, cards=results.cards * 2)


class LeadsAway(Amazon):
    def read_results(self, html: str, url: str = "") -> SiteResults:
        results = super().read_results(html, url)
        cards = [
            msgspec.structs.replace(card, url="https://evil.example/") for card in results.cards
        ]
        return msgspec.structs.replace(results, cards=tuple(cards))


class KnowsOneKind(Amazon):
    def kind(self, html: str) -> Any:
        return "search"


class ToyKit(TestAmazon):
    def __init__(self, kind: type[Amazon]) -> None:
        self.kind = kind

    def site(self) -> SiteReader:
        return self.kind()


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        (AnyHost, "nothing_else_is_admitted"),
        (Unquoted, "searches_stay_at_home"),
        (OnePage, "searches_stay_at_home"),
        (Crashes, "broken_pages_do_not_bring_it_down"),
        (SaysNothing, "what_is_missing_is_said"),
        (Twice, "results_are_read"),
        (LeadsAway, "items_stay_at_home"),
        (KnowsOneKind, "it_knows_its_pages"),
    ],
)
def test_a_broken_toy_fails(kind: type[Amazon], failure: str) -> None:
    assert failure in failures(ToyKit(kind))


class FewAndMore(Amazon):
    """Two hits, and a link to a next page."""

    def read_results(self, html: str, url: str = "") -> SiteResults:
        results = super().read_results(html, url)
        return msgspec.structs.replace(results, cards=results.cards[:2], has_next=True)


def test_a_short_page_may_have_a_next_one() -> None:
    assert failures(ToyKit(FewAndMore)) == set()


def test_a_kit_without_its_hook_says_what_to_override() -> None:
    with pytest.raises(NotImplementedError, match=r"Override `site\(self\)`"):
        SiteConformance().test_it_has_a_name_and_hosts()
