"""The product JSON in pages of Shopify's."""

import json
from typing import Any

import pytest

from errands.transfer.sites.markup import parse
from errands.transfer.sites.shopify import shopify_product
from errands.transfer.sites.site import site_named

LAMP: dict[str, Any] = {
    "id": 7, "title": "Desk &amp; Wall Lamp", "handle": "desk-lamp", "price": 2900,
    "description": "<p>Warm <b>light</b>.</p>", "featured_image": "//cdn.example/lamp.jpg",
    "options": ["Color", "Size"],
    "variants": [
        {"id": 1, "option1": "Red", "option2": "S", "price": 2900,
         "featured_image": {"src": "//cdn.example/red.jpg"}},
        {"id": 2, "option1": "Blue", "option2": "S", "price": 3150, "featured_image": None},
        {"id": 3, "option1": "Blue", "option2": "L", "price": 3150, "featured_image": None},
    ],
}  # fmt: skip


def _pages(product: Any) -> list[str]:
    told = json.dumps(product)
    return [
        f'<script type="application/json" id="ProductJson-x">{told}</script>',
        f'<script type="application/json">{json.dumps({"product": product})}</script>',
        f'<script>var meta = {{"product":{told},"page":{{}}}};</script>',
        f"<script>theme.product = {told}; start();</script>",
        f"<script>new Shopify.OptionSelectors('x', {{ product: {told}, onVariantSelected: f }});"
        "</script>",
    ]


@pytest.mark.parametrize("page", _pages(LAMP))
def test_what_themes_put_into_pages(page: str) -> None:
    page = f'<html><meta property="og:price:currency" content="EUR">{page}</html>'
    found = site_named("schema.org").read_item(page, "https://shop.example/products/desk-lamp")
    assert site_named("schema.org").kind(page) == "item"
    assert found.title == "Desk & Wall Lamp"
    assert (found.prices, found.currency) == ((29.0, 31.5), "EUR")
    assert found.options == {"Color": ("Red", "Blue"), "Size": ("S", "L")}
    assert found.option_images == {"Red": "https://cdn.example/red.jpg"}
    assert found.description == "Warm light ."
    assert found.image == "https://cdn.example/lamp.jpg"


def test_schema_orgs_price_with_the_themes_options() -> None:
    data = {"@type": "Product", "name": "Lamp", "offers": {"price": 29, "priceCurrency": "USD"}}
    page = f'<script type="application/ld+json">{json.dumps(data)}</script>{_pages(LAMP)[0]}'
    found = site_named("schema.org").read_item(page)
    assert (found.title, found.prices) == ("Lamp", (29.0,))
    assert found.options["Size"] == ("S", "L")


@pytest.mark.parametrize(
    ("price", "read"), [(2900, 29.0), ("29.00", 29.0), (29.5, 29.5), ("x", None), (True, None)]
)
def test_cents_and_prices(price: Any, read: float | None) -> None:
    product = {**LAMP, "variants": [{"price": price, "option1": "Default Title"}]}
    found = shopify_product(parse(_pages(product)[0], keep_scripts=True))
    assert found is not None
    assert found.prices == (() if read is None else (read,))
    assert found.options == {}


@pytest.mark.parametrize(
    "told",
    [
        '{"variants": 3}', '{"variants": [1], "title": "x", "options": []}', '{"variants"',
        '{"variants":' + "[" * 5_000, '["variants"]',
        '{"variants":[{"option1":[1]}],"title":"x","options":[{"name":3},null,1]}',
    ],
)  # fmt: skip
def test_json_that_says_anything(told: str) -> None:
    for page in (
        f'<script type="application/json">{told}</script>',
        f'<script>var product = {{"id":1,{told[1:]}</script>',
    ):
        found = shopify_product(parse(page, keep_scripts=True))
        assert found is None or found.title == "x"
