"""The front desk in a real browser: logging in, inviting somebody, their own page."""

from collections.abc import Iterator
from typing import Any

import pytest
from effort import sampled
from looking import WIDTHS, logged_in, looked_at, opened
from shop_served import Shop, shop_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog

sync_api = pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("office") / "site.sqlite") as running:
        yield running


@pytest.mark.parametrize("width", sampled(WIDTHS, "phone"))
def test_an_admin_invites_a_worker(browser: Any, shop: Shop, width: str) -> None:
    page = opened(browser, width)
    page.goto(f"{shop.url}/office")
    looked_at(page, "login", width)
    page.fill("#password", "a wrong guess")
    page.click("button:text-is('Log in')")
    assert page.get_by_role("alert").inner_text() == "That is not the password."
    page = logged_in(browser, shop, width)
    looked_at(page, "front", width)
    page.click("nav >> text=Accounts")
    page.get_by_label("Names").fill("Ann Lee\nBob <script>alert(1)</script>")
    page.click("button:text-is('Invite')")
    looked_at(page, "people", width)
    link = page.locator(".secret").first.inner_text()
    worker = opened(browser, width)
    worker.goto(link)
    assert worker.get_by_text("Ann Lee").is_visible()
    looked_at(worker, "work", width)
    assert worker.context.cookies() == []
    worker.goto(f"{link}x")
    assert "leads nowhere" in worker.inner_text("main")
    looked_at(worker, "nowhere", width, picture=False)
    assert [said for said in (*page.complaints, *worker.complaints) if "404" not in said] == []


def test_the_keyboard_is_enough(browser: Any, shop: Shop) -> None:
    page = logged_in(browser, shop, "desk", "/office/people")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Karl")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".secret")
    assert page.locator(".secret").count() == 1
