"""The browser of the other tests: a click is over when the page that it leads to is loaded."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class _Slow(BaseHTTPRequestHandler):
    """Begins a page, and goes on with it later."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html>")
        self.wfile.flush()
        threading.Event().wait(0.2)
        self.wfile.write(b"<title>Here</title><a href='/next'>Next</a>")

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Slow) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_click_waits_for_the_page_it_leads_to(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    page.click("a")
    assert page.evaluate("document.links.length") == 1
    page.locator("a").click()
    assert page.locator("a").count() == 1
    page.get_by_text("Next").first.click()
    assert page.title() == "Here"
    page.close()
