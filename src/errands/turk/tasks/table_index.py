"""Where the instances of a table are in its file: found out once, kept in Errands' home.

Reading a table takes longer than playing a few instances of it. What it says about all rows at
once (the types of its columns, which rows belong together) and where each row stands is therefore
written down; from then on an instance is formed by reading its own rows, in this process or in
another.

An index is of one file in one state: path, inode, size, and the times of its last changes. One
that is of another state, of another version of Errands or damaged is not used, and made again.
Without a home to write to, tables are read whole.
"""

import fcntl
import hashlib
import io
import itertools
import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.home import home
from errands.turk.tasks.instances import Instances, TableInstances, served_text
from errands.turk.tasks.table import ColumnType, TaskTable, cut_row, read_cells
from errands.turk.tasks.task import Instance

__all__ = [
    "ColumnRoles", "FileState", "IndexFile", "IndexedInstances", "TableIndex", "make_index",
    "read_whole",
]  # fmt: skip

_VERSION: Final = f"table 1 {sys.byteorder[0]}".encode()
_HEAD: Final = struct.Struct(f"<{len(_VERSION)}s16sQ")
"""Before every index in a file: the version, the key of the table's state, the length."""
_CHECKSUM: Final = hashlib.sha256().digest_size
_SMALLEST: Final = 2**15
"""Bytes; a smaller table is read as quickly as its index."""
_LARGEST: Final = 2**25
_MOST_FILES: Final = 64
"""How large a file of indices may be, and how many there may be."""
_REST: Final = 2.0
"""Seconds; a file that was changed so lately may change again without its times telling."""

_LF, _CR, _QUOTE = b'\n\r"'


class FileState(msgspec.Struct, frozen=True):
    """What tells a file, and one state of it from another, without reading it."""

    path: bytes
    inode: int
    size: int
    modified: int
    changed: int
    """In nanoseconds, as `modified`; unlike that, no program can set it."""

    @classmethod
    def of(cls, path: Path, status: os.stat_result) -> Self:
        place = os.fsencode(os.path.abspath(path))
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(place, status.st_ino, status.st_size, *times)

    def is_of(self, status: os.stat_result) -> bool:
        """Whether a file, known to be of this path, is in this state."""
        return (self.inode, self.size, self.modified, self.changed) == (
            status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
        )  # fmt: skip

    @property
    def key(self) -> bytes:
        return hashlib.sha256(msgspec.msgpack.encode(self)).digest()[:16]

    @property
    def worth_index(self) -> bool:
        """Whether the file is large enough, and at rest."""
        idle = time.time() - max(self.modified, self.changed) / 1e9
        return self.size >= _SMALLEST and idle > _REST


class ColumnRoles(NamedTuple):
    """Which columns of a table are inputs and which are answers: by name, their column."""

    inputs: dict[str, str]
    answers: dict[str, str]


class TableIndex(msgspec.Struct, frozen=True):
    """What there is to know of a table before one of its instances is formed."""

    file: FileState
    columns: tuple[str, ...]
    """All names, as the file has them."""
    inputs: tuple[tuple[str, int, ColumnType, ColumnType], ...]
    """Name, place among the columns, what the column is, and what it is when read again."""
    answers: tuple[tuple[str, int, ColumnType], ...]
    bounds: bytes
    """For each instance, how many rows there are in those before it; at the end, in all of them.
    Whole numbers of eight bytes, as below."""
    starts: bytes
    """Where the rows begin in the file, instance by instance."""
    ends: bytes

    @property
    def whole(self) -> bool:
        """Whether its parts fit together."""
        bounds = memoryview(self.bounds).cast("Q") if len(self.bounds) % 8 == 0 else ()
        places = [each[1] for each in self.inputs] + [each[1] for each in self.answers]
        return (
            len(bounds) > 1
            and len(self.starts) == len(self.ends) == 8 * bounds[-1]
            and all(0 <= place < len(self.columns) for place in places)
        )

    @property
    def roles(self) -> ColumnRoles:
        """What its columns were taken for."""
        return ColumnRoles(
            {name: self.columns[place] for name, place, *_ in self.inputs},
            {name: self.columns[place] for name, place, _ in self.answers},
        )


class IndexedInstances(Instances):
    """The instances of a table that stays on disk; taking one reads its rows."""

    __slots__ = ("_bounds", "_ends", "_index", "_starts")

    def __init__(self, task: str, index: TableIndex) -> None:
        super().__init__(task)
        self._index = index
        self._bounds = memoryview(index.bounds).cast("Q")
        self._starts = memoryview(index.starts).cast("Q")
        self._ends = memoryview(index.ends).cast("Q")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._task, self._index)

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __iter__(self) -> Iterator[Instance]:
        file = self._open()
        try:
            for number in range(len(self)):
                yield self._formed(number, file)
        finally:
            os.close(file)

    def _form(self, number: int) -> Instance:
        file = self._open()
        try:
            return self._formed(number, file)
        finally:
            os.close(file)

    def _formed(self, number: int, file: int) -> Instance:
        rows = self._rows(file, self._bounds[number], self._bounds[number + 1])
        self._check(file)
        width = len(self._index.columns)
        if not all(row is not None and len(row) == width for row in rows):
            raise self._changed()
        columns = list(zip(*rows, strict=True))
        inputs = {
            name: served_text(columns[place][0], column, again)
            for name, place, column, again in self._index.inputs
        }
        labels = {
            name: read_cells(columns[place], column) for name, place, column in self._index.answers
        }
        return Instance(self._task, number, inputs, labels)

    def _rows(self, file: int, first: int, last: int) -> list[list[str] | None]:
        """The cells of rows; None for one that cannot be read."""
        starts, ends = self._starts[first:last].tolist(), self._ends[first:last].tolist()
        begin, span = starts[0], ends[-1] - starts[0]
        try:
            if span <= sum(ends) - sum(starts) + 2 * len(starts):  # Nothing but line ends between.
                text = os.pread(file, span, begin)
                texts = [text[s - begin : e - begin] for s, e in zip(starts, ends, strict=True)]
            else:
                texts = [os.pread(file, e - s, s) for s, e in zip(starts, ends, strict=True)]
            return [cut_row(text.decode("utf-8")) for text in texts]
        except (OSError, UnicodeDecodeError):
            return [None]

    def _open(self) -> int:
        try:
            return os.open(self._index.file.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            raise self._changed() from None

    def _check(self, file: int) -> None:
        """Whether the table is what was indexed; asked when rows have been read."""
        if not self._index.file.is_of(os.fstat(file)):
            raise self._changed()

    def _changed(self) -> TaskError:
        name = os.fsdecode(self._index.file.path)
        return TaskError(
            f"The table of the task {self._task!r} was changed or removed while it was in use: "
            f"expected {name} as it was when the tasks were loaded; load them again."
        )


def read_whole(path: Path) -> tuple[bytes, FileState | None]:
    """A file's content, and the state that it is of; None where it changed meanwhile."""
    with path.open("rb") as file:
        state = FileState.of(path, os.fstat(file.fileno()))
        content = file.read()
        same = state.is_of(os.fstat(file.fileno())) and state.size == len(content)
    return content, state if same else None


def make_index(
    file: FileState,
    content: bytes,
    table: TaskTable,
    roles: ColumnRoles,
    instances: TableInstances,
) -> TableIndex | None:
    """The index of a table that was just read; None where its rows cannot be read one by one."""
    rows = _rows(content, len(table)) if table.regular else None
    if rows is None:
        return None
    order = np.fromiter(itertools.chain.from_iterable(instances.groups), np.int64, len(table))
    bounds = np.zeros(len(instances) + 1, np.uint64)
    bounds[1:] = np.fromiter(map(len, instances.groups), np.uint64, len(instances)).cumsum()
    starts, ends = rows
    columns = tuple(table.columns)
    place_of = {name: place for place, name in enumerate(columns)}
    return TableIndex(
        file,
        columns,
        tuple(
            (name, place_of[roles.inputs[name]], column.type, column.again)
            for name, column in instances.inputs.items()
        ),
        tuple(
            (name, place_of[roles.answers[name]], column.type)
            for name, column in instances.answers.items()
        ),
        bounds.tobytes(),
        starts[order].astype(np.uint64).tobytes(),
        ends[order].astype(np.uint64).tobytes(),
    )


def _rows(content: bytes, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Where the rows below the header begin and end; None where there are not `count` of them."""
    characters = np.frombuffer(content, np.uint8)
    ends = _line_ends(characters)
    if len(ends) > count + 1:
        ends = _outside(ends, characters)
    starts = np.append(0, ends[:-1] + 1)
    if b"\r" in content:
        returns = _outside(np.flatnonzero(characters == _CR), characters)
        # A row's text has none: each is the first half of a line's end.
        if len(returns) and (
            returns[-1] == len(content) - 1 or (characters[returns + 1] != _LF).any()
        ):
            return None
        ends = ends - (characters[ends - 1] == _CR)
    if len(starts) > count + 1:
        lines = zip(starts.tolist(), ends.tolist(), strict=True)
        filled = np.array([bool(content[start:end].strip()) for start, end in lines])
        starts, ends = starts[filled], ends[filled]
    return (starts[1:], ends[1:]) if len(starts) == count + 1 else None


def _outside(places: NDArray[np.int64], characters: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Those places that are not in quotes."""
    quotes = np.flatnonzero(characters == _QUOTE)
    outside: NDArray[np.int64] = places[np.searchsorted(quotes, places) % 2 == 0]
    return outside


def _line_ends(characters: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where lines end: at a line feed, and where the file does."""
    ends = np.flatnonzero(characters == _LF)
    if len(ends) and ends[-1] == len(characters) - 1:
        return ends
    return np.append(ends, len(characters))


class IndexFile:
    """The indices of a folder's tables, one after another in a file of Errands' home.

    Creating a file takes fifty times as long as adding to one. Processes add one at a time, and who
    finds another at it lets it be; of two indices of the same table the last counts. A file that
    cannot be made out, or that is too large, is begun anew.
    """

    def __init__(self, folder: Path) -> None:
        name = hashlib.sha256(os.fsencode(os.path.abspath(folder))).hexdigest()[:32]
        self._path = home() / "turk" / "tables" / name
        self._inode = 0
        self._end = 0
        """How far the file was looked through."""
        self._places: dict[bytes, tuple[int, int]] = {}
        """Where the indices are, by the state of their tables: the beginning and the length."""

    def find(self, path: Path) -> TableIndex | None:
        """The index of a table in its present state, if there is one."""
        try:
            status = path.stat()
            if status.st_size < _SMALLEST:
                return None
            table = FileState.of(path, status)
            with io.FileIO(self._path) as file:
                self._look_through(file)
                record = self._places.get(table.key)
                content = b"" if record is None else os.pread(file.fileno(), record[1], record[0])
        except OSError:
            return None
        checksum, content = content[:_CHECKSUM], content[_CHECKSUM:]
        if checksum != hashlib.sha256(content).digest():
            return None
        try:
            index = msgspec.msgpack.decode(content, type=TableIndex)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
        return index if index.file == table and index.whole else None

    def add(self, index: TableIndex) -> None:
        """Store an index, if there is a place for it and nobody else is adding just now."""
        content = msgspec.msgpack.encode(index)
        content = hashlib.sha256(content).digest() + content
        record = _HEAD.pack(_VERSION, index.file.key, len(content)) + content
        if len(record) > _LARGEST:
            return
        with suppress(OSError):
            for _ in range(2):
                if self._append(record):
                    return
                self._path.unlink()

    def _append(self, record: bytes) -> bool:
        """Add to the file; False where it must be begun anew for that."""
        if not self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _tidy(self._path.parent)
        with self._locked() as file:
            # Nobody else writes, so what cannot be made out is torn, and not on its way.
            if not self._look_through(file) or self._end + len(record) > _LARGEST:
                return False
            return os.write(file.fileno(), record) == len(record)

    @contextmanager
    def _locked(self) -> Iterator[io.FileIO]:
        """The file, to be added to by us alone; `OSError` where others are at it."""
        opened = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with io.FileIO(opened, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(opened).st_ino != self._path.stat().st_ino:
                raise BlockingIOError("The file was just begun anew.")
            yield file

    def _look_through(self, file: io.FileIO) -> bool:
        """Note what was added since the last time; whether it could all be made out."""
        status = os.fstat(file.fileno())
        if status.st_ino != self._inode or status.st_size < self._end:
            self._inode, self._end, self._places = status.st_ino, 0, {}
        while self._end < status.st_size:
            head = os.pread(file.fileno(), _HEAD.size, self._end)
            version, key, length = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"", b"", 0)
            begin = self._end + _HEAD.size
            if version != _VERSION or begin + length > status.st_size:
                return False
            self._places[key] = begin, length
            self._end = begin + length
        return True


def _tidy(folder: Path) -> None:
    """Make room for one more file: remove those that nothing was added to for longest."""
    with os.scandir(folder) as entries:
        files = [(entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in entries]
    for _, path in sorted(files)[: max(0, len(files) - _MOST_FILES + 1)]:
        with suppress(OSError):
            os.unlink(path)
