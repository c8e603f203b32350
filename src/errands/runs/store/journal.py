"""Episodes on their way into a database: a file of its own for each process that plays.

A commit costs more than a short episode, and processes wait for each other's. So whoever plays
writes each finished episode at the end of its own file first, which survives the end of the
process as a commit does, and brings many of them into the database at once. Whoever opens a run
takes in what the dead have left; the kernel tells who is dead, for it frees their locks.
"""

import contextlib
import fcntl
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from errands.atomic import to_disk
from errands.runs.store.base import StoreError

__all__ = ["Entry", "Journal", "leftovers"]

Entry = tuple[tuple[Any, ...], bytes]
"""An episode as it lies in a database: the row of its summary, and its packed body."""

_HEAD: Final = struct.Struct("<II")
"""Before each entry: its length and its checksum, by which one that was cut off is known."""
_ENTRY: Final = msgspec.msgpack.Decoder(Entry)
_ENCODER: Final = msgspec.msgpack.Encoder()

_OWN: Final[set[Path]] = set()
"""The files that this process writes: to open and close one again would free its lock."""


class Journal:
    """The file of one process; `append` returns when the entry survives the process."""

    def __init__(self, database: Path, *, fsync: bool) -> None:
        self._fsync = fsync
        self._size = 0
        while True:
            handle, name = tempfile.mkstemp(prefix=_prefix(database), dir=database.parent)
            # Somebody who opens the run may find the file before it is locked, and remove it.
            fcntl.lockf(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:
                break
            os.close(handle)
        self._handle: int | None = handle
        self.path = Path(name)
        _OWN.add(self.path)
        if fsync:
            to_disk(database.parent)

    def append(self, entry: Entry) -> None:
        if self._handle is None:
            raise StoreError(f"{self.path} is closed.")
        packed = _ENCODER.encode(entry)
        left = memoryview(_HEAD.pack(len(packed), zlib.crc32(packed)) + packed)
        length = len(left)
        try:
            while left:
                left = left[os.write(self._handle, left) :]
            if self._fsync:
                os.fsync(self._handle)
        except OSError:
            # Half an entry would hide those after it.
            os.ftruncate(self._handle, self._size)
            os.lseek(self._handle, self._size, os.SEEK_SET)
            raise
        self._size += length

    def clear(self) -> None:
        """Forget all entries: the database has them."""
        assert self._handle is not None
        os.ftruncate(self._handle, 0)
        os.lseek(self._handle, 0, os.SEEK_SET)
        self._size = 0

    def close(self) -> None:
        """Remove the file, if it is empty; entries are left for whoever opens the run."""
        if self._handle is None:
            return
        if not self._size:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
        _OWN.discard(self.path)
        os.close(self._handle)
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def leftovers(database: Path, take: Callable[[Sequence[Entry]], None]) -> None:
    """Hand over what processes that are gone have left beside a database, and remove it then."""
    for path in sorted(database.parent.glob(_prefix(database).replace("[", "[[]") + "*")):
        if path in _OWN:
            continue
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
        except OSError as failure:
            raise StoreError(
                f"{path} holds episodes that are not yet in {database.name}, and cannot be written"
                f" ({failure.strerror}); copy the directory to where it can, and open the copy."
            ) from None
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)  # It is being written.
            continue
        try:
            # By this handle: to open and close the file once more would free the lock.
            take(list(_entries(os.pread(handle, os.fstat(handle).st_size, 0))))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        finally:
            os.close(handle)


def _entries(data: bytes) -> Iterator[Entry]:
    """All entries that are whole; the last one may have been cut off with its process."""
    at = 0
    while at + _HEAD.size <= len(data):
        length, check = _HEAD.unpack_from(data, at)
        packed = data[at + _HEAD.size : at + _HEAD.size + length]
        if not length or len(packed) < length or zlib.crc32(packed) != check:
            return
        yield _ENTRY.decode(packed)
        at += _HEAD.size + length


def _prefix(database: Path) -> str:
    return f"{database.name}.kept-"
