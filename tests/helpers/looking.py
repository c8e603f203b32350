"""Pages of the office in a real browser, wide and narrow; pictures of them for the docs.

`ERRANDS_PICTURES=docs/pictures` takes the pictures anew.
"""

import os
from typing import Any

import pytest
from shop_served import PASSWORD, Shop

WIDTHS = {"desk": (1280, 800), "phone": (390, 844)}
TALLEST = 1600
"""Pixels of a picture."""


def opened(browser: Any, width: str = "desk", **more: Any) -> Any:
    """A page of a browser that knows nobody; what it complains about is kept with it."""
    wide, high = WIDTHS[width]
    context = browser.new_context(viewport={"width": wide, "height": high}, **more)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.warned = 0
    page.on("dialog", lambda dialog: _answered(page, dialog))
    return page


def _answered(page: Any, dialog: Any) -> None:
    """Who is warned of leaving leaves; nothing else should ask."""
    if dialog.type == "beforeunload":
        page.warned += 1
    else:
        page.complaints.append(dialog.message)
    dialog.accept()


def logged_in(
    browser: Any, shop: Shop, width: str = "desk", address: str = "/office", **more: Any
) -> Any:
    """The admin, who has come to a page of the office."""
    page = opened(browser, width, **more)
    page.goto(f"{shop.url}/office/login")
    page.fill("#password", PASSWORD)
    page.click("button:text-is('Log in')")
    page.wait_for_url("**/office")
    if address != "/office":
        page.goto(f"{shop.url}{address}")
    return page


def serious(page: Any) -> list[Any]:
    """What axe-core finds that is serious; tasks in their frames are other people's."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-core is not installed: pip install axe-playwright-python",
    ).Axe()
    # All of the violations, and no list of all that is as it should be, which takes as long.
    options = {"iframes": False, "resultTypes": ["violations"]}
    return [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in axe.run(page, options=options).response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


def looked_at(page: Any, name: str, width: str, *, picture: bool = True) -> None:
    """It fits its window, axe finds nothing serious, and a picture is taken if wanted."""
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    assert serious(page) == [], name
    folder = os.environ.get("ERRANDS_PICTURES")
    if folder and picture:
        wide, high = WIDTHS[width]
        whole = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": wide, "height": max(high, min(whole, TALLEST))})
        page.screenshot(path=f"{folder}/office-{name}-{width}.png")
        page.set_viewport_size({"width": wide, "height": high})
