"""Mapped storage: plain arrays and lists of byte records that are opened, never loaded.

An array is one `.npy` file. A record list is two files, the records end to end (`.bin`) and
where each begins (`.npy`). Opening maps them; a page of the file is read when something on it
is asked for, and all processes of a machine share that page.
"""

import errno
import math
import mmap
import os
import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "LONGEST_RECORD",
    "ArrayWriter",
    "Packed",
    "Records",
    "RecordsWriter",
    "map_array",
    "new_array",
    "view",
    "write_array",
]

LONGEST_RECORD: Final = 1 << 28
"""Bytes of the longest record that is read: an offset that is wrong must not fill the memory."""
_HEADER: Final = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][A-Za-z][1-9]\d{0,8})', 'fortran_order': False,"
    rb" 'shape': \((\d{1,18}),(?: (\d{1,18}))?\), \} *\n",
    re.DOTALL,
)
"""What `write_array` and `new_array` write before an array: nothing else is read."""


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Save an array to `path` (which ends in .npy)."""
    values = np.ascontiguousarray(values)
    with path.open("wb") as file:
        header = np.lib.format.header_data_from_array_1_0(values)
        np.lib.format.write_array_header_1_0(file, header)
        # Not by `np.save`: of a full disk it says how much it wrote, but not that it is full.
        file.write(values.data)


def new_array(path: Path, dtype: DTypeLike, count: int) -> NDArray[Any]:
    """A saved array of zeros to fill in place: it may be larger than memory."""
    if not count:
        # Nothing cannot be mapped.
        write_array(path, np.empty(0, dtype))
        return np.empty(0, dtype)
    made: NDArray[Any] = np.lib.format.open_memmap(path, "w+", dtype, (count,))
    _take_room(path)
    return made.view(np.ndarray)


def _take_room(path: Path) -> None:
    """Have room on the disk for all of a file: a mapped page that finds none ends the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as failure:
            if failure.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise


def map_array(path: Path, kind: DTypeLike, dimensions: int = 1) -> NDArray[Any]:
    """Open a saved array without reading it; an ordinary read-only ndarray.

    A ValueError where the file holds no array of this type (`"S"`: texts of any length) and so
    many dimensions, or not all of it.
    """
    # Not by `np.load`, which believes whatever a header says, and warns and fails in many ways.
    with path.open("rb") as file:
        header = _HEADER.match(file.read(256))
        size = os.fstat(file.fileno()).st_size
        wanted = np.dtype(kind)
        if header is None:
            raise ValueError(f"{path.name} does not begin as an array of {wanted} does")
        name, *lengths = (part.decode("ascii") for part in header.groups() if part is not None)
        if name != wanted.str and not (kind == "S" and name.startswith("|S")):
            raise ValueError(f"{path.name} holds {name}, not {wanted.str}")
        shape = tuple(map(int, lengths))
        found = np.dtype(name)
        expected = header.end() + math.prod(shape) * found.itemsize
        if len(shape) != dimensions or size != expected:
            raise ValueError(f"{path.name} has {size} bytes, not {expected} for {shape} {name}")
        mapped: NDArray[Any] = np.memmap(file, found, "r", header.end(), shape)
        return mapped.view(np.ndarray)


def view(values: NDArray[Any]) -> memoryview:
    """An array of one dimension whose items come as plain numbers, faster than NumPy's."""
    return memoryview(values)  # type: ignore[arg-type]


class ArrayWriter:
    """Collects numbers of one type in a scratch file, for arrays that would not fit in memory."""

    def __init__(self, scratch: Path, dtype: DTypeLike) -> None:
        self._file: IO[bytes] = scratch.open("w+b")
        self._dtype = np.dtype(dtype)
        self.count = 0

    def extend(self, values: NDArray[Any]) -> None:
        """Append numbers of the writer's type."""
        self.count += self._file.write(np.ascontiguousarray(values, self._dtype).data) // (
            self._dtype.itemsize
        )

    def array(self) -> NDArray[Any]:
        """All numbers so far, mapped."""
        self._file.flush()
        if not self.count:
            return np.empty(0, self._dtype)
        mapped: NDArray[Any] = np.memmap(self._file, self._dtype, "r", shape=(self.count,))
        return mapped.view(np.ndarray)

    def close(self) -> None:
        self._file.close()


class Packed(NamedTuple):
    """Some records, end to end, on their way from one process to another."""

    data: bytes
    lengths: NDArray[np.uint32]

    @classmethod
    def of(cls, records: Sequence[bytes]) -> "Packed":
        lengths = np.fromiter(map(len, records), np.uint32, len(records))
        return cls(b"".join(records), lengths)

    def only(self, mask: NDArray[np.bool_]) -> "Packed":
        """Those that are to be kept."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        parts = [
            self.data[end - length : end]
            for end, length in zip(ends[mask].tolist(), self.lengths[mask].tolist(), strict=True)
        ]
        return Packed.of(parts)


class RecordsWriter:
    """Writes a record list, which is complete once `finish` was called."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._file = stem.with_suffix(".bin").open("wb")
        self._lengths = array("I")

    def append(self, record: bytes) -> None:
        """Add one record at the end."""
        self._lengths.append(self._file.write(record))

    def extend(self, records: Packed) -> None:
        """Add some records at the end."""
        self._file.write(records.data)
        self._lengths.frombytes(records.lengths.tobytes())

    def finish(self) -> None:
        self.close()
        starts = np.zeros(len(self._lengths) + 1, np.uint64)
        np.cumsum(np.frombuffer(self._lengths, np.uint32), out=starts[1:])
        write_array(self._stem.with_suffix(".npy"), starts)

    def close(self) -> None:
        self._file.close()


class Records:
    """A mapped record list: `records[i]` are the bytes of record i; a ValueError where its offsets
    make no sense."""

    __slots__ = ("_data", "_name", "_size", "_starts")

    def __init__(self, stem: Path) -> None:
        self._starts = view(map_array(stem.with_suffix(".npy"), np.uint64))
        self._name = stem.name
        if not len(self._starts):
            raise ValueError(f"{stem.name}.npy is empty")
        with stem.with_suffix(".bin").open("rb") as file:
            self._size = os.fstat(file.fileno()).st_size
            # An empty file cannot be mapped.
            empty = not self._size
            self._data: Any = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> bytes:
        first, end = self._starts[number], self._starts[number + 1]
        if not first <= end <= self._size or end - first > LONGEST_RECORD:
            raise ValueError(f"{self._name}.npy: record {number} is from {first} to {end}")
        record: bytes = self._data[first:end]
        return record
