"""Reading original records: prices, options, and what is refused."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.product import Unusable, parse_price, parse_product, price_tag


def record(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "asin": "B000000001",
        "name": "A Lamp",
        "full_description": "Light.",
        "small_description": ["bright ", "small"],
        "pricing": "$10.99",
        "customization_options": "",
        "category": "garden",
        "query": " Table Lamps ",
        "product_category": "Home › Lamps",
        "images": ["a.jpg", "b.jpg"],
    }
    return {key: value for key, value in {**base, **changes}.items() if value is not ...}


@pytest.mark.parametrize(
    ("pricing", "prices", "tag"),
    [
        ("$10.99", (10.99,), "$10.99"),
        ("$877.80", (877.8,), "$877.8"),
        ("$34.00", (34.0,), "$34.0"),
        ("$1,299.00", (1299.0,), "$1299.0"),
        ("$5.00 - $20.50", (5.0, 20.5), "$5.0 to $20.5"),
        ("$1.00 $2.00 $3.00", (1.0, 2.0), "$1.0 to $2.0"),
        ("USD 3 $4.50 each", (4.5,), "$4.5"),
        ("", (100.0,), "$100.0"),
        (None, (100.0,), "$100.0"),
    ],
)
def test_price(pricing: str | None, prices: tuple[float, ...], tag: str) -> None:
    assert parse_price(pricing) == prices
    assert price_tag(prices) == tag


@pytest.mark.parametrize("pricing", ["12.00", "free", "$", "$1.2.3", 12])
def test_a_price_the_original_would_crash_on_is_refused(pricing: Any) -> None:
    with pytest.raises(Unusable):
        parse_price(pricing)


def test_fields() -> None:
    product = parse_product(record(), ["soft light"])
    assert product.title == "A Lamp"
    assert product.bullets == ("bright ", "small")
    assert product.query == "table lamps"
    assert product.image == "a.jpg"
    assert product.attributes == ("soft light",)
    assert parse_product(record(), None).attributes == ("DUMMY_ATTR",)
    assert parse_product(record(), []).attributes == ()
    assert parse_product(record(small_description="one text"), []).bullets == ("one text",)


def test_options() -> None:
    raw = {
        "Color": [
            {"value": " Red/Blue ", "image": "r.jpg"},
            {"value": "GREEN"},
            {"value": "green", "image": None},
        ],
        "Size": None,
        "Fit Type": [],
    }
    product = parse_product(record(customization_options=raw), [])
    assert product.options == {"color": ("red | blue", "green", "green"), "fit type": ()}
    assert product.option_images == {"red | blue": "r.jpg", "green": None}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"asin": "nan"}, "asin is not"),
        ({"asin": "B0000000012"}, "asin is not"),
        ({"asin": ...}, "no asin"),
        ({"name": ...}, "no name"),
        ({"images": []}, "no image"),
        ({"images": ...}, "no images"),
        ({"pricing": "10"}, "price without"),
        ({"full_description": None}, "full_description is not text"),
        ({"small_description": [1]}, "small_description is not text"),
        ({"customization_options": "size"}, "options are not"),
        ({"customization_options": {"size": [{}]}}, "option without"),
    ],
)
def test_refused_records_say_why(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        parse_product(record(**changes), [])


def test_a_short_asin_is_accepted() -> None:
    assert parse_product(record(asin="B1"), []).asin == "B1"


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(record())), _json)
def test_any_value_of_any_field_is_read_or_refused(key: str, value: Any) -> None:
    with contextlib.suppress(Unusable):
        parse_product(record(**{key: value}), [])


@given(_json)
def test_any_record_is_read_or_refused(value: Any) -> None:
    with pytest.raises(Unusable):
        parse_product(value, [])
