"""The search index: Lucene's BM25 ranking over mapped postings, without Lucene.

What makes the order Lucene's own is small and exact: document lengths go through its one-byte
encoding, idf, length factor and each term's share are 32-bit floats, the shares are added in
64 bit and rounded to 32, and equal scores are ordered by product id. Products are numbered in id
order, so the last rule is "the smaller number first".

Most documents need not be scored to know the best k (block-max pruning, Mallia et al. 2024). What
a term adds to any document of a block is known, rounded up, so a few additions bound what any
document of a block can score; and first the same for groups of blocks. Once k documents are
scored, the worst of them is a bar, and blocks bounded below it are never opened. A first bar comes
from the blocks with the highest bounds. All others that reach it are opened in document order: a
term's bits say which of the block's 32 documents it is in, and what it adds at most goes to these,
to all at once, terms that may add most first. A block is left as soon as its best sum and what is
still to come stay below the bar; long queries try that on the sums' high bytes first, or, where the
processor has masks (AVX-512), on all blocks of a group together. Whoever gets over it is scored
exactly (`native/ranking.c`).

`IndexWriter` collects documents in any order; `Index` opens the result and ranks. By hand because
no library in Python's reach gives Lucene's order to the last tie, which published numbers need.
"""

import ctypes
import functools
import math
import threading
import zlib
from array import array
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.errors import DamageError, DataError
from errands.native import native
from errands.shop.damage import damaged
from errands.shop.records import ArrayWriter, Records, RecordsWriter, map_array, view, write_array
from errands.shop.search.analyzer import analyze
from errands.shop.search.postings import BLOCKS, Postings, frequent_from, write_postings

__all__ = ["Index", "IndexWriter", "RankedBatch", "TermChunk", "Work", "decoded_lengths"]

K1: Final = np.float32(0.9)
B: Final = np.float32(0.4)
REMEMBERED_TERMS: Final = 1 << 15
SHORT_LIST: Final = 256
"""Up to so many results are kept in order while scoring; more are sorted afterwards."""
MOST_TERMS: Final = 2048
"""Of more terms in a query the sums, in whole numbers, would tell too little."""


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

    def finish(
        self,
        folder: Path,
        numbers: NDArray[np.uint32],
        places: NDArray[np.uint32] | None = None,
        frequent: int | None = None,
    ) -> None:
        """Write the index; `numbers[i]` is the product number of the i-th document added.

        `places[i]` is where it lies: among documents that are alike, where there is a way to tell;
        by number otherwise. `frequent` is how many documents have a frequent term at least.
        """
        folder.mkdir()
        places = numbers if places is None else places
        lengths = np.array(self._lengths, np.int64)
        norms, by_place = np.zeros(len(lengths), np.uint8), np.zeros(len(lengths), np.uint32)
        norms[places] = np.searchsorted(decoded_lengths(), lengths, "right") - 1
        by_place[places] = numbers
        statistics = CollectionStatistics(int((lengths > 0).sum()), int(lengths.sum()))
        order = write_postings(
            folder,
            self._ids.array(),
            self._tfs.array(),
            np.array(self._counts, np.uint32),
            places,
            {"norms": norms, "numbers": by_place},
            _inverse_norms(statistics),
            len(self._terms),
            frequent_from(len(lengths)) if frequent is None else frequent,
        )
        terms = list(self._terms)
        terms = [terms[number] for number in order.tolist()]
        write_array(folder / "slots.npy", _hash_slots(terms))
        records = RecordsWriter(folder / "terms")
        for term in terms:
            records.append(_encode(term))
        records.finish()
        (folder / "statistics.json").write_bytes(msgspec.json.encode(statistics))


class Work(NamedTuple):
    """What ranking has cost, where documents are left out."""

    bounded: int
    """Blocks whose bounds were added up."""
    opened: int
    """Blocks whose documents were looked at."""
    added: int
    """Terms that were added up in opened blocks."""
    scored: int
    """Documents that were scored exactly."""


_COLLISIONS: Final = 16
"""Terms that each is compared with on average; words that nobody made on purpose stay below 1."""
_POINTER: Final = ctypes.c_void_p
_COUNT: Final = ctypes.c_int64
_QUERY: Final = (_POINTER, _POINTER, _POINTER, _COUNT)
_score_all = native("score_all", *_QUERY, _POINTER, returns=_COUNT)
_rank_all = native("rank_all", *_QUERY, _COUNT, *[_POINTER] * 3, returns=_COUNT)
_rank = native("rank", *_QUERY, _COUNT, *[_POINTER] * 5, returns=_COUNT)
_rank_some = native(
    "rank_some", *[_POINTER] * 4, _COUNT, _POINTER, *[_COUNT] * 2, *[_POINTER] * 6, returns=_COUNT
)
_DAMAGED: Final = -1
_TOO_MANY_TERMS: Final = -2
_NOT_YET: Final = -3


class _Room:
    """Arrays that a thread's queries use one after the other, and where they are."""

    def __init__(self, postings: Postings) -> None:
        self.numbers = np.empty(SHORT_LIST, np.uint32)
        self.scores = np.empty(SHORT_LIST, np.float32)
        self.work = np.zeros(len(Work._fields), np.int64)
        self.best = self.numbers.ctypes.data, self.scores.ctypes.data
        self._bounds = np.zeros(postings.groups, np.uint16)
        self._rare_bounds = np.zeros(postings.groups * BLOCKS, np.uint16)
        self.scratch = (
            *(each.ctypes.data for each in (self._bounds, self._rare_bounds, self.work)),
        )


class Index:
    """A mapped index; one object serves any number of environments and threads."""

    def __init__(self, folder: Path) -> None:
        """Map the index of a catalogue; a ValueError where its files do not belong together."""
        self._folder = folder
        self.statistics = msgspec.json.decode(
            (folder / "statistics.json").read_bytes(), type=CollectionStatistics
        )
        documents, tokens = self.statistics.documents, self.statistics.tokens
        if not 0 <= documents <= tokens <= documents * int(decoded_lengths()[-1]):
            raise ValueError(f"statistics.json says {tokens} terms in {documents} documents")
        self._terms = Records(folder / "terms")
        self._slots = view(map_array(folder / "slots.npy", np.uint32))
        self._postings = Postings.open(folder, _inverse_norms(self.statistics), len(self._terms))
        self._local = threading.local()
        self._look_up = functools.lru_cache(REMEMBERED_TERMS)(self._find_term)

    def __len__(self) -> int:
        """How many distinct terms there are."""
        return len(self._terms)

    @property
    def documents(self) -> int:
        """How many documents there are, with terms or without."""
        return self._postings.documents

    @property
    def blocks(self) -> int:
        """How many blocks documents lie in."""
        return self._postings.groups * BLOCKS

    def rank(
        self, query: str, k: int, *, exhaustive: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """The numbers and scores of the best k documents, best first.

        `exhaustive` scores every document that has a word of the query; the result is the same.
        """
        postings = self._postings
        k = min(k, postings.documents)
        terms, weights = self._weigh(query)
        if not terms or k < 1:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        asked = postings.pointer, terms.buffer_info()[0], weights.buffer_info()[0], len(terms)
        if k > SHORT_LIST:
            sums = np.zeros(postings.documents)
            self._checked(_score_all(*asked, sums.ctypes.data))
            return self._sorted(sums.astype(np.float32), k)
        room = self._room()
        if exhaustive or not postings.frequent or len(terms) > MOST_TERMS:
            sums = np.zeros(postings.documents)
            size = self._checked(_rank_all(*asked, k, sums.ctypes.data, *room.best))
        else:
            size = self._checked(_rank(*asked, k, *room.scratch, *room.best))
        return room.numbers[:size].copy(), room.scores[:size].copy()

    def rank_batch(
        self, queries: Sequence[str], k: int, pool: Executor, helpers: int
    ) -> "RankedBatch":
        """Begin to rank many queries, as `rank` does, on so many threads of a pool."""
        return RankedBatch(self, queries, k, pool, helpers)

    def _weigh(self, query: str) -> "tuple[array[int], array[float]]":
        """The terms of a query that any document has, and what they weigh."""
        terms, weights = array("q"), array("f")
        for term, count in Counter(analyze(query)).items():
            number, idf = self._look_up(term)
            if number >= 0:
                terms.append(number)
                # A small multiple of a 32-bit float is exact here and rounded once.
                weights.append(count * idf)
        return terms, weights

    def work(self) -> Work:
        """What this thread's queries have cost so far."""
        return Work(*self._room().work.tolist())

    def _sorted(
        self, scores: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """The best of all scores, which are by place."""
        places = np.flatnonzero(scores)
        numbers, scores = self._postings.arrays["numbers"][places], scores[places]
        if numbers.max(initial=0) >= max(self.documents, 1):
            raise self._damaged()
        order = np.lexsort((numbers, -scores))[:k]
        return numbers[order], scores[order]

    def _room(self) -> _Room:
        """This thread's room for a query."""
        room: _Room | None = getattr(self._local, "room", None)
        if room is None:
            room = self._local.room = _Room(self._postings)
        return room

    def _find_term(self, term: str) -> tuple[int, float]:
        """The term's number and its idf, a 32-bit float; -1 and 0 where no document has it."""
        encoded = _encode(term)
        slots = self._slots
        first = zlib.crc32(encoded)
        for slot in range(first, first + len(slots)):
            entry = slots[slot & len(slots) - 1]
            if not entry:
                return -1, 0.0
            number = entry - 1
            if number < len(self._terms) and self._term(number) == encoded:
                df = self._postings.documents_of(number)
                if 0 < df <= self.statistics.documents:
                    idf = math.log(1 + (self.statistics.documents - df + 0.5) / (df + 0.5))
                    return number, float(np.float32(idf))
                break
        raise self._damaged()

    def _term(self, number: int) -> bytes:
        try:
            return self._terms[number]
        except ValueError as failure:
            raise self._damaged(failure) from None

    def _checked(self, size: int) -> int:
        """How many documents were found, unless an offset in a file led nowhere."""
        if size == _DAMAGED:
            raise self._damaged()
        return size

    def _damaged(self, why: object = "its search index leads nowhere") -> DamageError:
        return damaged(self._folder.parent, why)


class RankedBatch:
    """Queries that are being ranked by threads of a pool, and by whoever asks for a result that is
    not there yet: nobody waits while there is something to rank."""

    def __init__(
        self, index: Index, queries: Sequence[str], k: int, pool: Executor, helpers: int
    ) -> None:
        self._index, self._queries, self._k = index, queries, k
        postings = index._postings
        # The others are ranked one by one, when they are asked for.
        count = len(queries) if 0 < k <= min(SHORT_LIST, postings.documents) else 0
        count = count if postings.frequent else 0
        terms, weights, ends = array("q"), array("f"), array("q")
        for query in queries[:count]:
            its_terms, its_weights = index._weigh(query)
            terms.extend(its_terms)
            weights.extend(its_weights)
            ends.append(len(terms))
        self._terms = terms, weights, ends
        self._next = array("q", [0])
        self._numbers = np.empty((count, max(k, 0)), np.uint32)
        self._scores = np.empty(self._numbers.shape, np.float32)
        self._sizes = np.full(len(queries), _NOT_YET if count else _TOO_MANY_TERMS, np.int64)
        begun = threading.Semaphore(0)

        def help_out() -> None:
            begun.release()
            self._rank(count)

        self._helpers = [pool.submit(help_out) for _ in range(helpers if count else 0)]
        # A thread that computes in Python would keep the lock for milliseconds.
        for _ in self._helpers:
            begun.acquire()

    def numbers(self, i: int) -> NDArray[np.uint32]:
        """The numbers of the best k documents of the i-th query."""
        while self._sizes[i] == _NOT_YET and self._rank(1):
            pass
        if self._sizes[i] == _NOT_YET:
            for helper in self._helpers:
                helper.result()
        size = int(self._sizes[i])
        if size == _TOO_MANY_TERMS:
            return self._index.rank(self._queries[i], self._k)[0]
        return self._numbers[i, : self._index._checked(size)]

    def _rank(self, most: int) -> int:
        """Rank so many queries that nobody has begun; how many there were."""
        index = self._index
        terms, weights, ends = (each.buffer_info()[0] for each in self._terms)
        return int(_rank_some(
            index._postings.pointer, terms, weights, ends, len(self._numbers),
            self._next.buffer_info()[0], most, self._k, *index._room().scratch,
            self._numbers.ctypes.data, self._scores.ctypes.data, self._sizes.ctypes.data,
        ))  # fmt: skip


def _encode(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")


def _hash_slots(terms: Sequence[str]) -> NDArray[np.uint32]:
    """An open-addressing table from a term's checksum to its number + 1; 0 is free."""
    size = 1 << max(3, (2 * len(terms)).bit_length())
    slots = array("I", bytes(4 * size))
    left = _COLLISIONS * (len(terms) + 1000)
    for number, term in enumerate(terms):
        slot = zlib.crc32(_encode(term)) & (size - 1)
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
            left -= 1
        if left < 0:
            raise DataError(
                f"Words of the products were made to be slow to look up, such as {term!r}; look for"
                " products with thousands of words that nobody knows."
            )
        slots[slot] = number + 1
    return np.array(slots, np.uint32)


def _inverse_norms(statistics: CollectionStatistics) -> NDArray[np.float32]:
    """For each length byte, 1 / (k1 * (1 - b + b * length / average)), in 32 bit throughout."""
    one = np.float32(1)
    average = np.float32(statistics.tokens / statistics.documents) if statistics.documents else one
    lengths = decoded_lengths().astype(np.float32)
    return one / (K1 * ((one - B) + B * lengths / average))
