"""The warm tab: every picture is of its own page, nothing is left of the one before, and nothing
is run or loaded. That the shop's pages look as after a fresh load is in envs/test_shop_pictures."""

import os
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from errands.agents.llm.transport.images import data_address
from errands.browser import chromium
from errands.browser.chromium import BrowserError
from errands.browser.devtools import DevTools
from errands.browser.engine import Engine
from errands.browser.page import WebPage
from errands.browser.screenshots import HEIGHT, WIDTH, pixels
from errands.browser.tab import TabConfig
from errands.browser.warm_tab import WarmTab

RED, GREEN = [255, 0, 0], [0, 128, 0]
# A picture that has to be decoded.
DOT = data_address(np.full((4, 4, 3), RED, np.uint8), 1)[0]


@pytest.fixture(scope="module")
def tab() -> Iterator[WarmTab]:
    """A tab that works; skips where there is no browser."""
    warm = WarmTab()
    try:
        warm.picture(document("<p>Here</p>"))
    except BrowserError as failure:
        if str(failure) != chromium.MISSING_BROWSER:
            raise
        pytest.skip(str(failure))
    yield warm
    warm.close()


def document(body: str, *, color: str = "green", title: str = "A page", head: str = "") -> str:
    style = "<style>body { margin: 0; font-family: sans-serif; caret-color: transparent }</style>"
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title>{style}{head}</head>"
        f'<body style="background: {color}">{body}</body></html>'
    )


def seen(tab: WarmTab, html: str) -> NDArray[np.uint8]:
    picture = pixels(tab.picture(html))
    assert picture.shape == (HEIGHT, WIDTH, 3)
    return picture


def test_every_picture_is_of_its_own_page(tab: WarmTab) -> None:
    for number in range(40):
        color = (number, 255 - number, number * 5)
        picture = seen(tab, document("", color=f"rgb{color}"))
        assert (picture == color).all(), f"page {number} is not the one that was put in place"


def test_a_head_is_read_once(tab: WarmTab) -> None:
    before = tab.loads
    large = "<style>p { font-size: 90px }</style>"
    small = seen(tab, document("<p>x"))
    assert (seen(tab, document("<p>x", title="Another")) == small).all()
    assert tab.loads == before
    assert (seen(tab, document("<p>x", head=large)) != small).any()
    assert tab.loads == before + 1
    assert (seen(tab, document("<p>x")) == small).all()


def test_a_picture_takes_two_messages(tab: WarmTab, monkeypatch: pytest.MonkeyPatch) -> None:
    seen(tab, document("<p>first"))
    sent: list[str] = []
    send = DevTools.send

    def counted(self: DevTools, method: str, *rest: Any) -> dict[str, Any]:
        sent.append(method)
        return send(self, method, *rest)

    monkeypatch.setattr(DevTools, "send", counted)
    for number in range(5):
        seen(tab, document(f"<p>{number}<img src='{DOT}'>"))
    assert len(sent) == 10
    assert len(set(sent)) == 2


def test_nothing_is_left_of_the_page_before(tab: WarmTab) -> None:
    plain = document("<input><p>text", color="white")
    first = seen(tab, plain)
    tall = "<div style='height: 3000px'></div><input autofocus value='typed' style='width: 900px'>"
    below = seen(tab, document(tall, color="white"))
    assert (below != first).any()
    assert (below != 255).any(), "the field at the bottom has the focus and is in sight"
    assert (seen(tab, plain) == first).all()
    focused = seen(tab, document("<input autofocus><p>text", color="white"))
    assert (focused != first).any()
    assert (seen(tab, plain) == first).all()


def test_pictures_of_any_kind_are_there(tab: WarmTab) -> None:
    drawn = "<rect width='99' height='99' fill='red'/>"
    svg = f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'>{drawn}</svg>"
    wide = "style='display: block; width: 1280px; height: 400px'"
    picture = seen(tab, document(f"<img {wide} src='{DOT}'>"))
    assert (picture[:400] == RED).all()
    assert (picture[400:] == GREEN).all()
    picture = seen(tab, document(f'<img src="{svg}">'))
    assert (picture[:99, :99] == RED).all()
    back = f"<style>.late {{ height: 800px; background: url({DOT}) }}</style>"
    seen(tab, document("", head=back))
    assert (seen(tab, document("<div class=late></div>", head=back)) == RED).all()


def test_nothing_is_run_and_nothing_is_loaded(tab: WarmTab) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    there = f"http://127.0.0.1:{server.server_port}"
    paint = "document.documentElement.style.filter = document.body.style.background = 'red'"
    hostile = (
        f"<script>{paint}</script><img src='{there}/image' onerror=\"{paint}\">"
        f'<svg onload="{paint}"></svg><input autofocus onfocus="{paint}">'
        f"<iframe src='{there}/frame' onload=\"{paint}\"></iframe>"
        f'<iframe srcdoc="<script>parent.{paint.replace("= d", "= parent.d")}</script>"></iframe>'
        f"<video src='{there}/video' autoplay></video><object data='{there}/object'></object>"
        f"<meta http-equiv=refresh content='0; url={there}/away'>"
    )
    head = (
        f"<script>{paint}</script><link rel=stylesheet href='{there}/sheet'>"
        f"<link rel=preconnect href='{there}'><link rel=prefetch href='{there}/fetch'>"
    )
    try:
        for html in (document(hostile), document(hostile, head=head), document(hostile)):
            picture = seen(tab, html)
            assert (picture[-1, -1] == GREEN).all()
        assert (seen(tab, document("")) == GREEN).all()
    finally:
        server.shutdown()
        server.server_close()
    assert asked == []


def test_a_browser_that_dies_is_replaced(tab: WarmTab) -> None:
    page = document("<p>still here")
    first = seen(tab, page)
    assert tab._devtools is not None
    os.killpg(tab._devtools.process, 9)
    assert (seen(tab, page) == first).all()


def test_a_program_that_is_no_browser_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BrowserError, match=r"Chromium ended .*, twice; ERRANDS_CHROMIUM can name"):
        WarmTab("/bin/true").picture(document(""))


def test_a_forked_process_has_a_browser_of_its_own(tab: WarmTab) -> None:
    page = document("<p>parent and child")
    first = seen(tab, page)
    child = os.fork()
    if not child:
        try:
            same = (pixels(tab.picture(page)) == first).all()
            tab.close()
        except BaseException:
            same = False
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (seen(tab, page) == first).all()


def test_any_chromium_gives_the_same_pixels(tab: WarmTab) -> None:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs a Chromium with a window: apt-get install chromium")
    other = WarmTab(program)
    try:
        for number in range(3):
            page = document(f"<h1>Page {number}</h1><img src='{DOT}'>")
            assert (seen(other, page) == seen(tab, page)).all()
    finally:
        other.close()


def test_odd_markup(tab: WarmTab) -> None:
    """What is no whole document looks as it does when it is loaded."""
    pytest.importorskip("playwright", reason=chromium.MISSING_PACKAGE)
    engine = Engine(None, TabConfig(height=HEIGHT))
    try:
        for html in (
            "<!DOCTYPE html><head></head>",
            "<!DOCTYPE html><html><head></head><body><p>not closed <b>bold<table><td>1",
            "<!DOCTYPE html><head></head><body>\ufffd\u2028 é 漢字 &lt;/head&gt; </body>",
        ):
            with WebPage(engine, html) as page:
                assert (seen(tab, html) == pixels(page.snapshot())).all()
    finally:
        engine.close()
