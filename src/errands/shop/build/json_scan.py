"""Finding the parts of a huge JSON file by their bytes, without decoding them.

`MemberScan` is told a file block by block and says where each element of its one big array, or
each member of its one big object, begins and ends. It looks at brackets, quotes, commas and
colons only: what lies between is decoded by whoever wants it. What cannot be right raises
`MalformedJson`; the slow reader of `json_stream` then finds the words for it.
"""

import ctypes
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.native import Array, Size, native

__all__ = ["MalformedJson", "MemberScan", "Members"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_scan = native(
    "json_scan",
    Array(np.uint8), Size, Size, Array(np.int64), ctypes.c_bool, Array(np.int64),
    returns=Size,
)  # fmt: skip
# What the scan keeps between two blocks is the struct of json_scan.c; here are the numbers of it
# that are looked at: where it is (5 is behind the end), and where value and name begin.
_NUMBERS, _PLACE, _START, _NAME = 10, 0, 6, 7
_AFTER: Final = 5


class MalformedJson(Exception):
    """The bytes are not the JSON they should be."""


class Members(NamedTuple):
    """Parts that ended in a block, as positions in the file."""

    names: NDArray[np.int64]
    """Where each name begins, after its quote (objects only)."""
    name_ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Where each value begins; white space around it is included."""
    ends: NDArray[np.int64]
    plain: NDArray[np.bool_]
    """Whether the name is spelled without escapes."""


class MemberScan:
    """A scan of one array, or of one object, that goes on from block to block."""

    def __init__(self, *, of_object: bool) -> None:
        self._state = np.zeros(_NUMBERS, np.int64)
        self._of_object = of_object
        self._read = 0

    @property
    def begun(self) -> int:
        """Where the part begins that has not ended yet."""
        return int(self._state[_NAME if self._of_object else _START])

    def feed(self, block: bytes) -> Members:
        """Scan the next block."""
        if not self._read and block.startswith(_BYTE_ORDER_MARK):
            self._read = len(_BYTE_ORDER_MARK)
            block = block[self._read :]
        # A part takes two bytes at least: its value and the comma.
        parts = np.empty((len(block) // 2 + 2, 5), np.int64)
        data = np.frombuffer(block, np.uint8)
        count = _scan(data, len(data), self._read, self._state, self._of_object, parts)
        if count < 0:
            raise MalformedJson
        self._read += len(block)
        rows = parts[:count].copy()
        return Members(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4] == 1)

    def finish(self) -> None:
        """Check that the file ended where it should."""
        if self._state[_PLACE] != _AFTER:
            raise MalformedJson
