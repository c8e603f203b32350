"""Pages over plain HTTP, with nothing but the standard library, and with care.

Only http and https, only hosts of the site, redirections only to a page of the same kind, never
an address inside one's own network, a limit on time and size, and a name that says who is asking.
"""

import gzip
import http.client
import io
import ipaddress
import os
import socket
import ssl
import string
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

import errands
from errands.errors import SettingError
from errands.transfer.fetch.charset import decoded
from errands.transfer.fetch.fetcher import (
    REQUEST_KINDS,
    Fetch,
    FetchedPage,
    FetchError,
    PageRequest,
    RequestRecord,
    log_request,
)
from errands.transfer.sites.address import host_of, is_within
from errands.transfer.sites.markup import absolute
from errands.transfer.sites.site import RequestKind

__all__ = ["USER_AGENT", "HttpFetch", "service_fetch"]

USER_AGENT: Final = f"errands/{errands.__version__} (research on web agents)"
_LARGEST: Final = 8_000_000
_PIECE: Final = 65_536
_MOST_HOPS: Final = 5
_MOVED: Final = (301, 302, 303, 307, 308)
_READABLE: Final = ("text/", "application/xhtml", "application/xml", "application/json")


@dataclass(eq=False, kw_only=True)
class HttpFetch:
    """Gets pages of one site; `admits` says which address is of which kind."""

    hosts: tuple[str, ...] = field(kw_only=False)
    user_agent: str = USER_AGENT
    seconds: float = 20.0
    largest: int = _LARGEST
    allow_local: bool = False
    admits: Callable[[RequestKind, str], bool] | None = None

    def __post_init__(self) -> None:
        name = self.user_agent
        if not name.strip() or not name.isprintable() or not name.isascii():
            raise SettingError("--user-agent: expected a plain text that says who is asking.")
        if not 0 < self.seconds <= 600:
            raise SettingError(
                f"--timeout {self.seconds:g}: expected more than 0, up to 600 seconds."
            )
        self.user_agent = name.strip()
        opener = urllib.request.OpenerDirector()
        for handler in (
            _HttpHandler(self.allow_local),
            _HttpsHandler(self.allow_local),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
        ):
            opener.add_handler(handler)
        self._opener = opener

    def __call__(self, request: PageRequest) -> FetchedPage:
        return self.get(request.url, request.kind)

    def get(self, url: str, kind: str = "") -> FetchedPage:
        """A page, whatever its status. Where it has moved, of a `kind`, each hop is told aside."""
        if not is_within(url, self.hosts):
            raise FetchError(
                f"{url} is not of {', '.join(self.hosts) or 'any allowed host'}; nothing was sent."
            )
        at = url
        for hop in range(_MOST_HOPS + 1):
            begun = time.perf_counter()
            answer, leads_to = self._once(at)
            if hop and kind:
                seconds = time.perf_counter() - begun
                log_request(RequestRecord("redirect", at, answer.status, seconds))
            if answer.status not in _MOVED:
                return answer
            target = absolute(quote(leads_to, safe=string.punctuation), at)
            if not target:
                break
            if not is_within(target, self.hosts) or not self._same_kind(kind, target):
                raise FetchError(f"{url} leads away to {target}; that is not followed.")
            at = target
        raise FetchError(f"{url} leads on, but nowhere that is followed.")

    def _same_kind(self, kind: str, url: str) -> bool:
        if self.admits is None:
            return True
        return all(self.admits(each, url) for each in REQUEST_KINDS if each == kind)

    def _once(self, url: str) -> tuple[FetchedPage, str]:
        """What is answered to one request, and where it leads on to."""
        asked = urllib.request.Request(
            url,
            headers={
                "User-Agent": self.user_agent,
                "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1",
                "Accept-Language": "en-US,en;q=0.8",
                "Accept-Encoding": "gzip",
            },
        )
        end = time.monotonic() + self.seconds
        try:
            try:
                answer = self._opener.open(asked, timeout=self.seconds)
            except urllib.error.HTTPError as refused:
                answer = refused
            with answer:
                data = self._read(answer, end)
                charset = answer.headers.get_content_charset()
                page = FetchedPage(url, int(answer.status), decoded(data, charset))
                return page, answer.headers.get("Location") or ""
        except FetchError:
            raise
        except TimeoutError:
            raise FetchError(f"{url} did not answer within {self.seconds:g} seconds.") from None
        except urllib.error.URLError as failure:
            if isinstance(failure.reason, FetchError):
                raise failure.reason from None
            if isinstance(failure.reason, TimeoutError):
                raise FetchError(f"{url} did not answer within {self.seconds:g} seconds.") from None
            raise FetchError(f"{url} cannot be reached ({failure.reason}).") from None
        except (OSError, EOFError, http.client.HTTPException, ValueError, zlib.error) as failure:
            raise FetchError(f"{url} broke off ({type(failure).__name__}: {failure}).") from None

    def _read(self, answer: Any, end: float) -> bytes:
        kind = answer.headers.get_content_type()
        if answer.status == 200 and not kind.startswith(_READABLE):
            raise FetchError(f"{answer.geturl()} is {kind}; expected a page.")
        source: Any = answer
        if answer.headers.get("Content-Encoding", "").strip().lower() == "gzip":
            source = gzip.GzipFile(fileobj=io.BufferedReader(answer))
        data = bytearray()
        while piece := source.read(_PIECE):
            data += piece
            if len(data) > self.largest:
                raise FetchError(
                    f"{answer.geturl()} is larger than {self.largest:,} bytes; that is no page."
                )
            if time.monotonic() > end:
                raise FetchError(f"{answer.geturl()} took longer than {self.seconds:g} seconds.")
        return bytes(data)


def _check_peer(connected: socket.socket | None, host: str, allow_local: bool) -> None:
    """Refuse an address inside one's own network; looked at once it is connected, as a name may
    stand for another address a moment later. Nothing of the request has been sent by then."""
    if allow_local or connected is None:
        return
    address = ipaddress.ip_address(str(connected.getpeername()[0]).partition("%")[0])
    peer = getattr(address, "ipv4_mapped", None) or address
    if not peer.is_global:
        connected.close()
        raise FetchError(
            f"{host} is {peer}, inside your own network; nothing was sent (--allow-local allows"
            " it)."
        )


class _HttpHandler(urllib.request.HTTPHandler):
    def __init__(self, allow_local: bool) -> None:
        super().__init__()
        self._allow_local = allow_local

    def http_open(self, req: Any) -> Any:
        allow_local = self._allow_local

        class CheckedHTTPConnection(http.client.HTTPConnection):
            def connect(self) -> None:
                super().connect()
                _check_peer(self.sock, self.host, allow_local)

        return self.do_open(CheckedHTTPConnection, req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def __init__(self, allow_local: bool) -> None:
        super().__init__(context=ssl.create_default_context())
        self._allow_local = allow_local

    def https_open(self, req: Any) -> Any:
        allow_local = self._allow_local

        class CheckedHTTPSConnection(http.client.HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                _check_peer(self.sock, self.host, allow_local)

        return self.do_open(CheckedHTTPSConnection, req, context=ssl.create_default_context())


def service_fetch(
    template: str,
    key_name: str,
    *,
    hosts: tuple[str, ...],
    seconds: float = 60.0,
    allow_local: bool = False,
) -> Fetch:
    """Pages through a scraping service: an address with `{url}`, and `{key}` where it needs one.

    The key comes from the environment variable `key_name`, and is in no record and no message.
    """
    parts = urlsplit(template)
    if "{url}" not in template or parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError(
            "--service: expected an address with {url} in it, as"
            " 'https://service.example/?key={key}&url={url}'."
        )
    key = os.environ.get(key_name, "") if key_name else ""
    if "{key}" in template and not key:
        raise SettingError(
            f"--service has {{key}} in it, but the environment variable {key_name or '(unnamed)'}"
            " is not set; name it with --service-key."
        )
    fetch = HttpFetch((host_of(template),), seconds=seconds, allow_local=allow_local)

    def through(request: PageRequest) -> FetchedPage:
        if not is_within(request.url, hosts):
            raise FetchError(f"{request.url} is not of {', '.join(hosts)}; nothing was sent.")
        target = template.replace("{url}", quote(request.url, safe=""))
        try:
            answer = fetch.get(target.replace("{key}", quote(key, safe="")))
        except FetchError as failure:
            said = str(failure).replace(quote(key, safe=""), "***") if key else str(failure)
            raise FetchError(f"The service failed for {request.url}: {said}") from None
        return FetchedPage(request.url, answer.status, answer.body)

    return through
