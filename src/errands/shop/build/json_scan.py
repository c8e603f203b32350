"""Finding the parts of a huge JSON file by their bytes, without decoding them.

`MemberScan` is told a file block by block and says where each element of its one big array, or
each member of its one big object, begins and ends. It looks at brackets, quotes, commas and
colons only: what lies between is decoded by whoever wants it. What cannot be right raises
`MalformedJson`; the slow reader of `json_stream` then finds the words for it.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.compiled import compiled

__all__ = ["MalformedJson", "MemberScan", "Members"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# Where in the array or object the scan is.
_BEFORE, _BEFORE_NAME, _IN_NAME, _AFTER_NAME, _IN_VALUE, _AFTER = range(6)
# What the scan keeps between two blocks, as places in its array of numbers: where it is; how deep
# in brackets; whether in a string, and behind a backslash there; whether the value has begun;
# whether the name is plain; where value and name begin, and the name ends; how many parts.
_PLACE, _DEPTH, _QUOTED, _ESCAPED, _BEGUN, _PLAIN, _START, _NAME, _NAME_END, _COUNT = range(10)

_QUOTE, _BACKSLASH, _COMMA, _COLON = 0x22, 0x5C, 0x2C, 0x3A
_OPEN_ARRAY, _CLOSE_ARRAY, _OPEN_OBJECT, _CLOSE_OBJECT = 0x5B, 0x5D, 0x7B, 0x7D
_SPACE, _TAB, _NEWLINE, _RETURN = 0x20, 0x09, 0x0A, 0x0D


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
        self._state = np.zeros(10, np.int64)
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
        count = _scan(
            np.frombuffer(block, np.uint8), self._read, self._state, self._of_object, parts
        )
        if count < 0:
            raise MalformedJson
        self._read += len(block)
        rows = parts[:count].copy()
        return Members(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4] == 1)

    def finish(self) -> None:
        """Check that the file ended where it should."""
        if self._state[_PLACE] != _AFTER:
            raise MalformedJson


@compiled
def _scan(block: Any, offset: int, state: Any, of_object: bool, parts: Any) -> int:
    """Scan a block that begins at `offset`; the number of parts that ended in it, or -1."""
    place, depth = state[_PLACE], state[_DEPTH]
    quoted, escaped, begun = state[_QUOTED], state[_ESCAPED], state[_BEGUN]
    opening, closing = _OPEN_ARRAY, _CLOSE_ARRAY
    first = _IN_VALUE
    if of_object:
        opening, closing = _OPEN_OBJECT, _CLOSE_OBJECT
        first = _BEFORE_NAME
    count = 0
    for i in range(len(block)):
        byte = block[i]
        here = offset + i
        if quoted:
            if escaped:
                escaped = 0
            elif byte == _BACKSLASH:
                escaped = 1
                if place == _IN_NAME:
                    state[_PLAIN] = 0
            elif byte == _QUOTE:
                quoted = 0
                if place == _IN_NAME:
                    place = _AFTER_NAME
                    state[_NAME_END] = here
        elif byte in (_SPACE, _NEWLINE, _RETURN, _TAB):
            continue
        elif place == _IN_VALUE:
            closes = byte in (_CLOSE_OBJECT, _CLOSE_ARRAY)
            if depth == 1 and (byte == _COMMA or closes):  # The value ends.
                if closes and byte != closing:
                    return -1
                if begun:
                    parts[count, 0] = state[_NAME]
                    parts[count, 1] = state[_NAME_END]
                    parts[count, 2] = state[_START]
                    parts[count, 3] = here
                    parts[count, 4] = state[_PLAIN]
                    count += 1
                    state[_COUNT] += 1
                elif not closes or of_object or state[_COUNT]:
                    return -1
                begun = 0
                place = _AFTER if closes else first
                state[_START] = state[_NAME] = here + 1
            elif closes:
                depth -= 1
            else:
                begun = 1
                if byte == _QUOTE:
                    quoted = 1
                elif byte in (_OPEN_OBJECT, _OPEN_ARRAY):
                    depth += 1
        elif place == _BEFORE_NAME and byte == _QUOTE:
            quoted = 1
            place = _IN_NAME
            state[_NAME] = here + 1
            state[_PLAIN] = 1
        elif place == _BEFORE_NAME and byte == _CLOSE_OBJECT and not state[_COUNT]:
            place = _AFTER
        elif place == _AFTER_NAME and byte == _COLON:
            place = _IN_VALUE
            state[_START] = here + 1
        elif place == _BEFORE and byte == opening:
            depth = 1
            place = first
            state[_START] = state[_NAME] = here + 1
        else:
            return -1
    state[_PLACE], state[_DEPTH] = place, depth
    state[_QUOTED], state[_ESCAPED], state[_BEGUN] = quoted, escaped, begun
    return count
