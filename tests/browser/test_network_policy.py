"""What a page may load, and how it is told so."""

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from errands.browser.network_policy import ORIGIN, NetworkPolicy, refusal
from errands.turk.browser.driver import BrowserDriver

LIBRARY = "https://code.jquery.com/jquery-3.2.1.slim.min.js"


def request(url: str, method: str = "GET", **headers: str) -> dict[str, Any]:
    return {"url": url, "method": method, "headers": headers}


def test_the_page_is_served_once() -> None:
    policy = NetworkPolicy()
    policy.expect("<p>ü", None)
    page = policy.answer(request(f"{ORIGIN}/"), navigates=True)
    assert page is not None
    assert (page.status, base64.b64decode(page.body)) == (200, "<p>ü".encode())
    again = policy.answer(request(f"{ORIGIN}/"), navigates=True)
    assert again is not None
    assert again.status == 204
    assert policy.refused == {"task.invalid": 1}


def test_libraries_may_be_kept_and_files_may_not(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("x")
    policy = NetworkPolicy()
    policy.expect("", tmp_path)
    kept = policy.answer(request(LIBRARY), navigates=False)
    file = policy.answer(request(f"{ORIGIN}/a.css"), navigates=False)
    absent = policy.answer(request(f"{ORIGIN}/b.css"), navigates=False)
    assert kept is not None
    assert file is not None
    assert absent is not None
    assert "immutable" in dict(kept.headers)["cache-control"]
    assert dict(file.headers)["cache-control"] == "no-store"
    assert absent.status == 404


def test_answers_beside_a_template_cannot_be_asked_for(tmp_path: Path) -> None:
    secret = "batch.csv BATCH.CSV batch.csv.gz batch.tsv labels.json x.jsonl x.parquet notes x.txt"
    (tmp_path / ".hidden").mkdir()
    for name in (*secret.split(), ".hidden/a.css", "a.css", "a.png", "a.js"):
        (tmp_path / name).write_text("x")
    (tmp_path / "looks.css").symlink_to(tmp_path / "batch.csv")
    policy = NetworkPolicy()
    policy.expect("", tmp_path)

    def status(name: str) -> int:
        answer = policy.answer(request(f"{ORIGIN}/{name}"), navigates=False)
        assert answer is not None
        return answer.status

    hidden = (*secret.split(), ".hidden/a.css", "looks.css", "batch%2ecsv", "./batch.csv")
    assert {status(name) for name in hidden} == {404}
    assert {status(name) for name in ("a.css", "a.png", "a.js")} == {200}


def test_all_else_is_refused_and_counted() -> None:
    policy = NetworkPolicy(["Friend.example"])
    assert policy.answer(request("http://a.example/x.js"), navigates=False) is None
    assert policy.answer(request(LIBRARY, "POST"), navigates=False) is None
    assert policy.refused == {"a.example": 1, "code.jquery.com": 1}
    assert policy.allows(request("http://friend.example/"))
    assert not policy.allows(request("ftp://friend.example/"))
    assert refusal("7") == (
        "Fetch.failRequest",
        {"requestId": "7", "errorReason": "NameNotResolved"},
    )


def test_the_browser_may_ask_whether_it_may_ask() -> None:
    question = request(
        "http://friend.example/x",
        "OPTIONS",
        **{"Origin": ORIGIN, "Access-Control-Request-Method": "PUT"},
    )
    policy = NetworkPolicy(["friend.example"])
    assert not policy.allows(question)
    answer = policy.answer(question, navigates=False)
    assert answer is not None
    assert dict(answer.headers)["access-control-allow-methods"] == "PUT"
    assert policy.refused == {}


class _Friend(BaseHTTPRequestHandler):
    """Echoes what is sent to it; redirects to a stranger where asked to."""

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["content-length"]))
        self._say(200, sent)

    def do_GET(self) -> None:
        if self.path == "/away":
            self.send_response(302)
            self.send_header("location", "http://stranger.example/")
            self.send_header("content-length", "0")
            self.end_headers()
        else:
            self._say(200, b"hello")

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is written."""


@pytest.fixture
def friend() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Friend)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("browser_driver")
def test_an_allowed_host_is_reached_but_not_where_it_leads(friend: str) -> None:
    html = f"""<input name=a><input name=b><input name=c><script>
    const put = (name, work) => work.then((r) => r.text()).then(
      (t) => document.getElementsByName(name)[0].value = t,
      () => document.getElementsByName(name)[0].value = "refused");
    put("a", fetch("{friend}/x"));
    put("b", fetch("{friend}/y", {{method: "POST", body: "sent ü", headers: {{"x-a": "b"}}}}));
    put("c", fetch("{friend}/away"));</script>"""
    with BrowserDriver(allow=["127.0.0.1"], pictures=False) as driver, driver.open(html) as page:
        held: dict[str, list[str]] = {}
        for _ in range(100):
            held = page.values_of("abc")
            if all(value != [""] for value in held.values()):
                break
            threading.Event().wait(0.1)
        assert held == {"a": ["hello"], "b": ["sent ü"], "c": ["refused"]}
        assert page.refused == {"stranger.example": 1}


@pytest.mark.usefixtures("browser_driver")
def test_a_library_works_on_one_page_after_another() -> None:
    html = f"<input name=a><script src='{LIBRARY}'></script><script>$('input').val(1)</script>"
    with BrowserDriver(pictures=False) as driver:
        for _ in range(3):
            with driver.open(html) as page:
                assert page.values("a") == ["1"]
