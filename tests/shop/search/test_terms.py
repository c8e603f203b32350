"""Terms of many documents, counted in C, are those that the analyzer finds one by one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.rewards.noun_lexicon import load_lexicon
from errands.shop.search.analyzer import analyze
from errands.shop.search.terms import collect_terms

SUFFIXES = (
    "ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness"
    " fulness ousness aliti iviti biliti logi icate ative alize iciti ical ful ness al ance ence er"
    " ic able ible ant ement ment ent ion ou ism ate iti ous ive ize s es ed ing eed sses ies ss y"
    " ll e sion tion"
).split()


def check(documents: list[str]) -> None:
    """Compare with the analyzer: terms, the order of both, counts and lengths."""
    found = collect_terms(documents)
    numbers: dict[str, int] = {}
    ids: list[int] = []
    tfs: list[int] = []
    for document, count, length in zip(documents, found.counts, found.lengths, strict=True):
        terms = Counter(analyze(document))
        assert (len(terms), terms.total()) == (count, length)
        for term, times in terms.items():
            ids.append(numbers.setdefault(term, len(numbers)))
            tfs.append(min(times, 0xFFFF))
    assert found.terms == list(numbers)
    assert found.ids.tolist() == ids
    assert found.tfs.tolist() == tfs


def test_words_of_a_lexicon() -> None:
    words = sorted(load_lexicon())[::5]
    check([" ".join(words), " ".join(words).upper(), " ".join(f"{word}'s" for word in words)])


def test_all_pairs_of_suffixes() -> None:
    starts = ("", "a", "b", "ab", "trab", "loy", "hopp", "relax", "sky")
    check([" ".join(s + a + b for a in SUFFIXES for b in ("", *SUFFIXES)) for s in starts])


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [""],
        ["", "the of", ""],
        ["the's it's THE's 's s' a's U.S.A's o'clock's"],
        ["red\tred\nred\x1cred", "café\tcafé\nrouge et\u00a0noir"],
        ["x" * 254, "y" * 255, "z" * 256 + "'s", "_" * 300 + "a", "ab'" * 100, "é" * 300],
        ["3.5mm 1,000;2 a:b 1:2 a,b _a_ __ _1.2_ a_.b wi-fi"],
        ["word " * 70_000],
        ["half \ud800 pair", "日本 \U0001f600 İstanbul ΣΑΣ"],
    ],
)
def test_edges(documents: list[str]) -> None:
    check(documents)


@given(st.lists(st.text("aAbsSyz019__'.:,;-/ \t\x1c’é日İ\ud800😀", max_size=60), max_size=8))
def test_any_text(documents: list[str]) -> None:
    check(documents)
