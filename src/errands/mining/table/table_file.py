"""Rows of products out of a file: CSV, TSV, JSON Lines, JSON, or an XML feed; one row at a time.

JSON is an array of products, or an object with one inside (`{"products": [...]}`).

A row that is damaged is a `BadRow` with a reason that can be counted; only a file of which nothing
can be made is an error.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any, Final

from errands.errors import DataError
from errands.mining.table.cells import Row, paths, unwrapped
from errands.mining.table.column_map import ColumnMap
from errands.mining.table.feed import feed_rows
from errands.shop.build.json_stream import decode_json, stream_array, stream_object

__all__ = ["BadRow", "Row", "TableFile"]

FIELD_LIMIT: Final = 1 << 24
"""Characters of a cell; a longer one is a quote that was never closed."""
SEEN_FOR_HEADER: Final = 100
"""Rows of a JSON or XML file whose names are taken for columns."""
_FORMATS: Final = "CSV, TSV, JSON Lines, JSON, or an XML feed"
_LONGEST_LINE: Final = 1 << 26
_DELIMITERS: Final = ",;\t|"
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LIST_FIRST: Final = re.compile(rb'\{\s*"[^"]{0,100}"\s*:\s*\[\s*\{')
"""The beginning of an object that begins with a list of objects."""
_NOT_TEXT: Final = "text is not {encoding}: say which it is in the map, [reading] encoding"


class BadRow(Exception):
    """A row that cannot be read; the message is the reason it is counted under."""


class TableFile:
    """A file of products; its columns are known at once, its rows are read as a stream."""

    def __init__(
        self,
        path: Path,
        column_map: ColumnMap | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.path = path
        self._map = ColumnMap(columns={}) if column_map is None else column_map
        self._progress = progress
        try:
            self.bytes = path.stat().st_size
            with path.open("rb") as file:
                beginning = file.read(1 << 16)
        except OSError as failure:
            raise DataError(
                f"{path} cannot be read ({failure.strerror}); expected products as {_FORMATS}."
            ) from None
        if not beginning.strip():
            raise DataError(f"{path} is empty; expected products as {_FORMATS}.")
        self._encoding = next(
            (name for mark, name in _MARKS if beginning.startswith(mark)), self._map.encoding
        )
        self.kind = _kind(path, beginning, self._encoding)
        self.header = self._header()

    def rows(self) -> Iterator[Row | BadRow]:
        """Every row, or why it is none."""
        if self.kind == "csv":
            yield from self._csv()
        else:
            yield from self._objects()

    def _objects(self) -> Generator[Row | BadRow, None, None]:
        """The rows of a file that is no table, without the wrappings of GraphQL."""
        readers = {"jsonl": self._lines, "json": self._array, "object": self._member}
        for row in readers.get(self.kind, self._feed)():
            inner = row if isinstance(row, BadRow) else unwrapped(row)
            yield inner if isinstance(inner, BadRow | dict) else row

    def _header(self) -> tuple[str, ...]:
        if self.kind == "csv":
            try:
                with self._text() as file:
                    return self._columns(csv.reader(file, delimiter=self._delimiter()))
            except UnicodeError:
                # Not every encoding can keep what is not of it.
                raise self._misread() from None
        names: dict[str, None] = {}
        rows = self._objects()
        for _, row in zip(range(SEEN_FOR_HEADER), rows, strict=False):
            if not isinstance(row, BadRow):
                names.update(dict.fromkeys(paths(row)))
        rows.close()
        if not names:
            raise DataError(
                f"{self.path} holds no JSON objects; expected one for each product."
                if self.kind != "xml"
                else f"{self.path} holds no products; expected elements <item>, <entry> or"
                " <product> below its first."
            )
        return tuple(names)

    def _columns(self, reader: Iterator[list[str]]) -> tuple[str, ...]:
        try:
            header = tuple(name.strip() for name in next(reader, []))
        except csv.Error as failure:
            raise self._unreadable(failure, 1) from None
        if any("\udc80" <= mark <= "\udcff" for name in header for mark in name):
            raise self._misread()
        counts = Counter(header)
        twice = next((name for name in header if name and counts[name] > 1), None)
        if twice is not None:
            raise DataError(
                f"{self.path} has two columns {twice!r}; give one of them another name."
            )
        if not any(header):
            raise DataError(f"{self.path} has no names of columns in its first line.")
        return header

    def _delimiter(self) -> str:
        if self._map.delimiter is not None:
            return self._map.delimiter
        if self.path.suffix.lower() in (".tsv", ".tab"):
            return "\t"
        with self._text() as file:
            line = file.readline(1 << 16)
        outside = "".join(line.split('"')[::2])
        return max(_DELIMITERS, key=outside.count)

    def _text(self) -> IO[str]:
        # What is not of the encoding is kept as half surrogates, so that one row pays for it.
        return io.open(self.path, encoding=self._encoding, errors="surrogateescape", newline="")  # noqa: UP020

    def _csv(self) -> Iterator[Row | BadRow]:
        # A limit of the whole process, which is only ever raised.
        csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT))
        with self._text() as file:
            reader = csv.reader(file, delimiter=self._delimiter())
            header = self._columns(reader)
            width = len(header)
            told = 0
            try:
                for cells in reader:
                    if self._progress is not None and reader.line_num - told >= 500:
                        told = reader.line_num
                        self._progress(_position(file), self.bytes)
                    if not any(cells):
                        continue
                    yield _row(header, cells, width, self._encoding)
            except csv.Error as failure:
                raise self._unreadable(failure, reader.line_num) from None
            except UnicodeError as failure:
                raise DataError(f"{self.path} is not {self._encoding}: {failure}.") from None

    def _lines(self) -> Generator[Row | BadRow, None, None]:
        with self.path.open("rb") as file:
            done = 0
            for number in count():
                line = file.readline(_LONGEST_LINE)
                if not line:
                    return
                done += len(line)
                if self._progress is not None and number % 500 == 0:
                    self._progress(done, self.bytes)
                line = line.removeprefix(codecs.BOM_UTF8) if number == 0 else line
                if not line.strip():
                    continue
                try:
                    row = decode_json(line)
                except UnicodeDecodeError:
                    yield BadRow("line is not UTF-8")
                except ValueError:
                    yield BadRow("line is not JSON")
                else:
                    yield row if isinstance(row, dict) else BadRow("line is not a JSON object")

    def _array(self) -> Generator[Row | BadRow, None, None]:
        told = self._progress
        report = None if told is None else lambda done: told(done, self.bytes)
        for row in stream_array(self.path, report):
            yield row if isinstance(row, dict) else BadRow("element is not a JSON object")

    def _member(self) -> Generator[Row | BadRow, None, None]:
        """The elements of the longest list of objects in an object; of none, the object itself."""
        whole = dict(stream_object(self.path))
        lists = [unwrapped(value) for value in whole.values()]
        held = max(
            (one for one in lists if isinstance(one, list) and any(map(_is_object, one))),
            key=len,
            default=None,
        )
        if held is None or sum(isinstance(value, str) for value in whole.values()) > 1:
            # It tells of itself: one product.
            held = [whole]
        for row in held:
            yield row if isinstance(row, dict) else BadRow("element is not a JSON object")

    def _feed(self) -> Generator[Row | BadRow, None, None]:
        told = self._progress
        yield from feed_rows(
            self.path, None if told is None else lambda done: told(done, self.bytes)
        )

    def _misread(self) -> DataError:
        return DataError(
            f"The first line of {self.path} is not {self._encoding}; say which encoding it is in"
            ' the map: [reading] encoding = "cp1252", for example.'
        )

    def _unreadable(self, failure: Exception, line: int) -> DataError:
        return DataError(
            f"{self.path} cannot be read as CSV at line {line:,} ({failure}); look for a quote that"
            " is not closed."
        )


def _kind(path: Path, beginning: bytes, encoding: str) -> str:
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    start = beginning.removeprefix(codecs.BOM_UTF8).lstrip()
    first = start[:1]
    if first == b"<" or suffix == ".xml":
        return "xml"
    if suffix == ".json" or (suffix not in (".csv", ".tsv", ".tab", ".txt") and first in b"[{"):
        return "json" if first != b"{" else "jsonl" if _is_line(start) else "object"
    if b"\0" in beginning and not encoding.lower().startswith(
        ("utf-16", "utf-32", "utf_16", "utf_32")
    ):
        raise DataError(
            f"{path} is not a text file; expected products as CSV, TSV, JSON Lines or JSON (a"
            " spreadsheet can be saved as CSV)."
        )
    return "csv"


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_line(start: bytes) -> bool:
    """Whether a file of objects has one on each line, and is not one object of many products."""
    line, end, rest = start.partition(b"\n")
    try:
        value = decode_json(line)
    except ValueError:
        # A line longer than what was looked at, or an object that goes on.
        return not end and _LIST_FIRST.match(line) is None
    return bool(rest.strip()) or not any(isinstance(one, list | dict) for one in value.values())


def _row(header: Sequence[str], cells: list[str], width: int, encoding: str) -> Row | BadRow:
    if len(cells) != width:
        way = "more" if len(cells) > width else "fewer"
        return BadRow(f"row has {way} cells than the first line")
    for cell in cells:
        if not cell.isascii() and any("\udc80" <= mark <= "\udcff" for mark in cell):
            return BadRow(_NOT_TEXT.format(encoding=encoding))
    return dict(zip(header, cells, strict=True))


def _position(file: IO[str]) -> int:
    """How far the bytes of an open text file were read."""
    buffer: Any = file
    return int(buffer.buffer.tell())
