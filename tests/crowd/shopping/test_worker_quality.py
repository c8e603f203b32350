"""Who is qualified, who is an expert, and the figures of people."""

import pytest

from errands.crowd.shopping.worker_quality import (
    ShoppingResult,
    experts,
    figures,
    trial_status,
    workers,
)


@pytest.mark.parametrize(
    ("rewards", "found"),
    [
        ([], "trying"),
        ([1.0] * 4, "trying"),
        ([1.0] * 5, "qualified"),
        ([0.75] * 5, "refused"),
        ([0.76] * 5, "qualified"),
        ([1.0, 1.0, 1.0, 0.5, 0.25], "refused"),
        ([1.0, 1.0, 1.0, 0.5, 0.26], "qualified"),
        ([0.0] * 5 + [1.0] * 100, "refused"),
        ([1.0] * 5 + [0.0] * 100, "qualified"),
        # Five times 0.15 is not quite 0.75 for a computer that adds carelessly.
        ([0.7, 0.8, 0.75, 0.7, 0.8], "refused"),
    ],
)
def test_more_than_three_quarters_over_the_first_five(rewards: list[float], found: str) -> None:
    assert trial_status(rewards) == found


def test_a_trial_of_another_length() -> None:
    assert trial_status([], 0) == "qualified"
    assert trial_status([0.5, 0.6], 2, 0.5) == "qualified"
    assert trial_status([0.5, 0.5], 2, 0.5) == "refused"


@pytest.mark.parametrize(("count", "half"), [(0, 0), (1, 1), (2, 1), (3, 2), (13, 7), (14, 7)])
def test_the_better_half_is_rounded_up(count: int, half: int) -> None:
    found = experts({id: (0.76 + id / 100, 5) for id in range(count)})
    assert found == set(range(count - half, count))


def test_ties_go_to_more_errands_then_to_who_came_first() -> None:
    assert experts({1: (0.9, 5), 2: (0.9, 6), 3: (0.9, 5)}) == {1, 2}
    assert experts({3: (0.9, 5), 2: (0.9, 5), 1: (0.9, 5), 4: (0.9, 5)}) == {1, 2}


def result(worker: int, reward: float, *, is_trial: bool = False, steps: int = 4) -> ShoppingResult:
    return ShoppingResult(worker=worker, reward=reward, is_trial=is_trial, steps=steps, pay=0.7)


def test_figures() -> None:
    found = figures([result(1, 1.0, steps=4), result(1, 0.5, steps=10)])
    assert (found.count, found.score, found.success) == (2, 75.0, 50.0)
    assert found.deviation == pytest.approx(35.355, abs=0.001)
    assert found.steps is not None
    assert (found.steps.mean, found.steps.most) == (7.0, 10.0)
    assert figures([result(1, 1.0)]).deviation is None
    assert figures([]).score is None


def test_everybody() -> None:
    names = {1: "Ann", 2: "Bob", 3: "Cy", 4: "Dee"}
    results = [result(1, 0.8, is_trial=True) for _ in range(5)]
    results += [result(2, 1.0, is_trial=True) for _ in range(5)]
    results += [result(3, 0.1, is_trial=True) for _ in range(5)]
    results += [result(1, 0.4), result(2, 0.6)]
    ann, bob, cy, dee = workers(names, results, {3: "granted"}, include_trials=False)
    assert [one.status for one in (ann, bob, cy, dee)] == [
        *("qualified", "qualified", "qualified", "trying"),
    ]
    assert [one.is_expert for one in (ann, bob, cy, dee)] == [True, True, False, False]
    assert (cy.by_hand, ann.by_hand) == (True, False)
    assert (ann.trial, dee.trial) == (pytest.approx(0.8), None)
    assert (ann.figures.count, ann.figures.score) == (1, 40.0)
    assert ann.earned == pytest.approx(4.2)
    ann, bob, *_ = workers(names, results, {1: "refused", 2: "results"})
    assert (ann.status, ann.is_expert, bob.status) == ("refused", False, "qualified")
    assert ann.figures.count == 6
