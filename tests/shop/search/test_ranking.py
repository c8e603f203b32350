"""Leaving out what cannot matter changes nothing: the same documents, scores and order, wherever
documents lie; and most is left out."""

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from errands import native
from errands.shop.search.index import Index, IndexWriter
from errands.shop.search.terms import collect_terms


def built(folder: Path, documents: list[str], frequent: int) -> Index:
    scratch = folder / "scratch"
    scratch.mkdir()
    writer = IndexWriter(scratch)
    writer.add(collect_terms(documents))
    numbers = np.arange(len(documents), dtype=np.uint32)
    # Anywhere: it must not matter for what is found.
    places = np.random.default_rng(1).permutation(numbers)
    writer.finish(folder / "index", numbers, places, frequent)
    writer.close()
    return Index(folder / "index")


def same(index: Index, query: str, k: int) -> None:
    numbers, scores = index.rank(query, k)
    every, exact = index.rank(query, k, exhaustive=True)
    assert numbers.tolist() == every.tolist(), query
    assert scores.tolist() == exact.tolist(), query


def words_of(dice: random.Random, count: int) -> list[str]:
    """Words from very common to unique, as in real texts."""
    return [f"w{int(dice.paretovariate(0.45)) % 50_000}x" for _ in range(count)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, list[str]]:
    """9,000 documents in 36 groups, many of them twins."""
    dice = random.Random(11)
    documents = [" ".join(words_of(dice, dice.randint(1, 120))) for _ in range(6000)]
    documents += [dice.choice(documents) for _ in range(2000)]
    documents += [f"{dice.choice(documents)} w1x" for _ in range(1000)]
    return built(tmp_path_factory.mktemp("wide"), documents, frequent=40), documents


def test_two_thousand_queries(wide: tuple[Index, list[str]]) -> None:
    index, documents = wide
    dice = random.Random(5)
    for _ in range(2000):
        words = dice.choice(documents).split()
        query = dice.sample(words, min(len(words), dice.randint(1, 16)))
        if dice.random() < 0.3:
            query += dice.choices(query, k=3)  # Asked for more than once, they weigh more.
        same(index, " ".join(query), dice.choice((1, 2, 10, 50, 256)))


def test_common_words_alone(wide: tuple[Index, list[str]]) -> None:
    """No term is rare enough to lead to few documents."""
    index, _ = wide
    same(index, "w1x w2x w3x", 50)
    same(index, " ".join(f"w{n}x" for n in range(60)), 50)


def test_a_word_of_one_document_and_one_of_all(tmp_path: Path) -> None:
    documents = ["common"] * 3000
    documents[2999] += " rare rare rare"
    documents[1500] += " seldom"
    index = built(tmp_path, documents, frequent=2)
    for k in (1, 2, 3, 50):
        same(index, "rare common", k)
        same(index, "seldom rare", k)
    assert index.rank("rare common", 2)[0].tolist() == [2999, 0]


def test_a_word_that_fills_a_document(tmp_path: Path) -> None:
    """More often than a byte can count."""
    documents = [" ".join(["again"] * count) for count in range(1, 400)] + ["other"] * 50
    index = built(tmp_path, documents, frequent=2)
    for k in (1, 10, 50):
        same(index, "again other", k)


def test_fewer_hits_than_asked_for(wide: tuple[Index, list[str]]) -> None:
    index, documents = wide
    rare = max(" ".join(documents).split(), key=lambda word: int(word[1:-1]))
    same(index, rare, 256)
    same(index, f"{rare} nowhere", 50)


def test_more_words_than_sixteen_bits_tell_apart(tmp_path: Path) -> None:
    """And one of them asked for very often."""
    dice = random.Random(3)
    words = [f"w{number}x" for number in range(70_000)]
    documents = [" ".join(words[start : start + 35]) for start in range(0, 70_000, 35)]
    documents += [" ".join(dice.choices(words, k=30)) for _ in range(500)]
    index = built(tmp_path, documents, frequent=2)
    for count in (70_000, 65_535, 4097, 4096):
        same(index, " ".join(words[:count]), 50)
    same(index, " ".join([*words[:300], *["w7x"] * 9000]), 50)


def test_words_of_every_document_and_many_ties(tmp_path: Path) -> None:
    """Weights next to nothing, scores that differ in their last bits or not at all."""
    dice = random.Random(8)
    few = [f"t{number}" for number in range(12)]
    documents = [" ".join(dice.choices(few, k=dice.choice((1, 2, 3, 40)))) for _ in range(1500)]
    documents = [f"every {text} every" for text in documents]
    index = built(tmp_path, documents, frequent=2)
    for _ in range(300):
        query = dice.choices([*few, "every", "every"], k=dice.randint(1, 30))
        same(index, " ".join(query), dice.choice((1, 3, 17, 256)))


def test_threads_search_side_by_side(wide: tuple[Index, list[str]]) -> None:
    index, documents = wide
    queries = [" ".join(text.split()[:9]) for text in documents[::60]]
    expected = [index.rank(query, 50)[0].tolist() for query in queries]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda query: index.rank(query, 50)[0].tolist(), queries * 4)
        assert list(found) == expected * 4


def test_many_queries_together(wide: tuple[Index, list[str]], tmp_path: Path) -> None:
    index, documents = wide
    queries = [" ".join(text.split()[:12]) for text in documents[::45]]
    queries += ["", "nowhere", " ".join(f"w{number}x" for number in range(5000))]
    small = built(tmp_path, documents[:50], frequent=10_000)
    with ThreadPoolExecutor(3) as pool:
        for searched, k, helpers in (
            (index, 50, 3), (index, 50, 0), (index, 300, 2), (index, 0, 1), (small, 50, 1),
        ):  # fmt: skip
            batch = searched.rank_batch(queries, k, pool, helpers)
            expected = [searched.rank(query, k)[0].tolist() for query in queries]
            # In any order, and more than once.
            for i in (*reversed(range(len(queries))), 0):
                assert batch.numbers(i).tolist() == expected[i]


def test_a_query_leaves_no_trace(wide: tuple[Index, list[str]]) -> None:
    """Rare terms put something down that the next query must not find."""
    index, documents = wide
    first = index.rank("w1x w2x", 50)
    for text in documents[:50]:
        index.rank(text, 10)
    again = index.rank("w1x w2x", 50)
    assert (first[0].tolist(), first[1].tolist()) == (again[0].tolist(), again[1].tolist())


def test_any_processor_finds_the_same(wide: tuple[Index, list[str]], tmp_path: Path) -> None:
    """The library as one is served whose processor can do no more than C says."""
    index, documents = wide
    queries = [" ".join(text.split()[:size]) for text in documents[::40] for size in (2, 7, 12)]
    plain = tmp_path / "plain.so"
    native.build(plain, [*(native.compiler() or ()), "-DNO_WIDE"])
    asked = tmp_path / "asked.json"
    asked.write_text(json.dumps({"folder": str(index._folder), "queries": queries}))
    told = subprocess.run(
        [sys.executable, "-c", _RANK_PLAIN, str(plain), str(asked)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = [index.rank(query, 20) for query in queries]
    assert json.loads(told.stdout) == [[each.tolist() for each in one] for one in found]


_RANK_PLAIN = """
import ctypes, json, sys
from pathlib import Path
from errands import native
native._library = lambda: ctypes.CDLL(sys.argv[1])
from errands.shop.search.index import Index
asked = json.loads(Path(sys.argv[2]).read_text())
index = Index(Path(asked["folder"]))
found = [index.rank(query, 20) for query in asked["queries"]]
print(json.dumps([[each.tolist() for each in one] for one in found]))
"""


def test_few_blocks_are_opened_where_likes_lie_together(tmp_path: Path) -> None:
    """Counted, not timed: kinds of things, each with words of its own and many words of all."""
    dice = random.Random(4)
    kinds = [[f"kind{kind}word{word}" for word in range(8)] for kind in range(200)]
    documents = [
        " ".join(
            dice.sample(kinds[number // 60], 4) + [f"w{dice.randrange(300)}" for _ in range(9)]
        )
        for number in range(12_000)
    ]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    writer = IndexWriter(scratch)
    writer.add(collect_terms(documents))
    writer.finish(tmp_path / "index", np.arange(len(documents), dtype=np.uint32), frequent=20)
    writer.close()
    index = Index(tmp_path / "index")
    queries = [" ".join(documents[number].split()[:5]) for number in range(0, 12_000, 120)]
    for query in queries:
        same(index, query, 20)
    work = index.work()
    assert work.opened < 0.4 * index.blocks * len(queries)
    assert work.scored < 200 * len(queries)
    assert work.added < 0.3 * index.blocks * sum(len(query.split()) for query in queries)
