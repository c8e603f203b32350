"""The message view of the runs pages and of a report in a real browser, wide and narrow."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import strict_chat
from looking import serious
from runs_served import runs_served, write_protocol
from served import Served
from strict_chat import KEY, MODEL, StrictEndpoint

from errands.reports.writing import report
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog

PICTURES = os.environ.get("ERRANDS_PICTURES")
"""A folder for screenshots; nothing is written unless it is named."""
SIZES = {"desk": (1280, 860), "phone": (390, 844)}
SAID = [
    "think[I look for what the customer named, and sort out colours later.]",
    "search[table lamp]",
    strict_chat.refusal("I'm sorry, but I can't help with <b>that</b>."),
    "click[Back to Search]",
    strict_chat.LENGTH,
    "click[<script>alert(1)</script>]",
]


@pytest.fixture(scope="module")
def folder(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("asked")
    protocol = write_protocol(place, Path(little.path), 2)
    endpoint = StrictEndpoint()
    endpoint.script = lambda request, number: SAID[number % len(SAID)]
    with pytest.MonkeyPatch.context() as patch, closing(endpoint):
        patch.setenv("OPENAI_API_KEY", KEY)
        settings = {"model": MODEL, "base_url": endpoint.url}
        run(protocol, "llm", settings=settings, out=place / "runs" / "llm")
        endpoint.script = lambda request, number: strict_chat.EMPTY
        run(protocol, "llm", settings=settings, out=place / "runs" / "nothing", episodes=1)
    report(place / "runs" / "llm", place / "report")
    return place


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Served]:
    with runs_served(folder / "runs") as running:
        yield running


def run_id(site: Served, name: str) -> str:
    [found] = [
        row["id"] for row in site.ask("/v1/runs")[1]["runs"] if row["name"].split("/")[-1] == name
    ]
    return str(found)


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens pages whose consoles must stay quiet."""
    said: list[str] = []
    pages: list[Any] = []

    def page(size: str) -> Any:
        wide, high = SIZES[size]
        made = browser.new_page(viewport={"width": wide, "height": high})
        made.on("console", lambda message: said.append(message.text))
        made.on("pageerror", lambda error: said.append(str(error)))
        made.on("dialog", lambda dialog: said.append(dialog.message))
        pages.append(made)
        return made

    yield page
    for one in pages:
        one.close()
    assert said == []


def fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def picture(part: Any, name: str) -> None:
    if PICTURES:
        part.screenshot(path=Path(PICTURES) / f"{name}.png")


@pytest.mark.parametrize("size", SIZES)
def test_the_messages_of_a_step_are_on_its_page(site: Served, opened: Any, size: str) -> None:
    page = opened(size)
    page.goto(f"{site.url}/runs/{run_id(site, 'llm')}/episodes/0?step=2")
    asked = page.get_by_role("region", name="Messages")
    assert asked.locator(".call").count() == 2
    text = asked.inner_text()
    assert "I'm sorry, but I can't help with <b>that</b>." in text
    assert "refused" in text
    assert "640 reasoning" in text
    assert fits(page)
    assert serious(page) == []
    picture(asked, f"messages-{size}")
    page.get_by_role("link", name="next →").click()
    assert "invalid action" in page.get_by_role("region", name="Messages").inner_text()
    assert "<script>alert(1)</script>" in page.get_by_role("region", name="Messages").inner_text()
    assert fits(page)


@pytest.mark.parametrize("size", SIZES)
def test_the_messages_of_a_step_are_in_the_report(folder: Path, opened: Any, size: str) -> None:
    page = opened(size)
    page.goto(f"file://{folder}/report/report.html")
    episode = page.locator(".episode").first
    episode.locator("summary").first.click()
    calls = episode.locator(".step:visible details.calls")
    assert calls.count() == 1
    calls.locator("summary").first.click()
    assert "think[I look for what the customer named" in calls.inner_text()
    assert "You shop on a website" in calls.inner_text(), "the first call is shown whole"
    episode.get_by_text("next →").locator("visible=true").first.click()
    second = episode.locator(".step:visible details.calls")
    second.locator("summary").first.click()
    assert "You shop on a website" not in second.inner_text(), "and later ones by what is new"
    assert "as in the call before" in second.inner_text()
    assert fits(page)
    assert serious(page) == []


def test_a_run_that_has_failed_says_so(site: Served, opened: Any) -> None:
    page = opened("phone")
    page.goto(f"{site.url}/runs/{run_id(site, 'nothing')}")
    assert "This run has failed, and has no score" in page.inner_text("main")
    assert "failed" in page.inner_text(".headline .big")
    [row] = [one for one in site.ask("/v1/runs")[1]["runs"] if one["id"] == run_id(site, "nothing")]
    assert row["score"]["mean"] is None
    assert "answers of the model came to nothing" in row["failed"]
    page.goto(f"{site.url}/runs")
    assert page.locator("tbody tr", has_text="nothing").locator(".badge.failed").count() == 1


def test_programs_get_the_calls(site: Served) -> None:
    status, detail = site.ask(f"/v1/runs/{run_id(site, 'llm')}/episodes/0")[:2]
    assert status == 200
    [first, *_] = detail["steps"]
    assert first["calls"][0]["outcome"] == "thought"
    assert first["calls"][0]["messages"][0]["role"] == "system"
