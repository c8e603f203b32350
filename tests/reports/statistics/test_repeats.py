"""Goals played several times, against counting every way to take k attempts."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from played import MemoryStore, made, run_info

from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.repeats import RepeatFigures, all_of, any_of, repeat_figures

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip(
        "statsmodels", reason="needs statsmodels: pip install -r requirements-dev.txt"
    )
    from statsmodels.stats.oneway import anova_oneway


def repeated(goals: list[list[float | None]], weights: str = "episode") -> RepeatFigures | None:
    """Attempts of each goal, played round by round."""
    rounds = itertools.zip_longest(*goals, fillvalue="none")
    rows = [(g, r) for each in rounds for g, r in enumerate(each) if r != "none"]
    episodes = [
        made(n, r, key=f"goal {g}", parts={"cluster": f"p{g // 2}"})
        for n, (g, r) in enumerate(rows)
    ]
    store = MemoryStore(run_info("shop", "x", len(rows)), episodes)
    return repeat_figures(read_columns(store), weights=weights)


@given(st.integers(1, 8), st.integers(0, 8), st.integers(1, 8))
def test_pass_at_k_and_pass_hat_k_are_means_over_every_way_to_take_k(
    attempts: int, won: int, k: int
) -> None:
    won, k = min(won, attempts), min(k, attempts)
    outcomes = [True] * won + [False] * (attempts - won)
    ways = list(itertools.combinations(outcomes, k))
    n, c = np.array([attempts]), np.array([float(won)])
    assert any_of(n, c, k)[0] == pytest.approx(np.mean([any(way) for way in ways]))
    assert all_of(n, c, k)[0] == pytest.approx(np.mean([all(way) for way in ways]))


def test_figures_of_goals_that_were_played_several_times() -> None:
    found = repeated([[1.0, 1.0, 1.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, None]])
    assert found is not None
    assert (found.goals, found.attempts) == (4, 3)
    one, two, three = found.points
    assert one.any.mean == one.all.mean == pytest.approx(100 * (1 + 1 / 3 + 0 + 1 / 2) / 4)
    assert two.any.mean == pytest.approx(100 * (1 + 2 / 3 + 0 + 1) / 4)
    assert two.all.mean == pytest.approx(100 * 1 / 4)
    assert (three.k, three.goals) == (3, 3), "an error is no attempt"
    assert three.any.mean == pytest.approx(100 * 2 / 3)
    assert one.any.clusters == 2
    alike = repeated([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]], "cluster")
    assert alike is not None
    assert alike.points[0].any.mean == pytest.approx(50)


def test_variances_are_those_of_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(3)
    goals = [np.round(np.clip(rng.normal(m, 0.2, 4), 0, 0.99), 3) for m in rng.random(30)]
    found = repeated([goal.tolist() for goal in goals])
    assert found is not None
    theirs = anova_oneway(goals, use_var="equal")
    assert found.within == pytest.approx(np.mean([goal.var(ddof=1) for goal in goals]))
    assert found.between is not None
    assert found.within is not None
    assert (4 * found.between + found.within) / found.within == pytest.approx(theirs.statistic)
    assert found.shared == pytest.approx(found.between / (found.between + found.within))


def test_what_is_played_once_has_no_such_figures() -> None:
    assert repeated([[1.0], [0.0]]) is None
    assert repeat_figures(read_columns(MemoryStore(run_info("shop", "x", 0)))) is None


def test_of_many_attempts_some_numbers_are_shown() -> None:
    found = repeated([[1.0] * 20, [0.0] * 20])
    assert found is not None
    assert [point.k for point in found.points] == [1, 2, 4, 8, 16, 20]


def test_goals_that_failed_every_time_are_no_goals() -> None:
    found = repeated([[None, None], [None, None]])
    assert found is not None
    assert (found.goals, found.attempts, found.points, found.within) == (0, 0, (), None)
