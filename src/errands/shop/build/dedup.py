"""Which product ids were seen already, in load order, at a few bytes each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.compiled import compiled

__all__ = ["SeenIds"]


class SeenIds:
    """Ids in the order in which they came, each once."""

    def __init__(self) -> None:
        self._names = np.zeros((1024, 10), np.uint8)
        self._slots = np.zeros(4096, np.uint32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, names: NDArray[np.bytes_]) -> NDArray[np.bool_]:
        """Enter these ids; says of each whether it is new."""
        new = np.zeros(len(names), np.bool_)
        if not len(names):
            return new
        self._make_room(len(names), names.dtype.itemsize)
        letters = np.zeros((len(names), self._names.shape[1]), np.uint8)
        letters[:, : names.dtype.itemsize] = (
            np.ascontiguousarray(names).view(np.uint8).reshape(len(names), -1)
        )
        self._count = _add(self._slots, self._names, self._count, letters, new)
        return new

    def names(self) -> NDArray[np.bytes_]:
        """All ids, in order."""
        width = self._names.shape[1]
        ids: NDArray[np.bytes_] = self._names[: self._count].reshape(-1).view(f"S{width}")
        longest = int(np.char.str_len(ids).max()) if len(ids) else 1
        return ids.astype(f"S{max(longest, 1)}", copy=False)

    def _make_room(self, more: int, width: int) -> None:
        needed = self._count + more
        rows, columns = self._names.shape
        if needed > rows or width > columns:
            wider = np.zeros(
                (max(needed, rows + rows // 2 if needed > rows else rows), max(width, columns)),
                np.uint8,
            )
            wider[: self._count, :columns] = self._names[: self._count]
            self._names = wider
        if 2 * needed > len(self._slots):
            self._slots = np.zeros(1 << (2 * needed).bit_length(), np.uint32)
            _enter(self._slots, self._names, self._count)


@compiled
def _slot_of(name: Any, size: int) -> Any:
    """Where to look first for an id (FNV, stirred; zeros at its end do not count)."""
    mixed = np.uint64(14695981039346656037)
    for letter in name:
        if letter:
            mixed = (mixed ^ np.uint64(letter)) * np.uint64(1099511628211)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(size - 1))


@compiled
def _enter(slots: Any, names: Any, count: int) -> None:
    for row in range(count):
        slot = _slot_of(names[row], len(slots))
        while slots[slot]:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = row + 1


@compiled
def _add(slots: Any, names: Any, count: int, letters: Any, new: Any) -> int:
    for i in range(len(letters)):
        slot = _slot_of(letters[i], len(slots))
        known = False
        while slots[slot]:
            known = True
            name = names[slots[slot] - 1]
            for j in range(letters.shape[1]):
                if name[j] != letters[i, j]:
                    known = False
                    break
            if known:
                break
            slot = (slot + 1) & (len(slots) - 1)
        if not known:
            for j in range(letters.shape[1]):
                names[count, j] = letters[i, j]
            count += 1
            slots[slot] = count
            new[i] = True
    return count
