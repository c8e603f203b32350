"""One file over HTTP, however bad the line: resumed, retried within bounds, never mixed up.

Bytes go to a `.part` file, and a small memo beside it keeps what the server said of the file
(address, ETag or date, length). A later attempt, in this process or after a kill, asks only for
the rest, and only under the condition that the file is still the same; when it is not, or when
the server cannot continue, the download starts over. Checking the content and giving the file
its final name is the caller's part.
"""

import errno
import http.client
import json
import shutil
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from errands import __version__
from errands.data.sets import CHUNK
from errands.errors import DataError
from errands.progress import Progress, silent

__all__ = ["RetryPolicy", "Transfer", "check_base", "discard", "download", "join"]

_SPARE = 16 << 20
"""Disk space in bytes that a download leaves free."""

_SLOWEST = 256
"""Bytes a second below which a line counts as dead although something still trickles in."""

_LONGEST_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to put up with a bad line."""

    attempts: int = 5
    """Attempts in a row that may fail without having brought a megabyte."""
    backoff: float = 1.0
    """Seconds before the first new attempt; doubled for each further one."""
    timeout: float = 30.0
    """Seconds in which the server must say something."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A finished download that waits in its `.part` file to be checked."""

    url: str
    received: int
    """Bytes that came over the line this time."""
    resumed: bool
    """Whether part of the file was there before."""


@dataclass(frozen=True, slots=True)
class _Memo:
    """What the server said of the file whose beginning is in the `.part`."""

    url: str
    etag: str | None
    modified: str | None
    total: int | None

    @property
    def validator(self) -> str | None:
        """What If-Range accepts: a strong ETag, or else the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


class _Dropped(Exception):
    """The attempt failed in a way that a new one may mend."""

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait


class _Absent(Exception):
    """The server does not have this address."""


def check_base(base: str) -> str:
    """`base` without its final slash, if files can be fetched below it."""
    try:
        parts = urlsplit(base)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        raise DataError(f"{base!r} is not a URL") from None
    if parts.scheme == "file":
        raise DataError(f"{base!r} is a file on this machine: pass its folder with --from instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        raise DataError(f"{base!r} is not an http or https URL, such as https://example.org/data")
    if parts.username or parts.password:
        raise DataError("the URL must not carry a user name or password")
    if parts.query or parts.fragment or any(c <= " " or c > "~" for c in base):
        raise DataError(f"{base!r} must be a plain address without spaces, '?' and '#'")
    return base.rstrip("/")


def join(base: str, *names: str) -> str:
    """The address of a file below `base`."""
    return "/".join([base, *(quote(name) for name in names)])


def discard(part: Path) -> None:
    """Forget a `.part` file and what is known of it."""
    part.unlink(missing_ok=True)
    _memo_path(part).unlink(missing_ok=True)


def download(
    urls: Sequence[str],
    part: Path,
    *,
    limit: int,
    sizes: Sequence[int] = (),
    checked: bool = False,
    retries: RetryPolicy | None = None,
    progress: Progress = silent,
    what: str | None = None,
) -> Transfer:
    """Bring the first of `urls` that exists completely into `part`.

    `sizes` are the lengths the file can have (any, if empty) and `limit` the length it cannot
    exceed. With `checked`, the caller will compare a checksum, so that a server without ETag and
    date may be resumed as well.
    """
    for url in urls:
        name = what or part.name.removesuffix(".part")
        job = _Job(url, part, limit, sizes, checked, retries or RetryPolicy(), progress, name)
        with suppress(_Absent):
            return job.run()
    raise DataError(f"the server has no such file: tried {' and '.join(urls)}")


@dataclass(slots=True)
class _Job:
    """The attempts at one address."""

    url: str
    part: Path
    limit: int
    sizes: Sequence[int]
    checked: bool
    retries: RetryPolicy
    progress: Progress
    what: str
    received: int = 0
    resumed: bool = False

    def run(self) -> Transfer:
        """Attempt until the file is complete or retries is at its end."""
        failures = 0
        while True:
            before = self.received
            try:
                self._attempt()
                return Transfer(self.url, self.received, self.resumed)
            except _Dropped as drop:
                failures = 1 if self.received - before >= CHUNK else failures + 1
                if failures >= self.retries.attempts:
                    raise DataError(
                        f"gave up on {self.url} after {failures} attempts: {drop}. "
                        "What has arrived is kept; run the same command again to go on."
                    ) from None
                pause = self.retries.backoff * 2 ** (failures - 1)
                time.sleep(min(max(pause, drop.wait), _LONGEST_WAIT))

    def _attempt(self) -> None:
        memo, offset = self._kept()
        if memo and memo.total == offset:
            self.resumed = True
            return
        headers = {"User-Agent": f"errands/{__version__}", "Accept-Encoding": "identity"}
        if memo:
            headers["Range"] = f"bytes={offset}-"
            if memo.validator:
                headers["If-Range"] = memo.validator
        response = self._open(urllib.request.Request(self.url, headers=headers), memo, offset)
        if response is None:
            return
        with response:
            encoding = response.headers.get("Content-Encoding", "identity")
            if encoding != "identity":
                raise DataError(f"{self.url} is sent with Content-Encoding {encoding}, not as is")
            if response.status == 206:
                total = _total(response.headers.get("Content-Range"), offset)
                etag = response.headers.get("ETag")
                if memo is None or total is None or total != (memo.total or total):
                    raise self._start_over("the server continued another file than was begun")
                if memo.etag and etag and etag != memo.etag:
                    raise self._start_over("the file has changed on the server")
                self.resumed = True
            else:
                length = response.headers.get("Content-Length")
                total, offset = int(length) if length and length.isdigit() else None, 0
                self.resumed = False
            self._check_size(total, offset)
            self._receive(response, total, offset)

    def _kept(self) -> tuple[_Memo | None, int]:
        """The memo and length of the part that can be continued from this address, if any."""
        try:
            memo = _Memo(**json.loads(_memo_path(self.part).read_text("utf-8")))
            offset = self.part.stat().st_size
        except (OSError, ValueError, TypeError):
            return None, 0
        fits = offset <= (self.limit if memo.total is None else memo.total)
        if memo.url != self.url or not offset or not fits or not (memo.validator or self.checked):
            return None, 0
        return memo, offset

    def _open(
        self, request: urllib.request.Request, memo: _Memo | None, offset: int
    ) -> http.client.HTTPResponse | None:
        """The server's answer; None when it says that the part is already complete."""
        try:
            answer: http.client.HTTPResponse = _opener().open(request, timeout=self.retries.timeout)
            return answer
        except urllib.error.HTTPError as error:
            with error:
                code, headers = error.code, error.headers
        except http.client.InvalidURL as error:
            raise DataError(f"{self.url} is not a usable address: {error}") from None
        except urllib.error.URLError as error:
            raise self._line_error(error.reason) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._line_error(error) from None
        if code in (403, 404, 410):
            raise _Absent
        if code == 416:
            if memo and headers.get("Content-Range", "").strip() == f"bytes */{offset}":
                self.resumed = True
                return None
            raise self._start_over("the server has fewer bytes than are here")
        if code in (408, 425, 429) or code >= 500:
            wait = headers.get("Retry-After", "")
            raise _Dropped(f"the server answers HTTP {code}", float(wait) if wait.isdigit() else 0)
        if 300 <= code < 400:
            where = headers.get("Location", "nowhere")
            raise DataError(f"{self.url} redirects to {where!r}, which is not followed")
        raise DataError(f"{self.url} cannot be fetched: the server answers HTTP {code}")

    def _line_error(self, reason: object) -> Exception:
        hopeless = ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError
        if isinstance(reason, hopeless) and not self.received:
            return DataError(f"cannot reach {self.url}: {reason}")
        return _Dropped(f"the connection failed ({reason or type(reason).__name__})")

    def _start_over(self, why: str) -> _Dropped:
        discard(self.part)
        return _Dropped(why)

    def _check_size(self, total: int | None, offset: int) -> None:
        """Refuse before the first byte what cannot be the file or cannot be stored."""
        if total is not None and self.sizes and total not in self.sizes:
            expected_sizes = " or ".join(f"{size:,}" for size in self.sizes)
            raise DataError(
                f"{self.url} has {total:,} bytes, expected {expected_sizes}: it is another file"
            )
        if total is not None and total > self.limit:
            raise DataError(f"{self.url} has {total:,} bytes, expected at most {self.limit:,}")
        expected = max(self.sizes, default=0) if total is None else total
        free = shutil.disk_usage(self.part.parent).free
        if expected - offset + _SPARE > free:
            raise DataError(
                f"{self.part.parent} has {free:,} bytes free, but {self.what} needs "
                f"{expected - offset + _SPARE:,}: make room or choose another folder with --out"
            )

    def _receive(self, response: http.client.HTTPResponse, total: int | None, offset: int) -> None:
        done = offset
        clock, mark = time.monotonic(), done
        with self.part.open("ab" if offset else "wb") as file:
            if not offset:
                self._remember(response, total)
            while chunk := self._read(response):
                done += len(chunk)
                if done > (self.limit if total is None else total):
                    raise self._overflow()
                self._write(file, chunk)
                self.received += len(chunk)
                self.progress(self.what, done, total)
                if (now := time.monotonic()) - clock > 2 * self.retries.timeout:
                    if done - mark < _SLOWEST * (now - clock):
                        raise _Dropped("the server sends next to nothing")
                    clock, mark = now, done
        if total is not None and done < total:
            raise _Dropped(f"the connection broke off at byte {done:,} of {total:,}")

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        try:
            return response.read1(CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise self._line_error(error) from None

    def _write(self, file: IO[bytes], chunk: bytes) -> None:
        try:
            file.write(chunk)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DataError(
                f"the disk of {self.part.parent} is full: make room and go on"
            ) from None

    def _overflow(self) -> DataError:
        discard(self.part)
        return DataError(f"{self.url} sends more than the {self.limit:,} bytes it can have")

    def _remember(self, response: http.client.HTTPResponse, total: int | None) -> None:
        headers = response.headers
        memo = _Memo(self.url, headers.get("ETag"), headers.get("Last-Modified"), total)
        _memo_path(self.part).write_text(json.dumps(asdict(memo)), "utf-8")


class _HttpOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https, and never from https back to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        scheme = urlsplit(newurl).scheme
        if scheme != "https" and scheme != urlsplit(req.full_url).scheme:
            raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """An opener that knows http and https only (urllib's own also opens files and FTP)."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
        _HttpOnly,
    ):
        opener.add_handler(handler())
    return opener


def _total(content_range: str | None, offset: int) -> int | None:
    """The whole length out of `bytes OFFSET-END/TOTAL`; None when it does not start at `offset`."""
    unit, _, rest = (content_range or "").partition(" ")
    span, _, total = rest.partition("/")
    first = span.partition("-")[0]
    fits = unit == "bytes" and first.isdigit() and int(first) == offset and total.isdigit()
    return int(total) if fits else None


def _memo_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")
