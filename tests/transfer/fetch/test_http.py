"""Plain HTTP over a loopback server: limits, redirections, politeness, and what leaves."""

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from made_up_shops import GOODS, shop_item, shop_results

from errands.agents.agent import EndOfRun
from errands.errors import SettingError
from errands.transfer.environment import LiveShopEnv
from errands.transfer.fetch.charset import decoded
from errands.transfer.fetch.fetcher import (
    FetchedPage,
    FetchError,
    PageRequest,
    RequestPolicy,
    own_fetch,
)
from errands.transfer.fetch.http import HttpFetch, service_fetch
from errands.transfer.fetch.politeness import PoliteFetch, Robots
from errands.transfer.fetch.sources import FetchConfig, page_source
from errands.transfer.sites.schema_org import SchemaOrg
from errands.transfer.sites.site import SiteError, site_named


class _Shop(BaseHTTPRequestHandler):
    """A made-up shop with bad manners on demand."""

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/robots.txt":
            status, rules = self.server.robots  # type: ignore[attr-defined]
            self._send(rules.encode(), status=status, kind="text/plain")
        elif path == "/search":
            at = (int(query["page"][0]) - 1) * 12
            self._send(shop_results(GOODS[at : at + 12], at + 12 < len(GOODS)).encode())
        elif path.startswith("/goods/"):
            each = next(each for each in GOODS if each["id"] in path)
            self._send(shop_item(each).encode())
        elif path == "/latin":
            self._send("<p>caf\xe9</p>".encode("latin-1"), kind="text/html; charset=latin-1")
        elif path == "/squeezed":
            self._send(gzip.compress(b"<p>small</p>"), coding="gzip")
        elif path == "/bomb":
            self._send(gzip.compress(b"0" * 30_000_000), coding="gzip")
        elif path == "/broken":
            self._send(b"not gzip", coding="gzip")
        elif path == "/pdf":
            self._send(b"%PDF", kind="application/pdf")
        elif path == "/away":
            self._send(b"", status=302, leads="http://elsewhere.example/")
        elif path == "/file":
            self._send(b"", status=302, leads="file:///etc/passwd")
        elif path == "/around":
            self._send(b"", status=302, leads="/around")
        elif path == "/near":
            self._send(b"", status=302, leads="/latin")
        elif path == "/cut":
            self._send(gzip.compress(b"<p>small</p>" * 99)[:-12], coding="gzip")
        elif path == "/moved/goods":
            self._send(b"", status=301, leads="/goods/B0SHOE0001.html")
        elif path == "/moved/on":
            self._send(b"", status=302, leads="/cart/add?id=7")
        elif path == "/slow":
            time.sleep(1.5)
            self._send(b"late")
        elif path == "/service":
            self._send(f"<p>{query['url'][0]} {query.get('key', [''])[0]}</p>".encode())
        else:
            self._send(b"<p>none</p>", status=404)

    def _send(
        self,
        body: bytes,
        status: int = 200,
        kind: str = "text/html",
        coding: str = "",
        leads: str = "",
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if coding:
            self.send_header("Content-Encoding", coding)
        if leads:
            self.send_header("Location", leads)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Says nothing."""


@pytest.fixture
def shop() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Shop)
    server.seen = []  # type: ignore[attr-defined]
    server.robots = (200, "User-agent: *\nDisallow: /private\n")  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _base(shop: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{shop.server_port}"


def _paths(shop: ThreadingHTTPServer) -> list[str]:
    return [path for path, _ in shop.seen]  # type: ignore[attr-defined]


def _local(shop: ThreadingHTTPServer, **settings: Any) -> HttpFetch:
    return HttpFetch((f"127.0.0.1:{shop.server_port}",), allow_local=True, **settings)


def test_pages_in_their_encodings_and_who_asks(shop: ThreadingHTTPServer) -> None:
    fetch = _local(shop, user_agent="tester/1 (mail@shop.example)")
    assert fetch.get(f"{_base(shop)}/latin").body == "<p>café</p>"
    assert fetch.get(f"{_base(shop)}/squeezed").body == "<p>small</p>"
    near = fetch.get(f"{_base(shop)}/near")
    assert near.url.endswith("/latin")
    assert fetch.get(f"{_base(shop)}/nothing").status == 404
    assert shop.seen[0][1]["User-Agent"] == "tester/1 (mail@shop.example)"  # type: ignore[attr-defined]
    assert "errands/" in HttpFetch(()).user_agent


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/away", "leads away to http://elsewhere.example/"),
        ("/file", "nowhere that is followed"),
        ("/around", "nowhere that is followed"),
        ("/bomb", "larger than"),
        ("/broken", "broke off"),
        ("/cut", "broke off"),
        ("/pdf", "application/pdf"),
        ("/slow", "within 0.3 seconds"),
    ],
)
def test_what_is_no_page(shop: ThreadingHTTPServer, path: str, said: str) -> None:
    with pytest.raises(FetchError, match=said):
        _local(shop, seconds=0.3 if path == "/slow" else 20).get(_base(shop) + path)


def test_only_the_sites_own_hosts_and_none_inside_ones_own_network(
    shop: ThreadingHTTPServer,
) -> None:
    with pytest.raises(FetchError, match="nothing was sent"):
        _local(shop).get("http://other.example/")
    for url in ("file:///etc/passwd", "ftp://127.0.0.1/", "http://user@127.0.0.1/", "http://[", ""):
        with pytest.raises(FetchError, match="nothing was sent"):
            _local(shop).get(url)
    with pytest.raises(FetchError, match="inside your own network"):
        HttpFetch((f"127.0.0.1:{shop.server_port}",)).get(f"{_base(shop)}/latin")
    with pytest.raises(FetchError, match="inside your own network"):
        HttpFetch((f"localhost:{shop.server_port}",)).get(
            f"http://localhost:{shop.server_port}/latin"
        )
    assert _paths(shop) == []
    with pytest.raises(FetchError, match="nothing was sent"):
        _local(shop).get("http://127.0.0.1:1/")  # Another port is another host.
    with pytest.raises(FetchError, match="cannot be reached"):
        HttpFetch(("127.0.0.1:1",), allow_local=True, seconds=2).get("http://127.0.0.1:1/")


def test_a_page_that_has_moved_is_of_the_same_kind_and_logged(shop: ThreadingHTTPServer) -> None:
    site = SchemaOrg(f"{_base(shop)}/search?q={{query}}&page={{page}}")
    with page_source(site, live=FetchConfig(pause=0, allow_local=True)) as (fetch, _):
        policy = RequestPolicy(fetch, site)
        policy(PageRequest("item", f"{_base(shop)}/moved/goods"))
        for kind, path in (("item", "/moved/on"), ("search", "/search/../near")):
            with pytest.raises(FetchError, match=r"not followed|nothing was sent"):
                policy(PageRequest(kind, _base(shop) + path))  # type: ignore[arg-type]
    left = ["/robots.txt", "/moved/goods", "/goods/B0SHOE0001.html", "/moved/on"]
    assert _paths(shop) == left
    assert [(made.kind, urlsplit(made.url).path) for made in policy.log] == [
        ("robots", "/robots.txt"),
        ("redirect", "/goods/B0SHOE0001.html"),
        ("item", "/moved/goods"),
        ("item", "/moved/on"),
    ]
    assert policy.sent == len(left)


def test_whatever_a_fetcher_raises_the_request_is_noted() -> None:
    site = site_named("amazon")

    def broken(request: PageRequest) -> FetchedPage:
        raise RuntimeError("a bug")

    policy = RequestPolicy(broken, site)
    with pytest.raises(RuntimeError):
        policy(PageRequest("item", site.item_url("B000000000")))
    assert [(made.kind, made.status, made.error) for made in policy.log] == [
        ("item", 0, "RuntimeError: a bug")
    ]


@pytest.mark.parametrize(
    ("name", "value"), [("user_agent", ""), ("user_agent", "a\nb"), ("seconds", 0)]
)
def test_settings_that_make_no_sense(name: str, value: Any) -> None:
    with pytest.raises(SettingError):
        HttpFetch((), **{name: value})


def test_robots_are_obeyed_and_asked_for_once(shop: ThreadingHTTPServer) -> None:
    fetch = _local(shop)
    polite = PoliteFetch(fetch, pause=0, robots=Robots(fetch.get, fetch.user_agent))
    with pytest.raises(FetchError, match="asks robots not to open"):
        polite(PageRequest("item", f"{_base(shop)}/private/x"))
    polite(PageRequest("item", f"{_base(shop)}/latin"))
    polite(PageRequest("item", f"{_base(shop)}/squeezed"))
    assert _paths(shop) == ["/robots.txt", "/latin", "/squeezed"]


@pytest.mark.parametrize(("status", "allowed"), [(404, True), (403, False), (500, False)])
def test_robots_that_cannot_be_read(shop: ThreadingHTTPServer, status: int, allowed: bool) -> None:
    shop.robots = (status, "")  # type: ignore[attr-defined]
    fetch = _local(shop)
    robots = Robots(fetch.get, fetch.user_agent)
    if allowed:
        assert robots.check(f"{_base(shop)}/latin") == 0
    else:
        with pytest.raises(FetchError, match="nobody knows what is allowed"):
            robots.check(f"{_base(shop)}/latin")


def test_the_pause_between_requests_is_kept_and_a_shop_may_ask_for_a_longer_one() -> None:
    now, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(round(seconds, 3))
        now[0] += seconds

    def fetch(request: PageRequest) -> FetchedPage:
        now[0] += 0.5
        return FetchedPage(request.url, 200, "")

    def robots_txt(url: str, kind: str = "") -> FetchedPage:
        return FetchedPage(url, 200, "User-agent: errands\nCrawl-delay: 7\n")

    polite = PoliteFetch(fetch, pause=2, clock=lambda: now[0], sleep=sleep)
    for _ in range(3):
        polite(PageRequest("item", "https://a.example/x"))
    assert slept == [2, 2]
    slept.clear()
    slow = PoliteFetch(fetch, pause=2, robots=Robots(robots_txt, "errands/1"), clock=lambda: now[0],
                  sleep=sleep)  # fmt: skip
    for _ in range(2):
        slow(PageRequest("item", "https://a.example/x"))
    assert slept == [7, 7], "after robots.txt, too"


def test_a_service_is_given_the_address_and_its_key_stays_secret(
    shop: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = f"{_base(shop)}/service?key={{key}}&url={{url}}"
    with pytest.raises(SettingError, match="environment variable MY_KEY is not set"):
        service_fetch(template, "MY_KEY", hosts=("a.example",))
    monkeypatch.setenv("MY_KEY", "s3cret")
    fetch = service_fetch(template, "MY_KEY", hosts=("a.example",), allow_local=True)
    answer = fetch(PageRequest("item", "https://www.a.example/dp/1?x=y&z"))
    assert answer.url == "https://www.a.example/dp/1?x=y&z"
    assert answer.body == "<p>https://www.a.example/dp/1?x=y&z s3cret</p>"
    with pytest.raises(FetchError, match="nothing was sent"):
        fetch(PageRequest("item", "https://b.example/"))
    closed = service_fetch(
        "http://127.0.0.1:1/?key={key}&url={url}", "MY_KEY", hosts=("a.example",),
        allow_local=True,
    )  # fmt: skip
    with pytest.raises(FetchError) as failure:
        closed(PageRequest("item", "https://a.example/"))
    assert "s3cret" not in str(failure.value)
    with pytest.raises(SettingError, match=r"with \{url\} in it"):
        service_fetch("https://service.example/", "", hosts=())


@pytest.mark.parametrize(
    "given", [{"live": {"service": "https://a.example/?u={url}"}}, {"live": {"own": "os:getcwd"}},
              {"pages": Path()}, {"cassette": Path("none")}],
)  # fmt: skip
def test_what_has_no_effect_is_refused(given: dict[str, Any]) -> None:
    """Only plain HTTP asks for robots.txt and says who is asking."""
    for flag, setting in (("--ignore-robots", {"ignore_robots": True}),
                          ("--user-agent", {"user_agent": "me/1"})):  # fmt: skip
        live = FetchConfig(**{**given.get("live", {}), **setting})
        with (
            pytest.raises(SettingError, match=f"{flag} has no effect with --"),
            page_source(site_named("amazon"), **{**given, "live": live}),
        ):
            pass


def test_a_function_of_ones_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_pages.py").write_text(
        "def get(url): return url.upper()\n"
        "def fail(url): raise RuntimeError('no luck')\n"
        "def number(url): return 3\nword = 'x'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert own_fetch("my_pages:get")(PageRequest("item", "http://a/")).body == "HTTP://A/"
    with pytest.raises(FetchError, match="no luck"):
        own_fetch("my_pages:fail")(PageRequest("item", "http://a/"))
    with pytest.raises(FetchError, match="gave a int"):
        own_fetch("my_pages:number")(PageRequest("item", "http://a/"))
    for name in ("my_pages", "my_pages:nothing", "no_such_module:x", "my_pages:word"):
        with pytest.raises(SettingError, match="--fetch"):
            own_fetch(name)


def test_what_leaves_in_an_episode_over_http(shop: ThreadingHTTPServer) -> None:
    """Two pages of results and one item, once each, and robots.txt; nothing for what is inside."""
    site = SchemaOrg(f"{_base(shop)}/search?q={{query}}&page={{page}}")
    live = FetchConfig(pause=0, allow_local=True)
    with page_source(site, live=live) as (fetch, told):
        assert told == "plain HTTP"
        env = LiveShopEnv(["a red shoe"], site, fetch)
        env.reset()
        for action in (
            "search[red shoe]", "click[next >]", "click[< prev]", "click[b0shoe0003]",
            "click[9]", "click[night | blue]", "click[description]", "click[< prev]",
            "click[features]", "click[< prev]", "click[< prev]", "click[b0shoe0003]",
            "click[10]",
        ):  # fmt: skip
            env.step(action)
        *_, info = env.step("click[buy now]")
    assert _paths(shop) == [
        "/robots.txt",
        "/search?q=red+shoe&page=1",
        "/search?q=red+shoe&page=2",
        "/goods/B0SHOE0003.html",
    ]
    assert info["requests"] == {"search": 2, "item": 1}
    assert info["purchase"]["options"] == {"size": "10"}
    assert [made.kind for made in env.live.policy.log] == ["robots", "search", "search", "item"]


def test_the_gate_holds_episodes_and_runs_to_their_limits() -> None:
    site = site_named("amazon")
    pages: list[FetchedPage] = [FetchedPage("", 200, "")]
    policy = RequestPolicy(lambda request: pages[0], site, per_episode=2, per_run=3)
    item = PageRequest("item", site.item_url("B000000000"))
    policy(item)
    policy(item)
    with pytest.raises(FetchError, match="has sent its 2 requests"):
        policy(item)
    policy.begin()
    policy(item)
    with pytest.raises(EndOfRun, match="its 3 requests"):
        policy(item)
    assert policy.sent == 3
    loose = RequestPolicy(lambda request: pages[0], site)
    with pytest.raises(FetchError, match="nothing was sent"):
        loose(PageRequest("item", "https://elsewhere.example/"))
    with pytest.raises(FetchError, match="nothing was sent"):
        loose(PageRequest("buy", site.item_url("B000000000")))  # type: ignore[arg-type]
    assert loose.sent == 0
    pages[0] = FetchedPage("", 503, "")
    with pytest.raises(FetchError, match="status 503"):
        loose(item)
    pages[0] = FetchedPage("", 200, "<title>Robot Check</title>")
    with pytest.raises(SiteError, match="instead of a page"):
        loose(item)
    assert loose.sent == 2
    with pytest.raises(EndOfRun, match="refused 3 requests in a row"):
        loose(item)
    with pytest.raises(SettingError):
        RequestPolicy(lambda request: pages[0], site, per_episode=0)


@pytest.mark.parametrize("charset", ["punycode", "idna", "unicode_escape", "no-such-thing"])
def test_an_encoding_that_no_page_has_is_read_as_utf8(charset: str) -> None:
    assert decoded("<p>café</p>".encode(), charset) == "<p>café</p>"
    told = f"<meta charset={charset}><p>café</p>"
    assert decoded(told.encode()) == told


def test_an_encoding_is_read_as_browsers_do() -> None:
    assert decoded(b"\x80 5", "iso-8859-1") == "€ 5"
    assert decoded("鞋 5元".encode("gb18030"), "gb2312") == "鞋 5元"
    assert decoded("<meta charset=iso-8859-2><p>zł".encode("iso-8859-2")).endswith("zł")
