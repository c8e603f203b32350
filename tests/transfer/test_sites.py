"""The readers over made-up pages of each site, and their addresses."""

import json
import time
from typing import Any

import pytest
from made_up_shops import (
    GOODS,
    MICRODATA,
    amazon_item,
    amazon_results,
    ebay_description,
    ebay_item,
    ebay_results,
    shop_item,
    shop_results,
)

from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import Shop, State
from errands.shop.render.html import html
from errands.transfer.sites.record import PARTS
from errands.transfer.sites.schema_org import SAVED
from errands.transfer.sites.site import RequestKind, SiteReader, site_named

SEARCH = "https://shop.example/search?q={query}&page={page}"


DEEP = '{"@type":"Product","brand":' + '{"name":' * 700 + '""' + "}" * 701


def _site(name: str) -> SiteReader:
    return site_named(name, search=SEARCH if name == "schema.org" else "")


def test_any_query_makes_an_address() -> None:
    for name in ("amazon", "ebay", "schema.org", "webshop"):
        assert _site(name).search_url("a \ud800 shoe", 1).isascii()


def test_addresses() -> None:
    assert _site("amazon").search_url("red shoes & 5%", 2) == (
        "https://www.amazon.com/s?k=red+shoes+%26+5%25&page=2"
    )
    assert _site("amazon").item_url("B01/../x") == "https://www.amazon.com/dp/B01%2F..%2Fx"
    assert _site("ebay").search_url("red shoes", 3) == (
        "https://www.ebay.com/sch/i.html?_nkw=red+shoes&_pgn=3"
    )
    assert _site("ebay").item_url("12") == "https://www.ebay.com/itm/12"
    assert _site("schema.org").search_url("red shoes", 1) == (
        "https://shop.example/search?q=red+shoes&page=1"
    )
    assert "/search_results/abc/%5B%27red%27%2C%20%27shoes%27%5D/2" in (
        _site("webshop").search_url("red shoes", 2)
    )
    assert site_named("amazon", host="www.amazon.co.uk").item_url("X") == (
        "https://www.amazon.co.uk/dp/X"
    )


@pytest.mark.parametrize(
    ("name", "kind", "url", "admitted"),
    [
        ("amazon", "search", "https://www.amazon.com/s?k=x", True),
        ("amazon", "item", "https://www.amazon.com/Red-Shoe/dp/B000000001/ref=sr_1", True),
        ("amazon", "item", "https://www.amazon.com/gp/cart/view.html", False),
        ("amazon", "item", "https://www.amazon.com/s?k=x", False),
        ("amazon", "search", "https://www.amazon.com/dp/B000000001", False),
        ("amazon", "item", "https://www.amazon.com:8443/dp/B000000001", False),
        ("ebay", "search", "https://www.ebay.com/sch/i.html?_nkw=x", True),
        ("ebay", "item", "https://www.ebay.com/itm/a-shoe/400000000001", True),
        ("ebay", "item", "https://vi.vipr.ebaydesc.com/ws/x.dll?item=400000000001", True),
        ("ebay", "item", "https://www.ebay.com/cart/add?x=1", False),
        ("ebay", "item", "https://ebaydesc.com.evil.example/itm/400000000001", False),
        ("ebay", "search", "https://vi.vipr.ebaydesc.com/sch/i.html", False),
        ("schema.org", "search", "https://shop.example/search?q=x&page=3", True),
        ("schema.org", "search", "https://shop.example/goods/1", False),
        ("schema.org", "item", "https://shop.example/goods/toy-cart?colour=red", True),
        ("schema.org", "item", "https://shop.example/cart/1", False),
        ("schema.org", "item", "https://shop.example/goods/1?add-to-cart=1", False),
        ("schema.org", "item", "https://shop.example/a/%2e%2e/x", False),
        ("schema.org", "item", "http://127.0.0.1:9999/lamp", False),
        ("schema.org", "item", "https://shop.example:9999/lamp", False),
        ("webshop", "search", "http://127.0.0.1:8000/search_results/abc/x/1", True),
        ("webshop", "item", "http://127.0.0.1:8000/item_page/abc/B01/x/1/%7B%7D", True),
        ("webshop", "item", "http://127.0.0.1:8000/item_sub_page/abc/B01/x/1/Features/%7B", True),
        ("webshop", "item", "http://127.0.0.1:8000/done/abc/B01/%7B%7D", False),
        ("webshop", "item", "http://127.0.0.1:9999/item_page/abc/B01/x/1/%7B%7D", False),
        ("webshop", "item", "http://127.0.0.1:x/item_page/abc/B01/x/1/%7B%7D", False),
    ],
)  # fmt: skip
def test_which_address_is_of_which_kind(
    name: str, kind: RequestKind, url: str, admitted: bool
) -> None:
    assert _site(name).admits(kind, url) == admitted


def test_a_page_cannot_name_what_is_asked_for_next() -> None:
    """Its links become items only where they are addresses of items."""
    listed = [{"url": url, "name": "Lamp"} for url in
              ("http://127.0.0.1:9999/admin", "/cart/7", "/lamp")]  # fmt: skip
    held = json.dumps({"@type": "ItemList", "itemListElement": listed})
    page = f'<script type="application/ld+json">{held}</script>'
    found = _site("schema.org").read_results(page, "https://shop.example/search?q=x")
    assert ([card.url for card in found.cards], found.left_out) == (
        ["https://shop.example/lamp"], 2,
    )  # fmt: skip
    # Pages that somebody saved may be of anywhere: nobody is asked.
    assert len(site_named("schema.org", search=SAVED).read_results(page).cards) == 1

    for link in ("http://127.0.0.1:9999/admin", "/done/abc/B01/{}"):
        page = (f'<div class="list-group-item"><a class="product-link" href="{link}">B01</a>'
                '<h4 class="product-title">Lamp</h4></div>')  # fmt: skip
        (card,) = _site("webshop").read_results(page).cards
        assert card.url == _site("webshop").item_url("B01")
    item = ebay_item(GOODS[0]).replace("https://vi.vipr.ebaydesc.com/d", "/cart/add")
    assert _site("ebay").read_item(item).details == {}


@pytest.mark.parametrize(
    ("name", "host", "search", "said"),
    [
        ("etsy", "", "", "no site 'etsy'"),
        ("amazon", "", SEARCH, "--search-url is for the site schema.org"),
        ("schema.org", "shop.example", "", "not --host"),
        ("schema.org", "", "https://shop.example/", "{query}"),
        ("schema.org", "", "file:///{query}", "{query}"),
        ("schema.org", "", "http://[/{query}", "{query}"),
        ("amazon", "evil.example/x?", "", "a host's name"),
        ("webshop", "http://[", "", "expected an address"),
    ],
)
def test_settings_that_make_no_sense(name: str, host: str, search: str, said: str) -> None:
    with pytest.raises(SettingError, match=said.replace("{", r"\{")):
        site_named(name, host=host, search=search)


def test_schema_org_must_be_told_where_results_are() -> None:
    with pytest.raises(SettingError, match="--search-url"):
        site_named("schema.org").search_url("x", 1)


@pytest.mark.parametrize("name", ["amazon", "ebay", "schema.org"])
def test_results_of_each_site(name: str) -> None:
    made = {"amazon": amazon_results, "ebay": ebay_results, "schema.org": shop_results}[name]
    page = made(GOODS[:5], True)
    site = _site(name)
    assert site.kind(page) == "search"
    found = site.read_results(page, "https://shop.example/search?q=x")
    assert len(found.cards) == 5
    assert found.has_next
    assert found.missing == ()
    first = found.cards[0]
    assert first.id in (GOODS[0]["id"], GOODS[0]["number"])
    assert first.title == GOODS[0]["title"]
    assert first.prices[0] == GOODS[0]["price"]
    assert first.currency == "USD"
    assert first.missing == ()
    assert not site.read_results(made(GOODS[:5], False)).has_next
    nothing = site.read_results("<html></html>")
    assert (nothing.cards, nothing.missing) == ((), ("results",))


@pytest.mark.parametrize("name", ["amazon", "ebay", "schema.org"])
def test_items_of_each_site(name: str) -> None:
    made = {"amazon": amazon_item, "ebay": ebay_item, "schema.org": shop_item}[name]
    site, each = _site(name), GOODS[3]
    page = made(each)
    assert site.kind(page) == "item"
    found = site.read_item(page)
    assert found.id in (each["id"], each["number"])
    assert found.title == each["title"]
    assert (found.prices, found.currency) == ((each["price"],), "USD")
    assert found.category == "Clothing › Shoes"
    options = {name.lower(): values for name, values in found.options.items()}
    assert options["size"] == each["sizes"]
    assert any("rubber" in line.lower() for line in found.bullets)
    assert "script" not in found.description
    assert "steal" not in found.description
    absent = site.read_item("<html></html>")
    assert absent.missing == PARTS


def test_amazons_options_have_names_pictures_and_no_price_of_a_style_sheet() -> None:
    found = _site("amazon").read_item(amazon_item(GOODS[0]))
    assert found.options == {"color": ("Red", "Night/Blue"), "size": ("8", "9", "10")}
    assert found.option_images["Red"] == "https://pictures.example/0.jpg"
    assert found.bullets == ("Non slip rubber sole", "Light <b>mesh</b>")
    assert found.missing == ()


def test_ebays_description_is_on_a_page_of_its_own() -> None:
    site = _site("ebay")
    found = site.read_item(ebay_item(GOODS[0]))
    assert found.missing == ("rating", "description")
    assert list(found.details) == ["description"]
    whole = site.read_detail(found, "description", ebay_description(GOODS[0]))
    assert whole.description == f"Sold by us: {GOODS[0]['title']}"
    assert whole.missing == ("rating",)


def test_microdata() -> None:
    found = _site("schema.org").read_item(MICRODATA, "https://shop.example/lamp")
    assert (found.id, found.title) == ("LAMP-1", "Brass Lamp")
    assert (found.prices, found.currency) == ((1299.5,), "EUR")
    assert found.image == "https://shop.example/lamp.jpg"
    assert found.rating == "4.5 out of 5 stars"
    assert found.bullets == ("brand: Glow",)
    assert found.missing == ("options", "category")


@pytest.mark.parametrize(
    "held",
    [
        "{", "[]", "null", "1", '"x"', "[" * 100_000, '{"@type": 3}', '{"@type": ["Product"]}',
        '{"@type":"Product","offers":"x","name":{"@value":["a"]}}',
        '{"@type":"Product","offers":[null,{"price":true}],"hasVariant":[1,"x",{"size":{}}]}',
        '{"@type":"ItemList","itemListElement":[1,null,"https://a.example/x",{"item":"http://["}]}',
        '{"@type":"Product","offers":{"price":NaN,"lowPrice":"abc"},"url":["//["]}',
        '<!-- {"@type":"Product","name":"kept"} -->', DEEP,
    ],
)  # fmt: skip
def test_json_ld_that_says_anything(held: str) -> None:
    page = f'<html><script type="application/ld+json">{held}</script></html>'
    site = _site("schema.org")
    found = site.read_item(page, "https://shop.example/x")
    site.read_results(page, "https://shop.example/x")
    assert site.kind(page) in ("", "item", "search")
    assert set(found.missing) <= set(PARTS)
    if "kept" in held:
        assert found.title == "kept"


@pytest.mark.parametrize(
    ("offers", "prices", "currency"),
    [
        ({"price": "12.500", "priceCurrency": "EUR"}, (12.5,), "EUR"),
        ({"price": 1299.999, "priceCurrency": "EUR"}, (1299.999,), "EUR"),
        ({"price": "1\u202f299,00 €"}, (1299.0,), "EUR"),
        ({"price": "1 299,00", "priceCurrency": "EUR"}, (1299.0,), "EUR"),
        ({"price": -5, "priceCurrency": "USD"}, (), ""),
        ({"price": 1e-7, "priceCurrency": "USD"}, (), ""),
        ([{"price": 10, "priceCurrency": "USD"}, {"price": 900, "priceCurrency": "JPY"},
          {"price": 12, "priceCurrency": "USD"}], (10.0, 12.0), "USD"),
    ],
)  # fmt: skip
def test_what_offers_cost(offers: Any, prices: tuple[float, ...], currency: str) -> None:
    held = json.dumps({"@type": "Product", "name": "Lamp", "offers": offers})
    page = f'<script type="application/ld+json">{held}</script>'
    found = _site("schema.org").read_item(page, "https://shop.example/lamp")
    assert (found.prices, found.currency) == (prices, currency)


def test_two_products_of_one_name_are_told_apart() -> None:
    listed = [{"url": f"https://shop.example/{at}/lamp", "name": "Lamp"} for at in range(2)]
    held = json.dumps({"@type": "ItemList", "itemListElement": listed})
    page = f'<script type="application/ld+json">{held}</script>'
    found = _site("schema.org").read_results(page)
    assert [card.id for card in found.cards] == ["lamp", "lamp-2"]


def test_a_list_without_end_is_cut_off() -> None:
    listed = [{"url": f"https://shop.example/{at}/lamp", "name": "Lamp"} for at in range(20_000)]
    held = json.dumps({"@type": "ItemList", "itemListElement": listed})
    page = f'<script type="application/ld+json">{held}</script>'
    begun = time.process_time()
    found = _site("schema.org").read_results(page)
    assert time.process_time() - begun < 5
    assert len({card.id for card in found.cards}) == len(found.cards) == 500


def test_an_item_with_others_beside_it_is_an_item() -> None:
    """Lists of related products, and products inside of the product, are not what is sold."""
    others = shop_results(GOODS[5:9], False)
    related = {
        "@type": "Product", "name": "Lamp", "url": "https://shop.example/lamp",
        "offers": {"price": 30, "priceCurrency": "USD"},
        "isRelatedTo": [{"@type": "Product", "name": "Bulb", "url": "https://shop.example/bulb",
                         "offers": {"price": 3, "priceCurrency": "USD"}}],
    }  # fmt: skip
    held = f'<script type="application/ld+json">{json.dumps(related)}</script>'
    for page in (held + others, others + held):
        assert _site("schema.org").kind(page) == "item"
        found = _site("schema.org").read_item(page)
        assert (found.title, found.prices) == ("Lamp", (30.0,))


def test_sisters_are_paid_in_their_own_money() -> None:
    page = amazon_item(GOODS[0])
    for host, currency in (
        ("www.amazon.com", "USD"), ("www.amazon.ca", "CAD"), ("www.amazon.com.au", "AUD"),
    ):  # fmt: skip
        site = site_named("amazon", host=host)
        assert site.read_item(page).currency == currency
        assert site.read_results(amazon_results(GOODS[:1], False)).cards[0].currency == currency
    pounds = page.replace("$", "£")
    assert site_named("amazon", host="www.amazon.co.uk").read_item(pounds).currency == "GBP"


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("amazon", "<title>Robot Check</title>"),
        ("amazon", '<form action="/errors/validateCaptcha"></form>'),
        ("ebay", "<title>Pardon Our Interruption...</title>"),
    ],
)
def test_a_refusal_is_no_page(name: str, page: str) -> None:
    assert _site(name).refusal(page)
    assert not _site(name).refusal("<title>Red shoes</title>")


def test_our_own_website_is_read_too(little: Catalog) -> None:
    """The same classes, today's `data-url`, and no `onclick`."""
    shop, site = Shop(little), _site("webshop")
    page = shop.search(State(), "shoes")
    listing = site.read_results(html(page, "a shoe"))
    assert [card.id for card in listing.cards] == [card.asin for card in page.cards]
    assert [card.title for card in listing.cards] == [
        " ".join(card.title.split()) for card in page.cards
    ]
    opened = next(
        candidate
        for number in range(len(little))
        if (candidate := shop.look(State("item", "x", 1, (), number))).product.options  # type: ignore[union-attr]
    )
    product = opened.product
    assert product is not None
    found = site.read_item(html(opened, "a shoe"))
    assert (found.id, found.options) == (product.asin, product.options)
    assert found.prices == product.prices[:2]
    assert set(found.option_links) == {value for held in product.options.values() for value in held}
    assert set(found.details) == {"description", "bullets"}
    features = shop.turn(opened, "click[features]")
    whole = site.read_detail(found, "bullets", html(features, "a shoe"))
    assert whole.bullets == tuple(" ".join(bullet.split()) for bullet in product.bullets if bullet)
