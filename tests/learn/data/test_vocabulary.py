"""Words as numbers."""

import pytest

from errands.learn.data.vocabulary import HASH_BUCKETS, MARKS, PRICES, Vocabulary, tokens

TEXTS = ["red hat", "red shoe", "blue hat", "red"]


def test_frequent_words_come_first_and_rare_ones_not_at_all() -> None:
    assert Vocabulary.of(TEXTS).words == ("red", "hat")
    assert Vocabulary.of(TEXTS, at_least=1).words == ("red", "hat", "blue", "shoe")
    assert Vocabulary.of(TEXTS, most=1).words == ("red",)


def test_numbers_are_different_and_in_range() -> None:
    words = Vocabulary.of(TEXTS)
    numbers = words.encode("[button] red hat $5 unheard-of")
    assert len(set(numbers)) == 5
    assert max(numbers) < len(words)
    assert numbers[0] == MARKS.index("[button]")
    assert numbers[1] == len(MARKS) + PRICES + HASH_BUCKETS


def test_a_stranger_equals_itself_everywhere() -> None:
    one, other = Vocabulary(["red"]), Vocabulary(["green"])
    assert one.encode("zorbonite") == one.encode("Zorbonite") == other.encode("zorbonite")
    assert one.encode("zorbonite") != one.encode("zorbanite")


@pytest.mark.parametrize(("less", "more"), [("$3", "$9"), ("$9.99", "$20"), ("$20", "$400.50")])
def test_prices_are_ordered(less: str, more: str) -> None:
    words = Vocabulary([])
    assert words.number(less) < words.number(more)


@pytest.mark.parametrize("price", ["$0", "$0.01", "$99999999999999999999"])
def test_any_price_has_a_number(price: str) -> None:
    assert len(MARKS) <= Vocabulary([]).number(price) < len(MARKS) + PRICES


def test_marks_are_single_tokens_and_their_ends_nothing() -> None:
    assert tokens("[clicked button] XL [clicked button_]") == ["[clicked button]", "xl"]
