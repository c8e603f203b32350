"""Runs looked at in a real browser: by keyboard, without scripts, on a phone, by axe-core."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import sampled
from runs_served import runs_served, start_runner, write_protocol
from served import Served

from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog

PICTURES = os.environ.get("ERRANDS_PICTURES")
"""A folder for screenshots; nothing is written unless it is named."""
SIZES = {"desktop": (1280, 860), "phone": (390, 844)}


@pytest.fixture(scope="module")
def folder(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("looked-at")
    protocol = write_protocol(place, Path(little.path), 40)
    run(protocol, "careful", out=place / "runs" / "careful")
    run(protocol, "rule", out=place / "runs" / "rule")
    run(protocol, "random", out=place / "runs" / "random")
    run("turk-demo", "oracle", out=place / "runs" / "forms", episodes=6)
    return place / "runs"


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Served]:
    with runs_served(folder) as running:
        yield running


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page whose console must stay quiet."""
    opened = browser.new_page(viewport={"width": 1280, "height": 860})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    opened.close()
    assert said == []


def ids(site: Served) -> dict[str, str]:
    return {row["agent"]: row["id"] for row in site.ask("/v1/runs")[1]["runs"]}


def test_a_replay_is_watched_step_by_step_with_the_keyboard(site: Served, page: Any) -> None:
    page.goto(f"{site.url}/runs")
    page.get_by_role("link", name="careful", exact=True).first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/careful-*")
    page.locator("#episodes tbody a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/episodes/0")
    steps = len(site.ask(f"/v1/runs/{ids(site)['careful']}/episodes/0")[1]["steps"])
    for step in range(1, steps + 1):
        assert page.locator("h1").inner_text() == f"Episode 0, step {step}"
        assert "fingerprint is that of the page" in page.locator(".page .proof").inner_text()
        frame = page.frame_locator("iframe")
        assert "instruction" in frame.locator("body").inner_text().lower()
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**?step={step + 1 if step < steps else 'end'}#step")
    assert page.locator("h1").inner_text() == "Episode 0, the end"
    assert "reward" in page.locator(".step").inner_text()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**?step={steps}#step")
    # Where no arrow is known, the step itself is where the keyboard goes on.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.rel") == "prev"


def test_all_of_it_works_without_scripts(site: Served, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/runs")
    for name in ("careful", "rule"):
        page.get_by_label(f"Compare runs/{name}", exact=True).check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    assert "Sign-flip test" in page.content()
    page.goto(f"{site.url}/runs/{ids(site)['careful']}")
    page.get_by_label("Sorted by").select_option("reward")
    page.get_by_label("Order").select_option("down")
    page.locator("#episodes").get_by_role("button", name="Show").click()
    rewards = page.locator("#episodes tbody td:nth-child(4)").all_inner_texts()
    assert rewards == sorted(rewards, reverse=True)
    page.locator("#episodes tbody a").first.click()
    page.get_by_role("link", name="next →").click()
    assert page.locator("h1").inner_text().endswith("step 2")
    assert page.frame_locator("iframe").locator("body").inner_text()
    context.close()


def test_a_page_in_its_frame_can_do_nothing(site: Served, page: Any) -> None:
    page.goto(f"{site.url}/runs/{ids(site)['careful']}/episodes/0")
    frame = page.frames[1]
    assert page.evaluate("document.querySelector('iframe').contentDocument") is None
    assert frame.locator("script").count() == 0
    assert frame.locator("a[href]").count() == 0


def test_a_run_in_progress_moves_in_the_browser(little: Catalog, tmp_path: Path, page: Any) -> None:
    (tmp_path / "runs").mkdir()
    protocol = write_protocol(tmp_path, Path(little.path), 90)
    runner = start_runner(protocol, tmp_path / "runs" / "slow")
    try:
        with runs_served(tmp_path / "runs") as site:
            while not [row for row in site.ask("/v1/runs")[1]["runs"] if row["kept"] > 1]:
                assert runner.poll() is None
            page.goto(f"{site.url}/runs")
            first = page.locator("progress").get_attribute("value")
            page.wait_for_function(
                "was => document.querySelector('progress').getAttribute('value') !== was",
                arg=first,
                timeout=60_000,
            )
            page.goto(f"{site.url}/runs/{next(iter(ids(site).values()))}")
            bar = page.locator("#live progress")
            shown = int(bar.get_attribute("value"))
            page.wait_for_function(
                "was => { const bar = document.querySelector('#live progress');"
                " return bar && Number(bar.value) > was + 2; }",
                arg=shown,
                timeout=60_000,
            )
            shoot(page, "live")
            (tmp_path / "hurry").touch()
            # When it is over, the page is loaded once more, and stands still.
            page.locator("#live").wait_for(state="detached", timeout=60_000)
            assert page.get_by_text("complete").count() == 1
            assert runner.wait(60) == 0
    finally:
        runner.kill()
        runner.communicate()


def addresses(site: Served) -> dict[str, str]:
    known = ids(site)
    return {
        "list": "/runs",
        "run": f"/runs/{known['careful']}",
        "figures": f"/runs/{known['careful']}/report",
        "replay": f"/runs/{known['careful']}/episodes/1?step=3",
        "end": f"/runs/{known['rule']}/episodes/2?step=end",
        "forms": f"/runs/{known['oracle']}/report",
        "form": f"/runs/{known['oracle']}/episodes/1?step=2",
        "compare": f"/runs/compare?run={known['random']}&run={known['careful']}",
        "sorry": "/runs/nothing",
    }


def shoot(page: Any, name: str) -> None:
    if PICTURES:
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.screenshot(path=Path(PICTURES) / f"runs-{name}-{size}.png")


def test_nothing_is_wider_than_a_phone(site: Served, browser: Any) -> None:
    width, height = SIZES["phone"]
    page = browser.new_page(viewport={"width": width, "height": height})
    for name, address in addresses(site).items():
        page.goto(site.url + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    page.close()


@pytest.mark.parametrize("scheme", sampled(["light", "dark"], "light"))
def test_axe_finds_nothing_serious(site: Served, browser: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not there")
    page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme=scheme)

    def serious() -> list[str]:
        options = {"iframes": False, "resultTypes": ["violations"]}
        found = axe.Axe().run(page, options=options).response["violations"]
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary']}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    for name, address in addresses(site).items():
        page.goto(site.url + address)
        assert serious() == [], name
    page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    assert serious(), "axe looks"
    page.close()


def test_pictures_for_the_documentation(site: Served, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    for name, address in addresses(site).items():
        page.goto(site.url + address)
        assert page.locator("h1").count() == 1, name
        shoot(page, name)
    page.close()
