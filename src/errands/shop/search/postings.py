"""Which documents have which terms, laid out so that most of it need not be read.

Documents lie in places, alike ones side by side (`numbers` says which product is where). Thirty-two
places are a block, eight blocks a group. A rare term is a list of places. A frequent term has, for
each block, how many postings it has there and the largest share of its weight that it adds to any
document of the block, rounded up to a byte; and the same for each group.

Terms are numbered with the frequent ones first. A posting is sixteen bits: the term's share as a
byte, and in the other byte how often the document has the term; of a frequent term only up to
seven, for the document's place in its block is there, too. Counts that do not fit are in a list of
their own, by posting. `native/postings.h` is the same in C.
"""

import ctypes
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from errands.native import Array, native
from errands.shop.records import map_array, new_array, write_array

__all__ = ["BLOCKS", "GROUP", "Postings", "frequent_from", "write_postings"]

GROUP: Final = 256
"""Documents of a group."""
BLOCKS: Final = 8
"""Blocks of a group."""
_SMALL: Final = 1 << 13
"""In a collection of no more documents, scoring all of them is as quick as leaving some out."""
_PER_FREQUENT: Final = 512
"""A term is frequent if at least one document of so many has it: its blocks pay then."""
_PIECE: Final = 1 << 22
"""Postings that are counted together."""
_MOST_TIMES: Final = 7
_MOST_RARE_TIMES: Final = 255

_FILES: Final = {
    "starts": np.uint64,
    "entries": np.uint16,
    "places": np.uint32,
    "bounds": np.uint8,
    "group_bounds": np.uint8,
    "counts": np.uint64,
    "group_starts": np.uint32,
    "often": np.uint64,
    "times": np.uint16,
    "norms": np.uint8,
    "numbers": np.uint32,
}
"""The arrays of an index, each a file of that name."""


class PostingsStruct(ctypes.Structure):
    """The same in C."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("documents", "groups", "frequent", "exceptions")),
        *((name, ctypes.c_void_p) for name in (*_FILES, "inverse")),
    ]


class Postings:
    """The arrays of an index, and their struct, which holds as long as they do."""

    def __init__(self, arrays: dict[str, NDArray[Any]], inverse: NDArray[np.float32]) -> None:
        """`inverse` is 1 / the length factor of each length byte."""
        self.starts = arrays["starts"]
        self.documents = len(arrays["norms"])
        self.groups = groups_of(self.documents)
        self.frequent = len(arrays["counts"]) // max(self.groups, 1)
        self.arrays = {**arrays, "inverse": inverse}
        pointers = {name: array.ctypes.data for name, array in self.arrays.items()}
        self.struct = PostingsStruct(
            self.documents, self.groups, self.frequent, len(arrays["often"]), **pointers
        )
        self.pointer = ctypes.addressof(self.struct)

    @classmethod
    def open(cls, folder: Path, inverse: NDArray[np.float32]) -> "Postings":
        arrays = {name: map_array(folder / f"{name}.npy") for name in _FILES}
        for name, kind in _FILES.items():
            if arrays[name].dtype != kind:
                raise ValueError(f"{name}.npy holds {arrays[name].dtype}, not {np.dtype(kind)}")
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
    most = np.where(numbers < many, _MOST_TIMES, _MOST_RARE_TIMES).astype(np.uint16)
    exceptions = sum(
        int((tfs[at : at + _PIECE] > most[ids[at : at + _PIECE]]).sum())
        for at in range(0, len(ids), _PIECE)
    )
    sizes = {
        "entries": len(ids),
        "places": len(ids) - int(starts[many]),
        "bounds": many * groups * BLOCKS,
        "group_bounds": many * groups,
        "counts": many * groups,
        "group_starts": many * groups,
    }
    arrays = {
        name: new_array(folder / f"{name}.npy", _FILES[name], size) for name, size in sizes.items()
    }
    for name, array in (*given.items(), ("starts", starts)):
        write_array(folder / f"{name}.npy", array)
    arrays.update(given, starts=starts)
    arrays["often"] = np.zeros(exceptions, np.uint64)
    arrays["times"] = np.zeros(exceptions, np.uint16)
    rows = np.empty(len(places), np.uint32)
    rows[places] = np.arange(len(places), dtype=np.uint32)
    firsts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=firsts[1:])
    postings = Postings(arrays, inverse)
    _invert(postings.pointer, ids, tfs, firsts, rows, numbers, starts.copy())
    by_posting = np.argsort(arrays["often"])
    for name in ("often", "times"):
        write_array(folder / f"{name}.npy", arrays[name][by_posting])
    return order
