"""What a phrase is to the product that says it."""

import pytest

from errands.mining.mentions import mention_of, tells


@pytest.mark.parametrize(
    ("clause", "phrase", "role"),
    [
        ("Featuring a sturdy aluminum base", "aluminum base", "has"),
        ("with two steel hooks and a canvas strap", "canvas strap", "has"),
        ("Wrapped in rich cane weave", "cane weave", "has"),
        ("made of cane weave", "cane weave", "has"),
        ("Cane weave", "cane weave", "point"),
        ("A cane weave and oak legs", "cane weave", "point"),
        ("ideal for luxury apartments", "luxury apartments", "for"),
        ("this towel is quick drying", "quick drying", "is"),
        # Mere mentions: of other things, of what is done, of pieces of longer names.
        ("matches your garden furniture", "garden furniture", ""),
        ("clean it with a damp cloth", "damp cloth", ""),
        ("develops fine motor skills", "motor skills", ""),
        ("experience a smooth ride", "smooth ride", ""),
        ("with a cane weave pattern", "cane weave", ""),
        ("for children ages 4 and up", "children ages", ""),
        ("what a wonderful long sentence about the cane weave", "cane weave", ""),
    ],
)
def test_roles(clause: str, phrase: str, role: str) -> None:
    made = mention_of(clause, phrase)
    assert made is not None
    assert made.role == role


def test_what_is_not_there_or_belongs_to_the_next_word() -> None:
    assert mention_of("oak legs", "cane weave") is None
    # Not acid, but acid washed.
    assert mention_of("Oversized acid washed vest", "oversized acid") is None
    assert mention_of("hand woven printed rug", "hand woven") is not None


def test_what_tells() -> None:
    assert tells("has", "has", known=False)
    assert not tells("for", "has", known=False)
    assert not tells("", "has", known=True)
    assert tells("", "which is", known=True)
    assert not tells("", "which is", known=False)
    assert tells("point", "good for", known=False)
