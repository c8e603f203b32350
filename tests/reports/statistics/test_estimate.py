import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.reports.statistics import estimate as module
from errands.reports.statistics.estimate import (
    Estimate,
    WeightedValues,
    estimate,
    named_rng,
    resampled_means,
)


def naive(values: np.ndarray, seed: int, resamples: int = 4000) -> tuple[float, float]:
    """The plain bootstrap: draw every value anew, each time."""
    rng = np.random.default_rng(seed)
    means = [rng.choice(values, len(values)).mean() for _ in range(resamples)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.0] * 70 + [0.5] * 20 + [1.0] * 10),
        np.array([0.0] * 3 + [1.0] * 5),
        np.random.default_rng(3).random(150),
    ],
    ids=["rewards", "few", "all different"],
)
def test_the_interval_is_that_of_the_plain_bootstrap(values: np.ndarray) -> None:
    quick = estimate(values, "x", resamples=4000)
    low, high = naive(values, 1)
    near = 0.12 * (high - low)
    assert quick.mean == pytest.approx(values.mean())
    assert quick.low == pytest.approx(low, abs=near)
    assert quick.high == pytest.approx(high, abs=near)


def test_many_different_values_are_drawn_plainly_or_taken_as_normal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(5).random(800)
    tallied = estimate(values, "x")
    monkeypatch.setattr(module, "MOST_DISTINCT", 10)
    plain = estimate(values, "x")
    monkeypatch.setattr(module, "MOST_DRAWN", 10)
    assert resampled_means(WeightedValues(values), named_rng(0, "x")) is None
    normal = estimate(values, "x")
    for other in (plain, normal):
        assert other.low == pytest.approx(tallied.low, abs=0.003)
        assert other.high == pytest.approx(tallied.high, abs=0.003)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    covered = 0
    for trial in range(200):
        found = estimate(rng.binomial(1, 0.4, 120), f"trial {trial}", resamples=400)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.4 <= found.high
    assert 178 <= covered <= 199


def test_nothing_has_no_figure_and_one_value_no_spread() -> None:
    assert estimate([], "x") == Estimate(None, None, None, 0)
    assert estimate([], "x").times(100).mean is None
    assert estimate([0.25], "x") == Estimate(0.25, 0.25, 0.25, 1)
    assert estimate([0.1] * 7, "x") == Estimate(0.1, 0.1, 0.1, 7)


def test_the_same_seed_and_name_give_the_same_bounds_whatever_else_was_drawn() -> None:
    values = [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]
    first = estimate(values, "score", seed=4)
    np.random.default_rng(0).random(5)
    estimate(values, "other", seed=4)
    assert estimate(values, "score", seed=4) == first


@given(st.lists(st.sampled_from([0.0, 0.1, 0.25, 1.0]), min_size=1, max_size=40))
def test_bounds_lie_around_the_mean_and_within_the_values(values: list[float]) -> None:
    found = estimate(values, "x", resamples=50)
    assert found.mean is not None
    assert found.low is not None
    assert found.high is not None
    assert min(values) - 1e-9 <= found.low <= found.mean <= found.high <= max(values) + 1e-9


def test_a_tally_of_counts_is_that_of_the_values() -> None:
    counted = WeightedValues([1.0, 0.0, 1.0], [2, 5, 3]).plus(0.0, 4)
    assert counted.values.tolist() == [0.0, 1.0]
    assert counted.counts.tolist() == [9, 5]
    assert counted.mean == pytest.approx(5 / 14)
