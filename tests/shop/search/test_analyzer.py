"""The analyzer gives the terms Lucene gives: spec vectors, recorded answers, properties.

`lucene_tokens.jsonl` holds texts with the tokens and the terms Lucene 8.11 made of them.
"""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from errands.shop.search import analyzer
from errands.shop.search import tokenizer as word_break
from errands.shop.search.analyzer import STOP_WORDS, analyze, raw_tokens, term_of

RECORDED = [
    json.loads(line)
    for line in Path(__file__).with_name("lucene_tokens.jsonl").read_text("ascii").splitlines()
]

VECTORS = {
    "women's": "women",
    "womens'": "women",
    "U.S.A.": "u.s.a",
    "3.5mm": "3.5mm",
    "1,299.00": "1,299.00",
    "wi-fi": "wi fi",
    "a/b": "b",
    "black|white": "black white",
    "café": "café",
    "naïve": "naïv",
    "running runs ran": "run run ran",
    "AT&T": "t",
    "c++": "c",
    "#1": "1",
    "$9.99": "9.99",
    "10x12": "10x12",
    "x-large": "x larg",
    "it’s": "",
    "hello_world": "hello_world",
    "50%": "50",
    "日本語テスト": "日 本 語 テスト",
    "emoji 😀 ok": "emoji 😀 ok",
    "foo@bar.com": "foo bar.com",
    "don't": "don't",
    "leggings": "leg",
    "easy easily": "easi easili",
    "i am than": "i am than",
    "": "",
    "___ _": "",
}


@pytest.mark.parametrize(("text", "terms"), VECTORS.items())
def test_vectors_of_the_specification(text: str, terms: str) -> None:
    assert analyze(text) == terms.split()


def test_stop_words_are_the_33_and_vanish() -> None:
    assert len(STOP_WORDS) == 33
    assert analyze(" ".join(STOP_WORDS).upper()) == []
    assert term_of("The") == ""


def test_recorded_answers_of_lucene() -> None:
    assert len(RECORDED) > 300
    for text, tokens, terms in RECORDED:
        assert raw_tokens(text) == tokens, ascii(text)
        assert analyze(text) == terms, ascii(text)


def test_long_words_are_chopped_every_255_utf16_units() -> None:
    assert [len(token) for token in raw_tokens("b" * 255)] == [255]
    assert [len(token) for token in raw_tokens("b" * 600 + " c")] == [255, 255, 90, 1]
    assert [len(token) for token in raw_tokens("é" * 256)] == [255, 1]
    assert [len(token) for token in raw_tokens("𝐱" * 128)] == [127, 1]


def test_a_possessive_goes_whatever_its_apostrophe() -> None:
    assert [term_of(token) for token in ("cat's", "CAT’S", "cat＇s")] == ["cat"] * 3
    assert term_of("cats'") == "cats'"


def test_each_letter_is_lower_cased_by_itself() -> None:
    assert analyze("ΌΣΟΣ İ") == ["όσοσ", "i"]


def test_halves_of_surrogate_pairs() -> None:
    assert analyze("ab\udc00cd") == ["ab", "cd"]
    assert analyze("x \ud83d\ude00 y") == ["x", "😀", "y"]
    # Lucene loses what it was still reading when a text ends in the first half of a pair.
    assert analyze("ab cd\ud83d") == []
    assert len(analyze("ab cd " * 100 + "\ud83d")) > 80


def test_the_chunk_cache_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer._Chunks, "CAPACITY", 3)
    chunks = analyzer._Chunks()
    for number in range(10):
        assert chunks[f"w{number}"] == (f"w{number}",)
        assert len(chunks) <= 3
    chunks.clear()
    assert chunks["x" * 65] == ("x" * 65,)
    assert not chunks


ascii_text = st.text(st.sampled_from("aZ09_'.:,;-# \n\"s") | st.characters(max_codepoint=127))
mixed_text = st.text(
    st.sampled_from("aZ1_'.:,;\" ’é日アあกั한א\u0301\u00ad\u200d\ufe0f\u20e3#👍🏽❤ℹ🇺\ud83d\udc4d")
    | st.characters(exclude_categories=[])
)


@settings(deadline=None)
@given(ascii_text)
@example("_" * 300 + "a")
@example("a." * 200)
def test_ascii_path_agrees_with_the_general_rules(text: str) -> None:
    assert raw_tokens(text) == word_break.tokens(text)


@settings(deadline=None)
@given(mixed_text)
@example("a" * 254 + "\ud83d")
@example("é\u200d" * 200 + "\ud83d")
def test_any_text_has_tokens_in_order_and_terms(text: str) -> None:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    position = 0
    tokens = raw_tokens(text)
    for token in tokens:
        assert token
        position = whole.index(token, position) + len(token)
    assert analyze(text) == [term for term in map(term_of, tokens) if term]


@settings(deadline=None)
@given(mixed_text, mixed_text)
def test_a_space_separates(left: str, right: str) -> None:
    if left.isprintable() and right.isprintable():
        assert analyze(f"{left} {right}") == analyze(left) + analyze(right)


def test_long_runs_are_cut_without_scanning_them_again_and_again() -> None:
    for character in "a_\u200d\u0301'🇺é":
        tokens = raw_tokens(character * 30_000 + "é")
        assert tokens[-1].endswith("é")
        assert max(map(len, tokens)) <= 255
