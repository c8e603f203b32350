"""Counting distinct texts without keeping them: a table of 64-bit hashes and how often each came.

A catalogue of full size has 300 million words, of which a million differ. As a hash and a count
such a word costs two dozen bytes instead of hundreds; that two of a million words share a hash
happens once in tens of millions of catalogues.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from errands.native import Array, Size, native

__all__ = ["HashCounter"]

_CODE_POINTS = 0x110000

_TABLE = Array(np.uint64), Array(np.int64), Size
_enter = native("hash_counter_enter", *_TABLE, Array(np.uint64), Array(np.int64), Size)
_add_texts = native(
    "hash_counter_texts", *_TABLE, Array(np.uint8), Array(np.int64), Size, returns=Size
)
_add_words = native(
    "hash_counter_words",
    *_TABLE, Array(np.uint8), Size, Array(np.bool_), Array(np.int64),
    returns=Size,
)  # fmt: skip


class HashCounter:
    """How often each text was seen."""

    def __init__(self) -> None:
        self._keys: NDArray[np.uint64] = np.zeros(1 << 12, np.uint64)
        self._counts: NDArray[np.int64] = np.zeros(1 << 12, np.int64)
        self._used = 0

    def __len__(self) -> int:
        """How many different texts were seen."""
        return self._used

    def more_often_than(self, times: int) -> int:
        """How many different texts were seen more often than so."""
        return int(np.count_nonzero(self._counts > times))

    def add(self, texts: Iterable[str]) -> int:
        """Count whole texts; gives how many there were."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        if not encoded:
            return 0
        self._make_room(len(encoded))
        ends = np.cumsum(np.array([len(text) for text in encoded], np.int64))
        data = np.frombuffer(b"".join(encoded), np.uint8)
        self._used += _add_texts(*self._table(), data, ends, len(ends))
        return len(encoded)

    def add_words(self, text: str) -> int:
        """Count the words of a text, in lower case; gives how many there were.

        A word is letters, digits and underscores, with apostrophes inside: \\w+(?:['’]\\w+)*.
        """
        data = np.frombuffer(text.lower().encode("utf-8", "surrogatepass"), np.uint8)
        self._make_room(len(data) // 2 + 1)
        fresh = np.zeros(1, np.int64)
        words: int = _add_words(*self._table(), data, len(data), _word_characters(), fresh)
        self._used += int(fresh[0])
        return words

    def _table(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
        return self._keys, self._counts, len(self._keys)

    def _make_room(self, more: int) -> None:
        size = len(self._keys)
        while size < 2 * (self._used + more):
            size *= 2
        if size > len(self._keys):
            used = np.flatnonzero(self._counts)
            keys, counts = self._keys[used], self._counts[used]
            self._keys, self._counts = np.zeros(size, np.uint64), np.zeros(size, np.int64)
            _enter(*self._table(), keys, counts, len(keys))


@cache
def _word_characters() -> NDArray[np.bool_]:
    """For each code point, whether it is part of words."""
    characters = (chr(code) for code in range(_CODE_POINTS))
    return np.array([one.isalnum() or one == "_" for one in characters], np.bool_)
