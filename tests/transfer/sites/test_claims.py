"""Pages that tell of results or a product although none was read."""

import json

import pytest
from made_up_shops import GOODS, amazon_item, amazon_results, ebay_item, ebay_results, shop_results

from errands.transfer.sites.claims import unread_item, unread_results
from errands.transfer.sites.schema_org import SAVED
from errands.transfer.sites.site import site_named

PRICED = '<div><a href="/lamp">Lamp</a> <b class="price">$5.00</b></div>'
FILLER = "<script>" + "x" * 30_000 + "</script>"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<h1>150,000 results for phone</h1>", "150,000 results"),
        ("<h2>97.000+ Ergebnisse für Apple</h2>", "97,000 results"),
        ('<p class="search-count">Showing 1-24 of 55 items</p>', "55 results"),
        ("<h1>4.800+ resultados para hola</h1>", "4,800 results"),
        ("<h1>1 200 produits trouvés</h1>", "1,200 results"),
        ('<span class="count">検索結果 7,400件</span>', "7,400 results"),
        (PRICED * 3, "shows 3 prices"),
        ('<div class="cart">You have no items in your cart</div>' + PRICED * 3, "shows 3 prices"),
        (FILLER + "<div id=app></div>", "drawn by its scripts"),
    ],
)
def test_results_that_were_not_read(body: str, told: str) -> None:
    for name in ("amazon", "ebay", "webshop", "schema.org"):
        site = site_named(name, search=SAVED if name == "schema.org" else "")
        results = site.read_results(body)
        assert not results.cards
        assert told in unread_results(body, results), name


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<title>Nothing here</title>",
        "<h1>No results for zzzz</h1>",
        "<h1>0 results for zzzz</h1>",
        "<h2>Keine Ergebnisse für zzzz</h2>",
        "<p>Your search did not match any products.</p>",
        "<h1>Aucun résultat</h1>",
        "<h1>No se han encontrado productos</h1>",
        "<p>No products were found matching your selection.</p>",
        FILLER + "<p>Sorry, we could not find anything.</p><h1>No matches</h1>",
        "<h1>No results for zzzz</h1><h2>You may like</h2>" + PRICED * 9,
    ],
)
def test_pages_that_have_nothing_are_believed(body: str) -> None:
    for name in ("amazon", "ebay", "webshop", "schema.org"):
        site = site_named(name, search=SAVED if name == "schema.org" else "")
        assert unread_results(body, site.read_results(body)) == "", name


def test_data_without_addresses_is_told() -> None:
    data = [{"@type": "Product", "name": f"Lamp {number}"} for number in range(5)]
    page = f'<script type="application/ld+json">{json.dumps(data)}</script>'
    results = site_named("schema.org", search=SAVED).read_results(page)
    assert "data lists 5 products" in unread_results(page, results)


def test_behind_the_first_page_a_count_says_nothing() -> None:
    page = "<h1>55 results</h1>"
    results = site_named("ebay").read_results(page)
    assert unread_results(page, results)
    assert unread_results(page, results, is_first=False) == ""


def test_pages_that_were_read_are_not_doubted() -> None:
    for name, page in (
        ("amazon", amazon_results(GOODS[:5], True)), ("ebay", ebay_results(GOODS[:5], True)),
        ("schema.org", shop_results(GOODS[:5], True)),
    ):  # fmt: skip
        found = site_named(name).read_results(page, "https://shop.example/search")
        assert unread_results(page, found) == ""
    for name, page in (("amazon", amazon_item(GOODS[0])), ("ebay", ebay_item(GOODS[0]))):
        assert unread_item(page, site_named(name).read_item(page)) == ""


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ('<meta property="og:type" content="product">', "a product"),
        ('<div itemscope itemtype="https://schema.org/Product"></div>', "data of a product"),
        ("<p>x</p>", "no title"),
        ("", "no title"),
        ('<title>Shop</title><p class="price">$5.00</p>', "shows a price"),
        ("<title>Shop</title>" + FILLER, "drawn by its scripts"),
    ],
)
def test_products_that_were_not_read(page: str, told: str) -> None:
    for name in ("amazon", "ebay"):
        found = site_named(name).read_item(page)
        assert not found.prices
        said = unread_item(page, found)
        assert told in said or "no title" in said
