"""Somebody writes instructions in a real browser, and the admin reviews them.

`ERRANDS_PICTURES=docs/pictures` takes the pictures anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crowd_site import call, invited
from effort import SLOW
from instructions_served import evil_catalog, qualify
from looking import logged_in, looked_at, opened
from shop_served import Shop, shop_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog

sync_api = pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)

LOOKS = [("phone", True), ("desk", False), ("desk", True), ("phone", False)]
"""A width, and whether scripts run; all of them in `make test-slow`."""
PICTURES = ("writing-form", "writing-problems", "writing-taken", "instructions", "instruction")


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("office") / "site.sqlite") as running:
        yield running


def seen(page: Any, name: str, width: str) -> None:
    looked_at(page, name, width, picture=name in PICTURES)


def fill(page: Any, text: str) -> None:
    """Tick, choose and write, as the labels say."""
    page.locator("#attributes .tick").first.click()
    groups = page.locator("fieldset.option")
    for place in range(groups.count()):
        groups.nth(place).locator(".tick").last.click()
    page.get_by_label("Your instruction").fill(text)


def with_options(page: Any) -> None:
    """Go on to a product that has options."""
    for _ in range(30):
        if page.locator("fieldset.option").count():
            return
        page.click("text=Return this product")
        page.click("text=First product")
    raise AssertionError("no product has options")


@pytest.mark.parametrize(("width", "script"), LOOKS if SLOW else LOOKS[:1])
def test_a_person_writes_instructions(
    browser: Any, little: Catalog, tmp_path: Path, width: str, script: bool
) -> None:
    with shop_served(little, tmp_path / "site.sqlite") as shop:
        token = invited(shop, "Wanda Writer")
        page = opened(browser, width, java_script_enabled=script)

        def look(name: str) -> None:
            if script:
                seen(page, name, width)

        page.goto(f"{shop.url}/work/{token}")
        page.click("text=Start")
        look("writing-start")
        page.click("text=First product")
        with_options(page)
        page.click(".example summary")
        look("writing-form")
        title = page.inner_text(".product h3")
        page.get_by_label("Your instruction").fill(f"{title} please")
        groups = page.locator("fieldset.option")
        for place in range(groups.count()):
            groups.nth(place).locator(".tick").first.click()
        page.click("text=Submit for")
        alert = page.locator("[role=alert]")
        assert "at least one attribute" in alert.inner_text()
        assert "Do not copy the title" in alert.inner_text()
        assert page.get_by_label("Your instruction").input_value() == f"{title} please"
        assert page.locator("input[type=radio]:checked").count() == groups.count()
        look("writing-problems")
        fill(page, "I would like one of these, in the last colour there is")
        page.click("text=Submit for")
        assert "Your instruction was submitted" in page.inner_text("main")
        for number in (2, 3):
            page.click("text=Next product")
            assert f"Trial example {number} of 3" in page.inner_text("main")
            fill(page, f"Could you find me a good one for number {number}?")
            page.click("text=Submit for")
        assert "being reviewed" in page.inner_text("main")
        assert page.locator("form").count() == 0
        look("writing-waiting")
        boss = logged_in(browser, shop, width, "/office/instructions")
        seen(boss, "instructions", width)
        for _ in range(3):
            card = boss.locator("article.review").first
            card.get_by_label("Remark").fill("well said")
            card.locator("button:text-is('Approve')").click()
        boss.click("button:text-is('Qualify')")
        seen(boss, "instructions-done", width)
        boss.locator("#all a").first.click()
        seen(boss, "instruction", width)
        page.reload()
        page.click("text=Next product")
        fill(page, "Something that I was paid for at once")
        page.click("text=Submit for")
        look("writing-taken")
        assert "approved" in page.inner_text("tbody tr:first-child")
        page.goto(f"{shop.url}/work/{token}")
        assert "$0.60" in page.inner_text("main")
        boss.goto(f"{shop.url}/office/instructions")
        with boss.expect_download() as download:
            boss.click("text=Download approved ones")
        assert download.value.suggested_filename == "items_human_ins.json"
        records = json.loads(Path(download.value.path()).read_text())
        written = [one["instruction"] for held in records.values() for one in held]
        assert "something that i was paid for at once" in written
        assert len(written) == 4
        # Chromium itself says that a page had the status 400; nothing else was said.
        assert [text for text in page.complaints if "400" not in text] == []
        assert boss.complaints == []
        page.context.close()
        boss.context.close()


def test_the_keyboard_is_enough(browser: Any, shop: Shop) -> None:
    token = invited(shop, "Keys")
    qualify(shop, token)
    page = opened(browser, "desk")
    page.goto(f"{shop.url}/work/{token}/instructions")
    page.focus("text=Next product")
    page.keyboard.press("Enter")
    page.wait_for_selector("#instruction")
    done: set[str] = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        name, kind = page.evaluate("(e => [e.name || '', e.type || ''])(document.activeElement)")
        if kind in ("checkbox", "radio") and name not in done:
            page.keyboard.press("Space")
            done.add(name)
        elif name == "instruction":
            page.keyboard.type("One of those that fit my keyboard")
        elif kind == "submit":
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none"
            page.keyboard.press("Enter")
            break
    page.wait_for_url("**/instructions?done=*")
    state = json.loads(call(shop, "GET", "/v1/work/instructions", token=token).body)
    assert state["account"]["accepted"] == 4
    page.context.close()


def test_products_that_mean_harm_do_none(browser: Any, tmp_path: Path) -> None:
    catalog = evil_catalog(tmp_path)
    with shop_served(catalog, tmp_path / "site.sqlite") as shop:
        token = invited(shop, "Eve")
        page = opened(browser, "desk")
        page.route("https://example.com/**", lambda route: route.abort())
        page.goto(f"{shop.url}/work/{token}/instructions")
        page.click("text=First product")
        assert "<script>alert(1)</script>" in page.inner_text(".product h3")
        fill(page, "please <script>alert(4)</script> <img src=x onerror=alert(5)> some")
        page.click("text=Submit for")
        boss = logged_in(browser, shop, "desk", "/office/instructions")
        boss.route("https://example.com/**", lambda route: route.abort())
        assert "<script>alert(4)</script>" in boss.inner_text("article.review")
        for one in (page, boss):
            said = [text for text in one.complaints if "ERR_" not in text]
            assert said == [], "no dialog, no script that was refused"
            one.context.close()
