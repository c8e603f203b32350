"""Reading the original WebShop files as streams: the items file alone can be 5.5 GB.

`stream_array` and `stream_object` walk a JSON file of one big array or object and hold one
element at a time. A file that is not what it should be gives one sentence with the position.
"""

import codecs
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from errands.errors import DataError

__all__ = ["decode_json", "open_binary", "stream_array", "stream_object"]

CHUNK = 1 << 20
LONGEST = 1 << 26
"""An element longer than this many characters is taken for a damaged file."""

_SPACE = " \t\r\n"
_AFTER = frozenset(" \t\r\n,:]}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_decode = json.JSONDecoder().raw_decode


class _Window:
    """A window that slides over a JSON text file."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None) -> None:
        self._path = path
        self._progress = progress
        self._bytes = 0
        self._file: IO[bytes] = open_binary(path)
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._window = ""
        self._at = 0
        self._passed = 0
        self._ended = False

    def close(self) -> None:
        self._file.close()

    def peek(self) -> str:
        """The next character that is not white space; '' at the end."""
        while True:
            while self._at < len(self._window):
                if self._window[self._at] not in _SPACE:
                    return self._window[self._at]
                self._at += 1
            if not self._read():
                return ""

    def take(self, expected: str) -> None:
        """Step over the next character, which must be the expected one."""
        self.expect(expected)
        self._at += 1

    def expect(self, expected: str) -> None:
        character = self.peek()
        if character != expected:
            shown = repr(character) if character else "the end"
            raise self.error(f"expected {expected!r}, found {shown}")

    def refuse(self, unwanted: str) -> None:
        if self.peek() == unwanted:
            raise self.error(f"found {unwanted!r} after a comma")

    def value(self) -> Any:
        """Read one whole JSON value."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._window, self._at)
            except json.JSONDecodeError as failure:
                position = self._passed + failure.pos
                if len(self._window) - self._at > LONGEST or not self._read(len(self._window)):
                    raise self.error(failure.msg, position) from None
            except RecursionError:
                raise self.error("values are nested too deeply") from None
            except ValueError as failure:
                raise self.error(str(failure)) from None
            else:
                # A number that is cut by the window's edge looks like a shorter one.
                whole = not isinstance(value, int | float) or self._window[end : end + 1] in _AFTER
                if whole or not self._read():
                    start, self._at = self._at, end
                    escaped = any(self._window.find(e, start, end) >= 0 for e in ("\\ud", "\\uD"))
                    return _without_surrogates(value) if escaped else value

    def finish(self) -> None:
        """Check that nothing but white space is left."""
        if self.peek():
            raise self.error("expected the end of the file")

    def error(self, problem: str, position: int | None = None) -> DataError:
        position = self._passed + self._at if position is None else position
        return DataError(
            f"{self._path} is not the JSON file it should be: {problem} at character"
            f" {position:,}. Check the file, or get it again with `errands data`."
        )

    def _read(self, atleast: int = 0) -> bool:
        """Slide the window on by a chunk; False at the end of the file."""
        if self._ended:
            return False
        data = self._file.read(max(CHUNK, atleast))
        self._bytes += len(data)
        self._ended = not data
        if self._progress is not None:
            self._progress(self._bytes)
        try:
            text = self._utf8.decode(data, final=self._ended)
        except UnicodeDecodeError as failure:
            position = self._bytes - len(data) + failure.start
            raise self.error(f"byte {position:,} is not UTF-8 ({failure.reason})") from None
        if self._ended:
            return False
        self._passed += self._at
        self._window = self._window[self._at :] + text
        self._at = 0
        return True


def _without_surrogates(value: Any) -> Any:
    """Halves of surrogate pairs, which no file can hold as text, become U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return value


def open_binary(path: Path) -> IO[bytes]:
    """Open a file to read, or say in a sentence why that cannot be."""
    try:
        return path.open("rb")
    except OSError as failure:
        raise DataError(
            f"{path} cannot be read ({failure.strerror}); expected a WebShop JSON file."
            " `errands data` says where such files are."
        ) from None


def decode_json(data: bytes) -> Any:
    """One JSON value, as a stream would read it but faster; what is none raises ValueError."""
    try:
        # Refuses some of what json takes (NaN, halves of surrogate pairs), else it is the same.
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value = json.loads(data.decode())
    except RecursionError:
        raise ValueError("values are nested too deeply") from None
    return _without_surrogates(value) if b"\\ud" in data.lower() else value


def stream_array(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[Any]:
    """The elements of a file that is one JSON array; `progress` is told how many bytes are read."""
    return (value for _, value in _members(path, "[]", progress))


def stream_object(path: Path) -> Iterator[tuple[str, Any]]:
    """The members of a file that is one JSON object."""
    return _members(path, "{}", None)


def _members(
    path: Path, brackets: str, progress: Callable[[int], None] | None
) -> Iterator[tuple[str, Any]]:
    """The elements of an array, under empty names, or the members of an object."""
    opening, closing = tuple(brackets)
    with contextlib.closing(_Window(path, progress)) as window:
        window.take(opening)
        while window.peek() != closing:
            name = ""
            if closing == "}":
                window.expect('"')
                name = window.value()
                window.take(":")
            yield name, window.value()
            if window.peek() == closing:
                break
            window.take(",")
            window.refuse(closing)
        window.take(closing)
        window.finish()
