"""Means, correlation and the share within 10 %."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.verify.scores import Scores, agreement, from_ticks, means, pearson


def score(overall: float, option: float | None = None) -> Scores:
    return Scores(1.0, 1.0, 1.0, option, overall)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=30))
def test_pearson_is_that_of_numpy(pairs: list[tuple[float, float]]) -> None:
    ones, others = np.array(pairs).T
    found = pearson(pairs)
    if found is None:
        assert min(np.std(ones), np.std(others)) < 1e-8
    elif min(np.std(ones), np.std(others)) > 1e-4:
        assert found == pytest.approx(np.corrcoef(ones, others)[0, 1], abs=1e-6)


def test_no_correlation_where_nothing_varies() -> None:
    assert pearson([(1.0, 0.2), (1.0, 0.4)]) is None
    assert pearson([(0.5, 0.5)]) is None


def test_within_ten_percent_of_the_second() -> None:
    ones = {0: score(0.9), 1: score(0.89), 2: score(0.0), 3: score(0.5), 4: score(0.3)}
    others = {0: score(1.0), 1: score(1.0), 2: score(0.0), 3: score(0.4), 9: score(1.0)}
    part = agreement("a", "b", ones, others).parts["overall"]
    assert (part.count, part.near, part.equal, part.below) == (4, 0.5, 1, 1)


def test_options_count_where_some_are_wanted() -> None:
    held = [score(0.5, 1.0), score(1.0, None), score(0.0, 0.0)]
    assert means(held) == {
        "price": 100.0,
        "type": 100.0,
        "attribute": 100.0,
        "option": 50.0,
        "overall": 50.0,
    }
    assert means([score(1.0)])["option"] is None
    part = agreement("a", "b", {0: held[1]}, {0: held[0]}).parts["option"]
    assert (part.count, part.near, part.pearson) == (0, None, None)


def test_ticks_make_equation_one() -> None:
    assert from_ticks(0.5, [True, False], [True], True) == Scores(1.0, 0.5, 0.5, 1.0, 0.375)
    assert from_ticks(1.0, [True], [], False) == Scores(0.0, 1.0, 1.0, None, 0.5)
