"""Product feeds in XML: RSS and Atom as Google's merchants send them, and files like them.

An element called `item`, `entry`, `product` or so is a row; its children are the columns, whatever
their namespace. A feed is read as a stream; a document type, with which a small file could grow
without end, is refused.
"""

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

from errands.errors import DataError

__all__ = ["feed_rows"]

ROWS: Final = frozenset("item entry product offer row record shopitem".split())
"""Names of the elements that are products."""
_CHUNK: Final = 1 << 16
_DEEPEST: Final = 50
_LONGEST: Final = 1 << 24
"""Characters of one product, or of a name, a comment or an attribute."""


class _FeedReader:
    """Elements as they come, made into rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: deque[dict[str, Any]] = deque()
        self._depth = 0
        self._row_depth = 0
        """Of the element that is being read as a row; 0: none."""
        self._stack: list[tuple[str, dict[str, Any], list[str]]] = []
        self._size = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _doctype(self, *declared: object) -> None:
        raise DataError(f"{self._path} declares a document type, which no product feed needs.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DataError(f"{self._path} nests its elements more than {_DEEPEST} deep.")
        local = name.rpartition(":")[2]
        if self._row_depth == 0:
            if self._depth > 1 and local.lower() in ROWS:
                self._row_depth = self._depth
                self._size = 0
                self._stack = [(local, {}, [])]
        else:
            link = attributes.get("href")
            self._stack.append((local, {}, [] if link is None else [link]))

    def _text(self, text: str) -> None:
        if self._row_depth:
            self._size += len(text)
            if self._size > _LONGEST:
                raise DataError(f"{self._path} has a product of more than {_LONGEST:,} characters.")
            self._stack[-1][2].append(text)

    def _end(self, _: str) -> None:
        if self._row_depth:
            name, children, texts = self._stack.pop()
            if self._depth == self._row_depth:
                self._row_depth = 0
                self.rows.append(children)
            else:
                held: Any = children or "".join(texts).strip()
                _put(self._stack[-1][1], name, held)
        self._depth -= 1


def _put(row: dict[str, Any], name: str, value: Any) -> None:
    """Add a value; a name that comes again holds a list, or keeps what is the same."""
    if name not in row:
        row[name] = value
    elif isinstance(row[name], list):
        row[name].append(value)
    elif row[name] != value:
        row[name] = [row[name], value]


def feed_rows(
    path: Path, progress: Callable[[int], None] | None = None
) -> Iterator[dict[str, Any]]:
    """The products of a feed, each a row."""
    reader = _FeedReader(path)
    done = 0
    with path.open("rb") as file:
        while True:
            data = file.read(_CHUNK)
            done += len(data)
            try:
                reader.parser.Parse(data, not data)
            except (expat.ExpatError, LookupError, ValueError) as failure:
                # The latter: it names an encoding that nobody knows, or of several bytes a letter.
                raise DataError(
                    f"{path} cannot be read as XML ({failure}); check the file, or get it again."
                ) from None
            if done - reader.parser.CurrentByteIndex > _LONGEST:
                # Expat looks at what has not ended anew with every piece.
                raise DataError(f"{path} has a part of more than {_LONGEST:,} bytes without end.")
            while reader.rows:
                yield reader.rows.popleft()
            if progress is not None:
                progress(done)
            if not data:
                return
