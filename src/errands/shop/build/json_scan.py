"""Finding the parts of a huge JSON file by their bytes, without decoding them.

`MemberScan` is told a file block by block and says where each element of its one big array, or
each member of its one big object, begins and ends. It looks at brackets, quotes, commas and
colons only: what lies between is decoded by whoever wants it. What cannot be right raises
`MalformedJson`; the slow reader of `source` then finds the words for it.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.shop.compiled import compiled

__all__ = ["MalformedJson", "MemberScan", "Members"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# Where the scan is, and what it keeps between two blocks: places in its array of numbers.
_PLACE, _DEPTH, _QUOTED, _ESCAPED, _SEEN, _PLAIN, _START, _KEY, _KEY_END, _COUNT = range(10)
_BEFORE, _BEFORE_NAME, _IN_NAME, _AFTER_NAME, _IN_VALUE, _AFTER = range(6)


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
        return int(self._state[_KEY if self._of_object else _START])

    def feed(self, block: bytes) -> Members:
        """Scan the next block."""
        if not self._read and block.startswith(_BYTE_ORDER_MARK):
            self._read = len(_BYTE_ORDER_MARK)
            block = block[self._read :]
        # A part takes two bytes at least: its value and the comma.
        found = np.empty((len(block) // 2 + 2, 5), np.int64)
        count = _scan(
            np.frombuffer(block, np.uint8), self._read, self._state, self._of_object, found
        )
        if count < 0:
            raise MalformedJson
        self._read += len(block)
        kept = found[:count].copy()
        return Members(kept[:, 0], kept[:, 1], kept[:, 2], kept[:, 3], kept[:, 4] == 1)

    def finish(self) -> None:
        """Check that the file ended where it should."""
        if self._state[_PLACE] != _AFTER:
            raise MalformedJson


@compiled
def _scan(block: Any, offset: int, state: Any, of_object: bool, found: Any) -> int:
    """Scan a block that begins at `offset`; the number of parts that ended in it, or -1."""
    place, depth = state[_PLACE], state[_DEPTH]
    quoted, escaped, seen = state[_QUOTED], state[_ESCAPED], state[_SEEN]
    opening, closing = (123, 125) if of_object else (91, 93)
    first = _BEFORE_NAME if of_object else _IN_VALUE
    count = 0
    for i in range(len(block)):
        byte = block[i]
        if quoted:
            if escaped:
                escaped = 0
            elif byte == 92:
                escaped = 1
                if place == _IN_NAME:
                    state[_PLAIN] = 0
            elif byte == 34:
                quoted = 0
                if place == _IN_NAME:
                    place = _AFTER_NAME
                    state[_KEY_END] = offset + i
            continue
        if byte == 32 or byte == 10 or byte == 13 or byte == 9:
            continue
        if place == _IN_VALUE:
            if byte == 34:
                quoted = 1
                seen = 1
            elif byte == 123 or byte == 91:
                depth += 1
                seen = 1
            elif depth > 1 and (byte == 125 or byte == 93):
                depth -= 1
            elif depth == 1 and (byte == 44 or byte == 125 or byte == 93):
                last = byte != 44
                if last and byte != closing:
                    return -1
                if seen:
                    found[count, 0] = state[_KEY]
                    found[count, 1] = state[_KEY_END]
                    found[count, 2] = state[_START]
                    found[count, 3] = offset + i
                    found[count, 4] = state[_PLAIN]
                    count += 1
                    state[_COUNT] += 1
                elif not last or of_object or state[_COUNT]:
                    return -1
                seen = 0
                place = _AFTER if last else first
                state[_START] = offset + i + 1
                state[_KEY] = offset + i + 1
            else:
                seen = 1
        elif place == _BEFORE_NAME:
            if byte == 34:
                quoted = 1
                place = _IN_NAME
                state[_KEY] = offset + i + 1
                state[_PLAIN] = 1
            elif byte == 125 and not state[_COUNT]:
                place = _AFTER
            else:
                return -1
        elif place == _AFTER_NAME:
            if byte != 58:
                return -1
            place = _IN_VALUE
            state[_START] = offset + i + 1
        elif place == _BEFORE and byte == opening:
            depth = 1
            place = first
            state[_START] = offset + i + 1
            state[_KEY] = offset + i + 1
        else:
            return -1
    state[_PLACE], state[_DEPTH] = place, depth
    state[_QUOTED], state[_ESCAPED], state[_SEEN] = quoted, escaped, seen
    return count
