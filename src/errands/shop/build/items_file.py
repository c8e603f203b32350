"""The items file, one JSON array of up to 5.5 GB, cut into pieces for worker processes.

`ItemsFile` reads and hashes the file once and finds where its records end; a worker reads and
decodes its piece by itself. Pieces hold a fixed number of records, whoever works on them.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from errands.errors import DataError
from errands.shop.build.json_scan import MalformedJson, MemberScan
from errands.shop.build.json_stream import decode_json, open_binary, stream_array

__all__ = ["ItemsFile", "Piece", "complain", "read_piece"]

PIECE: Final = 2048
"""Records in a piece."""
BLOCK: Final = 1 << 22


class Piece(NamedTuple):
    """Whole records of a file: the bytes between the first one's start and the last one's end."""

    start: int
    end: int


class ItemsFile:
    """An items file that is being read; size and checksum are known once all pieces are."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.bytes = 0
        self._progress = progress
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def pieces(self, records: int = PIECE) -> Iterator[Piece]:
        """The file in pieces of so many records; the last one may be smaller."""
        scan = MemberScan(of_object=False)
        start, count, end = -1, 0, 0
        try:
            with open_binary(self.path) as file:
                while block := file.read(BLOCK):
                    self._digest.update(block)
                    self.bytes += len(block)
                    members = scan.feed(block)
                    place = 0
                    while place < len(members.starts):
                        if count == 0:
                            start = int(members.starts[place])
                        step = min(records - count, len(members.starts) - place)
                        place += step
                        count += step
                        end = int(members.ends[place - 1])
                        if count == records:
                            yield Piece(start, end)
                            count = 0
                    if self._progress is not None:
                        self._progress(self.bytes)
            scan.finish()
        except MalformedJson:
            complain(self.path)
        if count:
            yield Piece(start, end)


def read_piece(path: Path, piece: Piece) -> list[Any]:
    """The records of a piece; raises MalformedJson where they are not JSON."""
    with open_binary(path) as file:
        data = os.pread(file.fileno(), piece.end - piece.start, piece.start)
    try:
        records: list[Any] = decode_json(b"[%b]" % data)
    except ValueError:
        raise MalformedJson from None
    return records


def complain(path: Path, read: Callable[[Path], Iterator[Any]] = stream_array) -> NoReturn:
    """Say what is wrong with a file that the fast reader refused, and where."""
    for _ in read(path):
        pass
    raise DataError(f"{path} changed while it was read; let it be written first, then try again.")
