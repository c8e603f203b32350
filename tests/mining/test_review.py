"""Going through candidates."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.errors import SettingError
from errands.mining.candidates import Candidates
from errands.mining.decisions import Decisions, read_decisions
from errands.mining.proposal import DROP
from errands.mining.review import Review, kept_uses


@pytest.fixture
def decisions(tmp_path: Path) -> Iterator[Decisions]:
    with Decisions(tmp_path / "d.jsonl") as held:
        yield held


def test_the_best_without_an_answer_is_next(mined: Candidates, decisions: Decisions) -> None:
    review = Review(mined, decisions)
    first, second = mined.candidates[:2]
    assert review.next() == first
    review.answer(first.phrase, "has")
    assert review.next() == second
    review.later(second.phrase)
    assert review.next() == mined.candidates[2]
    assert review.undo() == first.phrase
    assert review.next() == first
    assert review.undo() is None


def test_those_put_off_come_last(mined: Candidates, decisions: Decisions) -> None:
    review = Review(mined, decisions)
    off = mined.candidates[0].phrase
    review.later(off)
    for one in mined.candidates[1:]:
        decisions.decide(one.phrase, DROP)
    held = review.next()
    assert held is not None
    assert held.phrase == off
    review.answer(off, "is a")
    assert review.next() is None
    assert review.progress() == (
        len(mined.candidates),
        len(mined.candidates),
        1,
        review.progress()[3],
    )
    assert review.progress().left == 0


def test_one_group_only(mined: Candidates, decisions: Decisions) -> None:
    group = next(iter(mined.groups))
    review = Review(mined, decisions, group)
    assert 0 < len(review.candidates) < len(mined.candidates)
    assert all(group in [held.name for held in one.groups] for one in review.candidates)
    with pytest.raises(SettingError, match="There is no group"):
        Review(mined, decisions, "nowhere")


def test_the_filters_word(mined: Candidates, decisions: Decisions) -> None:
    review = Review(mined, decisions)
    first = mined.candidates[0]
    review.answer(first.phrase, "good for")
    wanted = [one for one in mined.candidates[1:] if one.proposal.use == DROP]
    assert review.accept("drops") == len(wanted)
    assert review.progress().dropped == len(wanted)
    assert review.accept("all") == len(mined.candidates) - len(wanted) - 1
    assert review.progress().left == 0
    assert read_decisions(decisions.path)[first.phrase] == "good for"
    with pytest.raises(SettingError, match="drops or all"):
        review.accept("some")


def test_only_candidates_can_be_answered(mined: Candidates, decisions: Decisions) -> None:
    with pytest.raises(SettingError, match="no candidate 'nonsense phrase'"):
        Review(mined, decisions).answer("nonsense phrase", "has")
    assert Review(mined, decisions).find("nonsense phrase") is None


def test_what_is_kept(mined: Candidates) -> None:
    first, second = mined.candidates[:2]
    said = {first.phrase: "has", second.phrase: DROP, "of another review": "has"}
    assert kept_uses(mined, said) == {first.phrase: "has"}
    rest = kept_uses(mined, said, accept_rest=True)
    assert rest[first.phrase] == "has"
    assert second.phrase not in rest
    assert all(rest.get(one.phrase, DROP) == one.proposal.use for one in mined.candidates[2:])
