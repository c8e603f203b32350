"""The browser driver: the conformance suite, its own actions, and pages that mean harm."""

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from errands.browser import chromium
from errands.browser.tab import Tab
from errands.extras import install_command
from errands.testing import DriverConformance
from errands.turk.actions.action import ACTIONS, Action
from errands.turk.browser.driver import BrowserDriver, BrowserPage
from errands.turk.pages.driver import ActionError, DriverError


@pytest.fixture(scope="module")
def driver(browser_driver: BrowserDriver) -> BrowserDriver:
    return browser_driver


class TestConformance(DriverConformance):
    @pytest.fixture
    def driver(self, browser_driver: BrowserDriver) -> BrowserDriver:
        return browser_driver


def test_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(DriverError, match=re.escape(install_command("browser"))):
        BrowserDriver().open("x")


def test_a_missing_browser_names_the_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert chromium.find() is None
    with BrowserDriver() as driver, pytest.raises(DriverError, match="apt-get install chromium"):
        driver.open("x")


def test_the_users_browser_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("mine", "other", "chromium", "chromium-headless-shell")]
    for path in names:
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    assert chromium.find() == names[3], "the lighter one"
    names[3].unlink()
    assert chromium.find() == names[2]
    monkeypatch.setenv(chromium.VARIABLE, str(names[1]))
    assert chromium.find() == names[1]
    assert chromium.find(names[0]) == names[0]
    with pytest.raises(chromium.BrowserError, match="is not a program"):
        chromium.find(tmp_path / "absent")


@pytest.mark.parametrize("pictures", [True, False])
def test_a_tab_is_used_again(pictures: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    new = Tab.new.__func__  # type: ignore[attr-defined]

    async def counted(cls: type[Tab], *arguments: Any) -> Tab:
        opened.append(cls)
        return await new(cls, *arguments)

    monkeypatch.setattr(Tab, "new", classmethod(counted))
    with BrowserDriver(pictures=pictures) as driver:
        for _ in range(3):
            with driver.open(HTML) as page:
                page.fields()
    assert len(opened) == 1


@pytest.fixture
def page(driver: BrowserDriver) -> Iterator[BrowserPage]:
    with driver.open(HTML) as page:
        yield page


HTML = """<!DOCTYPE html><style>#tall { height: 3000px } .box { width: 100px; height: 60px;
border: 1px solid } #log { display: none }</style><body>
<p id=words>The <b>quick</b> brown fox</p><input name=a id=a><textarea name=log id=log></textarea>
<div class=box id=s1>S1</div><div class=box id=t1>T1</div>
<div class=box id=s2 draggable=true>S2</div><div class=box id=t2>T2</div>
<input type=radio name=r value=1 id=r1><input type=range name=g>
<div id=tall></div><button type=button id=end>End</button>
<script>
const log = (what) => { document.getElementById("log").value += what + " "; };
for (const kind of ["click", "keydown", "input", "change", "mouseup"])
  document.addEventListener(kind, (e) => log(kind + ":" + (e.target.id || e.target.tagName)
    + (e.isTrusted ? "" : "*")));
let held = false;
s1.onmousedown = () => { held = true; };
t1.onmouseup = () => { if (held) log("dropped"); };
s2.ondragstart = (e) => e.dataTransfer.setData("text/plain", "S2");
t2.ondragover = (e) => e.preventDefault();
t2.ondrop = (e) => log("html5:" + e.dataTransfer.getData("text/plain"));
words.onmouseup = () => log("marked:" + getSelection().toString().replaceAll(" ", "_"));
</script>"""


def act(page: BrowserPage, name: str, /, **arguments: str | int | float | bool | None) -> object:
    return page.perform(Action(name, arguments))


def logged(page: BrowserPage) -> list[str]:
    return page.values("log")[0].split()


def test_all_actions(driver: BrowserDriver) -> None:
    assert driver.name == "browser"
    assert driver.actions == frozenset(ACTIONS)


def test_click_type_and_keys_are_real(page: BrowserPage) -> None:
    act(page, "click", selector="#a")
    act(page, "type", text="Hi ü")
    act(page, "press_key", key="Backspace")
    act(page, "press_key", key="Control+A")
    act(page, "type", text="long " * 40 + "!")
    assert page.values("a") == ["long " * 40 + "!"]
    assert "click:a" in logged(page)
    assert "keydown:a" in logged(page)
    assert "input:a" in logged(page)
    act(page, "press_key", key="Tab")
    assert "change:a" in logged(page)


def test_click_by_share_of_the_window(page: BrowserPage) -> None:
    act(page, "click", x=0.5, y=0.9)
    assert any(entry.startswith("click:") for entry in logged(page))
    for arguments in ({"x": 2.0, "y": 0.5}, {"x": 0.5}, {}, {"x": 0.1, "y": 0.1, "selector": "a"}):
        with pytest.raises(ActionError):
            act(page, "click", **arguments)


def test_text_actions_fire_events(page: BrowserPage) -> None:
    act(page, "modify_text", name="a", value="some words")
    act(page, "modify_radio", name="r", value="1")
    act(page, "modify_range", name="g", value=7)
    entries = logged(page)
    for entry in ("input:a", "keydown:a", "change:a*", "click:r1", "change:r1"):
        assert entry in entries, entries


def test_drag_by_mouse_and_by_html5(page: BrowserPage) -> None:
    act(page, "drag", source="#s1", target="#t1")
    assert "dropped" in logged(page)
    act(page, "drag", source="#s2", target="#t2")
    assert "html5:S2" in logged(page)
    with pytest.raises(ActionError, match="#absent"):
        act(page, "drag", source="#s1", target="#absent")


def test_select_text(page: BrowserPage) -> None:
    assert act(page, "select_text", selector="#words", start=4, end=15) == "quick brown"
    assert "marked:quick_brown" in logged(page)
    for start, end in ((5, 5), (-1, 3), (0, 1000)):
        with pytest.raises(ActionError, match="characters"):
            act(page, "select_text", selector="#words", start=start, end=end)


def test_scroll_go_to_and_maximize(page: BrowserPage) -> None:
    top = page.screenshot()
    act(page, "scroll", y=1)
    assert page.screenshot() != top
    act(page, "scroll", y=-5)
    assert page.screenshot() == top
    act(page, "go_to", selector="#end")
    act(page, "press_key", key="Enter")
    assert "click:end" in logged(page)
    act(page, "maximize")
    assert width(page.screenshot()) == 1920
    for name, arguments in (("go_to", {"selector": "p["}), ("press_key", {"key": "Bogus"})):
        with pytest.raises(ActionError):
            act(page, name, **arguments)


def width(png: bytes) -> int:
    assert png.startswith(b"\x89PNG")
    return int.from_bytes(png[16:20], "big")


def test_screenshots(page: BrowserPage) -> None:
    html = page.html()
    assert width(page.screenshot()) == 1280
    assert width(page.screenshot("a")) < 400
    with pytest.raises(ActionError, match="log"):
        page.screenshot("log")
    assert page.html() == html, "a picture changes nothing"


def test_malformed_actions_are_refused(page: BrowserPage) -> None:
    before = page.html()
    for action in (
        Action("modify_text"),
        Action("modify_text", {"name": 1, "value": "x"}),
        Action("modify_text", {"name": "a", "value": "x", "more": 1}),
        Action("select_text", {"selector": "p", "start": True, "end": 2}),
        Action("eval", {"code": "1"}),
    ):
        with pytest.raises(ActionError):
            page.perform(action)
    assert page.html() == before


def test_clock_and_chance_are_the_same_each_time(driver: BrowserDriver) -> None:
    html = """<input name=a><script>document.querySelector("input").value =
    [Math.random(), Math.random(), Date().slice(0, 15), new Date().getFullYear(),
     new Date(0).getTime(), Date.now() - new Date() <= 0, new Date() instanceof Date,
     Object.prototype.toString.call(new Date())]</script>"""
    seen = set()
    for _ in range(3):
        with driver.open(html) as page:
            seen.add(page.values("a")[0])
    (value,) = seen
    assert value.endswith("Mon Jan 01 2024,2024,0,true,true,[object Date]")


def test_several_pages_and_threads_at_once(driver: BrowserDriver) -> None:
    def one(n: int) -> list[str]:
        with driver.open("<input name=a>") as page:
            act(page, "modify_text", name="a", value=f"number {n}")
            return page.values("a")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(12))) == [[f"number {n}"] for n in range(12)]


def test_libraries_work_on_the_page(driver: BrowserDriver) -> None:
    html = """<link rel=stylesheet
    href="https://maxcdn.bootstrapcdn.com/bootstrap/4.0.0/css/bootstrap.min.css">
    <script src="https://code.jquery.com/jquery-3.2.1.slim.min.js"></script>
    <script src="https://maxcdn.bootstrapcdn.com/bootstrap/4.0.0/js/bootstrap.min.js"></script>
    <input name=a><div class=d-none><input name=b></div>
    <script>$("input").first().val($.fn.jquery + " " + typeof $.fn.modal)</script>"""
    with driver.open(html) as page:
        assert page.values("a")[0].startswith("3.7.1")
        assert page.values("a")[0].endswith(" function")
        assert [field.visible for field in page.fields(["b"])] == [False]
        assert page.refused == {}


def test_a_closed_page_says_so(driver: BrowserDriver) -> None:
    page = driver.open("x")
    page.close()
    page.close()
    with pytest.raises(DriverError, match="closed"):
        page.text()


@pytest.mark.usefixtures("browser_driver")
def test_without_pictures_forms_can_be_filled_in_but_not_seen() -> None:
    with BrowserDriver(pictures=False) as driver:
        assert "capture_screen" not in driver.actions
        page = driver.open("<input name=a><input type=checkbox name=b value=x>")
        page.perform(Action("modify_text", {"name": "a", "value": "hello"}))
        page.perform(Action("modify_checkbox", {"name": "b", "value": "x"}))
        assert (page.values("a"), page.values("b")) == (["hello"], ["x"])
        with pytest.raises(ActionError, match="paints its pages"):
            page.screenshot()


def test_foldings_end_at_once(browser_driver: BrowserDriver) -> None:
    """What an agent sees after an action does not depend on how quick it looks."""
    html = """<!DOCTYPE html><style>.slow { transition: opacity 60s }
        .collapsing { height: 0; overflow: hidden } .collapse:not(.show) { display: none }</style>
        <input type="checkbox" name="fade" value="1" onclick="f.style.opacity = 0">
        <div id="f" class="slow" style="opacity: 1"><input name="faded"></div>
        <input type="checkbox" name="open" value="1" onclick="
          p.className = 'collapsing'; setTimeout(done, 60000)">
        <div id="p" class="collapse"><input name="folded"></div>
        <script>const done = () => { p.className = 'collapse show' };
          p.addEventListener('transitionend', done)</script>"""
    with browser_driver.open(html) as page:
        before = page.html()
        assert "<style>" in before
        assert before.count("<style") == 1
        for name in ("fade", "open"):
            page.perform(Action("modify_checkbox", {"name": name, "value": "1"}))
        shown = {field.name: field.visible for field in page.fields()}
    assert shown == {"fade": True, "open": True, "faded": False, "folded": True}


def test_jquery_shows_and_hides_at_once(browser_driver: BrowserDriver) -> None:
    html = """<!DOCTYPE html><script>
          // As much of jQuery as says whether it may take its time.
          window.jQuery = { fx: { off: false } };
          window.addEventListener('DOMContentLoaded', () => {
            document.querySelector('[name=a]').value = String(jQuery.fx.off) });
        </script><input name="a">"""
    with browser_driver.open(html) as page:
        assert page.values("a") == ["true"]
