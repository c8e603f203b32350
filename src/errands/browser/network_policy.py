"""What a page may load: itself, its task's files, well-known libraries, hosts the user allows.

Everything else is refused and counted; nothing reaches the network by itself, for Chromium is
started without one (see `errands.browser.chromium`).
"""

import base64
import mimetypes
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

from errands.browser.libraries import library

if TYPE_CHECKING:
    from playwright.async_api import APIRequestContext

__all__ = ["ORIGIN", "PATTERNS", "NetworkPolicy", "PageResponse", "inside", "page_file", "refusal"]

ORIGIN: Final = "http://task.invalid"
"""Where pages seem to live; `.invalid` never exists on a network."""
PATTERNS: Final = {"patterns": [{"urlPattern": "*"}]}
"""What Chromium asks about: every request."""
_LARGEST: Final = 64 * 1024 * 1024
_REDIRECTS: Final = 5
_KEPT: Final = ("cache-control", "public, max-age=31536000, immutable")
_NOT_KEPT: Final = ("cache-control", "no-store")

_BYTES: Final = "application/octet-stream"
_SHOWN: Final = ("image/", "audio/", "video/", "font/", "application/font")
_RUN: Final = frozenset(
    {
        *("text/css", "text/javascript", "application/javascript", "text/html", "text/vtt"),
        *("application/xhtml+xml", "application/wasm", "application/vnd.ms-fontobject"),
    }
)
_REPLACED: Final = ("cache-control", "content-encoding", "content-length", "transfer-encoding")


class PageResponse(msgspec.Struct, frozen=True):
    """What a request is answered with."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    """In base 64."""

    def command(self, request: str) -> tuple[str, dict[str, Any]]:
        """The command that gives Chromium this answer to a request of its."""
        headers = [{"name": name, "value": value} for name, value in self.headers]
        answer = {"responseCode": self.status, "responseHeaders": headers, "body": self.body}
        return "Fetch.fulfillRequest", {"requestId": request, **answer}


def refusal(request: str, reason: str = "NameNotResolved") -> tuple[str, dict[str, Any]]:
    """The command that refuses a request, as if there were no such host."""
    return "Fetch.failRequest", {"requestId": request, "errorReason": reason}


def inside(folder: Path, address: str) -> Path | None:
    """The file below `folder` that a path of an address names; None where there is none."""
    parts = [part for part in unquote(address).split("/") if part]
    if not parts or any(part in (".", "..") or "\0" in part or "\\" in part for part in parts):
        return None
    try:
        real = folder.resolve(strict=True)
        path = real.joinpath(*parts).resolve(strict=True)
        if path.is_relative_to(real) and path.is_file() and path.stat().st_size <= _LARGEST:
            return path
    except (OSError, ValueError):
        pass
    return None


def page_file(folder: Path, address: str) -> Path | None:
    """The file below `folder` that a page may load: what it shows or runs. Tables lie there, too,
    with the answers of others; so what is not known to be harmless is not there."""
    path = inside(folder, address)
    if path is None:
        return None
    kind, encoding = mimetypes.guess_type(path.name)
    is_harmless = kind is not None and (kind.startswith(_SHOWN) or kind in _RUN)
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder.resolve()).parts)
    return path if is_harmless and encoding is None and not is_hidden else None


@lru_cache(maxsize=64)
def _served(path: Path | None, kind: str) -> PageResponse:
    """A library's file, which every page gets alike: the browser may keep it between pages."""
    content = b"" if path is None else path.read_bytes()
    headers = ("content-type", kind), ("access-control-allow-origin", "*"), _KEPT
    return _answer(200, content, headers)


def _answer(status: int, content: bytes, headers: tuple[tuple[str, str], ...]) -> PageResponse:
    length = ("content-length", str(len(content)))
    return PageResponse(status, (*headers, length), base64.b64encode(content).decode("ascii"))


def _shared(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Headers that let a frame of another origin read the answer too."""
    request = {name.lower(): value for name, value in headers.items()}
    if "origin" not in request:
        return ()
    shared = {
        "access-control-allow-origin": request["origin"],
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": request.get("access-control-request-method"),
        "access-control-allow-headers": request.get("access-control-request-headers"),
        "vary": "Origin",
    }
    return tuple((name, value) for name, value in shared.items() if value is not None)


def _is_question(request: Mapping[str, Any]) -> bool:
    """Whether the browser itself asks if a page may ask; what the page wants comes next."""
    return request["method"] == "OPTIONS" and bool(_shared(request["headers"]))


class NetworkPolicy:
    """Answers a page's requests."""

    def __init__(self, allow: Collection[str] = ()) -> None:
        self.allow = frozenset(host.lower() for host in allow)
        self.refused: Counter[str] = Counter()
        """How often each host (or the page itself, by leaving) was refused."""
        self._body = b""
        self._files: Path | None = None
        self._expected = False

    def expect(self, html: str, files: Path | None) -> None:
        """The next page to be served, once."""
        self._body = html.encode("utf-8", "replace")
        self._files = files
        self._expected = True
        self.refused.clear()

    def allows(self, request: Mapping[str, Any]) -> bool:
        """Whether the user lets pages load what is requested from elsewhere."""
        return self._allowed(str(request["url"])) and not _is_question(request)

    def _allowed(self, url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and (parts.hostname or "") in self.allow

    def answer(self, request: Mapping[str, Any], *, navigates: bool) -> PageResponse | None:
        """The answer to a request (as Chromium describes one); None where it is refused.

        `navigates` says whether it would replace the page.
        """
        url = str(request["url"])
        if navigates:
            if self._expected and url == f"{ORIGIN}/":
                self._expected = False
                kind = ("content-type", "text/html; charset=utf-8")
                return _answer(200, self._body, (kind, _NOT_KEPT))
            # No content: the browser stays where it is.
            self._refuse(url)
            return PageResponse(204)
        shared = _shared(request["headers"])
        if _is_question(request):
            return PageResponse(204, shared)
        if url.startswith(f"{ORIGIN}/"):
            path = page_file(self._files, urlsplit(url).path) if self._files is not None else None
            if path is None:
                return PageResponse(404, shared)
            kind = ("content-type", mimetypes.guess_type(path.name)[0] or _BYTES)
            return _answer(200, path.read_bytes(), (kind, _NOT_KEPT, *shared))
        served = library(url)
        if served is not None and request["method"] == "GET":
            return _served(served.path, served.kind)
        self._refuse(url)
        return None

    async def fetch(
        self, request: Mapping[str, Any], network: "APIRequestContext"
    ) -> PageResponse | None:
        """Fetch from an allowed host; every redirect must lead to one too."""
        url = str(request["url"])
        entries = request.get("postDataEntries", ())
        sent = b"".join(base64.b64decode(each.get("bytes", "")) for each in entries)
        for _ in range(_REDIRECTS):
            answer = await network.fetch(
                url,
                method=request["method"],
                headers=dict(request["headers"]),
                data=sent or None,
                max_redirects=0,
                timeout=10_000,
            )
            target = answer.headers.get("location")
            if answer.status not in (301, 302, 303, 307, 308) or target is None:
                own = tuple(pair for pair in answer.headers.items() if pair[0] not in _REPLACED)
                is_shared = "access-control-allow-origin" in answer.headers
                shared = () if is_shared else _shared(request["headers"])
                return _answer(answer.status, await answer.body(), (*own, _NOT_KEPT, *shared))
            url = urljoin(url, target)
            if not self._allowed(url):
                self._refuse(url)
                break
        return None

    def _refuse(self, url: str) -> None:
        parts = urlsplit(url)
        self.refused[parts.hostname or parts.scheme] += 1
