"""A visitor who goes from place to place, on a desk and on a phone."""

from collections.abc import Iterator
from typing import Any

import pytest
from effort import sampled
from looking import WIDTHS, looked_at, opened
from shop_served import Shop
from whole_site import whole_site

from errands.shop.catalog.catalog import Catalog


@pytest.fixture(scope="module")
def site(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with whole_site(little, tmp_path_factory.mktemp("whole")) as running:
        yield running


@pytest.mark.parametrize("width", sampled(WIDTHS, "phone"))
def test_a_visitor_goes_everywhere(browser: Any, site: Shop, width: str) -> None:
    # Without scripts: they are needed nowhere on the way.
    page = opened(browser, width, java_script_enabled=False)
    page.goto(f"{site.url}/")
    seen = [page.url]
    for name in ("Shop", "Crowd work", "Runs", "Environment API", "Errands"):
        page.get_by_role("navigation", name="Errands").get_by_role("link", name=name).click()
        page.wait_for_load_state()
        seen.append(page.url)
    assert len(set(seen)) == 5
    assert seen[-1] == seen[0]
    assert page.complaints == []
    page.context.close()
    page = opened(browser, width)
    for place, address in (("home", "/"), ("api", "/api"), ("runs", "/runs")):
        page.goto(f"{site.url}{address}")
        looked_at(page, place, width, picture=False)
        # The bar is one line.
        assert page.locator(".places").bounding_box()["height"] < 50
    page.context.close()
