"""A day of a requester, an administrator and two workers in a real browser, wide and narrow."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crowd_served import close_all, results
from crowd_site import invited
from effort import SLOW
from looking import logged_in, looked_at, opened
from shop_served import Shop, shop_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog

pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)

TEMPLATE = (
    "<h1>${word}</h1><p><label>What is it? <input name=kind required></label></p>"
    "<fieldset><legend>Do you like it?</legend>"
    "<label><input type=radio name=like value=yes> yes</label>"
    "<label><input type=radio name=like value=no> no</label></fieldset>"
    "<label><input type=checkbox name=more value=more checked> ask more</label>"
    "<p id=more></p>" + "<p>Think about it.</p>" * 40 + "<textarea name=why></textarea>"
    "<script>document.querySelector('[name=like]').addEventListener('click', () => {"
    " document.getElementById('more').innerHTML = '<input name=later>'; });</script>"
)


LOOKS = [("sqlite", "phone"), ("postgres", "desk"), ("sqlite", "desk"), ("postgres", "phone")]
"""A store and a width; all of them in `make test-slow`."""


@pytest.fixture(scope="module")
def shop(
    little: Catalog, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Shop]:
    store = str(tmp_path_factory.mktemp("crowd") / "site.sqlite")
    if request.param == "postgres":
        store = request.getfixturevalue("postgres_url")
        import psycopg

        with psycopg.connect(store, autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS errands_site CASCADE")
    with shop_served(little, store, paid=False) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_else_is_open(shop: Shop) -> None:
    close_all(shop)


def inside(page: Any) -> Any:
    """The task's frame, when it is there and has told its height."""
    handle = page.wait_for_selector("iframe.task.fitted")
    return handle.content_frame()


def said(page: Any, text: str) -> None:
    page.wait_for_selector(f".taskbar [role=status]:has-text('{text}')")


@pytest.mark.parametrize(("shop", "width"), LOOKS if SLOW else LOOKS[:1], indirect=["shop"])
def test_from_the_project_to_the_pay(browser: Any, shop: Shop, width: str, tmp_path: Path) -> None:
    ann = invited(shop, "Ann")
    rita = opened(browser, width)
    rita.goto(f"{shop.url}/office/enter/{invited(shop, 'Rita', 'requester')}")
    rita.click("nav >> text=Projects")
    rita.select_option("#task", "Cat or Committee")
    assert not rita.is_visible("#file-template"), "the form is for one source at a time"
    rita.select_option("#task", "")
    (tmp_path / "template.html").write_text(TEMPLATE)
    (tmp_path / "words.csv").write_text("word\nalpha\nbeta\n")
    rita.set_input_files("#file-template", tmp_path / "template.html")
    rita.set_input_files("#file-table", tmp_path / "words.csv")
    rita.fill("#name", "Likes")
    rita.fill("#pay", "0.2")
    rita.select_option("#is_restricted", "1")
    rita.click("button:text-is('Publish')")
    rita.wait_for_selector("text=needs a budget")
    address = rita.url.partition("#")[0]
    project = int(address.rsplit("/", 1)[1])

    boss = logged_in(browser, shop, width, f"/office/projects/{project}")
    boss.fill("#budget", "0.4")
    boss.click("button:text-is('Save the budget')")
    boss.wait_for_selector("text=Workers can accept instances")

    rita.reload()
    rita.check("label:has-text('Only those ticked')")
    rita.check("label:has-text('Ann (W') >> nth=-1")
    rita.click("#access >> button:text-is('Save')")
    rita.fill("#most", "1")
    rita.fill("#completion", "DONE-7")
    rita.click("button:text-is('Make a link')")
    link = rita.inner_text("#access .secret")

    worker = opened(browser, width, timezone_id="Asia/Tokyo")
    worker.goto(f"{shop.url}/work/{ann}")
    worker.click("text=Start")
    worker.click("button:text-is('Accept')")
    worker.wait_for_url("**/assignments/*")
    frame = inside(worker)
    assert "GMT+9" in worker.inner_text(".taskbar time"), "their own time"
    worker.wait_for_timeout(1200)
    heights = "[innerHeight, document.documentElement.scrollHeight]"
    shown, needed = frame.evaluate(heights)
    assert shown >= needed > 1200, "as high as its task"
    assert worker.is_visible("[data-required]")
    label = frame.locator("label:has([name=kind])")
    content = label.evaluate("(one) => getComputedStyle(one, '::after').content")
    assert "*" in content

    worker.click("[data-submit]")
    said(worker, "required field")
    assert results(shop, project) == []
    frame.fill("[name=kind]", "a <word>")
    frame.check("[name=like][value=no]")
    frame.uncheck("[name=more]")
    frame.fill("[name=why]", "two\nlines")
    said(worker, "Draft saved")
    worker.click("nav >> text=Your work")
    worker.wait_for_url(f"**/work/{ann}")
    assert worker.warned == 1, "who leaves with unsent answers is asked"
    worker.click("text=Continue")
    said(worker, "draft is back")
    frame = inside(worker)
    assert frame.input_value("[name=kind]") == "a <word>"
    assert frame.is_checked("[name=like][value=no]")
    assert not frame.is_checked("[name=more]")
    assert frame.input_value("[name=why]") == "two\nlines"
    worker.click("[data-submit]")
    worker.wait_for_url(f"**/tasks/{project}")
    worker.wait_for_selector("text=Instance 2 (preview)")
    assert worker.warned == 1, "what was sent is not warned of"
    assert worker.complaints == []
    [result] = results(shop, project)
    assert result["answers"] == {"kind": "a <word>", "like": "no", "why": "two\nlines"}

    guest = opened(browser, width)
    guest.goto(f"{link}?PROLIFIC_PID=5f1e")
    assert guest.input_value("#participant") == "5f1e"
    guest.click("button:text-is('Join')")
    guest.wait_for_selector("text=Instance 2 (preview)")
    guest.click("button:text-is('Accept')")
    guest.wait_for_url("**/assignments/*")
    inside(guest).fill("[name=kind]", "?")
    said(guest, "Draft saved")
    guest.click("[data-submit]")
    guest.wait_for_selector("text=DONE-7")
    looked_at(guest, "completion", width, picture=False)
    assert shop.database is not None
    worker.goto(f"{shop.url}/work/{ann}")
    assert worker.is_hidden("text=Start"), "the budget is used up"

    rita.goto(f"{address}/results")
    looked_at(rita, "results-decision", width, picture=False)
    rita.click("tr:has-text('5f1e') >> summary")
    rita.fill("tr:has-text('5f1e') input[name=reason]", "Please write more.")
    rita.click("tr:has-text('5f1e') >> button:text-is('Reject')")
    rita.wait_for_selector("text=Please write more.")
    rita.click("button:text-is('Approve all of these that wait')")
    rita.wait_for_selector("tr:has-text('Ann') >> text=approved")
    rita.select_option("#status", "rejected")
    rita.click("button:text-is('Filter')")
    rita.wait_for_selector("text=1 found")
    with rita.expect_download() as download:
        rita.click("text=Download these (CSV)")
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        [row] = csv.DictReader(file)
    assert (row["AssignmentStatus"], row["RequesterFeedback"]) == ("Rejected", "Please write more.")
    guest.reload()
    guest.wait_for_selector("text=Please write more.")
    looked_at(guest, "rejected", width, picture=False)
    worker.goto(f"{shop.url}/work/{ann}")
    worker.wait_for_selector("text=1 done, $0.20 earned")
    worker.wait_for_selector("text=Start")
    for page in (rita, boss, worker, guest):
        page.context.close()
