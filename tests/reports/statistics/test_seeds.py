"""Runs that differ in their seed alone."""

import numpy as np
import pytest
from played import MemoryStore, made, run_info

from errands.reports.content import gather
from errands.reports.statistics.seeds import grouped_by_seed


def seeded(seed: int, rewards: list[float], agent: str = "x", **more: object) -> MemoryStore:
    info = run_info("shop", agent, len(rewards), seed=seed, id=f"{agent}-{seed}", **more)
    return MemoryStore(
        info, [made(n, r, parts={"cluster": f"p{n // 2}"}) for n, r in enumerate(rewards)]
    )


def test_runs_of_one_agent_under_one_protocol_belong_together() -> None:
    infos = [
        run_info("shop", "a", 1, seed=1),
        run_info("shop", "b", 1, seed=1),
        run_info("shop", "a", 1, seed=2),
        run_info("shop", "a", 1, seed=2),
        run_info("shop", "a", 1, seed=3, agent_settings={"model": "m\ud800"}),
        run_info("shop", "a", 1, seed=4, protocol_key="other@1"),
    ]
    assert grouped_by_seed(infos) == [[0, 2], [1], [3], [4], [5]]


def test_a_group_has_one_figure_and_a_spread() -> None:
    first = [1.0, 0.0, 0.5, 0.5, 1.0, 0.0, 0.0, 0.0]
    second = [1.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.0, 0.0]
    report = gather([seeded(1, first), seeded(2, second), seeded(1, [0.0] * 8, "other")])
    assert [run.label for run in report.runs] == ["x (seed 1)", "x (seed 2)", "other"]
    (group,) = report.seeds
    assert (group.label, group.runs, group.seeds) == ("x", ("x (seed 1)", "x (seed 2)"), (1, 2))
    assert group.score.mean == pytest.approx(100 * np.mean([first, second]))
    assert group.score.clusters == 4
    assert group.scores == pytest.approx((37.5, 56.25))
    assert group.score_spread == pytest.approx(np.std([37.5, 56.25], ddof=1))
    assert group.success.mean == pytest.approx(100 * 6 / 16)
    (comparison,) = report.comparisons
    assert (comparison.first, comparison.second) == ("x", "other")
    assert comparison.first_score == pytest.approx(group.score.mean)


def test_form_pages_are_grouped_by_task(idle: MemoryStore, oracle: MemoryStore) -> None:
    again = MemoryStore(
        run_info("turk", "do-nothing", idle.info.episodes, seed=1, id="again"), idle.episodes()
    )
    report = gather([idle, again, oracle])
    (group,) = report.seeds
    assert group.score.mean == pytest.approx(report.runs[0].figures.score.mean)
    assert group.score_spread == 0
    assert [(one.first, one.second) for one in report.comparisons] == [("do-nothing", "oracle")]


def test_a_run_without_a_score_makes_no_group() -> None:
    empty = MemoryStore(run_info("shop", "x", 2, seed=2, id="e"), [made(0, None), made(1, None)])
    report = gather([seeded(1, [1.0, 0.0]), empty])
    assert report.seeds == ()
    assert report.comparisons == ()
