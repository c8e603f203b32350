"""Crowd work in a real browser: every kind of field, uploads and downloads, many templates.

`ERRANDS_PICTURES=docs/pictures` with `-k fit` writes the screenshots anew.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from crowd_served import EVERY_FIELD, WORDS, close_all, put_up, results
from crowd_site import call, invited
from effort import effort, sampled
from looking import WIDTHS, logged_in, looked_at, opened
from shop_served import Shop, shop_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog
from errands.turk.tasks.loader import load_tasks

pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)

SHARED = Path(__file__).resolve().parents[5] / "shared" / "data" / "turkingbench"


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("crowd") / "site.sqlite") as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_else_is_open(shop: Shop) -> None:
    close_all(shop)


def inside(page: Any) -> Any:
    """The task's frame, when it is there."""
    handle = page.wait_for_selector("iframe.task")
    frame = handle.content_frame()
    frame.wait_for_load_state()
    return frame


EXPECTED = {
    "text": "some words",
    "password": "pass word",
    "email": "a@example.org",
    "tel": "+49 1",
    "url": "https://example.org/?a=1&b=2",
    "search": "sought",
    "number": "-2",
    "date": "2024-02-29",
    "time": "23:59",
    "month": "2024-02",
    "week": "2024-W09",
    "moment": "2024-02-29T12:30",
    "colour": "#12ab34",
    "range": "7",
    "textarea": "line one\nline “two”, ünï 🦆",
    "radio": "no",
    "checkbox": "a|c",
    "lone": "on",
    "select": "s2",
    "many": "m1|m3",
    "hidden": "by script: alpha",
}


def fill_every_field(frame: Any) -> None:
    for name, value in EXPECTED.items():
        field = f"[name={name}]"
        if name == "range":
            frame.locator(field).evaluate("(e) => { e.value = 7; }")
        elif name == "select":
            frame.select_option(field, value)
        elif name == "many":
            frame.select_option(field, ["m1", "m3"])
        elif name in ("radio", "checkbox"):
            for one in value.split("|"):
                frame.check(f"{field}[value={one}]")
        elif name == "lone":
            frame.check(field)
        elif name != "hidden":
            frame.fill(field, value)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_a_worker_fills_in_every_kind_of_field(browser: Any, shop: Shop, script: bool) -> None:
    project = put_up(shop, pay=0.1)
    token = invited(shop, "Wanda")
    page = opened(browser, java_script_enabled=script)
    page.goto(f"{shop.url}/work/{token}")
    page.click("text=Start")
    page.click("button:text-is('Accept')")
    page.wait_for_url("**/assignments/*")
    frame = inside(page)
    if script:
        fill_every_field(frame)
    else:
        frame.fill("[name=text]", "some words")
        frame.check("[name=radio][value=no]")
    if script:
        assert frame.locator("#submitButton").is_hidden(), "the page has one in sight"
        fitted(page)
        page.click("[data-submit]")
    else:
        frame.click("#submitButton")
    if script:
        page.wait_for_url(f"**/tasks/{project}")
    else:
        frame.wait_for_selector("text=received")
        assert not page.is_visible("[data-submit]"), "it needs scripts"
        page.click("a:text-is('Next')")
    page.wait_for_selector("text=Instance 2 (preview)")
    [result] = results(shop, project)
    if script:
        assert result["answers"] == EXPECTED
    else:
        assert result["answers"]["radio"] == "no"
    assert page.complaints == []
    page.go_back()
    page.wait_for_selector("text=Your answers were received")
    page.context.close()


def test_skip_and_return_in_the_browser(browser: Any, shop: Shop) -> None:
    put_up(shop)
    page = opened(browser)
    page.goto(f"{shop.url}/work/{invited(shop, 'Sam')}")
    page.click("text=Start")
    page.click("button:text-is('Skip')")
    page.wait_for_selector("text=Instance 2 (preview)")
    assert inside(page).locator("h1").inner_text() == "beta"
    assert inside(page).locator("#submitButton").is_disabled()
    page.click("button:text-is('Accept')")
    page.click("button:text-is('Return to others')")
    page.wait_for_selector("text=Instance 3 (preview)")
    page.context.close()


def test_a_requester_uploads_and_downloads(browser: Any, shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "template.html").write_text(EVERY_FIELD)
    (tmp_path / "words.csv").write_bytes(WORDS)
    page = logged_in(browser, shop)
    page.click("nav >> text=Projects")
    page.set_input_files("#file-template", tmp_path / "template.html")
    page.set_input_files("#file-table", tmp_path / "words.csv")
    page.fill("#name", "Uploaded words")
    page.fill("#wanted", "2")
    page.fill("#pay", "0.15")
    page.fill("#budget", "0.9")
    page.click("button:text-is('Publish')")
    page.wait_for_selector("h1:text-is('Uploaded words')")
    project = int(page.url.rsplit("/", 1)[1])
    page.click("text=Preview")
    assert inside(page).locator("h1").inner_text() == "alpha"
    page.click("a:text-is('Next')")
    page.wait_for_url("**/items/1")
    assert inside(page).locator("h1").inner_text() == "beta"
    for name in ("Ann", "Bob"):
        worker = opened(browser)
        worker.goto(f"{shop.url}/work/{invited(shop, name)}/tasks/{project}")
        worker.click("button:text-is('Accept')")
        frame = inside(worker)
        frame.check("[name=radio][value=yes]")
        frame.fill("[name=text]", f"=1+1 by {name}")
        worker.click("[data-submit]")
        worker.wait_for_url(f"**/tasks/{project}")
        worker.context.close()
    page.goto(f"{shop.url}/office/projects/{project}")
    page.wait_for_selector("text=2 of 6 assignments")
    with page.expect_download() as download:
        page.click("text=Results (CSV)")
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["Answer.text"] for row in rows] == ["=1+1 by Ann", "=1+1 by Bob"]
    assert {row["Input.word"] for row in rows} == {"alpha"}
    (tmp_path / "results.csv").write_bytes(Path(download.value.path()).read_bytes())
    page.set_input_files("#file-table", tmp_path / "results.csv")
    page.click("button:text-is('Import')")
    page.wait_for_selector("text=0 new, 2 there already")
    page.context.close()


EXTERNAL = """\
<html><head><script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script></head>
<body><form name="mturk_form" id="mturk_form" method="post"
 action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" name="assignmentId" id="assignmentId" value="">
<p id="who"></p><input name="answer"><input type="submit" id="submitButton" value="Send"></form>
<script>
turkSetAssignmentID();
document.getElementById("who").textContent = turkGetParam("workerId", "nobody") + " ${word}";
</script></body></html>
"""
COMPUTED = """\
<p>${word}</p><input name="answer"><button type="button" id="go">Go</button>
<script>
const told = new URLSearchParams(location.search);
document.getElementById("go").onclick = () => {
  const form = document.createElement("form");
  form.method = "POST";
  form.action = told.get("turkSubmitTo") + "/mturk/externalSubmit";
  for (const [name, value] of [["assignmentId", told.get("assignmentId")],
                               ["answer", document.querySelector("[name=answer]").value]]) {
    const field = document.createElement("input");
    field.type = "hidden"; field.name = name; field.value = value;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
};
</script>
"""


CALLED = EXTERNAL.replace(
    '<script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script>', ""
)
REMEMBERS = """\
<p>${word}</p><input name="answer"><input type="submit" id="go">
<script>
localStorage.setItem("word", "${word}"); sessionStorage.other = 1; document.cookie = "a=b";
document.querySelector("[name=answer]").placeholder = localStorage.getItem("word");
if (localStorage.length !== 1 || localStorage.word !== "${word}") { throw new Error("odd"); }
if (localStorage.getItem("none") !== null || document.cookie) { throw new Error("odd"); }
</script>
"""
TURK_PAGES = [
    (EXTERNAL, "#submitButton"),
    (CALLED, "#submitButton"),
    (COMPUTED, "#go"),
    (REMEMBERS, "#go"),
]


@pytest.mark.parametrize(
    ("template", "press"), TURK_PAGES, ids=["script", "called", "computed", "remembers"]
)
def test_pages_written_for_mechanical_turk(
    browser: Any, shop: Shop, template: str, press: str
) -> None:
    project = put_up(shop, template)
    page = opened(browser)
    page.goto(f"{shop.url}/work/{invited(shop, 'Tom')}/tasks/{project}")
    if template in (EXTERNAL, CALLED):
        assert inside(page).locator("#who").inner_text() == "nobody alpha"
        assert inside(page).locator(press).is_disabled()
    page.click("button:text-is('Accept')")
    page.wait_for_url("**/assignments/*")
    frame = inside(page)
    if template in (EXTERNAL, CALLED):
        assert re.fullmatch(r"W\d+ alpha", frame.locator("#who").inner_text())
    frame.fill("[name=answer]", "done")
    if press == "#submitButton":
        page.click("[data-submit]")
    else:
        frame.click(press)
    page.wait_for_url(f"**/tasks/{project}")
    [result] = results(shop, project)
    assert result["answers"] == {"answer": "done"}
    assert page.complaints == []
    page.context.close()


def test_fields_behind_the_end_of_a_form_are_answers_too(browser: Any, shop: Shop) -> None:
    template = (
        "<form><input name=inside>${word}</form><textarea name=outside></textarea><p id=late></p>"
        "<script>setTimeout(() => { document.getElementById('late').innerHTML ="
        " '<input name=later value=made>'; }, 100)</script>"
    )
    project = put_up(shop, template)
    page = opened(browser)
    page.goto(f"{shop.url}/work/{invited(shop, 'Fay')}/tasks/{project}")
    page.click("button:text-is('Accept')")
    page.wait_for_url("**/assignments/*")
    frame = inside(page)
    frame.wait_for_selector("[name=later]")
    frame.fill("[name=inside]", "in")
    frame.fill("[name=outside]", "out")
    page.click("[data-submit]")
    page.wait_for_url(f"**/tasks/{project}")
    [result] = results(shop, project)
    assert result["answers"] == {"inside": "in", "outside": "out", "later": "made"}
    page.context.close()


def test_demo_tasks_work_in_their_frames(browser: Any, shop: Shop) -> None:
    page = logged_in(browser, shop)
    names = load_tasks("demo").names[:: effort(9, 3)]
    assert len(names) >= effort(4, 10)
    for name in names:
        made = call(shop, "POST", "/v1/office/projects", {"task": name})
        assert made.status == 201, made.text
        number = re.search(r'"id":(\d+)', made.text)
        assert number
        page.goto(f"{shop.url}/office/projects/{number[1]}/items/0")
        frame = inside(page)
        assert frame.locator("#mturk_form").count() == 1, name
        assert frame.locator("input, select, textarea").count() > 1, name
        assert page.complaints == [], name
    page.context.close()


@pytest.mark.shared
def test_real_tasks_work_in_their_frames(browser: Any, shop: Shop) -> None:
    """Templates with libraries from elsewhere: their scripts find them."""
    tasks = load_tasks(str(SHARED))
    page = logged_in(browser, shop)
    seen = 0
    for name in tasks.names:
        template = (SHARED / "tasks" / name / "template.html").read_text(errors="replace")
        if "jquery" not in template.lower() or "bootstrap" not in template.lower():
            continue
        task = tasks.task(name)
        rows = ",".join(f'"{column}"' for column in task.instances[0].inputs) + "\n"
        rows += ",".join(
            '"' + value.replace('"', '""') + '"' for value in task.instances[0].inputs.values()
        )
        project = put_up(shop, template, rows, name=name)
        page.complaints.clear()
        page.goto(f"{shop.url}/office/projects/{project}/items/0")
        frame = inside(page)
        own = [text for text in page.complaints if "$ is not defined" in text or "jQuery" in text]
        assert own == [], name
        assert frame.evaluate("typeof window.jQuery") == "function", name
        seen += 1
        if seen == effort(3, 6):
            break
    assert seen == effort(3, 6)
    page.context.close()


WHERE_ANSWERS_GO = """() => {
  const fields = [...document.querySelectorAll("input[name], select[name], textarea[name]")];
  return [...new Set(fields.map((one) => one.form ? one.form.method + one.form.action : "lost"))];
}"""


@pytest.mark.shared
def test_real_tasks_send_their_answers_here(browser: Any, shop: Shop) -> None:
    """All fields are in a form, and the form is ours, whatever the template brings."""
    tasks = load_tasks(str(SHARED))
    token = invited(shop, "Rae")
    page = opened(browser)
    names = tasks.names[:: effort(12, 6)]
    assert len(names) > effort(7, 15)
    for name in names:
        inputs = tasks.task(name).instances[0].inputs
        out = io.StringIO()
        csv.writer(out).writerows([inputs.keys(), inputs.values()])
        project = put_up(shop, tasks.task(name).template, out.getvalue(), name=name)
        answer = call(shop, "POST", f"/v1/work/tasks/{project}/accept", token=token)
        address = json.loads(answer.body)["frame"]
        # A frame is refused outside of a page of the same server.
        page.goto(f"{shop.url}/health")
        page.set_content(f'<iframe class="task" src="{escape(address)}"></iframe>')
        frame = inside(page)
        own = f"post{shop.url}{address.partition('?')[0]}"
        goes = frame.evaluate(WHERE_ANSWERS_GO)
        assert goes, name
        assert set(goes) <= {own, f"post{shop.url}/mturk/externalSubmit"}, name
        if goes != [own]:
            keys = frame.evaluate(
                "[...document.getElementsByName('assignmentId')].map(e => e.value)"
            )
            assert address.split("/")[2] in keys, name
    page.context.close()


@pytest.mark.parametrize("width", sampled(WIDTHS, "phone"))
def test_the_pages_are_fit_for_everybody(browser: Any, shop: Shop, width: str) -> None:
    made = call(
        shop,
        "POST",
        "/v1/office/projects",
        {"task": "Cat or Committee", "wanted": 5, "pay": 0.12, "budget": 20, "with_answers": True},
    )
    number = re.search(r'"id":(\d+)', made.text)
    assert number
    project = number[1]
    token = invited(shop, "Wanda Worker")
    office = logged_in(browser, shop, width)
    work = opened(browser, width)
    taken = call(shop, "POST", f"/v1/work/tasks/{project}/accept", token=invited(shop, "Bob"))
    assert taken.status == 201
    path = f"/v1/office/projects/{project}/join"
    made = call(shop, "PUT", path, {"most": 20, "completion": "C1DF9X"})
    link = json.loads(made.body)["link"].removeprefix(shop.url)
    pages = (
        ("projects", office, "/office/projects"),
        ("project", office, f"/office/projects/{project}"),
        ("results", office, f"/office/projects/{project}/results"),
        ("join", opened(browser, width), link),
        ("preview", office, f"/office/projects/{project}/items/0"),
        ("work", work, f"/work/{token}"),
        ("task", work, f"/work/{token}/tasks/{project}"),
        ("assignment", work, None),
    )
    for name, page, address in pages:
        if address is None:
            page.click("button:text-is('Accept')")
            page.wait_for_url("**/assignments/*")
        else:
            page.goto(shop.url + address)
        if page.locator("iframe").count():
            fitted(page)
        looked_at(page, name, width)
    office.context.close()
    work.context.close()


def fitted(page: Any) -> Any:
    """The task's frame, when it has told its height."""
    return page.wait_for_selector("iframe.task.fitted").content_frame()


def said(page: Any, text: str) -> None:
    page.wait_for_selector(f".taskbar [role=status]:has-text('{text}')")


@pytest.mark.parametrize("width", sampled(WIDTHS, "desk"))
def test_nothing_filled_in_is_asked_about(browser: Any, shop: Shop, width: str) -> None:
    project = put_up(shop, "<p>${word}</p><input name=a><input type=hidden name=h value=x>")
    page = opened(browser, width)
    page.goto(f"{shop.url}/work/{invited(shop, 'Ema')}/tasks/{project}")
    page.click("button:text-is('Accept')")
    page.wait_for_url("**/assignments/*")
    fitted(page)
    page.click("[data-submit]")
    said(page, "Nothing has been filled in")
    assert page.is_hidden("[data-submit]")
    frame = fitted(page)
    button = frame.wait_for_selector("button")
    low = button.bounding_box()
    outer = page.locator("iframe.task").bounding_box()
    assert low["y"] + low["height"] <= outer["y"] + outer["height"], "the question is seen whole"
    looked_at(page, "empty", width)
    assert results(shop, project) == []
    frame.click("text=Back to the task")
    page.wait_for_selector("[data-submit]:visible")
    page.click("[data-submit]")
    said(page, "Nothing has been filled in")
    fitted(page).click("text=Submit it empty")
    page.wait_for_url(f"**/tasks/{project}")
    [result] = results(shop, project)
    assert result["answers"] == {"a": "", "h": "x"}
    page.context.close()


def test_a_task_that_grows_with_its_window_does_not_grow_forever(browser: Any, shop: Shop) -> None:
    high = "<div style='height:100vh;margin:20px'>${word}</div><input name=a>"
    out = "<div style='position:absolute;top:1500px'>${word}</div><input name=a>"
    for template, most in ((high, 1200), (out, 1700)):
        project = put_up(shop, template)
        page = opened(browser)
        page.goto(f"{shop.url}/work/{invited(shop, 'Gro')}/tasks/{project}")
        fitted(page)
        page.wait_for_timeout(2500)
        before = page.locator("iframe.task").bounding_box()["height"]
        assert before < most
        page.wait_for_timeout(2200)
        assert page.locator("iframe.task").bounding_box()["height"] == before, "it has settled"
        page.context.close()


def test_a_frame_that_says_anything_does_nothing_else(browser: Any, shop: Shop) -> None:
    """Messages of a hostile task: no height, no draft but its own, nothing that acts."""
    nasty = (
        "<p>${word}</p><input name=a><script>const say = (m) => parent.postMessage(m, '*');"
        "say({errands: 'height', height: 1e12}); say({errands: 'height', height: 'x'});"
        "say({errands: 'draft', draft: null}); say({errands: 'draft', draft: {a: 7}});"
        "say({errands: 'constructor'}); say({errands: '__proto__'}); say(null); say({errands: {}});"
        "</script>"
    )
    project = put_up(shop, nasty)
    token = invited(shop, "Vic")
    page = opened(browser)
    page.goto(f"{shop.url}/work/{token}/tasks/{project}")
    page.click("button:text-is('Accept')")
    page.wait_for_url("**/assignments/*")
    fitted(page)
    said(page, "cannot be kept")
    assert page.locator("iframe.task").bounding_box()["height"] < 31_000
    assert not [text for text in page.complaints if "Uncaught" in text]
    page.click("button:text-is('Return to others')")
    page.wait_for_url("**/tasks/*")
    page.context.close()
