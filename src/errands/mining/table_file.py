"""Rows of products out of a file: CSV, TSV, JSON Lines, or one JSON array; one row at a time.

A row that is damaged is a `BadRow` with a reason that can be counted; only a file of which nothing
can be made is an error.
"""

import codecs
import csv
import io
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from errands.errors import DataError
from errands.mining.column_map import ColumnMap
from errands.shop.build.json_stream import decode_json, stream_array

__all__ = ["BadRow", "Row", "TableFile"]

Row = Mapping[str, Any]
FIELD_LIMIT: Final = 1 << 24
"""Characters of a cell; a longer one is a quote that was never closed."""
SEEN_FOR_HEADER: Final = 100
"""Rows of a JSON file whose names are taken for columns."""
_LONGEST_LINE: Final = 1 << 26
_DELIMITERS: Final = ",;\t|"
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
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
                f"{path} cannot be read ({failure.strerror}); expected products as CSV, TSV, JSON"
                " Lines or JSON."
            ) from None
        if not beginning.strip():
            raise DataError(f"{path} is empty; expected products as CSV, TSV, JSON Lines or JSON.")
        self._encoding = next(
            (name for mark, name in _MARKS if beginning.startswith(mark)), self._map.encoding
        )
        self.kind = _kind(path, beginning, self._encoding)
        self.header = self._header()

    def rows(self) -> Iterator[Row | BadRow]:
        """Every row, or why it is none."""
        if self.kind == "csv":
            yield from self._csv()
        elif self.kind == "jsonl":
            yield from self._lines()
        else:
            yield from self._array()

    def _header(self) -> tuple[str, ...]:
        if self.kind == "csv":
            try:
                with self._text() as file:
                    return self._columns(csv.reader(file, delimiter=self._delimiter()))
            except UnicodeError:
                # Not every encoding can keep what is not of it.
                raise self._misread() from None
        names: dict[str, None] = {}
        rows = self._lines() if self.kind == "jsonl" else self._array()
        for _, row in zip(range(SEEN_FOR_HEADER), rows, strict=False):
            if not isinstance(row, BadRow):
                names.update(dict.fromkeys(row))
        rows.close()
        if not names:
            raise DataError(f"{self.path} holds no JSON objects; expected one for each product.")
        return tuple(names)

    def _columns(self, reader: Iterator[list[str]]) -> tuple[str, ...]:
        try:
            header = tuple(name.strip() for name in next(reader, []))
        except csv.Error as failure:
            raise self._unreadable(failure, 1) from None
        if any("\udc80" <= mark <= "\udcff" for name in header for mark in name):
            raise self._misread()
        twice = next((name for name in header if name and header.count(name) > 1), None)
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
            for number in range(1 << 62):
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
    first = beginning.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    if suffix == ".json" or (suffix not in (".csv", ".tsv", ".tab", ".txt") and first in b"[{"):
        return "jsonl" if first == b"{" else "json"
    if b"\0" in beginning and not encoding.lower().startswith(
        ("utf-16", "utf-32", "utf_16", "utf_32")
    ):
        raise DataError(
            f"{path} is not a text file; expected products as CSV, TSV, JSON Lines or JSON (a"
            " spreadsheet can be saved as CSV)."
        )
    return "csv"


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
