"""Prices as people write them, and addresses that can be opened."""

import pytest

from errands.transfer.sites.markup import (
    Money,
    absolute,
    money,
    number_money,
    parse,
    plain,
    text_of,
)


@pytest.mark.parametrize(
    ("said", "prices", "currency"),
    [
        ("$112.94", (112.94,), "USD"),
        ("US $0.01", (0.01,), "USD"),
        ("$1,299.00", (1299.0,), "USD"),
        ("$1,299", (1299.0,), "USD"),
        ("$100.00 to $150.00", (100.0, 150.0), "USD"),
        ("$61.99 – $85.99", (61.99, 85.99), "USD"),
        ("$60.00 Or $12.00/month", (60.0,), "USD"),
        ("£12.50", (12.5,), "GBP"),
        ("1.299,50 €", (1299.5,), "EUR"),
        ("EUR 1.299", (1299.0,), "EUR"),
        ("¥ 12,800", (12800.0,), "JPY"),
        ("₹1,29,900.00", (129900.0,), "INR"),
        ("CHF 1'299.50", (1299.5,), "CHF"),
        ("1\u202f299,00 €", (1299.0,), "EUR"),
        ("1\u00a0299,00\u00a0€", (1299.0,), "EUR"),
        ("1 299,00 €", (1299.0,), "EUR"),
        ("kr 12 299 499", (12299499.0,), "SEK"),
        ("CHF 1’299.50", (1299.5,), "CHF"),
        ("$20 300 sold", (20.0,), "USD"),
        ("in 2022 299 €", (299.0,), "EUR"),
        ("-$5.00", (), ""),
        ("−5 €", (), ""),
        ("-$10.00 $90.00", (90.0,), "USD"),
        ("Lamp - $5.00", (5.0,), "USD"),
        ("free", (), ""),
        ("12.50", (), ""),
        ("", (), ""),
        ("$" + "9" * 500, (), ""),
    ],
)
def test_money(said: str, prices: tuple[float, ...], currency: str) -> None:
    assert money(said) == Money(prices, currency)


def test_a_price_without_its_currency() -> None:
    assert number_money("112.94", "usd") == Money((112.94,), "USD")
    assert number_money("nothing", "USD") == Money()


@pytest.mark.parametrize(
    ("said", "price"),
    [
        ("12.500", 12.5), ("1299.999", 1299.999), ("1299", 1299.0), ("1,299", 1299.0),
        ("1.299,50", 1299.5), ("1 299,00", 1299.0), ("1\u202f299,00", 1299.0), ("-5", None),
        ("−5", None), ("- 5,00", None), ("1e-7", None), ("1e3", 1000.0), ("1e400", None),
        ("0", 0.0), ("9" * 30, None),
    ],
)  # fmt: skip
def test_a_machines_number_has_a_decimal_point(said: str, price: float | None) -> None:
    assert number_money(said, "eur").prices == (() if price is None else (price,))


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "//[", "http://[x", ""]
)
def test_what_cannot_be_opened_is_no_address(link: str) -> None:
    assert absolute(link, "https://") == ""


def test_texts_lose_scripts_and_what_steers_a_terminal() -> None:
    tree = parse("<p>a<script>b()</script><style>c{}</style>\x1b[2J d\u202e</p>")
    said = text_of(tree.css_first("p"))
    assert said.split() == ["a", "[2J", "d"]
    assert plain("x" * 100_000) == "x" * 20_000


@pytest.mark.parametrize("html", ["", "\ud800", "<", "\x00", "<div>" * 50_000, "]]>", "<p" * 1000])
def test_anything_can_be_parsed(html: str) -> None:
    assert isinstance(text_of(parse(html).body), str)
