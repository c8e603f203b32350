"""Compiled kernels of the search index: from postings to the best documents, exactly.

Documents lie in windows of 2**bits numbers. A term's postings are in document order, so each
window of a term is one slice, whose documents are told apart by the low bits of their numbers.
A query goes through the windows one by one; what it adds up for a window fits in the cache.

`rank` leaves out what cannot matter. Each posting has a code, a byte that says how much of its
weight the term adds there, rounded up. Sums of these, as small whole numbers, are quickly made
and never too low. Once k documents are
known, the worst of them is a bar. Terms that all together stay below the bar cannot lift a
document over it, so only documents with one of the other terms are looked at, and each only as
long as the rest could still lift it. Whoever gets over the bar is scored exactly, as `rank_all`
scores every document.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.compiled import compiled

__all__ = [
    "K1",
    "B",
    "Postings",
    "Scratch",
    "count_terms",
    "invert",
    "rank",
    "rank_all",
    "rank_many",
]

K1: Final = np.float32(0.9)
B: Final = np.float32(0.4)
FULL: Final = 255
"""The code of a term that adds all of its weight."""
MOST: Final = 65535
"""The largest rough sum."""
DOUBT: Final = 1e-5
"""Of the sum of all weights: far more than 32-bit numbers can be wrong."""
BLOCK: Final = 256
"""Documents whose largest sum is looked at together."""
LOOK: Final = 1000
"""Looking up one document costs as much as adding up so many postings."""
ROUND: Final = 1
"""Before sums are looked at again, about half as many postings are added as a window is wide."""


class Postings(NamedTuple):
    """Which documents have which terms, and how often."""

    windows: NDArray[Any]
    """Where the postings of each term and window begin: term by term, window by window."""
    lows: NDArray[np.uint16]
    """The low bits of the documents' numbers."""
    codes: NDArray[np.uint8]
    """How much of its weight the term adds to the document, at most, of 255."""
    tfs: NDArray[Any]
    norms: NDArray[np.uint8]
    """The length byte of each document."""
    tops: NDArray[np.uint8]
    """The largest code of each term."""
    bits: int


class Scratch(NamedTuple):
    """Room for one query; `sums` and `rough` are all zero between queries."""

    sums: NDArray[np.float64]
    rough: NDArray[np.uint16]
    peaks: NDArray[np.uint16]
    found: NDArray[np.uint16]

    @classmethod
    def of(cls, bits: int) -> "Scratch":
        size = 1 << bits
        return cls(
            np.zeros(size, np.float64),
            np.zeros(size, np.uint16),
            np.zeros(-(-size // BLOCK), np.uint16),
            np.empty(size, np.uint16),
        )


@compiled
def count_terms(
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


@compiled
def invert(
    ids: Any,
    tfs: Any,
    counts: Any,
    numbers: Any,
    norms: Any,
    inverse: Any,
    terms: int,
    bits: int,
    lows: Any,
    codes: Any,
    tfs_out: Any,
) -> Any:
    """Turn documents' term lists into terms' document lists, by a counting sort.

    Fills `lows`, `codes` and `tfs_out`; returns the windows and the largest codes.
    """
    documents = len(counts)
    first = np.zeros(documents + 1, np.int64)
    row = np.zeros(documents, np.uint32)
    for i in range(documents):
        first[i + 1] = first[i] + counts[i]
        row[numbers[i]] = i
    span = max(1, (documents + (1 << bits) - 1) >> bits)
    windows = np.zeros(terms * span + 1, np.int64)
    for i in range(documents):
        window: Any = np.int64(numbers[i]) >> bits
        for p in range(first[i], first[i + 1]):
            windows[np.int64(ids[p]) * span + window + 1] += 1
    for end in range(terms * span):
        windows[end + 1] += windows[end]
    free = windows[:-1].copy()
    tops = np.zeros(terms, np.uint8)
    one = np.float32(1)
    for number in range(documents):
        i = row[number]
        window = number >> bits
        low = number & ((1 << bits) - 1)
        factor = inverse[norms[number]]
        for p in range(first[i], first[i + 1]):
            term = np.int64(ids[p])
            w = term * span + window
            at = free[w]
            part = one - one / (one + np.float32(tfs[p]) * factor)
            code: Any = min(np.int64(part * FULL) + 1, FULL)
            lows[at] = low
            tfs_out[at] = tfs[p]
            codes[at] = code
            if code > tops[term]:
                tops[term] = code
            free[w] = at + 1
    return windows, tops


@compiled
def _spans(postings: Any) -> Any:
    """How many windows there are."""
    return (len(postings.norms) + (1 << postings.bits) - 1) >> postings.bits


@compiled
def _add_exact(postings: Any, inverse: Any, term: int, weight: Any, window: int, sums: Any) -> None:
    """Add a term's share to the sum of each document of a window that has it."""
    windows, lows, tfs, norms = postings.windows, postings.lows, postings.tfs, postings.norms
    base = window << postings.bits
    one = np.float32(1)
    w = term * _spans(postings) + window
    for p in range(np.int64(windows[w]), np.int64(windows[w + 1])):
        low = lows[p]
        share = weight - weight / (one + np.float32(tfs[p]) * inverse[norms[base + low]])
        sums[low] += np.float64(share)


@compiled
def _put(numbers: Any, scores: Any, size: int, number: int, score: Any) -> int:
    """Keep a document among the best in order, smaller numbers first; the new size."""
    k = len(scores)
    if size == k and not (
        score > scores[k - 1] or (score == scores[k - 1] and number < numbers[k - 1])
    ):
        return size
    at = min(size, k - 1)
    while at > 0 and (
        scores[at - 1] < score or (scores[at - 1] == score and numbers[at - 1] > number)
    ):
        scores[at] = scores[at - 1]
        numbers[at] = numbers[at - 1]
        at -= 1
    scores[at] = score
    numbers[at] = number
    return min(size + 1, k)


@compiled
def rank_all(postings: Any, inverse: Any, terms: Any, weights: Any, k: int, sums: Any) -> Any:
    """The best k documents, every document scored; leaves `sums` all zero."""
    scores = np.empty(k, np.float32)
    numbers = np.empty(k, np.uint32)
    size = 0
    worst: Any = np.float32(0)
    for window in range(_spans(postings)):
        for t in range(len(terms)):
            _add_exact(postings, inverse, terms[t], weights[t], window, sums)
        base = window << postings.bits
        for low in range(min(len(sums), len(postings.norms) - base)):
            score = np.float32(sums[low])
            sums[low] = 0.0
            if score > worst:
                size = _put(numbers, scores, size, base + low, score)
                if size == k:
                    worst = scores[k - 1]
    return numbers[:size], scores[:size]


def rank_many(
    postings: Postings, inverse: Any, terms: Any, weights: Any, k: int, sums: Any
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """The same for a long list, which is sorted in the end."""
    size = 1 << postings.bits
    numbers, scores = [], []
    try:
        for window in range(-(-len(postings.norms) // size)):
            for term, weight in zip(terms, weights, strict=True):
                _add_exact(postings, inverse, term, weight, window, sums)
            lows = np.flatnonzero(sums)
            numbers.append((lows + window * size).astype(np.uint32))
            scores.append(sums[lows].astype(np.float32))
            sums[lows] = 0.0
    except BaseException:
        # Whoever is interrupted here must not leave half a sum for the next query.
        sums[:] = 0.0
        raise
    every, score = np.concatenate(numbers), np.concatenate(scores)
    order = np.argsort(-score, kind="stable")[:k]
    return every[order], score[order]


@compiled
def _find(lows: Any, first: int, end: int, low: int) -> int:
    """The place of a document in a slice of postings, or -1."""
    stop = end
    while first < end:
        middle = (first + end) >> 1
        if lows[middle] < low:
            first = middle + 1
        else:
            end = middle
    return first if first < stop and lows[first] == low else -1


@compiled
def _exact(postings: Any, inverse: Any, terms: Any, weights: Any, window: int, low: int) -> Any:
    """The score of one document."""
    windows, lows, tfs = postings.windows, postings.lows, postings.tfs
    factor = inverse[postings.norms[(window << postings.bits) + low]]
    one = np.float32(1)
    total = 0.0
    span = _spans(postings)
    for t in range(len(terms)):
        w = terms[t] * span + window
        p = _find(lows, np.int64(windows[w]), np.int64(windows[w + 1]), low)
        if p >= 0:
            weight = weights[t]
            total += np.float64(weight - weight / (one + np.float32(tfs[p]) * factor))
    return np.float32(total)


@compiled
def _add_rough(postings: Any, adds: Any, w: int, rough: Any) -> Any:
    """Add what a term can add at most in one of its windows; how many documents that were."""
    windows, lows, codes = postings.windows, postings.lows, postings.codes
    first, end = np.int64(windows[w]), np.int64(windows[w + 1])
    for p in range(first, end):
        rough[lows[p]] += adds[codes[p]]
    return end - first


@compiled
def _peaks(rough: Any, peaks: Any) -> None:
    """The largest sum of each block."""
    for block in range(len(peaks)):
        # A slice of its own, and numbers of one type: so that it is done many at a time.
        part = rough[block * BLOCK : (block + 1) * BLOCK]
        peak = np.uint16(0)
        for i in range(len(part)):
            peak = max(peak, part[i])
        peaks[block] = peak


@compiled
def _reaching(rough: Any, peaks: Any, least: int, found: Any, most: int) -> int:
    """List the documents whose sums reach `least`; one more than `most` where they are more."""
    count = 0
    for block in range(len(peaks)):
        if peaks[block] >= least:
            part = rough[block * BLOCK : (block + 1) * BLOCK]
            for i in range(len(part)):
                if part[i] >= least:
                    if count >= most:
                        return most + 1
                    found[count] = block * BLOCK + i
                    count += 1
    return count


@compiled
def _most_adds(postings: Any, terms: Any, weights: Any) -> Any:
    """The places of the terms, those that add least first; in this order what each adds at most
    for each code, as whole numbers whose sums stay in 16 bits; and how many make a score of 1."""
    tops = postings.tops
    count = len(terms)
    mosts = np.empty(count, np.float64)
    for t in range(count):
        mosts[t] = np.float64(weights[t]) * tops[terms[t]] / FULL
    order = np.argsort(mosts)
    scale = (MOST - count) / mosts.sum()
    adds = np.zeros((count, FULL + 1), np.uint16)
    for j in range(count):
        step = np.float64(weights[order[j]]) * scale / FULL
        for code in range(1, tops[terms[order[j]]] + 1):
            adds[j, code] = np.int64(step * code) + 1
    return adds, order, scale


@compiled
def _lifted(postings: Any, adds: Any, slices: Any, low: int, total: Any, need: Any) -> bool:
    """Whether the terms that wait can lift a document over the bar; the last add most.

    `need[j]` is what a document must have before the first j of them.
    """
    windows, lows = postings.windows, postings.lows
    for j in range(len(slices) - 1, -1, -1):
        w = slices[j]
        p = _find(lows, np.int64(windows[w]), np.int64(windows[w + 1]), low)
        if p >= 0:
            total += adds[j, postings.codes[p]]
        if total < need[j]:
            return False
    return True


@compiled
def _score(
    postings: Any,
    inverse: Any,
    terms: Any,
    weights: Any,
    window: int,
    lows: Any,
    numbers: Any,
    scores: Any,
    size: int,
) -> int:
    """Score some documents of a window and keep the best; how many there are now."""
    base = window << postings.bits
    for low in lows:
        score = _exact(postings, inverse, terms, weights, window, low)
        size = _put(numbers, scores, size, base + low, score)
    return size


@compiled
def rank(postings: Any, inverse: Any, terms: Any, weights: Any, k: int, scratch: Any) -> Any:
    """The best k documents, as `rank_all` finds them; leaves `scratch` as it was."""
    windows, found = postings.windows, scratch.found
    count, span = len(terms), _spans(postings)
    adds, order, scale = _most_adds(postings, terms, weights)
    below = np.zeros(count + 1, np.int64)
    for j in range(count):
        below[j + 1] = below[j] + adds[j, postings.tops[terms[order[j]]]]
    doubt = DOUBT * np.float64(weights.sum())
    scores = np.empty(k, np.float32)
    numbers = np.empty(k, np.uint32)
    size = 0
    bar: Any = 1
    for window in range(span):
        rough = scratch.rough[: len(postings.norms) - (window << postings.bits)]
        peaks = scratch.peaks[: (len(rough) + BLOCK - 1) // BLOCK]
        slices = terms[order] * span + window
        # The first terms in order, which together stay below the bar, wait.
        left = 0
        while left < count and below[left + 1] < bar:
            left += 1
        if left == count:
            break
        waiting: Any = 0
        for j in range(count):
            if j < left:
                waiting += np.int64(windows[slices[j] + 1]) - np.int64(windows[slices[j]])
            else:
                _add_rough(postings, adds[j], slices[j], rough)
        _peaks(rough, peaks)
        if size < k:
            # There is no bar yet: the documents that look best make one.
            least: Any = max(np.sort(peaks)[max(len(peaks) - k, 0)], 1)
            reach = _reaching(rough, peaks, least, found, len(rough))
            size = _score(
                postings, inverse, terms, weights, window, found[:reach], numbers, scores, size
            )
            for low in found[:reach]:
                rough[low] = 0
            if size == k:
                bar = max(np.int64((scores[k - 1] - doubt) * scale), 1)
        while True:
            # Where more are left than are worth a look each, some of the waiting terms come in.
            most = waiting // LOOK if left else len(rough)
            reach = _reaching(rough, peaks, max(bar - below[left], 1), found, most)
            if reach <= most:
                break
            added: Any = 0
            while left and added <= len(rough) >> ROUND:
                left -= 1
                added += _add_rough(postings, adds[left], slices[left], rough)
            waiting -= added
            _peaks(rough, peaks)
        kept = 0
        for low in found[:reach]:
            if _lifted(postings, adds, slices[:left], low, np.int64(rough[low]), bar - below):
                found[kept] = low
                kept += 1
        if kept:
            size = _score(
                postings, inverse, terms, weights, window, found[:kept], numbers, scores, size
            )
            if size == k:
                bar = max(np.int64((scores[k - 1] - doubt) * scale), 1)
        rough[:] = 0
    return numbers[:size], scores[:size]
