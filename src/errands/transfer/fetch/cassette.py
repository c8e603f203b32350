"""A cassette: the requests and pages of a session in one file, to play it again offline.

One line of JSON a request, with the page compressed: kind, url, status, where it was in the end,
and the body. A line is written when its page is there, so a session that is cut off loses at most
the line it was at. A replay requests nothing, and refuses what was not recorded. A refusal is
recorded like a page, but requested again by the next recording; of two lines for one request the
last counts.
"""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import zstandard

from errands.atomic import cut_off_torn_line
from errands.errors import DataError
from errands.transfer.fetch.fetcher import (
    REQUEST_KINDS,
    Fetch,
    FetchedPage,
    MissingPage,
    PageRequest,
)

__all__ = ["CassetteEntry", "Recorder", "Replayer", "read_cassette"]

FORMAT: Final = 1
_LARGEST: Final = 40_000_000


class CassetteEntry(msgspec.Struct, frozen=True):
    """One line of a cassette."""

    kind: str
    url: str
    status: int
    at: str
    body: str
    """Compressed by zstd, in base64."""
    format: int = FORMAT

    def page(self) -> FetchedPage:
        """The page that was fetched."""
        packed = base64.b64decode(self.body, validate=True)
        size = zstandard.frame_content_size(packed)
        if not 0 <= size <= _LARGEST:
            raise ValueError(f"a page of {size:,} bytes" if size > 0 else "a page of unknown size")
        # Told its size, it knows a page that was cut off.
        text = zstandard.ZstdDecompressor().decompress(packed, allow_extra_data=False)
        return FetchedPage(self.at, self.status, text.decode("utf-8", "replace"))


def cassette_entry(request: PageRequest, answer: FetchedPage) -> CassetteEntry:
    packed = zstandard.compress(answer.body.encode("utf-8", "replace"), 10)
    body = base64.b64encode(packed).decode("ascii")
    return CassetteEntry(request.kind, request.url, answer.status, answer.url, body)


def read_cassette(path: Path) -> dict[PageRequest, FetchedPage]:
    """All that was recorded. A last line without an end is what a cut-off recording leaves."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"There is no cassette {path}; record one with --record.") from None
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    lines = data.split(b"\n")
    whole, rest = lines[:-1], lines[-1]
    pages: dict[PageRequest, FetchedPage] = {}
    for number, line in enumerate(whole, 1):
        try:
            entry = msgspec.json.decode(line, type=CassetteEntry)
            if entry.format != FORMAT or entry.kind not in REQUEST_KINDS:
                raise ValueError(f"format {entry.format}, kind {entry.kind!r}")
            answer = entry.page()
        except (msgspec.DecodeError, RecursionError, ValueError, zstandard.ZstdError) as failure:
            raise DataError(
                f"{path}, line {number}, is not of a cassette ({failure}); it is damaged, or no"
                " cassette at all."
            ) from None
        pages[PageRequest(entry.kind, entry.url)] = answer
    if rest and not pages:
        raise DataError(f"{path} is not a cassette; expected lines of JSON, one a request.")
    return pages


class Replayer:
    """A cassette as a fetcher."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pages = read_cassette(path)
        if not self._pages:
            raise DataError(f"{path} is an empty cassette; record one with --record.")

    def __call__(self, request: PageRequest) -> FetchedPage:
        answer = self._pages.get(request)
        if answer is None:
            raise MissingPage(
                f"The cassette {self._path} has no answer to the {request.kind} {request.url};"
                " record it with --record. Nobody was asked."
            )
        return answer


class Recorder:
    """Passes requests on and writes down what is answered; a page it has is not asked for again.

    `refusal` is that of `SiteReader`: what it finds in a page that is none.
    """

    def __init__(
        self, path: Path, fetch: Fetch, refusal: Callable[[str], str] = lambda html: ""
    ) -> None:
        self._fetch = fetch
        self._refusal = refusal
        self._pages = read_cassette(path) if path.exists() else {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
            cut_off_torn_line(self._file.fileno())
        except OSError as failure:
            raise DataError(f"{path} cannot be written ({failure.strerror}).") from None

    def __call__(self, request: PageRequest) -> FetchedPage:
        known = self._pages.get(request)
        if known is not None and known.status == 200 and not self._refusal(known.body):
            return known
        answer = self._fetch(request)
        line = json.dumps(msgspec.to_builtins(cassette_entry(request, answer)), ensure_ascii=True)
        self._file.write(line.encode("ascii") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._pages[request] = answer
        return answer

    def close(self) -> None:
        self._file.close()
