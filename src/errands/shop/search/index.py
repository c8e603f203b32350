"""The search index: Lucene's BM25 ranking over mapped postings, without Lucene.

What makes the order Lucene's own is small and exact: document lengths go through its one-byte
encoding, idf, length factor and each term's share are 32-bit floats, the shares are added in
64 bit and rounded to 32, and equal scores are ordered by product id. Documents are numbered in
product-id order, so the last rule is "the smaller number first".

`IndexWriter` collects documents in any order; `Index` opens the result and ranks. By hand because
no library in Python's reach gives Lucene's order to the last tie, which published numbers need.
"""

import functools
import math
import threading
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.shop.records import (
    ArrayWriter,
    Records,
    RecordsWriter,
    map_array,
    new_array,
    view,
    write_array,
)
from errands.shop.search.analyzer import analyze, chunks, terms_of_chunk
from errands.shop.search.kernels import (
    K1,
    B,
    Postings,
    Scratch,
    count_terms,
    invert,
    rank,
    rank_all,
    rank_many,
)

__all__ = ["Index", "IndexWriter", "TermChunk", "collect_terms", "decoded_lengths"]

BITS: Final = 16
"""Windows of 65,536 documents: their sums fit in a core's own cache."""
REMEMBERED_TERMS: Final = 1 << 15
SHORT_LIST: Final = 256
"""Up to so many results are kept in order while scoring; more are sorted afterwards."""
MANY_TERMS: Final = 4096
"""Of more terms in a query the rough sums, in sixteen bits, would tell too little."""


def decoded_lengths() -> NDArray[np.int64]:
    """The 256 document lengths that Lucene's one-byte encoding can tell apart.

    Lengths up to 39 are kept; beyond, 24 + the four leading bits of (length - 24).
    """

    def decode(byte: int) -> int:
        if byte < 24:
            return byte
        bits, shift = (byte - 24) & 7, ((byte - 24) >> 3) - 1
        return 24 + (bits if shift < 0 else (bits | 8) << shift)

    return np.array([decode(byte) for byte in range(256)], np.int64)


class CollectionStatistics(msgspec.Struct, frozen=True):
    """What the scorer must know of the whole collection."""

    documents: int
    """Documents with at least one term."""
    tokens: int
    """Indexed terms in all documents, repeats counted."""
    bits: int
    """A window has 2**bits documents."""


class TermChunk(NamedTuple):
    """The terms of some documents, one after the other, under numbers of the chunk's own."""

    terms: list[str]
    """The distinct terms, in the order in which they first occur."""
    ids: NDArray[np.uint32]
    """For each document its distinct terms, as places in `terms`."""
    tfs: NDArray[np.uint16]
    """How often the document has each of them."""
    counts: NDArray[np.uint32]
    """How many distinct terms each document has."""
    lengths: NDArray[np.uint32]
    """How many terms each document has, repeats counted."""


def collect_terms(documents: Iterable[str]) -> TermChunk:
    """Analyse some documents; any process can do it."""
    numbers = _Numbers()
    occurrences, lengths = array("I"), array("I")
    for contents in documents:
        # Not by way of the terms themselves: most words come back, and numbers are cheap to count.
        tokens = list(chain.from_iterable(map(numbers.__getitem__, chunks(contents))))
        occurrences.fromlist(tokens)
        lengths.append(len(tokens))
    ids, tfs = np.empty(len(occurrences), np.uint32), np.empty(len(occurrences), np.uint16)
    ends = np.array(lengths, np.uint32)
    counts = np.zeros(len(ends), np.uint32)
    total = count_terms(
        np.array(occurrences, np.uint32), ends, len(numbers.terms), ids, tfs, counts
    )
    return TermChunk(list(numbers.terms), ids[:total].copy(), tfs[:total].copy(), counts, ends)


class _Numbers(dict[str, tuple[int, ...]]):
    """The terms of chunks of text, numbered in the order in which they first occur."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        terms = self.terms
        numbers = tuple([terms.setdefault(term, len(terms)) for term in terms_of_chunk(chunk)])
        self[chunk] = numbers
        return numbers


class IndexWriter:
    """Collects analysed documents in scratch files and turns them into postings at the end."""

    def __init__(self, scratch: Path) -> None:
        self._terms: dict[str, int] = {}
        self._counts = array("I")
        self._lengths = array("I")
        self._ids = ArrayWriter(scratch / "term_ids", np.uint32)
        self._tfs = ArrayWriter(scratch / "term_counts", np.uint16)

    def add(self, chunk: TermChunk) -> None:
        """Add the next documents."""
        terms = self._terms
        numbers = np.array([terms.setdefault(term, len(terms)) for term in chunk.terms], np.uint32)
        self._ids.extend(numbers[chunk.ids])
        self._tfs.extend(chunk.tfs)
        self._counts.frombytes(chunk.counts.tobytes())
        self._lengths.frombytes(chunk.lengths.tobytes())

    def close(self) -> None:
        """Let go of the scratch files."""
        self._ids.close()
        self._tfs.close()

    def finish(self, folder: Path, numbers: NDArray[np.uint32], bits: int = BITS) -> None:
        """Write the index; `numbers[i]` is the final number of the i-th document added."""
        folder.mkdir()
        lengths = np.array(self._lengths, np.int64)
        norms = np.zeros(len(lengths), np.uint8)
        norms[numbers] = np.searchsorted(decoded_lengths(), lengths, "right") - 1
        statistics = CollectionStatistics(int((lengths > 0).sum()), int(lengths.sum()), bits)
        count = self._ids.count
        term_counts = self._tfs.array()
        most = int(term_counts.max()) if count else 0
        windows, tops = invert(
            self._ids.array(),
            term_counts,
            np.array(self._counts, np.uint32),
            numbers,
            norms,
            _inverse_norms(statistics),
            len(self._terms),
            bits,
            new_array(folder / "lows.npy", np.uint16, count),
            new_array(folder / "codes.npy", np.uint8, count),
            new_array(folder / "tfs.npy", np.uint8 if most < 256 else np.uint16, count),
        )
        windows = windows.astype(np.uint32 if count < 1 << 32 else np.uint64)
        write_array(folder / "windows.npy", windows)
        write_array(folder / "norms.npy", norms)
        write_array(folder / "tops.npy", tops)
        write_array(folder / "slots.npy", _hash_slots(self._terms))
        records = RecordsWriter(folder / "terms")
        for term in self._terms:
            records.append(_encode(term))
        records.finish()
        (folder / "statistics.json").write_bytes(msgspec.json.encode(statistics))


class Index:
    """A mapped index; one object serves any number of environments and threads."""

    def __init__(self, folder: Path) -> None:
        self.statistics = msgspec.json.decode(
            (folder / "statistics.json").read_bytes(), type=CollectionStatistics
        )
        self._terms = Records(folder / "terms")
        self._slots = view(map_array(folder / "slots.npy"))
        windows = map_array(folder / "windows.npy")
        self._windows = view(windows)
        self._postings = Postings(
            windows,
            map_array(folder / "lows.npy"),
            map_array(folder / "codes.npy"),
            map_array(folder / "tfs.npy"),
            map_array(folder / "norms.npy"),
            map_array(folder / "tops.npy"),
            self.statistics.bits,
        )
        self._documents = len(self._postings.norms)
        self._span = max(1, -(-self._documents >> self.statistics.bits))
        self._inverse = _inverse_norms(self.statistics)
        self._local = threading.local()
        self._look_up = functools.lru_cache(REMEMBERED_TERMS)(self._find_term)

    def __len__(self) -> int:
        """How many distinct terms there are."""
        return len(self._terms)

    def rank(
        self, query: str, k: int, *, exhaustive: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """The numbers and scores of the best k documents, best first.

        `exhaustive` scores every document that has a word of the query; the result is the same.
        """
        k = min(k, self._documents)
        terms: list[int] = []
        weights: list[float] = []
        for term, count in Counter(analyze(query)).items():
            number, idf = self._look_up(term)
            if number >= 0:
                terms.append(number)
                # A small multiple of a 32-bit float is exact here and rounded once, below.
                weights.append(count * idf)
        if not terms or k < 1:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        weighted = np.array(terms, np.int64), np.array(weights, np.float32)
        room = self._room()
        best: tuple[NDArray[np.uint32], NDArray[np.float32]]
        if k > SHORT_LIST:
            best = rank_many(self._postings, self._inverse, *weighted, k, room.sums)
        elif exhaustive or self._span == 1 or len(terms) > MANY_TERMS:
            best = rank_all(self._postings, self._inverse, *weighted, k, room.sums)
        else:
            best = rank(self._postings, self._inverse, *weighted, k, room)
        return best

    def _room(self) -> Scratch:
        """This thread's room for a query."""
        room: Scratch | None = getattr(self._local, "room", None)
        if room is None:
            room = self._local.room = Scratch.of(self.statistics.bits)
        return room

    def _find_term(self, term: str) -> tuple[int, float]:
        """The term's number and its idf, a 32-bit float; -1 and 0 where no document has it."""
        encoded = _encode(term)
        slots = self._slots
        mask = len(slots) - 1
        slot = zlib.crc32(encoded) & mask
        while entry := slots[slot]:
            number = entry - 1
            if self._terms[number] == encoded:
                df = self._windows[(number + 1) * self._span] - self._windows[number * self._span]
                idf = math.log(1 + (self.statistics.documents - df + 0.5) / (df + 0.5))
                return number, float(np.float32(idf))
            slot = (slot + 1) & mask
        return -1, 0.0


def _encode(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")


def _hash_slots(terms: Sequence[str] | dict[str, int]) -> NDArray[np.uint32]:
    """An open-addressing table from a term's checksum to its number + 1; 0 is free."""
    size = 1 << max(3, (2 * len(terms)).bit_length())
    slots = array("I", bytes(4 * size))
    for number, term in enumerate(terms):
        slot = zlib.crc32(_encode(term)) & (size - 1)
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number + 1
    return np.array(slots, np.uint32)


def _inverse_norms(statistics: CollectionStatistics) -> NDArray[np.float32]:
    """For each length byte, 1 / (k1 * (1 - b + b * length / average)), in 32 bit throughout."""
    one = np.float32(1)
    average = np.float32(statistics.tokens / statistics.documents) if statistics.documents else one
    lengths = decoded_lengths().astype(np.float32)
    return one / (K1 * ((one - B) + B * lengths / average))
