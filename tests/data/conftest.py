"""A web server on the loopback interface that misbehaves on request."""

import re
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest


@dataclass
class Seen:
    """One request as the server saw it."""

    path: str
    range: str | None
    if_range: str | None
    status: int = 0
    sent: int = 0


@dataclass
class Server:
    """Files to serve, faults to commit (one a request, in order) and the requests so far.

    Faults: `drop:N` breaks off after N bytes of the body; `hold:N` stops there until `release`;
    `trickle` sends a byte at a time; `500`, `503:2` answer so; `to:URL` redirects; `ok` is none.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    etag: str | None = '"one"'
    modified: str | None = None
    ranges: bool = True
    honours_if_range: bool = True
    lengths: bool = True
    encoding: str | None = None
    faults: deque[str] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    @property
    def sent(self) -> list[int]:
        return [request.sent for request in self.seen]


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            seen = Seen(unquote(self.path), self.headers["Range"], self.headers["If-Range"])
            server.seen.append(seen)
            body = server.files.get(seen.path)
            fault = server.faults.popleft() if server.faults else "ok"
            if fault.startswith("to:"):
                self._plain(seen, 302, Location=fault[3:])
                return
            if fault[0].isdigit():
                code, _, wait = fault.partition(":")
                self._plain(seen, int(code), **({"Retry-After": wait} if wait else {}))
                return
            if body is None:
                self._plain(seen, 404)
                return
            start = 0
            if server.ranges and seen.range and (span := re.match(r"bytes=(\d+)-", seen.range)):
                same = seen.if_range in (None, server.etag, server.modified)
                if same or not server.honours_if_range:
                    start = int(span[1])
                    if start >= len(body):
                        self._plain(seen, 416, **{"Content-Range": f"bytes */{len(body)}"})
                        return
            seen.status = 206 if start else 200
            self.send_response(seen.status)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            if server.lengths:
                self.send_header("Content-Length", str(len(body) - start))
            for name, value in (
                ("ETag", server.etag),
                ("Last-Modified", server.modified),
                ("Content-Encoding", server.encoding),
            ):
                if value:
                    self.send_header(name, value)
            self.end_headers()
            self._body(seen, body[start:], fault)

        def _plain(self, seen: Seen, code: int, **headers: str) -> None:
            seen.status = code
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _body(self, seen: Seen, body: bytes, fault: str) -> None:
            kind, _, number = fault.partition(":")
            try:
                if kind == "trickle":
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        seen.sent += 1
                        if server.release.wait(0.05):
                            return
                    return
                stop = int(number) if kind in ("drop", "hold") else len(body)
                # Noted first: a quick client reads the log before this thread comes back.
                seen.sent += len(body[:stop])
                self.wfile.write(body[:stop])
                if kind == "hold":
                    server.release.wait(120)
            except OSError:
                self.close_connection = True

    return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    state = Server()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    httpd.daemon_threads = False
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{httpd.server_port}"
    yield state
    state.release.set()
    httpd.shutdown()
    thread.join()
    httpd.server_close()
