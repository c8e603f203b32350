"""Somebody scores purchases in a real browser, wide and narrow, with and without scripts.

`ERRANDS_PICTURES=docs/pictures` takes the pictures anew.
"""

from pathlib import Path
from typing import Any

import pytest
from effort import SLOW
from instructions_served import evil_catalog
from looking import looked_at, opened
from scoring_served import played, read, scoring_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog
from errands.verify.hand_scores import read_hand_scores
from errands.verify.verification import Material

sync_api = pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)


@pytest.fixture(scope="module")
def material(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Material:
    return read(played(little, tmp_path_factory.mktemp("runs") / "run"))


LOOKS = [("phone", True), ("desk", False), ("desk", True), ("phone", False)]
"""A width, and whether scripts run; the first two have both of each."""


@pytest.mark.parametrize(("width", "script"), LOOKS if SLOW else LOOKS[:2])
def test_a_person_scores_purchases(
    browser: Any, material: Material, tmp_path: Path, width: str, script: bool
) -> None:
    path = tmp_path / "hand.jsonl"
    with scoring_served(material, path, 3) as desk:
        page = opened(browser, width, java_script_enabled=script)

        def look(name: str, picture: bool = False) -> None:
            if script:
                page.evaluate("window.scrollTo(0, 0)")
                looked_at(page, name, width, picture=picture)

        page.goto(desk.url)
        look("scoring-start")
        page.click("text=Start with purchase 1")
        for place in (1, 2, 3):
            assert f"Purchase {place} of 3" in page.inner_text("h1")
            page.get_by_label("Yes, it is that kind of product").check()
            page.locator("input[name=attribute]").first.check()
            page.locator("input[name=price]").check()
            page.get_by_label("Remark").fill("found <i>nothing</i> amiss")
            look("scoring", picture=page.locator("mark").count() > 0)
            page.click("text=Save and continue")
        assert "3 of 3 scored" in page.inner_text("main")
        assert "by hand" in page.inner_text("main")
        look("scoring-done")
        assert page.complaints == []
        page.context.close()
    kept = read_hand_scores(path, material.info.id)
    assert [(one.type, one.price) for one in kept.values()] == [(1.0, True)] * 3


def test_the_keyboard_is_enough(browser: Any, material: Material, tmp_path: Path) -> None:
    path = tmp_path / "hand.jsonl"
    with scoring_served(material, path, 1) as desk:
        page = opened(browser, "desk")
        page.goto(f"{desk.url}/scoring/1")
        for _ in range(60):
            page.keyboard.press("Tab")
            kind = page.evaluate("document.activeElement.type || ''")
            if kind in ("radio", "checkbox"):
                page.keyboard.press("Space")
            elif kind == "submit":
                page.keyboard.press("Enter")
                break
        page.wait_for_url("**/scoring")
        page.context.close()
    (kept,) = read_hand_scores(path, material.info.id).values()
    assert kept.price
    assert all(kept.attributes)


def test_products_that_mean_harm_do_none(browser: Any, tmp_path: Path) -> None:
    catalog = evil_catalog(tmp_path)
    material = read(played(catalog, tmp_path / "run", "rule", 1))
    with scoring_served(material, tmp_path / "hand.jsonl", 1) as desk:
        page = opened(browser, "desk")
        page.route("https://example.com/**", lambda route: route.abort())
        page.goto(f"{desk.url}/scoring/1")
        assert "<script>alert(1)</script>" in page.inner_text(".product h3")
        page.get_by_label("Yes, it is that kind of product").check()
        page.click("text=Save and continue")
        assert "by hand" in page.inner_text("main")
        assert [text for text in page.complaints if "ERR_" not in text] == []
        page.context.close()
