"""Addresses as the original's text environment spells them."""

import pytest

from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import Page, State
from errands.shop.render.page_url import BASE_URL, page_url


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State(), "/s"),
        (State("results", "red  shoes/x", 3), "/search_results/s/red++shoes/x/3"),
        (State("item", "a b", 1), "/item_page/s/{asin}/a+b/1/{{}}"),
        (
            State("item", "a", 2, options=(("size", 'é"'),)),
            '/item_page/s/{asin}/a/2/{{"size": "\\u00e9\\""}}',
        ),
        (
            State("features", "a", 2, options=(("size", "9"),)),
            "/item_sub_page/s/{asin}/a/2/Features/{{'size': '9'}}",
        ),
        (State("done", "a", 2, options=(("size", "9"),)), "/done/s/{asin}/{{'size': '9'}}"),
    ],
)
def test_addresses(little: Catalog, state: State, expected: str) -> None:
    product = little.product(0)
    page = Page(state, [], product, {})
    assert page_url(page, "s") == BASE_URL + expected.format(asin=product.asin)
