"""The index ranks as an exhaustive plain-Python scorer does, and as Lucene did."""

import json
import math
import random
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import DataError
from errands.shop.catalog.catalog import Catalog
from errands.shop.search.analyzer import analyze
from errands.shop.search.index import Index, IndexWriter, _hash_slots, decoded_lengths
from errands.shop.search.terms import collect_terms


def quantised(length: int) -> int:
    """Lucene's lossy length, from its description: 24 + the four leading bits of the rest."""
    if length < 24:
        return length
    rest = length - 24
    shift = max(rest.bit_length() - 4, 0)
    return 24 + (rest >> shift << shift)


def plain_scores(documents: list[str], query: str) -> list[tuple[float, int]]:
    """Every document scored by the book, best first; no index, no arrays."""
    f32 = np.float32
    analysed = [Counter(analyze(text)) for text in documents]
    lengths = [sum(counts.values()) for counts in analysed]
    held = sum(length > 0 for length in lengths)
    if not held:
        return []
    average = f32(sum(lengths) / held)
    sums = [0.0] * len(documents)
    for term, count in Counter(analyze(query)).items():
        df = sum(term in counts for counts in analysed)
        if not df:
            continue
        weight = f32(count) * f32(math.log(1 + (held - df + 0.5) / (df + 0.5)))
        for number, counts in enumerate(analysed):
            if counts[term]:
                length = f32(quantised(lengths[number]))
                inverse = f32(1) / (f32(0.9) * ((f32(1) - f32(0.4)) + f32(0.4) * length / average))
                share = weight - weight / (f32(1) + f32(counts[term]) * inverse)
                sums[number] += float(share)
    found = [(float(f32(total)), number) for number, total in enumerate(sums) if total]
    return sorted(found, key=lambda hit: (-hit[0], hit[1]))


def built(
    folder: Path,
    documents: list[str],
    numbers: list[int] | None = None,
    frequent: int | None = None,
) -> Index:
    scratch = folder / "scratch"
    scratch.mkdir()
    writer = IndexWriter(scratch)
    # In two chunks, so that terms are numbered across them.
    middle = len(documents) // 2
    for chunk in (documents[:middle], documents[middle:]):
        writer.add(collect_terms(chunk))
    given = np.array(numbers or range(len(documents)), np.uint32)
    writer.finish(folder / "index", given, given[::-1], frequent)
    writer.close()
    return Index(folder / "index")


def hits(index: Index, query: str, k: int) -> list[tuple[float, int]]:
    numbers, scores = index.rank(query, k)
    return list(zip(scores.tolist(), numbers.tolist(), strict=True))


@pytest.mark.parametrize(
    ("length", "kept"),
    [(39, 39), (41, 40), (50, 50), (100, 96), (123, 120), (300, 280), (1000, 984)],
)
def test_lengths_are_lossy_as_lucenes(length: int, kept: int) -> None:
    table = decoded_lengths()
    assert table[np.searchsorted(table, length, "right") - 1] == kept == quantised(length)


def test_all_lengths_are_quantised_alike() -> None:
    table = decoded_lengths()
    lengths = [*range(5000), 10**5, 10**6, 2**31 - 1]
    assert [int(table[np.searchsorted(table, n, "right") - 1]) for n in lengths] == [
        quantised(n) for n in lengths
    ]


_words = st.sampled_from("red blue shoe shoes lamp café 日本 a the 3.5mm wi-fi 😀 don't".split())
_texts = st.lists(_words, max_size=60).map(" ".join)


@given(
    documents=st.lists(_texts, min_size=1, max_size=25),
    query=_texts,
    k=st.integers(1, 30),
    seed=st.integers(0, 1000),
    frequent=st.sampled_from((1, 2, 3, None)),
)
@settings(max_examples=effort(40, 150), deadline=None)
def test_ranks_as_the_plain_scorer(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[str],
    query: str,
    k: int,
    seed: int,
    frequent: int | None,
) -> None:
    numbers = list(range(len(documents)))
    random.Random(seed).shuffle(numbers)
    index = built(tmp_path_factory.mktemp("index"), documents, numbers, frequent)
    ordered = [""] * len(documents)
    for number, text in zip(numbers, documents, strict=True):
        ordered[number] = text
    assert hits(index, query, k) == plain_scores(ordered, query)[:k]


def test_ties_go_to_the_smaller_number_at_every_k(tmp_path: Path) -> None:
    index = built(tmp_path, ["red shoe"] * 40 + ["red red shoe"] + ["shoe red"] * 40)
    for k in (1, 2, 10, 50, 81, 200):
        assert index.rank("red", k)[0].tolist() == [40, *range(40), *range(41, 81)][:k]


def test_long_lists_go_on_where_short_ones_end(little: Catalog) -> None:
    for query in ("with", "black cotton shirt with pockets for women", "organic snack"):
        short = little.search(query, k=256)
        assert little.search(query, k=300)[:256] == short
        assert little.search(query, k=50) == short[:50]


def test_nothing_to_find(tmp_path: Path) -> None:
    index = built(tmp_path, ["red shoe", ""])
    for query in ("", "   ", "the of and", "zzz", "!?"):
        assert hits(index, query, 50) == []
    assert hits(index, "red", 0) == []
    assert index.statistics.documents == 1


def _alike(count: int, length: int = 64) -> list[str]:
    """Words of one checksum, which is linear in their bits: flips that leave it as it is."""
    base = b"b" * length
    flips: dict[int, tuple[int, int]] = {}
    free = []
    for bit in range(length):
        word = bytearray(base)
        word[bit] ^= 1
        value, flipped = zlib.crc32(word) ^ zlib.crc32(base), 1 << bit
        while value and value.bit_length() in flips:
            other, more = flips[value.bit_length()]
            value, flipped = value ^ other, flipped ^ more
        if value:
            flips[value.bit_length()] = value, flipped
        else:
            free.append(flipped)
    words = []
    for number in range(count):
        flipped = 0
        for place, one in enumerate(free):
            flipped ^= one * (number >> place & 1)
        words.append("".join("bc"[flipped >> bit & 1] for bit in range(length)))
    return words


def test_words_of_one_checksum_are_not_each_compared_with_all() -> None:
    words = _alike(5_000)
    assert len(set(words)) == 5_000
    assert len({zlib.crc32(word.encode()) for word in words}) == 1
    with pytest.raises(DataError, match="made to be slow to look up"):
        _hash_slots(words)
    usual = [f"word{number}" for number in range(20_000)]
    assert np.count_nonzero(_hash_slots([*usual, *words[:500]])) == 20_500


def test_a_query_leaves_no_trace_on_the_next(little: Catalog) -> None:
    first = little.search("red cotton shirt")
    little.search("blue")
    assert little.search("red cotton shirt") == first


@pytest.mark.shared
def test_every_recorded_query_has_lucenes_order(catalog_1k: Catalog, recorded: Path) -> None:
    lines = (recorded / "lucene-top50.jsonl").read_text().splitlines()
    assert len(lines) == 418
    for line in lines:
        query, expected = (json.loads(line)[key] for key in ("query", "hits"))
        found = catalog_1k.search(query)
        assert [hit.asin for hit in found] == [asin for asin, _ in expected], query
        assert [hit.score for hit in found] == pytest.approx([s for _, s in expected], abs=1e-4)


@pytest.mark.shared
def test_average_length_of_the_real_products(catalog_1k: Catalog) -> None:
    statistics = catalog_1k.index.statistics
    assert statistics.tokens / statistics.documents == pytest.approx(107.608)


@pytest.mark.shared
def test_real_products_rank_as_the_plain_scorer(catalog_1k: Catalog) -> None:
    from errands.shop.build.chunk import indexed_text

    texts = [indexed_text(catalog_1k.product(number)) for number in range(len(catalog_1k))]
    goals = catalog_1k.goals("synthetic")
    for index in range(0, len(goals), 1000):
        query = goals[index].instruction_text
        assert hits(catalog_1k.index, query, 50) == plain_scores(texts, query)[:50]
