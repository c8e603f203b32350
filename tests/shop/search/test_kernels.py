"""Leaving out what cannot matter changes nothing: the same documents, scores and order."""

import random
from pathlib import Path

import numpy as np
import pytest

from errands.shop.search.index import Index, IndexWriter, collect_terms


def built(folder: Path, documents: list[str], bits: int) -> Index:
    scratch = folder / "scratch"
    scratch.mkdir()
    writer = IndexWriter(scratch)
    writer.add(collect_terms(documents))
    writer.finish(folder / "index", np.arange(len(documents), dtype=np.uint32), bits)
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
    """9,000 documents in 36 windows, many of them twins."""
    dice = random.Random(11)
    documents = [" ".join(words_of(dice, dice.randint(1, 120))) for _ in range(6000)]
    documents += [dice.choice(documents) for _ in range(2000)]
    documents += [f"{dice.choice(documents)} w1x" for _ in range(1000)]
    return built(tmp_path_factory.mktemp("wide"), documents, bits=8), documents


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
    index = built(tmp_path, documents, bits=6)
    for k in (1, 2, 3, 50):
        same(index, "rare common", k)
        same(index, "seldom rare", k)
    assert index.rank("rare common", 2)[0].tolist() == [2999, 0]


def test_a_word_that_fills_a_document(tmp_path: Path) -> None:
    """More often than a byte can count."""
    documents = [" ".join(["again"] * count) for count in range(1, 400)] + ["other"] * 50
    index = built(tmp_path, documents, bits=5)
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
    index = built(tmp_path, documents, bits=8)
    for count in (70_000, 65_535, 4097, 4096):
        same(index, " ".join(words[:count]), 50)
    same(index, " ".join([*words[:300], *["w7x"] * 9000]), 50)


def test_words_of_every_document_and_many_ties(tmp_path: Path) -> None:
    """Weights next to nothing, scores that differ in their last bits or not at all."""
    dice = random.Random(8)
    few = [f"t{number}" for number in range(12)]
    documents = [" ".join(dice.choices(few, k=dice.choice((1, 2, 3, 40)))) for _ in range(1500)]
    documents = [f"every {text} every" for text in documents]
    index = built(tmp_path, documents, bits=4)
    for _ in range(300):
        query = dice.choices([*few, "every", "every"], k=dice.randint(1, 30))
        same(index, " ".join(query), dice.choice((1, 3, 17, 256)))


def test_an_interrupted_search_leaves_no_trace(
    wide: tuple[Index, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, _ = wide
    expected = index.rank("w1x w2x", 50)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("errands.shop.search.kernels.np.flatnonzero", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.rank("w1x w2x w3x", 1000)
    again = index.rank("w1x w2x", 50, exhaustive=True)
    assert (again[0].tolist(), again[1].tolist()) == (expected[0].tolist(), expected[1].tolist())
