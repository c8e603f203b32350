"""Lists of products that are read as people see them, without any data for machines."""

import json
from typing import Any

import pytest

from errands.transfer.sites.claims import unread_results
from errands.transfer.sites.listed import link_key
from errands.transfer.sites.record import SiteResults
from errands.transfer.sites.schema_org import SAVED
from errands.transfer.sites.site import site_named

NAMES = ("Red lamp", "Blue chair", "Oak table", "Green rug", "Iron shelf")


def _read(page: str, url: str = "https://shop.example/search?q=x") -> SiteResults:
    return site_named("schema.org", search=SAVED).read_results(page, url)


def _card(at: int, price: str, more: str = "") -> str:
    link = f"/goods/{NAMES[at].lower().replace(' ', '-')}-{at}"
    return (
        f'<li class="tile"><a href="{link}"><img src="/p/{at}.jpg" alt=""></a>'
        f'<a href="/brands/brand-{at % 2}">Brand</a><a href="{link}">{NAMES[at]}</a>'
        f"{price}{more}<a href='{link}'>View details</a></li>"
    )


def _list(*prices: str, more: str = "") -> str:
    cards = "".join(_card(at, price, more) for at, price in enumerate(prices))
    return f'<html lang="en-US"><nav><a href="/goods/all-1">All $1</a></nav><ul>{cards}</ul>'


def _script(data: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def test_a_list_is_boxes_that_are_alike() -> None:
    found = _read(_list(*(f"<b>${at + 10}.50</b>" for at in range(5))))
    assert [card.title for card in found.cards] == list(NAMES)
    assert [card.prices for card in found.cards] == [(at + 10.5,) for at in range(5)]
    assert {card.currency for card in found.cards} == {"USD"}
    assert found.cards[1].url == "https://shop.example/goods/blue-chair-1"
    assert found.cards[1].image == "https://shop.example/p/1.jpg"


@pytest.mark.parametrize(
    ("said", "price"),
    [
        ("<s>$50.00</s> <b>$39.00</b>", 39.0),
        ('<i class="price--regular">$50.00</i><i class="price--sale">$39.00</i>', 39.0),
        ("Regular price <b>$50.00</b> Sale price <b>$39.00</b>", 39.0),
        ("<b>$39.00</b> <b>$50.00</b> <i>22% off</i>", 39.0),
        ("<b>$39.00</b> <b>$50.00</b>", 39.0),
        ("<b>$39.00</b> or <b>6</b> x <b>$6.50</b>", 39.0),
        ("<b>$39.00</b> <i>12 months of $3.60</i>", 39.0),
        ("<b>$39.00</b> <b>$3.60</b>/month", 39.0),
        ("<b>$<i>39</i><sup>.00</sup></b> <i>(2 offers)</i>", 39.0),
        ("<b>$39.00 - $50.00</b>", 50.0),
    ],
)
def test_of_several_prices_the_one_that_is_asked(said: str, price: float) -> None:
    found = _read(_list(*[said] * 4))
    assert [card.prices[-1] for card in found.cards] == [price] * 4


def test_where_nothing_tells_which_price_is_asked_there_is_none() -> None:
    unclear = "<b>$39.00</b> <b>$41.00</b> <b>$44.00</b>"
    found = _read(_list("<b>$5.00</b>", "<b>$5.00</b>", "<b>$5.00</b>", unclear))
    assert [card.prices for card in found.cards] == [(5.0,)] * 3 + [()]


def test_what_was_seen_or_bought_before_is_not_in_the_list() -> None:
    beside = f'<div class="recommendations"><ul>{_card(4, "<b>$1.00</b>")}</ul></div>'
    found = _read(_list(*["<b>$5.00</b>"] * 4) + beside)
    assert [card.title for card in found.cards] == list(NAMES[:4])


def test_a_page_that_found_nothing_lists_nothing() -> None:
    for heading in ("<h1>No results for zzzz</h1>", "<title>Page not found</title>"):
        page = heading + _list(*["<b>$5.00</b>"] * 5)
        assert not _read(page).cards


def test_few_boxes_are_no_list() -> None:
    page = _list("<b>$5.00</b>", "<b>$6.00</b>")
    found = _read(page)
    assert not found.cards
    assert "shows 2 prices" in unread_results(page.replace("<b>", '<b class="price">'), found)


def test_points_that_are_no_cents_make_no_dollars() -> None:
    page = _list("<b>$ 3.999</b>", "<b>$ 599</b>", *["<b>$ 1.255</b>"] * 3).replace("en-US", "")
    cards = _read(page + "".join(_card(at, "<b>$ 2.100</b>") for at in (1, 2, 3))).cards
    assert (cards[0].prices, cards[0].currency) == ((3999.0,), "XXX")
    assert cards[1].prices == (599.0,)


def test_data_of_some_products_is_not_the_whole_list() -> None:
    data = [{"@type": "Product", "name": "Red lamp, the great one", "url": "/goods/red-lamp-0",
             "offers": {"price": 10, "priceCurrency": "USD"}}]  # fmt: skip
    found = _read(_script(data) + _list(*["<b>$10.00</b>"] * 5))
    assert [card.title for card in found.cards] == ["Red lamp, the great one", *NAMES[1:]]


def test_a_lower_price_that_is_shown_counts_and_not_that_of_the_data() -> None:
    data = [
        {"@type": "Product", "name": name, "url": f"/goods/{name.lower().replace(' ', '-')}-{at}",
         "offers": {"price": 50, "priceCurrency": "USD"}}
        for at, name in enumerate(NAMES)
    ]  # fmt: skip
    found = _read(_script(data) + _list(*["<s>$50.00</s><b>$39.00</b>"] * 5))
    assert [card.prices for card in found.cards] == [(39.0,)] * 5
    cents = _read(_script(data) + _list(*["<b>$49.99</b>"] * 5))
    assert cents.cards[0].prices == (50.0,)


def test_addresses_of_one_product_are_alike() -> None:
    assert link_key("http://[") == ""
    assert link_key("https://a.example/x?ref=1") == link_key("https://a.example/x#reviews")
    assert link_key("https://a.example/?p=1") != link_key("https://a.example/?p=2")


def test_a_page_that_says_neither_is_an_error() -> None:
    page = "<p>" + "Many words about lamps and chairs. " * 50
    assert "neither lists" in unread_results(page, _read(page))
