"""Intervals, against SciPy, statsmodels and the plain way to draw."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from errands.reports.statistics import estimate as module
from errands.reports.statistics.estimate import (
    BOOTSTRAP,
    METHODS,
    NO_VARIATION,
    NORMAL,
    WILSON,
    Clusters,
    Estimate,
    WeightedValues,
    estimate,
    named_rng,
    resampled_means,
    wilson,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    statsmodels = pytest.importorskip(
        "statsmodels.api", reason="needs statsmodels: pip install -r requirements-dev.txt"
    )
    from statsmodels.stats.proportion import proportion_confint


def bounds(found: Estimate) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.0] * 70 + [0.5] * 20 + [1.0] * 10),
        np.array([0.0] * 3 + [1.0] * 5),
        np.random.default_rng(3).random(150),
    ],
    ids=["rewards", "few", "all different"],
)
def test_without_clusters_the_interval_is_scipys_bootstrap(values: np.ndarray) -> None:
    found = estimate(values, "x")
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    near = 0.06 * (theirs.high - theirs.low)
    assert found.method == BOOTSTRAP
    assert found.mean == pytest.approx(values.mean())
    assert bounds(found) == pytest.approx(tuple(theirs), abs=near)


def lopsided(seed: int, clusters: int = 47) -> tuple[np.ndarray, np.ndarray]:
    """Successes of clusters of very different sizes, each with a chance of its own."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, rng.lognormal(1.0, 1.2, clusters).astype(int))
    labels = np.repeat(np.arange(clusters), sizes)
    values = rng.random(len(labels)) < np.repeat(rng.beta(0.5, 0.5, clusters), sizes)
    return values.astype(float), labels


@pytest.mark.parametrize("weights", ["episode", "cluster"])
def test_the_cluster_bootstrap_is_scipys_over_clusters(weights: str) -> None:
    values, labels = lopsided(4)
    sums, sizes = np.bincount(labels, values), np.bincount(labels)

    def pooled(sums: np.ndarray, sizes: np.ndarray, axis: int) -> np.ndarray:
        return sums.sum(axis=axis) / sizes.sum(axis=axis)

    def alike(sums: np.ndarray, sizes: np.ndarray, axis: int) -> np.ndarray:
        return (sums / sizes).mean(axis=axis)

    theirs = stats.bootstrap(
        (sums, sizes),
        pooled if weights == "episode" else alike,
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    found = estimate(Clusters(values, labels, weights=weights), "x")
    near = 0.06 * (theirs.high - theirs.low)
    assert bounds(found) == pytest.approx(tuple(theirs), abs=near)
    assert found.clusters == 47
    assert found.count == len(values)
    alone = estimate(values, "x")
    assert theirs.high - theirs.low > 1.5 * (bounds(alone)[1] - bounds(alone)[0])


def test_the_standard_error_is_that_of_statsmodels_by_cluster() -> None:
    values, labels = lopsided(7)
    fitted = statsmodels.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": labels, "use_correction": False}
    )
    count = len(np.unique(labels))
    clusters = Clusters(values, labels)
    assert clusters.mean == pytest.approx(fitted.params[0])
    assert clusters.error == pytest.approx(fitted.bse[0] * np.sqrt(count / (count - 1)))


@pytest.mark.parametrize(("won", "size"), [(0, 12), (12, 12), (1, 500), (8, 500), (3, 7), (40, 90)])
def test_wilson_is_that_of_statsmodels_and_scipy(won: int, size: int) -> None:
    found = wilson(won / size, size)
    assert found == pytest.approx(proportion_confint(won, size, method="wilson"), abs=1e-12)
    theirs = stats.binomtest(won, size).proportion_ci(method="wilson")
    assert found == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("won", "size"), [(0, 60), (60, 60), (1, 60), (9, 60), (54, 60), (0, 1)])
def test_rates_with_few_or_constant_outcomes_have_wilsons_interval(won: int, size: int) -> None:
    found = estimate([1.0] * won + [0.0] * (size - won), "x", is_rate=True)
    theirs = proportion_confint(won, size, method="wilson")
    assert bounds(found) == pytest.approx(theirs, abs=1e-12)
    assert found.method == (NO_VARIATION if won in (0, size) else WILSON)


def test_rates_with_ten_clusters_of_each_outcome_are_for_the_bootstrap() -> None:
    assert estimate([1.0] * 10 + [0.0] * 50, "x", is_rate=True).method == BOOTSTRAP
    crowded = Clusters([1.0] * 40 + [0.0] * 50, [0] * 40 + list(range(1, 51)))
    assert estimate(crowded, "x", is_rate=True).method == WILSON, "40 successes, of one cluster"


def test_episodes_of_a_cluster_are_one_outcome_where_few_tell() -> None:
    # 20 clusters of 5 are 20 outcomes; and a large one weighs as many.
    even = estimate(Clusters([0.0] * 100, np.repeat(np.arange(20), 5)), "x", is_rate=True)
    assert bounds(even) == pytest.approx(proportion_confint(0, 20, method="wilson"))
    sizes = np.array([206, 48, 43, 29, *[1] * 20])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    odd = estimate(Clusters(np.zeros(len(labels)), labels), "x", is_rate=True)
    outcomes = sizes.sum() ** 2 / (sizes**2).sum()
    assert 2 < outcomes < 4
    assert bounds(odd) == pytest.approx(proportion_confint(0, outcomes, method="wilson"))
    alike = estimate(Clusters(np.zeros(len(labels)), labels, weights="cluster"), "x", is_rate=True)
    assert bounds(alike) == pytest.approx(proportion_confint(0, len(sizes), method="wilson"))


def test_figures_that_do_not_vary_may_differ_in_as_many_as_wilson_allows() -> None:
    top = proportion_confint(0, 40, method="wilson")[1]
    found = estimate([0.25] * 40, "x")
    assert bounds(found) == pytest.approx((0.25 - top * 0.25, 0.25 + top * 0.75))
    paired = estimate([0.0] * 40, "x", span=(-1.0, 1.0))
    assert bounds(paired) == pytest.approx((-top, top))
    halves = Clusters([0.0, 1.0] * 30, np.repeat(np.arange(30), 2))
    assert estimate(halves, "x", is_rate=True).method == NO_VARIATION
    low, high = bounds(estimate(halves, "x", is_rate=True))
    assert low < 0.5 < high


def test_one_cluster_alone_is_sampled_by_its_episodes() -> None:
    values = [0.0, 0.5, 1.0, 1.0] * 20
    found = estimate(Clusters(values, [7] * 80), "x")
    assert found == estimate(values, "x")
    assert found.clusters == 80


def test_many_different_clusters_are_drawn_plainly_or_taken_as_normal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    clusters = Clusters(rng.random(2400), np.repeat(np.arange(800), 3))
    counted = estimate(clusters, "x")
    monkeypatch.setattr(module, "MOST_DISTINCT", 10)
    plain = estimate(clusters, "x")
    monkeypatch.setattr(module, "MOST_DRAWN", 10)
    assert resampled_means(clusters, named_rng(0, "x")) is None
    normal = estimate(clusters, "x")
    assert (counted.method, plain.method, normal.method) == (BOOTSTRAP, BOOTSTRAP, NORMAL)
    for other in (plain, normal):
        assert bounds(other) == pytest.approx(bounds(counted), abs=0.001)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(8)
    covered = naive = 0
    for trial in range(200):
        # A chance for each cluster, four episodes of it: half of the variance is between.
        chances = np.repeat(rng.choice([0.05, 0.75], 60), 4)
        values = rng.random(240) < chances
        found = bounds(
            estimate(
                Clusters(values, np.repeat(np.arange(60), 4)), f"{trial}", resamples=500,
                is_rate=True,
            )
        )  # fmt: skip
        plain = bounds(estimate(values, f"{trial}", resamples=500))
        covered += found[0] <= 0.4 <= found[1]
        naive += plain[0] <= 0.4 <= plain[1]
    assert 178 <= covered <= 199
    assert naive < 160, "episodes alone are too sure of themselves"


def test_nothing_has_no_figure() -> None:
    assert estimate([], "x") == Estimate(None, None, None, 0)
    assert estimate([], "x").times(100).mean is None
    assert estimate(Clusters([], []), "x").mean is None


def test_the_same_seed_and_name_give_the_same_bounds_whatever_else_was_drawn() -> None:
    values = [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]
    first = estimate(values, "score", seed=4)
    np.random.default_rng(0).random(5)
    estimate(values, "other", seed=4)
    assert estimate(values, "score", seed=4) == first


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 1.0]), st.integers(0, 6)), min_size=1),
    st.sampled_from(["episode", "cluster"]),
    st.booleans(),
)
def test_bounds_lie_around_the_mean_within_the_range_and_apart(
    rows: list[tuple[float, int]], weights: str, is_rate: bool
) -> None:
    values = [float(value >= 1) if is_rate else value for value, _ in rows]
    clusters = Clusters(values, [label for _, label in rows], weights=weights)
    found = estimate(clusters, "x", resamples=50, is_rate=is_rate)
    low, high = bounds(found)
    assert found.mean is not None
    assert -1e-9 <= low <= found.mean <= high <= 1 + 1e-9
    assert high > low
    assert found.method in METHODS


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30))
def test_clusters_are_sums_however_they_are_ordered(rows: list[tuple[int, int]]) -> None:
    values, labels = zip(*rows, strict=True)
    one = Clusters(values, labels)
    other = Clusters(values[::-1], labels[::-1])
    assert one.mean == pytest.approx(np.mean(values))
    assert (one.sums.tolist(), one.sizes.tolist()) == (other.sums.tolist(), other.sizes.tolist())
    groups = [
        np.mean([value for value, label in rows if label == each])
        for each, _ in itertools.groupby(sorted(labels))
    ]
    if len(groups) > 1:
        assert Clusters(values, labels, weights="cluster").mean == pytest.approx(np.mean(groups))


def test_a_tally_of_counts_is_that_of_the_values() -> None:
    counted = WeightedValues([1.0, 0.0, 1.0], [2, 5, 3])
    assert counted.values.tolist() == [0.0, 1.0]
    assert counted.counts.tolist() == [5, 5]
    assert counted.size == 10
