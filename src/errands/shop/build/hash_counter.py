"""Counting distinct texts without keeping them: a table of 64-bit hashes and how often each came.

A catalogue of full size has 300 million words, of which a million differ. As a hash and a count
such a word costs two dozen bytes instead of hundreds; that two of a million words share a hash
happens once in tens of millions of catalogues.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.compiled import compiled

__all__ = ["HashCounter"]

_CODE_POINTS = 0x110000


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
        self._used += _add_spans(data, ends, self._keys, self._counts)
        return len(encoded)

    def add_words(self, text: str) -> int:
        """Count the words of a text, in lower case; gives how many there were.

        A word is letters, digits and underscores, with apostrophes inside: \\w+(?:['’]\\w+)*.
        """
        data = np.frombuffer(text.lower().encode("utf-8", "surrogatepass"), np.uint8)
        self._make_room(len(data) // 2 + 1)
        words, fresh = _add_words(data, _word_characters(), self._keys, self._counts)
        self._used += fresh
        return int(words)

    def _make_room(self, more: int) -> None:
        size = len(self._keys)
        while size < 2 * (self._used + more):
            size *= 2
        if size > len(self._keys):
            used = np.flatnonzero(self._counts)
            keys, counts = self._keys[used], self._counts[used]
            self._keys, self._counts = np.zeros(size, np.uint64), np.zeros(size, np.int64)
            _put_back(keys, counts, self._keys, self._counts)


@cache
def _word_characters() -> NDArray[np.bool_]:
    """For each code point, whether it is part of words."""
    characters = (chr(code) for code in range(_CODE_POINTS))
    return np.array([one.isalnum() or one == "_" for one in characters], np.bool_)


_FIRST = np.uint64(0xCBF29CE484222325)
_FACTOR = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _count(key: Any, times: int, keys: Any, counts: Any) -> Any:
    """Add to a hash's count; 1 if it was not there."""
    mask = np.uint64(len(keys) - 1)
    slot = ((key ^ (key >> np.uint64(29))) * _MIX >> np.uint64(17)) & mask
    while counts[slot] and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    fresh = 0 if counts[slot] else 1
    keys[slot] = key
    counts[slot] += times
    return fresh


@compiled
def _put_back(hashes: Any, times: Any, keys: Any, counts: Any) -> None:
    for place in range(len(hashes)):
        _count(hashes[place], times[place], keys, counts)


@compiled
def _add_spans(data: Any, ends: Any, keys: Any, counts: Any) -> Any:
    at = fresh = 0
    for place in range(len(ends)):
        key = _FIRST
        while at < ends[place]:
            key = (key ^ np.uint64(data[at])) * _FACTOR
            at += 1
        fresh += _count(key, 1, keys, counts)
    return fresh


@compiled
def _add_words(data: Any, is_word: Any, keys: Any, counts: Any) -> Any:
    words = fresh = at = 0
    inside = joined = False
    key = pending = _FIRST
    while at < len(data):
        code, size = _code_point(data, at)
        hashed = pending if joined else key
        for place in range(at, at + size):
            hashed = (hashed ^ np.uint64(data[place])) * _FACTOR
        at += size
        if is_word[code]:
            key, inside, joined = hashed, True, False
        elif inside and not joined and (code == 0x27 or code == 0x2019):
            # An apostrophe is part of the word if the word goes on behind it.
            pending, joined = hashed, True
        elif inside:
            fresh += _count(key, 1, keys, counts)
            words += 1
            key, inside, joined = _FIRST, False, False
        else:
            key = _FIRST
    if inside:
        fresh += _count(key, 1, keys, counts)
        words += 1
    return words, fresh


@compiled
def _code_point(data: Any, at: int) -> Any:
    """The code point whose UTF-8 begins here, and how many bytes that has."""
    first = np.int64(data[at])
    if first < 0x80:
        return first, 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    code = first & (0x7F >> size)
    for place in range(at + 1, at + size):
        code = code << 6 | (np.int64(data[place]) & 0x3F)
    return code, size
