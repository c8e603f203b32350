"""A worker in a real browser: reads, shops, buys, hands in the code; and the admin who looks.

`ERRANDS_PICTURES=docs/pictures` writes the screenshots anew.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from crowd_site import call, invited
from effort import sampled
from looking import WIDTHS, looked_at, opened
from shop_served import PASSWORD, Shop, shop_served
from shopping_served import ADMIN, OWN, begin, buy, goal_of, read

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog

sync_api = pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("office") / "site.sqlite") as running:
        yield running


@pytest.mark.parametrize("width", sampled(WIDTHS, "phone"))
def test_a_worker_shops_and_hands_in_the_code(
    browser: Any, shop: Shop, little: Catalog, width: str
) -> None:
    token = invited(shop, f"Ann on a {width}")
    page = opened(browser, width)
    page.goto(f"{shop.url}/work/{token}")
    page.click(".card:has(h2:text-is('Shopping')) a.btn")
    page.click("summary:has-text('How it works')")
    assert page.get_by_text("Do not paste the whole sentence").is_visible()
    looked_at(page, "shopping-guide", width)
    page.click("button:text-is('Start shopping')")
    wanted = page.inner_text("blockquote")
    looked_at(page, "shopping-errand", width)
    with page.context.expect_page() as waiting:
        page.click("text=Open the shop")
    tab = waiting.value
    tab.wait_for_load_state()
    assert wanted in tab.inner_text("body")
    [errand] = read(call(shop, "GET", OWN, token=token))["errands"]
    goal = little.goals("synthetic")[goal_of(shop, errand["address"][1:])]
    product = little[goal.asin]
    assert goal.asin not in page.content() + tab.content()
    tab.fill("#search_input", re.sub("[^a-z ]", "", product.title.lower()))
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search_results/**")
    tab.click(f"a.product-link:text-is('{product.asin}')")
    tab.wait_for_url("**/item_page/**")
    assert isinstance(goal.goal_options, dict)
    for name, value in goal.goal_options.items():
        inside = f".radio-toolbar:has(input[name={_quoted(name)}])"
        tab.click(f"{inside} .pill a[aria-label={_quoted(value)}]")
        tab.wait_for_load_state()
    tab.click("button:text-is('Buy Now')")
    tab.wait_for_url("**/done/**")
    code = tab.inner_text("#code")
    assert re.fullmatch("[0-9A-F]{10}", code)
    tab.close()
    page.click("text=I have bought something")
    assert "Recorded." in page.inner_text("main")
    page.fill("#code", "ABCDEF0123")
    page.click("button:text-is('Submit')")
    assert "not the code of one of your assignments" in page.inner_text("[role=alert]")
    page.fill("#code", code)
    page.click("button:text-is('Submit')")
    page.wait_for_selector("text=Your code was accepted.")
    looked_at(page, "shopping-done", width)
    page.context.close()
    [errand] = read(call(shop, "GET", OWN, token=token))["errands"]
    assert (errand["state"], errand["reward"], errand["is_coded"]) == ("done", 1.0, True)


def test_it_works_without_scripts(browser: Any, shop: Shop) -> None:
    token = invited(shop, "Nina without scripts")
    page = opened(browser, "desk", java_script_enabled=False)
    page.goto(f"{shop.url}/work/{token}/shopping")
    page.click("button:text-is('Start shopping')")
    page.click("button:text-is('Return')")
    assert "returned" in page.inner_text("main")
    page.click("button:text-is('Start shopping')")
    assert page.locator("blockquote").count() == 1
    page.context.close()


@pytest.mark.parametrize("width", sampled(WIDTHS, "desk"))
def test_the_admin_looks(browser: Any, shop: Shop, little: Catalog, width: str) -> None:
    if read(call(shop, "GET", ADMIN))["finished"] < 12:
        for place, name in enumerate(("Berta", "Carl", "Dora")):
            token = invited(shop, name)
            for number in range(5 if place == 2 else 7):
                buy(shop, little, begin(shop, token), well=place != 2 and number != place)
    page = opened(browser, width)
    page.goto(f"{shop.url}/office/login")
    page.fill("#password", PASSWORD)
    page.click("button:text-is('Log in')")
    page.goto(f"{shop.url}/office/demonstrations?trials=1")
    looked_at(page, "demonstrations", width)
    assert page.locator("text=expert").count() > 0
    row = page.locator("tr:has(th:has-text('Dora'))")
    assert "refused" in row.inner_text()
    row.locator("button:text-is('Qualify')").click()
    page.wait_for_load_state()
    row = page.locator("tr:has(th:has-text('Dora'))")
    assert "by hand" in row.inner_text()
    row.locator("button:text-is('Use trial result')").click()
    page.wait_for_load_state()
    page.locator("table").nth(2).locator("tbody a").first.click()
    page.wait_for_selector("h2:text-is('Steps')")
    assert "click[buy now]" in page.inner_text("main")
    looked_at(page, "demonstration", width)
    page.goto(f"{shop.url}/office/demonstrations")
    with page.expect_download() as waiting:
        page.click("text=Qualified (JSONL)")
    with open(waiting.value.path()) as lines:
        assert len(lines.readlines()) == 4, "two of each who passed; trials are left out"
    page.context.close()


def _quoted(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"
