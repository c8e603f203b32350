import numpy as np
import pytest
from played import MemoryStore, made, run_info

from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.figures import RunFigures, run_figures


def figures_of(store: MemoryStore) -> RunFigures:
    return run_figures(store, read_columns(store))


def test_figures_of_a_played_run_are_those_counted_by_hand(chance: MemoryStore) -> None:
    found = figures_of(chance)
    held = list(chance.summaries())
    assert found.score.mean == pytest.approx(100 * np.mean([one.reward for one in held]))
    assert found.success.mean == pytest.approx(100 * np.mean([one.reward == 1 for one in held]))
    bought = [one.parts for one in held if one.parts]
    assert found.bought is not None
    assert found.bought.mean == pytest.approx(100 * len(bought) / len(held))
    for part in found.parts:
        values = [float(one[part.name]) for one in bought if part.name in one]
        assert part.mean.count == len(values)
        if values:
            assert part.mean.mean == pytest.approx(np.mean(values))
    spreads = {spread.name: spread for spread in found.trajectory}
    for name in ("steps", "states", "items", "searches"):
        counts = [getattr(one, name) for one in held]
        assert spreads[name].mean == pytest.approx(np.mean(counts))
        assert spreads[name].max == max(counts)
    assert found.done + found.truncated == len(held)
    assert found.errors == 0
    assert found.score_at_least == found.score


def test_errors_are_counted_and_are_no_reward() -> None:
    episodes = [
        made(0, 1.0),
        made(1, 0.5),
        made(2, None),
        made(3, None, owner="model", error="500"),
    ]
    found = figures_of(MemoryStore(run_info("shop", "x", 4), episodes))
    assert (found.episodes, found.errors, found.done) == (4, 2, 2)
    assert found.score.mean == pytest.approx(75)
    assert found.score.count == 2
    assert found.score_at_least.mean == pytest.approx(37.5)
    assert found.success.mean == pytest.approx(50)
    assert found.success_at_least.mean == pytest.approx(25)
    told = {failures.owner: failures for failures in found.failures}
    assert told["model"].examples[0].reason == "500"
    assert told["agent"].count == 1
    assert sum(held.count for held in found.rewards) == 2


def test_examples_of_errors_are_different_ones() -> None:
    reasons = ["a", "a", "b", "a", "c", "d"]
    episodes = [made(n, None, error=reason) for n, reason in enumerate(reasons)]
    (failures,) = figures_of(MemoryStore(run_info("shop", "x", 6), episodes)).failures
    assert failures.count == 6
    assert [example.reason for example in failures.examples] == ["a", "b", "c"]


def test_an_empty_run_has_no_figures_and_no_zeros() -> None:
    found = figures_of(MemoryStore(run_info("shop", "x", 5)))
    assert found.score.mean is None
    assert found.success.mean is None
    assert found.score_at_least.mean is None
    assert found.usage.seconds_mean is None
    assert found.rewards == ()
    assert found.planned == 5


def test_a_run_of_errors_has_no_score_but_a_lower_bound() -> None:
    episodes = [made(n, None) for n in range(3)]
    found = figures_of(MemoryStore(run_info("shop", "x", 3), episodes))
    assert found.score.mean is None
    assert found.score_at_least.mean == 0
    assert found.errors == 3


def test_one_episode_has_no_spread() -> None:
    found = figures_of(MemoryStore(run_info("shop", "x", 1), [made(0, 0.25)]))
    assert (found.score.low, found.score.mean, found.score.high) == (25, 25, 25)


@pytest.mark.parametrize(
    ("reward", "title"),
    [
        (0.0, "0"),
        (0.05, "0.0-0.1"),
        (0.1, "0.0-0.1"),
        (0.3, "0.2-0.3"),
        (0.99, "0.9-1.0"),
        (1.0, "1"),
    ],
)
def test_both_ends_of_the_rewards_have_a_bar_of_their_own(reward: float, title: str) -> None:
    found = figures_of(MemoryStore(run_info("shop", "x", 1), [made(0, reward)]))
    assert [held.title for held in found.rewards if held.count] == [title]


def test_tokens_cost_and_time_count_failed_episodes() -> None:
    episodes = [
        made(0, 1.0, tokens_in=100, tokens_out=10, cost=0.5, seconds=2.0),
        made(1, None, tokens_in=50, tokens_out=5, cost=0.25, seconds=4.0),
    ]
    usage = figures_of(MemoryStore(run_info("shop", "x", 2), episodes)).usage
    assert (usage.tokens_in, usage.tokens_out, usage.cost, usage.seconds) == (150, 15, 0.75, 6.0)
    assert (usage.seconds_mean, usage.seconds_max, usage.tokens_mean) == (3.0, 4.0, 82.5)
