"""Which words mean the same: learnt from instructions beside pages."""

import random
from pathlib import Path

import pytest

from errands.errors import DataError
from errands.learn.data.associations import (
    Associations,
    bag,
    content,
    learn_associations,
    pieces,
    read_associations,
    write_associations,
)


def _pairs() -> list[tuple[str, str]]:
    """People say plaited for braided and dented for hammered, and all else as it is listed."""
    rng = random.Random(0)
    plain = "velvet round tall narrow cotton wooden ribbed quiet matte padded".split()
    said = {"braided": "plaited", "hammered": "dented", **{word: word for word in plain}}
    things = ["lamp", "chair", "belt", "tray"]
    pairs = []
    for number in range(400):
        wished = rng.sample(sorted(said), 2)
        thing = rng.choice(things)
        other = rng.choice(sorted(said))
        pairs.append(
            (
                f"a {said[wished[0]]} {said[wished[1]]} {thing}",
                f"{wished[0]} {thing} {wished[1]} {other} maker{number}",
            )
        )
    return pairs


def test_other_words_for_the_same_are_found_and_names_are_not() -> None:
    found = learn_associations(_pairs())
    (plaited,), (braided,) = pieces("plaited"), pieces("braided")
    assert found.strengths[plaited][braided] > 0.5
    assert max(found.strengths[plaited], key=found.strengths[plaited].__getitem__) == braided
    known = {other for others in found.strengths.values() for other in others}
    assert not known.intersection(word for n in range(400) for word in pieces(f"maker{n}")[1:])
    assert found.cover("a plaited lamp", "Braided Lamp")[1] == 1.0
    assert found.cover("a plaited lamp", "Velvet Lamp")[0] < found.cover("plaited", "braided")[0]
    assert found.weight(plaited) > found.weight(pieces("lamp")[0]) * 0.5


def test_the_order_of_pairs_changes_nothing(tmp_path: Path) -> None:
    pairs = _pairs()
    assert learn_associations(pairs) == learn_associations(pairs[::-1])
    write_associations(tmp_path, learn_associations(pairs))
    assert read_associations(tmp_path) == learn_associations(pairs)


def test_without_pairs_words_stand_for_themselves() -> None:
    for none in (Associations(), learn_associations([]), learn_associations([("", "a b")])):
        assert none.cover("red hat", "Red Hats in blue") == (1.0, 1.0)
        assert none.cover("red hat", "blue shoe") == (0.0, 0.0)


def test_words_are_stems_and_numbers() -> None:
    assert pieces("Two boxes of 12in") == pieces("2 box OF 12 in")
    assert bag("the hat of the man") == bag("hat man")
    assert content("i want a red hat, and price lower than 20.00 dollars") == pieces("red hat")


def test_a_damaged_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_associations(tmp_path)
    (tmp_path / "associations.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        read_associations(tmp_path)
