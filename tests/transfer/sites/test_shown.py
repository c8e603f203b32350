"""What item pages show to people, beside what their data says."""

import json

import pytest
from selectolax.lexbor import LexborNode

from errands.currencies import NO_HABITS
from errands.prices import Money
from errands.transfer.sites.markup import parse
from errands.transfer.sites.record import SiteProduct
from errands.transfer.sites.shown import (
    _read_all,
    host_habits,
    page_habits,
    settled,
    shown_prices,
)
from errands.transfer.sites.site import site_named


def _item(body: str, url: str = "https://shop.example/lamp", lang: str = "en-US") -> SiteProduct:
    return site_named("schema.org").read_item(
        f'<html lang="{lang}"><body>{body}</body></html>', url
    )


def _data(price: object, currency: str = "USD") -> str:
    data = {
        "@type": "Product",
        "name": "Lamp",
        "offers": {"price": price, "priceCurrency": currency},
    }
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


@pytest.mark.parametrize(
    ("told", "shown", "price", "doubted"),
    [
        (12.99, '<p class="price">$12.99</p>', 12.99, False),
        (12.99, "", 12.99, False),
        (12.99, '<p class="price">$12</p>', 12.99, False),  # Its cents stand elsewhere.
        (99.99, '<p class="price">3 x $33.33</p>', 99.99, False),  # An instalment.
        (50, '<p class="old-price">$60.00</p><p class="price">$50.00</p>', 50.0, False),
        (60, '<p class="old-price">$60.00</p><p class="price">$50.00</p>', 50.0, True),
        (
            60,
            "<p class='price'><del class='price'>$60</del> <b class='price'>$50</b></p>",
            50.0,
            True,
        ),
        (24.99, '<p class="price">$24,990.00</p>', 24990.0, True),
        (50, '<div class="related"><p class="price">$9.00</p></div>', 50.0, False),
        (50, '<a href="/x"><p><i class="price">$9.00</i></p></a>', 50.0, False),
        (50, '<header><p class="price">$0.00</p></header>', 50.0, False),
    ],
)
def test_a_price_in_two_places(told: float, shown: str, price: float, doubted: bool) -> None:
    found = _item(f"{_data(told)}<h1>Lamp</h1>{shown}")
    assert found.prices == (price,)
    assert bool(found.doubts) == doubted
    assert all(f"{told:g}" in doubt and f"{price:g}" in doubt for doubt in found.doubts)


def test_a_machines_point_against_what_is_shown() -> None:
    """`24.99` in the data of a shop whose price is 24.990 pesos."""
    page = f'{_data("24.99", "CLP")}<h1>Consola</h1><p class="price">$24.990</p>'
    found = _item(page, "https://tienda.example.cl/x", "es-CL")
    assert (found.prices, found.currency) == ((24990.0,), "CLP")
    assert found.doubts == ("price: 24.99 CLP in its data, 24990 CLP where it is shown",)


def test_alone_what_is_shown_must_be_the_only_price() -> None:
    assert _item('<h1>Lamp</h1><b class="price">€ 1.299,-</b>', lang="de").prices == (1299.0,)
    found = _item('<h1>Lamp</h1><b class="price">$20</b><b class="price">$15</b>')
    assert found.prices == ()
    assert found.doubts == ("price: 15, 20 are shown, and nothing tells which one is asked",)


def test_a_range_of_sellers_is_no_range_of_the_product() -> None:
    offers = {"@type": "AggregateOffer", "lowPrice": 50, "highPrice": 60, "priceCurrency": "USD"}
    data = json.dumps({"@type": "Product", "name": "Lamp", "offers": offers})
    script = f'<script type="application/ld+json">{data}</script>'
    assert _item(f"{script}<h1>Lamp</h1>").prices == (50.0, 60.0)
    assert _item(f'{script}<h1>Lamp</h1><b class="price">$50.00</b>').prices == (50.0,)


def test_parts_of_the_data_that_contradict_each_other() -> None:
    meta = (
        '<meta property="product:price:amount" content="15"><meta property="product:price:currency"'
    )
    found = _item(f'{_data(20)}{meta} content="USD">')
    assert found.prices == (20.0,)
    assert found.doubts == ("price: 20 USD in its data, 15 USD in another part of its data",)
    assert _item(f'{_data(20)}{meta} content="EUR">').doubts == ()  # Other money, no other price.


@pytest.mark.parametrize(
    ("lang", "url", "currency", "decimal"),
    [
        ("de", "https://shop.example.at/x", "EUR", ","),
        ("en", "https://shop.example.com.au/x", "AUD", "."),
        ("es-MX", "https://shop.example.com/x", "MXN", "."),
        ("es", "https://shop.example.com/x", "XXX", ","),
        ("en", "https://shop.example.io/x", "", "."),
        ("", "https://shop.example.co.jp/x", "JPY", "."),
        ("", "", "", ""),
    ],
)
def test_how_prices_are_written_on_a_page(lang: str, url: str, currency: str, decimal: str) -> None:
    assert page_habits(parse(f'<html lang="{lang}"></html>'), url) == (currency, decimal)


def test_how_prices_are_written_in_a_shop() -> None:
    assert host_habits("www.ebay.com.sg").currency == "SGD"
    assert host_habits("www.amazon.se") == ("SEK", ",")
    assert host_habits("shop.tv").currency == "USD"


def test_a_price_whose_digits_stand_apart() -> None:
    tree = parse('<h1>x</h1><p class="price"><i>$</i><b>1,299</b><sup>99</sup></p>')
    assert shown_prices(tree, host_habits("a.com")).main == Money((1299.99,), "USD")


def test_nothing_told_and_nothing_shown() -> None:
    assert settled([Money()], shown_prices(parse("<h1>x</h1>"), host_habits("a.com"))) == (
        Money(),
        (),
    )


@pytest.mark.parametrize(
    "body",
    [
        "<span class=price>$1 " * 3000,
        "<span class=price>" * 1500 + "x" * 50_000,
        "<span class=price>" * 1500 + " " * 50_000,
        ("<div class=price>" + "<b></b>" * 20) * 600,
    ],
)
def test_places_in_places_are_not_read_again_and_again(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[LexborNode] = []
    text = LexborNode.text

    class Counted:
        """A node whose text is counted; selectolax's own cannot be changed."""

        def __init__(self, node: LexborNode) -> None:
            self._node = node

        def __getattr__(self, name: str) -> object:
            return getattr(self._node, name)

        def text(self, separator: str = "") -> str:
            read.append(self._node)
            return str(text(self._node, separator=separator))

    tree = parse(f"<h1>Lamp</h1>{body}")
    places = [Counted(node) for node in tree.css(".price")]
    assert len(places) > 500
    found = _read_all(places, NO_HABITS)  # type: ignore[arg-type]
    assert len(found) == len(places)
    inside = sum(len(str(text(node, separator=" "))) + 1 for node in read)
    assert len(read) < 100
    assert inside < 3 * len(body)
