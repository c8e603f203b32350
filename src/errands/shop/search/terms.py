"""The terms of many documents at once: what `analyzer` makes of each, counted, at C's speed."""

import struct
from collections.abc import Iterable
from typing import Final

import numpy as np

from errands.native import Array, Size, native
from errands.shop.search.analyzer import terms_of_chunk
from errands.shop.search.index import TermChunk

__all__ = ["collect_terms"]

_BYTES, _WIDE, _IDS = Array(np.uint8), Array(np.int64), Array(np.uint32)
_chunks = native(
    "terms_chunks",
    _BYTES, _WIDE, _BYTES, Size, _IDS, _IDS, _WIDE, _IDS, Array(np.bool_),
    returns=Size,
)  # fmt: skip
_numbers = native(
    "terms_numbers",
    _BYTES, _WIDE, _IDS, Array(np.bool_), Size, _BYTES, _WIDE, _IDS, _BYTES, _WIDE, _IDS,
    returns=Size,
)  # fmt: skip
_count = native(
    "terms_count",
    _IDS, _IDS, Size, _WIDE, _IDS, Size, _IDS, Array(np.uint16), _IDS, _IDS,
    returns=Size,
)  # fmt: skip

# Where a text may be cut without other words coming of it: see `analyzer.chunks`.
_AT_WHITE_SPACE: Final = 0
_AT_SPACES: Final = 1
_NOWHERE: Final = 2
_NUMBER: Final = struct.Struct("=I")


def collect_terms(documents: Iterable[str]) -> TermChunk:
    """Analyse some documents; any process can do it."""
    encoded = [_encode(text) for text in documents]
    count = len(encoded)
    data = b"".join([text for text, _ in encoded])
    text = np.frombuffer(data, np.uint8)
    ends = np.cumsum(np.array([len(one) for one, _ in encoded], np.int64))
    kinds = np.array([kind for _, kind in encoded], np.uint8)
    most = len(data) // 2 + count
    chunk_counts, chunks = np.empty(count, np.uint32), np.empty(most, np.uint32)
    starts, lengths = np.empty(most, np.int64), np.empty(most, np.uint32)
    foreign = np.empty(most, np.bool_)
    distinct: int = _chunks(
        text, ends, kinds, count, chunk_counts, chunks, starts, lengths, foreign
    )
    told = b"".join(
        _tell(data[start : start + length])
        for start, length in zip(
            starts[:distinct][foreign[:distinct]].tolist(),
            lengths[:distinct][foreign[:distinct]].tolist(),
            strict=True,
        )
    )
    # A term has a byte at least, and a line break behind it.
    most = len(data) + len(told)
    term_ends, numbers = np.empty(distinct, np.int64), np.empty(most, np.uint32)
    term_text = np.empty(2 * most, np.uint8)
    term_starts, term_lengths = np.empty(most, np.int64), np.empty(most, np.uint32)
    terms: int = _numbers(
        text, starts, lengths, foreign, distinct, np.frombuffer(told, np.uint8),
        term_ends, numbers, term_text, term_starts, term_lengths,
    )  # fmt: skip
    spelled = term_text[: term_starts[terms - 1] + term_lengths[terms - 1] if terms else 0]
    most = int(np.diff(term_ends, prepend=0)[chunks[: chunk_counts.sum()]].sum())
    ids, tfs = np.empty(most, np.uint32), np.empty(most, np.uint16)
    counts, tokens = np.empty(count, np.uint32), np.empty(count, np.uint32)
    kept = _count(chunks, chunk_counts, count, term_ends, numbers, terms, ids, tfs, counts, tokens)
    return TermChunk(
        spelled.tobytes().decode("utf-8", "surrogatepass").split("\n") if terms else [],
        ids[:kept].copy(),
        tfs[:kept].copy(),
        counts,
        tokens,
    )


def _encode(text: str) -> tuple[bytes, int]:
    """A document's bytes, and where it may be cut."""
    if text.isascii():
        return text.encode(), _AT_WHITE_SPACE
    try:
        return text.encode(), _AT_SPACES
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), _NOWHERE


def _tell(chunk: bytes) -> bytes:
    """The terms of a chunk that C does not analyse, as it reads them."""
    terms = terms_of_chunk(chunk.decode("utf-8", "surrogatepass"))
    encoded = (term.encode("utf-8", "surrogatepass") for term in terms)
    told = b"".join([_NUMBER.pack(len(term)) + term for term in encoded])
    return _NUMBER.pack(len(terms)) + told
