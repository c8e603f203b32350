"""A person in a real browser: finds, customises and buys, on a desk and on a phone.

`ERRANDS_PICTURES=docs/pictures` writes the screenshots anew.
"""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from effort import SLOW, sampled
from shop_served import Shop, shop_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DONE, ITEM, RESULTS, SEARCH
from errands.shop.product import Product
from errands.shop.rewards.rules import matches
from errands.shop.urls import Address, build

sync_api = pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)

WIDTHS = {"desk": (1100, 740), "phone": (390, 844)}


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    log = tmp_path_factory.mktemp("site") / "log.sqlite"
    with shop_served(little, log, attrs=True) as running:
        yield running


class Errand(NamedTuple):
    """Something to be found: with two groups of options, one of which changes the picture."""

    goal: int
    product: Product
    query: str
    choices: dict[str, str]


@pytest.fixture(scope="module")
def errand(little: Catalog) -> Errand:
    goals = little.goals("synthetic")
    for index in range(len(goals)):
        choices, product = goals[index].goal_options, little[goals[index].asin]
        assert isinstance(choices, dict)
        shown = {name: product.option_images.get(value) for name, value in choices.items()}
        # All as wanted but for one option, so that the score has something to explain.
        others = [
            {**choices, name: other}
            for name, value in choices.items()
            for other in product.options[name]
            if not shown[name] and not matches(other, str((name, value)))
        ]
        if len(choices) == 2 and others and set(shown.values()) - {None, product.image}:
            break
    words = re.sub("[^a-z ]", "", product.title.lower()).split()
    query = next(
        query
        for query in (" ".join(words[:count]) for count in range(2, len(words) + 1))
        if product.asin in [hit.asin for hit in little.search(query, 10)]
    )
    return Errand(index, product, query, others[0])


def opened(browser: Any, width: str, **more: Any) -> Any:
    wide, high = WIDTHS[width]
    context = browser.new_context(viewport={"width": wide, "height": high}, **more)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    return page


def photograph(page: Any, name: str, width: str) -> None:
    folder = os.environ.get("ERRANDS_PICTURES")
    if folder:
        page.screenshot(path=f"{folder}/site-{name}-{width}.png", full_page=name == "done")


def has_no_sideways_scrolling(page: Any) -> bool:
    page.wait_for_load_state()
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


LOOKS = [("phone", True), ("desk", False), ("desk", True), ("phone", False)]
"""A width, and whether scripts run; the first two have both of each."""


@pytest.mark.parametrize(("width", "script"), LOOKS if SLOW else LOOKS[:2])
def test_a_person_buys_something(
    browser: Any, shop: Shop, errand: Errand, width: str, script: bool
) -> None:
    name = f"fixed_{width}_{script}_{errand.goal}"
    wanted = errand.product
    page = opened(browser, width, java_script_enabled=script)
    shot = width if script else ""

    def seen(what: str) -> None:
        if shot:
            assert has_no_sideways_scrolling(page), what
            photograph(page, what, shot)

    page.goto(f"{shop.url}/{name}")
    seen("search")
    # The field has the focus: typing is enough.
    if script:
        page.keyboard.type(errand.query)
        page.keyboard.press("Enter")
    else:
        page.fill("#search_input", errand.query)
        page.click("text=Search")
    page.wait_for_url("**/search_results/**")
    seen("results")
    page.click(f"a.product-link:text-is('{wanted.asin}')")
    page.wait_for_url("**/item_page/**")
    plain = page.get_attribute("#product-image", "src")
    seen("item")
    pictures = set()
    for group, value in errand.choices.items():
        inside = f".radio-toolbar:has(input[name={quoted(group)}])"
        page.click(f"{inside} .pill a[aria-label={quoted(value)}]")
        page.wait_for_load_state()
        pictures.add(page.get_attribute("#product-image", "src"))
        checked = page.locator("input[type=radio]:checked")
        assert value in [
            checked.nth(place).get_attribute("value") for place in range(checked.count())
        ]
        if script:
            # One goes on where one was, not at the top of the page.
            assert page.locator(inside).bounding_box()["y"] < WIDTHS[width][1]
    assert pictures - {plain}
    seen("item-chosen")
    page.click("button:text-is('Features')")
    page.wait_for_url("**/Features/**")
    seen("features")
    page.go_back()
    page.wait_for_url("**/item_page/**")
    page.click("button:text-is('Buy Now')")
    page.wait_for_url("**/done/**")
    seen("done")
    score = float(page.inner_text("#reward pre"))
    assert 0 < score < 1
    tick = "getComputedStyle(document.querySelector('.thanks'), '::before').content"
    assert "✓" in page.evaluate(tick)
    page.evaluate("document.querySelector('meter').setAttribute('value', '0')")
    assert page.evaluate(tick) == "none", "nothing was right about it"
    page.reload()
    assert float(page.inner_text("#reward pre")) == score
    assert page.complaints == []
    steps = [(step.action, step.exact) for step in shop.steps(name)]
    assert steps == [
        ("", True),
        (f"search[{errand.query}]", True),
        (f"click[{wanted.asin.lower()}]", True),
        *((f"click[{value}]", True) for value in errand.choices.values()),
        ("click[features]", True),
        ("click[< prev]", True),
        ("click[buy now]", True),
    ]
    page.context.close()


def quoted(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def test_a_program_drives_the_browser_and_is_told_the_reward(
    browser: Any, shop: Shop, errand: Errand
) -> None:
    page = opened(browser, "desk")
    page.goto(f"{shop.url}/?goal={errand.goal}")
    session = page.url.rsplit("/", 1)[1]
    result = f"{shop.url}/api/sessions/{session}/result"
    assert not page.request.get(result).json()["done"]
    chosen = tuple(errand.choices.items())
    item = Address(ITEM, session, errand.query, 1, errand.product.asin, chosen)
    page.goto(shop.url + build(item))
    page.get_by_role("button", name="Buy Now").click()
    page.wait_for_url("**/done/**")
    told = page.request.get(result).json()
    assert told["done"]
    assert told["goal"] == errand.goal
    assert 0.0 < told["reward"] < 1.0
    assert page.goto(result).json() == told
    stranger = opened(browser, "desk")
    assert stranger.request.get(result).status == 403


@pytest.mark.parametrize("width", sampled(WIDTHS, "desk"))
def test_whatever_of_an_option_a_script_clicks_chooses_it(
    browser: Any, shop: Shop, errand: Errand, width: str
) -> None:
    [(name, values), *_] = errand.product.options.items()
    value = values[-1]
    here = Address(ITEM, f"clicks-{width}", errand.query, 1, errand.product.asin)
    page = opened(browser, width)
    radio = page.locator(f"input[type=radio][name={quoted(name)}][value={quoted(value)}]")
    pill = page.locator(".pill").filter(has=radio)

    def chosen(click: Callable[[], Any]) -> str:
        page.goto(shop.url + build(here))
        assert not radio.is_checked()
        with page.expect_navigation():
            click()
        assert radio.is_checked()
        return str(page.url).partition("#")[0]

    reached = {
        chosen(lambda: radio.click(timeout=5000)),
        chosen(lambda: radio.check(timeout=5000, no_wait_after=True)),
        chosen(lambda: pill.locator("label").click(timeout=5000)),
        chosen(lambda: pill.locator("a").click(timeout=5000)),
        # What the original's WebAgentSiteEnv does where a click fails.
        chosen(lambda: radio.evaluate("radio => radio.click()")),
    }
    assert reached == {shop.url + build(here._replace(options=((name, value),)))}
    page.go_back()
    assert not radio.is_checked()
    assert page.complaints == []
    exact = [step.action for step in shop.steps(here.session) if step.exact]
    assert exact.count(f"click[{value}]") == 5
    page.context.close()


@pytest.mark.parametrize("kind", [RESULTS, ITEM])
def test_a_picture_that_cannot_be_loaded_is_a_drawing(
    browser: Any, shop: Shop, errand: Errand, kind: str
) -> None:
    page = opened(browser, "desk")
    page.route("**/pictures/**", lambda route: route.abort())
    page.goto(shop.url + build(Address(kind, "lost", errand.query, 1, errand.product.asin)))
    frame = page.locator(".picture").first
    drawing = frame.screenshot()
    # It covers the browser's own sign and the title that would stand there.
    page.evaluate("document.querySelector('.picture img').alt += ' and more'")
    assert frame.screenshot() == drawing
    none = ".picture img::after { display: none !important }"
    page.evaluate("rule => document.styleSheets[0].insertRule(rule)", none)
    assert frame.screenshot() != drawing
    # A picture that is there is not covered.
    page.unroute("**/pictures/**")
    page.reload()
    assert frame.screenshot() != drawing
    page.context.close()


def test_the_keyboard_is_enough(browser: Any, shop: Shop, errand: Errand) -> None:
    wanted = errand.product
    page = opened(browser, "desk")
    page.goto(shop.url + build(Address(ITEM, "keys", "lamp", 1, wanted.asin)))
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(e => e.getAttribute('aria-label') || e.innerText || '')(document.activeElement)"
            )
        )
        # What has the focus can be seen, and shows it.
        if reached[-1] == "Buy Now":
            break
    options = [value for values in wanted.options.values() for value in values]
    assert [name for name in reached if name in options] == options
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/done/**")
    page.context.close()


PAGES = {
    "search": Address(SEARCH, "axe"),
    "results": Address(RESULTS, "axe", "lamp"),
    "empty results": Address(RESULTS, "axe", "zzzz", 5),
    "item": Address(ITEM, "axe", "lamp"),
    "description": Address("description", "axe", "lamp"),
    "features": Address("features", "axe", "lamp"),
    "reviews": Address("reviews", "axe", "lamp"),
    "attributes": Address("attributes", "axe", "lamp"),
    "done": Address(DONE, "axe"),
    "no such product": Address(ITEM, "axe", "lamp", 1, "B000000000"),
    "bought already": Address(DONE, "axe", asin="B000000000"),
}


@pytest.mark.parametrize("width", sampled(WIDTHS, "phone"))
def test_axe_finds_nothing_serious(browser: Any, shop: Shop, errand: Errand, width: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-core is not installed: pip install axe-playwright-python",
    ).Axe()
    options = tuple(errand.choices.items())
    page = opened(browser, width)
    found = []
    for name, address in PAGES.items():
        if not address.asin:
            address = address._replace(asin=errand.product.asin, options=options)
        page.goto(shop.url + build(address))
        if name == "done":
            page.click("summary")
        if "such" in name or "already" in name:
            photograph(page, "notice", width)
        assert page.title()
        for violation in axe.run(page).response["violations"]:
            if violation["impact"] in ("serious", "critical"):
                nodes = [node["html"][:200] for node in violation["nodes"]]
                found.append((name, violation["id"], nodes))
    assert not found
    page.context.close()
