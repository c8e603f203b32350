"""Which documents have which terms, laid out so that most of it need not be read.

Documents lie in places, alike ones side by side (`numbers` says which product is where). Thirty-two
places are a block, eight blocks a group. A rare term is a list of places, each with the share of
the term's weight that it adds to the document there, rounded up to a byte. A frequent term has for
each block the largest such share (`bounds`; `group_bounds` for groups), and which of the block's
documents have the term, as the bits of a word. The words of a group, and how many of the term's
postings come before it, are a cell.

Terms are numbered with the frequent ones first. `times` says of each posting, term by term and
place by place, how often the document has the term; 0 stands for a count that does not fit in a
byte and is in a list of its own (`often`, by posting). `native/postings.h` is the same in C.
"""

import ctypes
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from errands.native import Array, native
from errands.shop.records import map_array, new_array, view, write_array

__all__ = ["BLOCKS", "GROUP", "Postings", "frequent_from", "write_postings"]

GROUP: Final = 256
"""Documents of a group."""
BLOCKS: Final = 8
"""Blocks of a group."""
_SMALL: Final = 1 << 9
"""In a collection of no more documents, scoring all of them is as quick as leaving some out."""
_PER_FREQUENT: Final = 256
"""A term is frequent if at least one document of so many has it: its blocks pay then."""
_PIECE: Final = 1 << 22
"""Postings that are counted together."""
_MOST_TIMES: Final = 254

_FILES: Final = {
    "starts": np.uint64,
    "times": np.uint8,
    "cells": np.uint32,
    "bounds": np.uint8,
    "group_bounds": np.uint8,
    "places": np.uint32,
    "shares": np.uint8,
    "often": np.uint64,
    "often_times": np.uint16,
    "norms": np.uint8,
    "numbers": np.uint32,
}
"""The arrays of an index, each a file of that name."""
_NUMBERS: Final = "documents", "groups", "frequent", "first_rare", "exceptions"


class PostingsStruct(ctypes.Structure):
    """The same in C."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in _NUMBERS),
        *((name, ctypes.c_void_p) for name in (*_FILES, "inverse")),
    ]


class Postings:
    """The arrays of an index, and their struct, which holds as long as they do."""

    def __init__(self, arrays: dict[str, NDArray[Any]], inverse: NDArray[np.float32]) -> None:
        """`inverse` is 1 / the length factor of each length byte."""
        self._starts = view(arrays["starts"])
        self.documents = len(arrays["norms"])
        self.groups = groups_of(self.documents)
        self.frequent = len(arrays["group_bounds"]) // max(self.groups, 1)
        self._first_rare = self._starts[self.frequent]
        self._size = len(arrays["times"])
        self.arrays = {**arrays, "inverse": inverse}
        pointers = {name: array.ctypes.data for name, array in self.arrays.items()}
        self.struct = PostingsStruct(
            self.documents,
            self.groups,
            self.frequent,
            self._first_rare,
            len(arrays["often"]),
            **pointers,
        )
        self.pointer = ctypes.addressof(self.struct)

    def documents_of(self, term: int) -> int:
        """How many documents have a term; less than 1 if the index is damaged there."""
        first, end = self._starts[term], self._starts[term + 1]
        least, most = (
            (0, self._first_rare) if term < self.frequent else (self._first_rare, self._size)
        )
        return end - first if least <= first and end <= most else 0

    @classmethod
    def open(cls, folder: Path, inverse: NDArray[np.float32], terms: int) -> "Postings":
        """Map the arrays of an index with so many terms; a ValueError where they do not belong
        together. Offsets within them are checked when they are used."""
        arrays = {name: map_array(folder / f"{name}.npy", kind) for name, kind in _FILES.items()}
        starts, sizes = arrays["starts"], {name: len(array) for name, array in arrays.items()}
        groups = groups_of(sizes["norms"])
        frequent = sizes["group_bounds"] // max(groups, 1)
        if sizes["starts"] != terms + 1 or frequent > terms:
            raise ValueError(f"starts.npy has {sizes['starts']} numbers for {terms} terms")
        rare = sizes["times"] - int(starts[frequent])
        expected = {
            "numbers": sizes["norms"],
            "group_bounds": frequent * groups,
            "bounds": frequent * groups * BLOCKS,
            "cells": frequent * groups * (1 + BLOCKS),
            "times": int(starts[-1]),
            "places": rare,
            "shares": rare,
            "often_times": sizes["often"],
        }
        for name, size in expected.items():
            if sizes[name] != size:
                raise ValueError(f"{name}.npy has {sizes[name]} numbers, not {size}")
        return cls(arrays, inverse)


def groups_of(documents: int) -> int:
    return -(-documents // GROUP)


def frequent_from(documents: int) -> int:
    """How many documents have a frequent term at least, in a collection of that size."""
    return documents // _PER_FREQUENT if documents > _SMALL else documents + 1


_invert = native(
    "invert",
    ctypes.c_void_p, Array(np.uint32), Array(np.uint16), Array(np.int64), Array(np.uint32),
    Array(np.uint32), Array(np.uint64),
)  # fmt: skip


def write_postings(
    folder: Path,
    ids: NDArray[np.uint32],
    tfs: NDArray[np.uint16],
    counts: NDArray[np.uint32],
    places: NDArray[np.uint32],
    given: dict[str, NDArray[Any]],
    inverse: NDArray[np.float32],
    terms: int,
    frequent: int,
) -> NDArray[np.int64]:
    """Invert documents into the files of an index; the order that terms get, frequent ones first.

    `ids` and `tfs` are the documents' terms and how often they have them, `counts` how many terms
    each has, `places` where each will lie; `given` are `norms` and `numbers`; `terms` is how many
    there are, and `frequent` how many documents make one frequent.
    """
    documents_of = np.zeros(terms, np.int64)
    for at in range(0, len(ids), _PIECE):
        documents_of += np.bincount(ids[at : at + _PIECE], minlength=terms)
    order = np.argsort(documents_of < frequent, kind="stable")
    many = int((documents_of >= frequent).sum())
    groups = groups_of(len(counts))
    starts = np.zeros(len(order) + 1, np.uint64)
    np.cumsum(documents_of[order], out=starts[1:])
    numbers = np.empty(len(order), np.uint32)
    numbers[order] = np.arange(len(order), dtype=np.uint32)
    exceptions = sum(
        int((tfs[at : at + _PIECE] > _MOST_TIMES).sum()) for at in range(0, len(ids), _PIECE)
    )
    rare = len(ids) - int(starts[many])
    sizes = {
        "times": len(ids),
        "cells": many * groups * (1 + BLOCKS),
        "bounds": many * groups * BLOCKS,
        "group_bounds": many * groups,
        "places": rare,
        "shares": rare,
    }
    arrays = {
        name: new_array(folder / f"{name}.npy", _FILES[name], size) for name, size in sizes.items()
    }
    for name, array in (*given.items(), ("starts", starts)):
        write_array(folder / f"{name}.npy", array)
    arrays.update(given, starts=starts)
    arrays["often"] = np.zeros(exceptions, np.uint64)
    arrays["often_times"] = np.zeros(exceptions, np.uint16)
    rows = np.empty(len(places), np.uint32)
    rows[places] = np.arange(len(places), dtype=np.uint32)
    firsts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=firsts[1:])
    postings = Postings(arrays, inverse)
    _invert(postings.pointer, ids, tfs, firsts, rows, numbers, starts.copy())
    by_posting = np.argsort(arrays["often"])
    for name in ("often", "often_times"):
        write_array(folder / f"{name}.npy", arrays[name][by_posting])
    return order
