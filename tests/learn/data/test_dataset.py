"""What is learnt and what is held out, and telling lessons apart."""

import pytest

from errands.errors import DataError, SettingError
from errands.learn.data.dataset import fingerprint, hold_out, instruction_of
from errands.learn.data.demonstrations import DemonstratedChoice, DemonstratedQuery
from errands.learn.data.view import ChoiceView

QUERIES = [DemonstratedQuery(f"wish {number % 30}", f"query {number}") for number in range(90)]


def test_a_wish_is_on_one_side_with_all_that_was_done_for_it() -> None:
    learnt, kept = hold_out(QUERIES, 0.1, seed=0)
    assert (len({instruction_of(one) for one in kept}), len(kept)) == (3, 9)
    assert {instruction_of(one) for one in learnt}.isdisjoint(instruction_of(one) for one in kept)
    assert sorted(learnt + kept) == sorted(QUERIES)
    assert hold_out(QUERIES, 0.1, seed=0) == (learnt, kept)
    assert hold_out(QUERIES, 0.1, seed=1)[1] != kept
    assert hold_out(QUERIES, 0.0, seed=0) == (QUERIES, [])


def test_something_is_left_on_both_sides() -> None:
    two = [DemonstratedQuery("one", "a"), DemonstratedQuery("two", "b")]
    for share in (0.001, 0.999):
        assert [len(side) for side in hold_out(two, share, seed=0)] == [1, 1]


def test_what_cannot_be_held_out_is_said() -> None:
    for share in (-0.1, 1.0, float("nan")):
        with pytest.raises(SettingError, match="cannot be held out"):
            hold_out(QUERIES, share, seed=0)
    with pytest.raises(DataError, match="give more demonstrations"):
        hold_out(QUERIES[:1], 0.5, seed=0)


def test_the_price_is_no_part_of_an_instruction() -> None:
    view = ChoiceView("a red hat $20.00", (), "page", ("buy",), ("buy",))
    assert (
        instruction_of(DemonstratedChoice(view, 0))
        == instruction_of(DemonstratedQuery("a red hat", "hat"))
        == "a red hat"
    )


def test_fingerprints_tell_lessons_apart() -> None:
    view = ChoiceView("a hat", ("opened 0",), "page", ("buy", "back"), ("buy", "back"))
    choices = [DemonstratedChoice(view, 0), DemonstratedChoice(view, 1)]
    prints = {
        fingerprint(some)
        for some in (choices, choices[::-1], choices[:1], QUERIES, QUERIES[:-1], [])
    }
    assert len(prints) == 6
    assert fingerprint(list(choices)) == fingerprint(tuple(choices))
