"""What became of a model's answers: for an episode, and for a run."""

from typing import Any

import pytest

from errands.agents.model_call import NOTHING, OUTCOMES, ModelCall
from errands.runs.answers import AnswerTally, answer_figures


def tallied(*steps: tuple[list[str], bool]) -> dict[str, Any]:
    tally = AnswerTally()
    for outcomes, valid in steps:
        tally.note(tuple(ModelCall(outcome=one) for one in outcomes), valid=valid)  # type: ignore[arg-type]
    return tally.parts()


def test_an_episode_without_a_model_has_nothing_to_tell() -> None:
    assert tallied(([], True), ([], False)) == {}
    assert answer_figures([{}, {"r_type": 1.0}], {}) is None


def test_an_action_that_was_not_possible_is_invalid_and_nothing_else_is() -> None:
    tally = AnswerTally()
    calls = tally.note((ModelCall(outcome="thought"), ModelCall()), valid=False)
    assert [call.outcome for call in calls] == ["thought", "invalid"]
    calls = tally.note((ModelCall(outcome="cut"), ModelCall(outcome="empty")), valid=False)
    assert [call.outcome for call in calls] == ["cut", "empty"]
    assert tally.parts()["model"] == {
        "answers": {"thought": 1, "invalid": 1, "cut": 1, "empty": 1},
        "tokens_reasoning": 0,
        "retries": 0,
        "cached": 0,
        "steps": 2,
        "valid_steps": 0,
    }


def test_a_thought_that_is_a_step_is_neither_valid_nor_invalid() -> None:
    figures = answer_figures([tallied((["thought"], False), (["action"], True))], {})
    assert figures is not None
    assert (figures.steps, figures.valid_share) == (1, 1.0)


def test_later_actions_of_one_answer_count_as_steps() -> None:
    figures = answer_figures([tallied((["action"], True), ([], False), ([], True))], {})
    assert figures is not None
    assert (figures.answers, figures.steps, figures.valid_steps) == (1, 3, 2)


@pytest.mark.parametrize(
    ("nothing", "settings", "fails"),
    [
        (5, {}, False),
        (6, {}, True),
        (6, {"max_empty": 0.6}, False),
        (1, {"max_empty": 0}, True),
        (10, {"max_empty": 1}, False),
        (6, {"max_empty": "nonsense"}, True),
    ],
)
def test_a_run_fails_above_the_share_that_it_is_allowed(
    nothing: int, settings: dict[str, Any], fails: bool
) -> None:
    parts = [tallied(*[(["refused"], False)] * nothing, *[(["action"], True)] * (10 - nothing))]
    figures = answer_figures(parts, settings)
    assert figures is not None
    assert bool(figures.failed) is fails
    assert figures.nothing == nothing


@pytest.mark.parametrize("outcome", NOTHING)
def test_the_reason_names_what_happened_and_what_to_do(outcome: str) -> None:
    figures = answer_figures([tallied(*[([outcome], False)] * 3)], {})
    assert figures is not None
    assert figures.failed.startswith("3 of 3 answers of the model came to nothing (3 ")
    assert OUTCOMES[outcome] in figures.failed  # type: ignore[index]
    assert "to mend it" in figures.failed


def test_a_store_of_a_stranger_may_hold_anything() -> None:
    odd = [
        {"model": 5},
        {"model": {"answers": [1]}},
        {"model": {"answers": {"cut": "many", "refused": -3}}},
        {"model": {"answers": {"cut": 2}, "steps": "x", "retries": None}},
    ]
    figures = answer_figures(odd, {})
    assert figures is not None
    assert (figures.answers, figures.episodes, figures.steps) == (2, 1, 0)
