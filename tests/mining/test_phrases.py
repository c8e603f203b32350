"""Phrases of texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import SettingError
from errands.mining.phrases import FIELDS, LONGEST_PART, cut, fields_named, parts, phrases, words


def _found(*texts: str, size: int = 2) -> list[str]:
    return list(phrases(cut(texts), size))


def test_function_words_and_numbers_are_stepped_over() -> None:
    assert _found("It is easy to use for the iPhone 13 Pro") == [
        "easy use",
        "use iphone",
        "iphone pro",
    ]


def test_a_phrase_ends_with_its_clause() -> None:
    assert _found("Gluten free, vegan. Non-slip sole (rubber) - black") == [
        "gluten free",
        "non slip",
        "slip sole",
    ]
    assert _found("gluten", "free") == []


def test_decimal_points_do_not_end_a_clause() -> None:
    assert "oz bottle" in _found("13.5oz.bottle and 2,000 mg; 13.5 oz bottle")


def test_sizes() -> None:
    assert _found("easy to clean glass", size=1) == ["easy", "clean", "glass"]
    assert _found("easy to clean glass", size=3) == ["easy clean glass"]


def test_possessives_lose_their_s() -> None:
    assert words("Women's shoes") == ("women", "shoes")


def test_parts_of_a_record_in_which_anything_may_stand() -> None:
    record = {"name": "A", "small_description": ["b", 3, None], "full_description": {"x": 1}}
    assert parts(record) == ["A", "b"]
    assert parts({"small_description": "one text"}) == ["one text"]
    assert parts({}) == []
    assert parts({"name": "A", "full_description": "d"}, ("description",)) == ["d"]
    assert len(parts({"name": "x" * 10**6})[0]) == LONGEST_PART


def test_fields_are_named() -> None:
    assert fields_named("features, title") == ("title", "features")
    assert fields_named(",".join(FIELDS)) == FIELDS
    for wrong in ("", "titel", "title,reviews"):
        with pytest.raises(SettingError, match="expected one or more of title"):
            fields_named(wrong)


@given(st.text())
def test_any_text_gives_phrases_of_two_words(text: str) -> None:
    for phrase in phrases(cut([text])):
        first, second = phrase.split(" ")
        assert len(first) >= 2
        assert len(second) >= 2
        assert phrase == phrase.lower()
