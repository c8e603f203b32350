"""Figures of a report: means by hand, intervals that are there, reproducible and never crash."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import SettingError
from errands.turk.scoring.summary import (
    FieldScore,
    InstanceScore,
    ScoreEstimate,
    instance_scores,
    summarize,
)

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "turkingbench"
NOTHING = ScoreEstimate(None, None, None, 0)

SCORES = [
    FieldScore("A", 0, "t", "text", 0.5, 0.25),
    FieldScore("A", 0, "r", "range", 0.75, -1.0),
    FieldScore("A", 1, "t", "text", 1.0, 1.0),
    FieldScore("A", 1, "u", "text", None, None),
    FieldScore("B", 0, "q", "radio", 0.0, 1.0),
    FieldScore("B", 0, "r", "range", None, math.nan),
    FieldScore("C", 0, "u", "text", None, None),
]


def test_instances() -> None:
    assert instance_scores(SCORES) == [
        InstanceScore("A", 0, 2, 0.625, -0.375, 0.625),
        InstanceScore("A", 1, 1, 1.0, 1.0, 1.0),
        InstanceScore("B", 0, 2, 0.0, 1.0, 1.0),
        InstanceScore("C", 0, 0, None, None, None),
    ]


def test_figures() -> None:
    summary = summarize(SCORES)
    assert summary.rules == "paper"
    assert summary.instances == 3
    assert summary.macro.mean == pytest.approx((0.75 + 0) / 2)
    assert summary.micro.mean == pytest.approx(2.25 / 4)
    assert (summary.macro.count, summary.micro.count) == (4, 4)
    assert [task.task for task in summary.tasks] == ["A", "B", "C"]
    assert [task.all.mean for task in summary.tasks] == [0.75, 0.0, None]
    assert [task.instances for task in summary.tasks] == [2, 1, 0]
    assert {kind: figure.mean for kind, figure in summary.tasks[0].types.items()} == {
        "range": 0.75,
        "text": 0.75,
    }
    assert [(kind.type, kind.tasks, kind.macro.mean) for kind in summary.types] == [
        ("radio", 1, 0.0),
        ("range", 1, 0.75),
        ("text", 1, 0.75),
    ]
    released = summarize(SCORES, "released")
    assert released.tasks[0].all.mean == pytest.approx(0.25 / 3)
    assert released.tasks[1].all == ScoreEstimate(1.0, 1.0, 1.0, 1)


def test_nothing() -> None:
    for scores in ([], SCORES[-1:]):
        summary = summarize(scores)
        assert summary.macro == summary.micro == NOTHING
        assert summary.types == ()
        assert summary.instances == 0
    assert summarize(SCORES[-1:]).tasks[0].all == NOTHING


def test_intervals_cover_the_mean_they_sample() -> None:
    """Of 100 samples of a known population, about 95 intervals hold its mean."""
    dice = np.random.default_rng(7)
    held = 0
    for _ in range(100):
        scores = [
            FieldScore(task, row, "f", "radio", float(dice.random() < share), None)
            for task, share in (("A", 0.3), ("B", 0.7))
            for row in range(60)
        ]
        figure = summarize(scores, resamples=400).macro
        assert figure.low is not None
        assert figure.high is not None
        held += figure.low <= 0.5 <= figure.high
    assert 88 <= held <= 100


def test_intervals_are_reproducible_and_private() -> None:
    scores = [FieldScore("A", row, "f", "text", row / 10, 0.0) for row in range(10)]
    state = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    figure = summarize(scores, seed=1).macro
    assert figure == summarize(scores, seed=1).macro != summarize(scores, seed=2).macro
    alone = summarize(scores, seed=1).tasks[0]
    beside = summarize([FieldScore("0", 0, "f", "text", 1, 1), *scores], seed=1).tasks[1]
    assert alone == beside
    assert np.random.get_state()[1].tolist() == state  # type: ignore[index, union-attr]
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < 0.45 < figure.high


def test_settings() -> None:
    with pytest.raises(SettingError, match="'paper' or 'released'"):
        summarize(SCORES, "strict")
    with pytest.raises(SettingError, match="resample"):
        summarize(SCORES, resamples=0)


FIELDS = st.builds(
    FieldScore,
    st.sampled_from("ABC"),
    st.integers(0, 3),
    st.just("f"),
    st.sampled_from(["text", "range", "radio"]),
    st.none() | st.floats(0, 1),
    st.none() | st.just(math.nan) | st.floats(-1, 1),
)


@settings(deadline=None)
@given(st.lists(FIELDS, max_size=12), st.sampled_from(["paper", "released"]))
def test_any_scores_have_figures(scores: list[FieldScore], rules: str) -> None:
    summary = summarize(scores, rules, resamples=20)
    figures = [summary.macro, summary.micro, *(task.all for task in summary.tasks)]
    figures += [figure for kind in summary.types for figure in (kind.macro, kind.micro)]
    for figure in figures:
        if figure.mean is None:
            assert figure == NOTHING
        else:
            assert figure.low is not None
            assert figure.high is not None
            assert figure.low <= figure.mean <= figure.high
    assert summary.micro.count == sum(task.all.count for task in summary.tasks)
    instance_scores(scores)


@pytest.mark.shared
def test_recorded_instances_of_one_field() -> None:
    """The original's figure for a page with a single field: ranges are 1, nothing is 0."""
    for line in (RECORDED / "scores.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if "instance_score" not in case:
            continue
        score = math.nan if isinstance(case["score"], dict) else case["score"]
        [page] = instance_scores([FieldScore("t", 0, "f", case["type"], None, score)])
        assert (page.ranges_as_one or 0) == case["instance_score"]
