"""Pages that mean harm: none hangs, none reaches the network or the file system."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from effort import effort, sampled

from errands.browser import chromium
from errands.turk.actions.action import Action
from errands.turk.browser.driver import BrowserDriver
from errands.turk.pages.driver import ActionError, DriverError


@pytest.fixture(scope="module")
def driver(browser_driver: BrowserDriver) -> Iterator[BrowserDriver]:
    """A browser of its own that does not wait as long as usual."""
    with contextlib.closing(BrowserDriver(load_seconds=4, step_seconds=2)) as hasty:
        yield hasty


class Contacted(BaseHTTPRequestHandler):
    """A web server of our own that must never be reached."""

    paths: list[str]

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_POST = do_PUT = do_OPTIONS = do_CONNECT = do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[str]]]:
    paths: list[str] = []
    handler = type("Handler", (Contacted,), {"paths": paths})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", paths
    server.shutdown()
    server.server_close()
    thread.join()


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def still_works(driver: BrowserDriver) -> None:
    with driver.open("<input name=a>") as page:
        page.perform(Action("modify_text", {"name": "a", "value": "fine"}))
        assert page.values("a") == ["fine"]


ENDLESS = [
    "while (true);",
    "const wait = () => Promise.resolve().then(wait); wait();",
    "onload = () => { while (true); }",
    "while (true) document.write('<p>more</p>');",
    "while (true) alert(1);",
]


# Each keeps a core busy until the driver has lost its patience twice.
@pytest.mark.parametrize("script", ENDLESS[: effort(1, 5)])
def test_an_endless_loop_at_load_is_an_error(driver: BrowserDriver, script: str) -> None:
    started = time.monotonic()
    with pytest.raises(DriverError, match="twice"):
        driver.open(f"<input name=a><script>{script}</script>")
    assert time.monotonic() - started < 60
    still_works(driver)


def test_an_endless_loop_on_click_is_an_error(driver: BrowserDriver) -> None:
    page = driver.open(
        "<input name=b><input type=radio name=a value=1 onclick='while (true);'>"
        "<button type=button onclick='while (true);'>Go</button>"
    )
    page.perform(Action("modify_text", {"name": "b", "value": "kept"}))
    with pytest.raises(DriverError, match="twice"):
        page.perform(Action("modify_radio", {"name": "a", "value": "1"}))
    with pytest.raises(DriverError, match="twice"):
        page.values("b")
    page.close()
    still_works(driver)


def test_a_page_lost_once_is_brought_back(driver: BrowserDriver) -> None:
    """The tab dies under the page: the actions so far are done again on another."""
    page = driver.open("<input name=a><input type=checkbox name=c value=1>")
    page.perform(Action("modify_text", {"name": "a", "value": "kept"}))
    page.perform(Action("modify_checkbox", {"name": "c", "value": "1"}))
    assert page._tab is not None
    driver._engine.run(page._tab._context.close())
    assert page.values("a") == ["kept"]
    assert page.values("c") == ["1"]
    chromium.end(driver._engine.process)
    assert page.values("c") == ["1"]
    page.close()
    still_works(driver)


def test_a_renderer_that_crashes_is_an_error(driver: BrowserDriver) -> None:
    page = driver.open("<input name=a>")
    for _ in range(2):
        assert page._tab is not None
        tab = page._tab

        async def crash() -> None:
            running = await chromium.processes(driver._engine._browser)  # type: ignore[arg-type]
            for process, kind in running.items():
                if kind == "renderer":
                    chromium.end(process)

        driver._engine.run(crash())
        assert page.values("a") == [""]
        assert page._tab is not tab
    page.close()
    still_works(driver)


def test_a_memory_hog_is_an_error(driver: BrowserDriver) -> None:
    hog = "const all = []; while (true) all.push(new Array(1e6).fill(Math.random()));"
    with pytest.raises(DriverError, match="twice"):
        driver.open(f"<input name=a><script>{hog}</script>")
    still_works(driver)


@pytest.mark.parametrize(
    "script",
    [
        "alert(1)",
        "for (let i = 0; i < 10000; i++) { alert(i); confirm(i); prompt(i); print(); }",
        "setInterval(() => alert(1), 0)",
        "document.body.append(document.createElement('iframe')); frames[0].alert(1);",
        "onbeforeunload = (e) => { e.preventDefault(); e.returnValue = 'stay'; return 'stay'; }",
        "setInterval(() => {}, 0); setTimeout(function again() { setTimeout(again, 0) }, 0)",
        "for (let i = 0; i < 50; i++) window.open('about:blank')",
        "document.body.innerHTML += '<a id=l href=about:blank target=_blank>x</a>'; l.click()",
        "Array.prototype.map = JSON.stringify = document.querySelectorAll = () => 'broken'",
        "Object.defineProperty(Object.prototype, 'answer', { get() { throw 1 }, set() {} })",
        "throw new Error('at load')",
        "HTMLElement.prototype.getBoundingClientRect = () => { throw 1 }",
        "new Worker(URL.createObjectURL(new Blob(['while (true);'])))",
        "navigator.serviceWorker?.register('/sw.js'); localStorage.x = 1; document.cookie = 'a=b'",
    ],
)
def test_a_nuisance_changes_nothing(driver: BrowserDriver, script: str) -> None:
    html = f"<body><input name=a><button type=button id=b>Go</button><script>{script}</script>"
    for _ in range(2):
        with driver.open(html) as page:
            page.perform(Action("click", {"selector": "#b"}))
            page.perform(Action("modify_text", {"name": "a", "value": "fine"}))
            assert page.values("a") == ["fine"]
            assert [field.name for field in page.fields()] == ["a"]
    still_works(driver)


LEAVE = [
    "location = '{}'",
    "location.href = '{}'",
    "location.replace('{}')",
    "location.assign('{}')",
    "location.reload()",
    "history.back(); history.go(-1)",
    "history.pushState({{}}, '', '/other'); history.back()",
    "document.forms[0].action = '{}'; document.forms[0].submit()",
    "document.forms[0].requestSubmit()",
    "l.href = '{}'; l.click()",
    "l.href = '{}'; l.download = 'x'; l.click()",
    "document.head.innerHTML = '<meta http-equiv=refresh content=\"0;url={}\">'",
    "top.location = '{}'",
    "window.open('{}', '_self')",
    "f.contentWindow.open('{}', '_top')",
    "f.contentWindow.eval('top.location = \"{}\"')",
    "document.open('{}', '_self', '')",
    "navigation.navigate('{}')",
]
ADDRESSES = [
    "http://{}/left", "about:blank", "blob:http://task.invalid/x", "file:///etc/passwd",
]  # fmt: skip
LEAVING = [
    (leave, address) for address in ADDRESSES for leave in LEAVE
    if "{}" in leave or address == ADDRESSES[0]  # The others are the same whatever the address.
]  # fmt: skip
ONE_EACH = [pair for pair in LEAVING if pair[0] == LEAVE[0] or pair[1] == ADDRESSES[0]]


@pytest.mark.parametrize(("leave", "address"), sampled(LEAVING, *ONE_EACH))
def test_the_page_stays(
    driver: BrowserDriver, server: tuple[str, list[str]], leave: str, address: str
) -> None:
    target = address.format(server[0])
    with driver.open(
        "<form><input name=a><a id=l>x</a><iframe id=f></iframe></form>"
        f"<button type=button id=b>Go</button><script>b.onclick = () => {{ try {{ "
        f"{leave.format(target)} }} catch {{}} }}; b.click()</script>"
    ) as page:
        page.perform(Action("click", {"selector": "#b"}))
        page.perform(Action("modify_text", {"name": "a", "value": "here"}))
        time.sleep(0.05)
        assert page.values("a") == ["here"]
    assert server[1] == []


REACH = """
<link rel=dns-prefetch href="//outside.test"><link rel=preconnect href="http://{0}">
<link rel=prefetch href="http://{0}/prefetch"><link rel=stylesheet href="http://{0}/style.css">
<link rel=modulepreload href="http://{0}/m.js"><link rel=icon href="http://{0}/icon.ico">
<link rel=manifest href="http://{0}/manifest.json">
<img src="http://{0}/img.png" srcset="http://{0}/2.png 2x"><iframe src="http://{0}/frame"></iframe>
<object data="http://{0}/object"></object><embed src="http://{0}/embed"><video src="http://{0}/v">
</video><audio autoplay src="http://{0}/a.mp3"></audio><script src="http://{0}/s.js"></script>
<script type=module>import "http://{0}/module.js";</script>
<style>@import "http://{0}/import.css"; body {{ background: url(http://{0}/bg.png) }}
@font-face {{ font-family: f; src: url(http://{0}/font) }} p {{ font-family: f }}</style>
<iframe srcdoc="<img src=http://{0}/inner.png><script>fetch('http://{0}/inner')</script>"></iframe>
<iframe src="file:///etc/passwd"></iframe><img src="file:///etc/passwd">
<a id=l ping="http://{0}/ping" href="http://{0}/link">x</a><p>Text</p><input name=a>
<form action="http://{0}/form" target=_blank><input type=submit id=s></form>
<script>
const done = (what) => {{ document.querySelector("[name=a]").value += what + " "; }};
const trying = (work) => {{ try {{ work(); }} catch (error) {{}} }};
fetch("http://{0}/fetch", {{ mode: "no-cors" }}).then(() => done("fetch"), () => 0);
fetch("file:///etc/passwd").then(() => done("file"), () => 0);
fetch("/../../../../etc/passwd").then((r) => r.ok && done("root"), () => 0);
fetch("/%2e%2e/%2e%2e/etc/passwd").then((r) => r.ok && done("dots"), () => 0);
trying(() => {{ const x = new XMLHttpRequest(); x.onload = () => done("xhr");
  x.open("GET", "http://{0}/xhr"); x.send(); }});
trying(() => {{ const x = new XMLHttpRequest();
  x.open("GET", "http://{0}/sync", false); x.send(); done("sync"); }});
trying(() => {{ new WebSocket("ws://{0}/socket").onopen = () => done("socket"); }});
trying(() => {{ new EventSource("http://{0}/events").onopen = () => done("events"); }});
trying(() => navigator.sendBeacon("http://{0}/beacon", "x"));
trying(() => new RTCPeerConnection({{ iceServers: [{{ urls: "stun:{0}" }}] }})
  .createDataChannel("x"));
trying(() => {{ const code = `fetch("http://{0}/worker", {{ mode: "no-cors" }});
  new WebSocket("ws://{0}/worker-socket"); importScripts("http://{0}/import.js")`;
  new Worker(URL.createObjectURL(new Blob([code]))); }});
trying(() => l.click());
trying(() => s.click());
</script>
"""


@pytest.mark.parametrize("host", ["", "localhost", "[::1]", "outside.test"])
def test_nothing_is_reached(
    driver: BrowserDriver, server: tuple[str, list[str]], host: str, tmp_path: Path
) -> None:
    own, paths = server
    port = own.rpartition(":")[2]
    html = REACH.format(f"{host}:{port}" if host else own)
    with driver.open(html, files=tmp_path) as page:
        page.perform(Action("click", {"selector": "#s"}))
        time.sleep(0.6)
        wait_for(lambda: sum(page.refused.values()) >= 10)
        assert page.values("a") == [""]
    assert paths == []


def test_files_of_the_task_and_no_others(driver: BrowserDriver, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "ours.js").write_text("document.querySelector('input').value = 'ours'")
    (tmp_path / "secret.js").write_text("document.querySelector('input').value = 'secret'")
    (folder / "link.js").symlink_to(tmp_path / "secret.js")
    (folder / "out").symlink_to(tmp_path)
    for source, value in {
        "deep/ours.js": "ours",
        "deep/../deep/ours.js?x#y": "ours",
        "link.js": "",
        "out/secret.js": "",
        "../secret.js": "",
        "%2e%2e/secret.js": "",
        "..%2fsecret.js": "",
        "deep": "",
        str(tmp_path / "secret.js"): "",
        "deep/ours.js%00": "",
    }.items():
        html = f"<input name=a><script src='{source}'></script>"
        with driver.open(html, files=folder) as page:
            assert page.values("a") == [value], source


def test_nothing_is_left_for_the_next_page(driver: BrowserDriver) -> None:
    leave = """<script>localStorage.a = sessionStorage.a = window.name = 1; document.cookie = 'a=1';
    document.cookie = 'b=1; path=/deep'; history.pushState({}, '', '/deep/');
    indexedDB.open('kept');</script>"""
    look = """<input name=a><script>indexedDB.databases().then((all) => {
    history.replaceState({}, '', '/deep/');
    document.querySelector("input").value = JSON.stringify([localStorage.length,
    sessionStorage.length, window.name, document.cookie, all.length]) })</script>"""
    for _ in range(3):
        driver.open(leave).close()
        with driver.open(look) as page:
            wait_for(lambda: page.values("a") != [""])
            assert page.values("a") == ['[0,0,"","",0]']


def test_a_page_of_megabytes(browser_driver: BrowserDriver) -> None:
    size = effort(2, 10) * 1_000_000
    row = "<p>Some words of a very long page, again and again and again.</p>\n"
    html = "<input name=a>" + row * (size // len(row)) + "<input name=b>"
    with BrowserDriver(load_seconds=60, step_seconds=30) as patient, patient.open(html) as page:
        assert [field.name for field in page.fields()] == ["a", "b"]
        page.perform(Action("modify_text", {"name": "b", "value": "end"}))
        assert page.values("b") == ["end"]
        assert len(page.html()) > 0.9 * size


@pytest.mark.parametrize(
    "html",
    ["", "\0", "<", "<html", "no markup", "<frameset><frame></frameset>", "\ud800", "﻿<p>",
     "<!--", "<script>", "<table><form><select><input name=x>", "<svg><foreignObject><p>" * 500,
     "<div>" * 5000, "<?xml version='1.0'?><x/>", "<p>\x01\x02\x1b\x7f\x85</p>",
     "<meta charset=utf-16><p>ü", "<base href='file:///'><p>x", "<plaintext><input name=a>"],
)  # fmt: skip
def test_broken_markup_can_be_read(driver: BrowserDriver, html: str) -> None:
    with driver.open(html) as page:
        assert isinstance(page.fields(), list)
        assert isinstance(page.text(), str)
        assert isinstance(page.html(), str)
        with pytest.raises(ActionError):
            page.perform(Action("modify_text", {"name": "absent", "value": "x"}))


def test_the_document_can_vanish(driver: BrowserDriver) -> None:
    with driver.open("<script>onload = () => document.documentElement.remove()</script>") as page:
        assert page.fields() == []
        assert page.text() == ""
        page.html()
    with driver.open(
        "<script>onload = () => { document.open(); document.write('<input name=z>') }</script>"
    ) as page:
        assert [field.name for field in page.fields()] == ["z"]
