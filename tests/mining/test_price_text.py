"""Prices as people write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.mining.price_text import BadPrice, prices_of


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
