"""Which product ids were seen already, in load order, at a few bytes each."""

import numpy as np
from numpy.typing import NDArray

from errands.native import Array, Size, native

__all__ = ["SeenIds"]

_enter = native("seen_ids_enter", Array(np.uint32), Size, Array(np.uint8), Size, Size)
_add = native(
    "seen_ids_add",
    Array(np.uint32), Size, Array(np.uint8), Size, Size, Array(np.uint8), Size, Array(np.bool_),
    returns=Size,
)  # fmt: skip


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
        slots, width = self._slots, self._names.shape[1]
        self._count = _add(
            slots, len(slots), self._names, width, self._count, letters, len(letters), new
        )
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
            width = self._names.shape[1]
            _enter(self._slots, len(self._slots), self._names, width, self._count)
