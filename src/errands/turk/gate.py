"""What a page may load: itself, its task's files, well-known libraries, hosts the user allows.

Everything else is refused and counted; nothing reaches the network by itself, for Chromium is
started without one (see `errands.turk.chromium`).
"""

import mimetypes
from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urljoin, urlsplit

from errands.turk.libraries import library

if TYPE_CHECKING:
    from playwright.async_api import Route

__all__ = ["ORIGIN", "Gate", "inside"]

ORIGIN: Final = "http://task.invalid"
"""Where pages seem to live; `.invalid` never exists on a network."""
_LARGEST: Final = 64 * 1024 * 1024
_REDIRECTS: Final = 5


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


@lru_cache(maxsize=64)
def _content(path: Path) -> bytes:
    return path.read_bytes()


class Gate:
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

    async def answer(self, route: "Route") -> None:
        request = route.request
        url = request.url
        parts = urlsplit(url)
        if request.is_navigation_request() and request.frame.parent_frame is None:
            if self._expected and url == f"{ORIGIN}/":
                self._expected = False
                kind = "text/html; charset=utf-8"
                await route.fulfill(status=200, body=self._body, content_type=kind)
            else:
                # No content: the browser stays where it is.
                self.refused[parts.hostname or parts.scheme] += 1
                await route.fulfill(status=204)
            return
        if url.startswith(f"{ORIGIN}/"):
            path = inside(self._files, parts.path) if self._files is not None else None
            if path is None:
                await route.fulfill(status=404, body="")
            else:
                kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
                await route.fulfill(status=200, body=path.read_bytes(), content_type=kind)
            return
        if (parts.hostname or "") in self.allow:
            await self._fetch(route, url)
            return
        served = library(url)
        if served is not None and request.method == "GET":
            body = b"" if served.path is None else _content(served.path)
            headers = {"content-type": served.kind, "access-control-allow-origin": "*"}
            await route.fulfill(status=200, body=body, headers=headers)
            return
        self.refused[parts.hostname or parts.scheme] += 1
        await route.abort("namenotresolved")

    async def _fetch(self, route: "Route", url: str) -> None:
        """Fetch from an allowed host; every redirect must lead to one too."""
        for _ in range(_REDIRECTS):
            answer = await route.fetch(url=url, max_redirects=0, timeout=10_000)
            target = answer.headers.get("location")
            if answer.status not in (301, 302, 303, 307, 308) or target is None:
                await route.fulfill(response=answer)
                return
            url = urljoin(url, target)
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or parts.hostname not in self.allow:
                self.refused[parts.hostname or parts.scheme] += 1
                break
        await route.abort("blockedbyclient")
