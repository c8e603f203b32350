"""The search index: Lucene's BM25 ranking over mapped postings, without Lucene.

What makes the order Lucene's own is small and exact: document lengths go through its one-byte
encoding, idf, length factor and each term's share are 32-bit floats, the shares are added in
64 bit and rounded to 32, and equal scores are ordered by product id. Documents are numbered in
product-id order, so the last rule is "the smaller number first".

`IndexWriter` collects documents in any order; `Index` opens the result and ranks.
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
from typing import Any, Final, NamedTuple

import msgspec
import numba
import numpy as np
from numpy.typing import NDArray

from errands.shop.analyzer import analyze, chunks, terms_of_chunk
from errands.shop.records import (
    ArrayWriter,
    Records,
    RecordsWriter,
    map_array,
    new_array,
    view,
    write_array,
)

__all__ = ["Index", "IndexWriter", "TermChunk", "collect_terms", "decoded_lengths"]

K1: Final = np.float32(0.9)
B: Final = np.float32(0.4)
REMEMBERED_TERMS: Final = 1 << 15
SHORT_LIST: Final = 256
"""Up to so many results are kept in order while scoring; more are sorted afterwards."""


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


class Statistics(msgspec.Struct, frozen=True):
    """What the scorer must know of the whole collection."""

    documents: int
    """Documents with at least one term."""
    tokens: int
    """Indexed terms in all documents, repeats counted."""


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
    found, lengths = array("I"), array("I")
    for contents in documents:
        # Not by way of the terms themselves: most words come back, and numbers are cheap to count.
        tokens = list(chain.from_iterable(map(numbers.__getitem__, chunks(contents))))
        found.fromlist(tokens)
        lengths.append(len(tokens))
    ids, tfs = np.empty(len(found), np.uint32), np.empty(len(found), np.uint16)
    ends = np.array(lengths, np.uint32)
    counts = np.zeros(len(ends), np.uint32)
    kept = _count_terms(np.array(found, np.uint32), ends, len(numbers.terms), ids, tfs, counts)
    return TermChunk(list(numbers.terms), ids[:kept].copy(), tfs[:kept].copy(), counts, ends)


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

    def finish(self, folder: Path, numbers: NDArray[np.uint32]) -> None:
        """Write the index; `numbers[i]` is the final number of the i-th document added."""
        folder.mkdir()
        lengths = np.array(self._lengths, np.int64)
        norms = np.zeros(len(lengths), np.uint8)
        norms[numbers] = np.searchsorted(decoded_lengths(), lengths, "right") - 1
        starts = _invert(
            self._ids.array(),
            self._tfs.array(),
            np.array(self._counts, np.int64),
            numbers,
            len(self._terms),
            new_array(folder / "docs.npy", np.uint32, self._ids.count),
            new_array(folder / "tfs.npy", np.uint16, self._ids.count),
        )
        write_array(folder / "starts.npy", starts)
        write_array(folder / "norms.npy", norms)
        write_array(folder / "slots.npy", _hash_slots(self._terms))
        records = RecordsWriter(folder / "terms")
        for term in self._terms:
            records.append(_encode(term))
        records.finish()
        statistics = Statistics(int((lengths > 0).sum()), int(lengths.sum()))
        (folder / "statistics.json").write_bytes(msgspec.json.encode(statistics))


class Index:
    """A mapped index; one object serves any number of environments and threads."""

    def __init__(self, folder: Path) -> None:
        self._terms = Records(folder / "terms")
        self._slots = view(map_array(folder / "slots.npy"))
        self._starts = map_array(folder / "starts.npy")
        self._spans = view(self._starts)
        self._docs = map_array(folder / "docs.npy")
        self._tfs = map_array(folder / "tfs.npy")
        self._norms = map_array(folder / "norms.npy")
        self.statistics = msgspec.json.decode(
            (folder / "statistics.json").read_bytes(), type=Statistics
        )
        self._inverse = _inverse_norms(self.statistics)
        self._local = threading.local()
        self._look_up = functools.lru_cache(REMEMBERED_TERMS)(self._find_term)

    def __len__(self) -> int:
        """How many distinct terms there are."""
        return len(self._terms)

    def rank(self, query: str, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """The numbers and scores of the best k documents, best first."""
        k = min(k, len(self._norms))
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
        sums = self._sums()
        scoring = (
            self._starts,
            self._docs,
            self._tfs,
            self._norms,
            self._inverse,
            np.array(terms, np.uint32),
            np.array(weights, np.float32),
            sums,
        )
        if k <= SHORT_LIST:
            best: tuple[NDArray[np.uint32], NDArray[np.float32]] = _rank(*scoring, k)
            return best
        _add_up(*scoring)
        found = np.flatnonzero(sums)
        scores = sums[found].astype(np.float32)
        sums[found] = 0.0
        order = np.argsort(-scores, kind="stable")[:k]
        return found[order].astype(np.uint32), scores[order]

    def _sums(self) -> NDArray[np.float64]:
        """This thread's accumulator, all zero between queries."""
        sums: NDArray[np.float64] | None = getattr(self._local, "sums", None)
        if sums is None:
            sums = self._local.sums = np.zeros(len(self._norms), np.float64)
        return sums

    def _find_term(self, term: str) -> tuple[int, float]:
        """The term's number and its idf, a 32-bit float; -1 and 0 where no document has it."""
        encoded = _encode(term)
        slots = self._slots
        mask = len(slots) - 1
        slot = zlib.crc32(encoded) & mask
        while held := slots[slot]:
            number = held - 1
            if self._terms[number] == encoded:
                df = self._spans[number + 1] - self._spans[number]
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


def _inverse_norms(statistics: Statistics) -> NDArray[np.float32]:
    """For each length byte, 1 / (k1 * (1 - b + b * length / average)), in 32 bit throughout."""
    one = np.float32(1)
    average = np.float32(statistics.tokens / statistics.documents) if statistics.documents else one
    lengths = decoded_lengths().astype(np.float32)
    return one / (K1 * ((one - B) + B * lengths / average))


def _jit(function: Any) -> Any:
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # Nowhere to keep compiled code (a read-only machine): compile in every process.
        return numba.njit(nogil=True)(function)


@_jit
def _count_terms(
    found: Any, lengths: Any, terms: int, ids_out: Any, tfs_out: Any, counts_out: Any
) -> int:
    """Count each document's terms, in the order in which it first has them."""
    last = np.full(terms, -1, np.int64)
    place = np.empty(terms, np.int64)
    kept = 0
    at = 0
    for i in range(len(lengths)):
        before = kept
        for p in range(at, at + lengths[i]):
            term = found[p]
            if last[term] != i:
                last[term] = i
                place[term] = kept
                ids_out[kept] = term
                tfs_out[kept] = 1
                kept += 1
            elif tfs_out[place[term]] < 0xFFFF:
                tfs_out[place[term]] += 1
        at += lengths[i]
        counts_out[i] = kept - before
    return kept


@_jit
def _invert(
    ids: Any, tfs: Any, counts: Any, numbers: Any, terms: int, docs_out: Any, tfs_out: Any
) -> Any:
    """Turn documents' term lists into terms' document lists, by a counting sort."""
    starts = np.zeros(terms + 1, np.uint64)
    for i in range(len(ids)):
        starts[ids[i] + 1] += np.uint64(1)
    for t in range(terms):
        starts[t + 1] += starts[t]
    first = np.zeros(len(counts) + 1, np.int64)
    for i in range(len(counts)):
        first[i + 1] = first[i] + counts[i]
    row = np.zeros(len(counts), np.int64)
    for i in range(len(counts)):
        row[numbers[i]] = i
    free = starts.copy()
    for number in range(len(counts)):
        i = row[number]
        for p in range(first[i], first[i + 1]):
            at = free[ids[p]]
            docs_out[at] = number
            tfs_out[at] = tfs[p]
            free[ids[p]] = at + np.uint64(1)
    return starts


@_jit
def _add_up(
    starts: Any,
    docs: Any,
    tfs: Any,
    norms: Any,
    inverse: Any,
    terms: Any,
    weights: Any,
    sums: Any,
) -> None:
    """Add each query term's share to the sum of every document that has the term."""
    one = np.float32(1)
    for t in range(len(terms)):
        weight = weights[t]
        for p in range(starts[terms[t]], starts[terms[t] + 1]):
            doc = docs[p]
            share = weight - weight / (one + np.float32(tfs[p]) * inverse[norms[doc]])
            sums[doc] += np.float64(share)


@_jit
def _rank(
    starts: Any,
    docs: Any,
    tfs: Any,
    norms: Any,
    inverse: Any,
    terms: Any,
    weights: Any,
    sums: Any,
    k: int,
) -> Any:
    """Score all documents and keep the best k, in order; leaves `sums` all zero."""
    _add_up(starts, docs, tfs, norms, inverse, terms, weights, sums)
    best = np.empty(k, np.float32)
    numbers = np.empty(k, np.uint32)
    size = 0
    worst = np.float32(0)
    # Ascending numbers: a later document with an equal score never displaces an earlier one.
    for doc in range(len(sums)):
        score = np.float32(sums[doc])
        sums[doc] = 0.0
        if score > worst:
            at = min(size, k - 1)
            while at > 0 and best[at - 1] < score:
                best[at] = best[at - 1]
                numbers[at] = numbers[at - 1]
                at -= 1
            best[at] = score
            numbers[at] = doc
            size = min(size + 1, k)
            if size == k:
                worst = best[k - 1]
    return numbers[:size], best[:size]
