"""Prices as people write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from price_texts import CELLS, PRICE_TEXTS

from errands.currencies import CODES, SIGNS, Habits, habits_of
from errands.prices import (
    BadPrice,
    Money,
    currency_in,
    money,
    number_money,
    prices_of,
    usual_decimal,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12,50 €", (12.5,)),
        ("$1,299.00", (1299.0,)),
        ("1.299,00 EUR", (1299.0,)),
        ("1 299,00 €", (1299.0,)),
        ("CHF 1'299.50", (1299.5,)),
        ("₹1,23,456", (123456.0,)),
        ("1,299", (1299.0,)),
        ("12.345.678", None),
        ("5 - 20.5 EUR", (5.0, 20.5)),
        ("$5.00 to $20.50", (5.0, 20.5)),
        ("EUR 5,00 – 7,50", (5.0, 7.5)),
        ("20-5", (5.0, 20.0)),
        ("7 - 7", (7.0,)),
        ("0", ()),
        ("0.00", ()),
        ("", ()),
        ("N/A", ()),
        (None, ()),
        (float("nan"), ()),
        (12, (12.0,)),
        (12.345, (12.35,)),
    ],
)
def test_prices(text: Any, expected: tuple[float, ...] | None) -> None:
    if expected is None:
        with pytest.raises(BadPrice, match="above a million"):
            prices_of(text)
    else:
        assert prices_of(text) == expected


def test_cents_of_three_digits_behind_thousands_that_spaces_part() -> None:
    assert money("2 429,000 TND").prices == (2429.0,)
    assert money("12 500.250 KWD").prices == (12500.25,)
    assert money("$ 145 .99 (2 offers)").prices == (145.99,)


def test_which_sign_parts_cents_can_be_said() -> None:
    assert prices_of("1.299", ",") == (1299.0,)
    assert prices_of("1,299", ",") == (1.3,)
    assert prices_of("1,299", ".") == (1299.0,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("call us", "not a number"),
        ("2 for $5", "more than a range"),
        ("1 2 3", "more than a range"),
        ("-5", "negative"),
        ("$ -5", "negative"),
        (-3, "negative"),
        (-(10**400), "negative"),
        (10**400, "above a million"),
        (float("inf"), "above a million"),
        ("9" * 400, "long text"),
        ("9" * 90, "above a million"),
    ],
)
def test_what_is_no_price_has_a_reason(text: Any, says: str) -> None:
    with pytest.raises(BadPrice, match=says):
        prices_of(text)


@given(st.text(max_size=120), st.sampled_from(["auto", ".", ","]))
def test_any_text_is_a_price_or_has_a_reason(text: str, decimal: str) -> None:
    try:
        found = prices_of(text, decimal)
    except BadPrice:
        return
    assert len(found) <= 2
    assert all(0 < price <= 1_000_000 for price in found)
    assert list(found) == sorted(found)


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


@pytest.mark.parametrize(("said", "locale", "prices", "currency"), PRICE_TEXTS)
def test_prices_of_the_world(
    said: str, locale: str, prices: tuple[float, ...], currency: str
) -> None:
    assert money(said, habits_of(locale)) == Money(prices, currency)


@pytest.mark.parametrize(("cell", "prices"), CELLS)
def test_cells_of_the_world(cell: str, prices: tuple[float, ...] | None) -> None:
    if prices is None:
        with pytest.raises(BadPrice):
            prices_of(cell)
    else:
        assert prices_of(cell) == prices


def test_in_what_a_table_is_priced_can_be_said() -> None:
    assert prices_of("50.700", currency="VND") == (50700.0,)
    assert prices_of("1.299", currency="EUR") == (1299.0,)
    assert prices_of("1.299", currency="KWD") == (1.3,)
    assert prices_of("$1,299", currency="VND") == (1299.0,)
    assert prices_of("1.299", ".", "EUR") == (1.3,)


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["1.299", "49,90"], ","),
        (["1,299.00", "7"], "."),
        (["12.50", "3.99", "0.5"], "."),
        (["1.299"] * 5, ","),
        (["1,299"] * 5, "."),
        (["1.299"] * 4, ""),
        (["1.50", "1,50"], ""),
        (["12", "call us", ""], ""),
        ([], ""),
    ],
)
def test_many_prices_say_what_their_marks_are(texts: list[str], mark: str) -> None:
    assert usual_decimal(texts) == mark


@pytest.mark.parametrize(
    ("text", "locale", "currency"),
    [
        ("50.700₫", "", "VND"), ("12,50", "", ""), ("129 kr", "nb-NO", "NOK"),
        ("kr 129", "", "SEK"), ("$5 USD", "es-AR", "USD"), ("$5", "es-AR", "ARS"),
        ("ALL 5", "", "ALL"), ("each 5", "", ""),
    ],
)  # fmt: skip
def test_what_currency_a_text_names(text: str, locale: str, currency: str) -> None:
    assert currency_in(text, habits_of(locale)) == currency


@given(st.text(max_size=120), st.sampled_from(["", "de-DE", "es-CL", "en-US", "fr-CH"]))
def test_any_text_has_money_or_none(text: str, locale: str) -> None:
    found = money(text, habits_of(locale))
    assert len(found.prices) <= 2
    assert all(0 <= price < 1e9 for price in found.prices)
    assert bool(found.prices) == bool(found.currency)


def test_every_sign_is_read() -> None:
    """Each stands for its first currency, before or behind a number, and for another by habit."""
    for sign, codes in SIGNS.items():
        for text in (f"{sign} 5", f"5 {sign}"):
            assert money(text) == Money((5.0,), codes[0]), text
            for code in codes:
                assert money(text, Habits(code)) == Money((5.0,), code), text
    for code in CODES:
        assert money(f"{code} 5") == money(f"5 {code}") == Money((5.0,), code)
