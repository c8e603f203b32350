"""ROUGE-L against the rouge-score package, where it is installed, and by hand."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.stemming import rouge_stem
from errands.turk.scoring.rouge import rouge_l, words

ENDINGS = """s es ies ied eed ed ing y ly ally fully logy ational tional enci izer bli entli ousli
ization ator alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful
ness ance ence er able ible ant ement ment ent ion ou ism iti ous ive ize ll e""".split()


def made_up(dice: random.Random) -> str:
    letters = (dice.choice("aeiouybcdlstz") for _ in range(dice.randint(0, 6)))
    return "".join(letters) + "".join(dice.choice(ENDINGS) for _ in range(dice.randint(0, 2)))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("running", "run"), ("dies", "die"), ("flies", "fli"), ("died", "die"), ("spied", "spi"),
        ("enjoy", "enjoy"), ("happy", "happi"), ("geology", "geolog"), ("radically", "radic"),
        ("hopefully", "hope"), ("news", "news"), ("skies", "sky"), ("controlling", "control"),
        ("using", "use"), ("agreed", "agre"), ("feed", "feed"), ("sing", "sing"), ("by", "by"),
        ("adoption", "adopt"), ("million", "million"), ("sized", "size"), ("falling", "fall"),
    ],
)  # fmt: skip
def test_stems(word: str, expected: str) -> None:
    assert rouge_stem(word) == expected


def test_stems_are_nltks() -> None:
    porter = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    dice = random.Random(3)
    made = {made_up(dice) for _ in range(30_000)}
    assert [word for word in made if rouge_stem(word) != porter.stem(word)] == []


def test_pairs_are_rouge_scores() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], True)
    dice = random.Random(4)
    odd = ["The", "naïve", "№5", "...", "-3.5", "日本", "don't", "İ", "K"]
    for _ in range(3_000):
        pool = [made_up(dice) for _ in range(dice.randint(1, 20))] + odd
        one, other = (" ".join(dice.choices(pool, k=dice.randint(0, 30))) for _ in range(2))
        assert rouge_l(one, other) == scorer.score(other, one)["rougeL"].fmeasure


def test_words() -> None:
    assert words("The cats aren't RUNNING.") == ["the", "cat", "aren", "t", "run"]
    assert words("日本語 ...") == []
    assert words("y" * 100) == [rouge_stem("y" * 100)]


def test_scores() -> None:
    assert rouge_l("a b c d", "a c") == pytest.approx(2 / 3)
    assert rouge_l("a b", "b a") == 0.5
    assert rouge_l("a", "b") == rouge_l("", "b") == rouge_l("b", "") == 0


@given(st.text(), st.text())
def test_bounds(one: str, other: str) -> None:
    assert 0 <= rouge_l(one, other) == rouge_l(other, one) <= 1
    assert rouge_l(one, one) in (0, 1)
