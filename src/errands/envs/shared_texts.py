"""Texts in the memory that Gymnasium's `AsyncVectorEnv` shares with its processes.

Gymnasium keeps room for the longest text of a space in every slot, in letters of its alphabet, and
reads texts once, when the environments are made. Pages are of any length and alphabet, and change:
here a slot is a stretch of a sparse file, of which only what was written takes memory, and what
stands in the slots is read whenever somebody copies or looks at it.
"""

import multiprocessing
import os
import tempfile
import weakref
from collections.abc import Sequence
from multiprocessing.reduction import DupFd
from typing import Any, Final, overload

from gymnasium import spaces
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

__all__ = ["SharedTexts", "TextSlots", "share_texts_of"]

_LENGTH: Final = 8
"""Bytes before a text that say how many its own are."""


class TextSlots:
    """A text for each environment, written by its process and read by all of them."""

    def __init__(self, count: int, longest: int) -> None:
        """`longest` is in characters, of which each takes up to four bytes."""
        self.count = count
        self._stride = _LENGTH + 4 * longest
        self._open(_nameless_file())
        os.ftruncate(self._file, count * self._stride)

    def _open(self, file: int) -> None:
        self._file = file
        weakref.finalize(self, os.close, file)

    def write(self, index: int, text: str) -> None:
        # Pages may hold halves of surrogate pairs, which are no UTF-8.
        data = text.encode("utf-8", "surrogatepass")
        rest = memoryview(len(data).to_bytes(_LENGTH, "little") + data)
        at = index * self._stride
        while rest:
            written = os.pwrite(self._file, rest, at)
            rest, at = rest[written:], at + written

    def read(self, index: int) -> str:
        at = index * self._stride
        left = int.from_bytes(os.pread(self._file, _LENGTH, at), "little")
        at += _LENGTH
        pieces = []
        while left:
            piece = os.pread(self._file, left, at)
            pieces.append(piece)
            left, at = left - len(piece), at + len(piece)
        return b"".join(pieces).decode("utf-8", "surrogatepass")

    def __getstate__(self) -> tuple[int, int, Any]:
        """For processes that are not forked; a file can only be handed to one that is starting."""
        return self.count, self._stride, DupFd(self._file)

    def __setstate__(self, state: tuple[int, int, Any]) -> None:
        self.count, self._stride, file = state
        self._open(file.detach())


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("errands-texts")
    file, path = tempfile.mkstemp(prefix="errands-texts-")
    os.unlink(path)
    return file


class SharedTexts(Sequence[str]):
    """What stands in the slots now; a deep copy is a tuple that stays as it is."""

    def __init__(self, slots: TextSlots) -> None:
        self._slots = slots

    def __len__(self) -> int:
        return self._slots.count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        places = range(len(self))[index]
        if isinstance(places, int):
            return self._slots.read(places)
        return tuple(map(self._slots.read, places))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return self[:]

    def __repr__(self) -> str:
        return repr(self[:])


def share_texts_of(kind: type[spaces.Text]) -> None:
    """Let Gymnasium share the texts of this kind of space, and of kinds below it, in slots."""

    def create(space: spaces.Text, n: int = 1, ctx: Any = multiprocessing) -> Any:
        return TextSlots(n, space.max_length)

    def read(space: spaces.Text, shared_memory: TextSlots, n: int = 1) -> Any:
        return SharedTexts(shared_memory)

    def write(space: spaces.Text, index: int, value: str, shared_memory: TextSlots) -> None:
        shared_memory.write(index, value)

    create_shared_memory.register(kind, create)
    read_from_shared_memory.register(kind, read)
    write_to_shared_memory.register(kind, write)
