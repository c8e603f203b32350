import contextlib
from pathlib import Path

import msgspec
import numpy as np
import pytest
from played import MemoryStore, made, run_info

from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.estimate import estimate
from errands.reports.statistics.figures import RunFigures, run_figures
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog


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
        assert (spreads[name].max, spreads[name].min) == (max(counts), min(counts))
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


def test_one_episode_says_next_to_nothing() -> None:
    found = figures_of(MemoryStore(run_info("shop", "x", 1), [made(0, 0.25)]))
    assert found.score.mean == 25
    assert found.score.low == pytest.approx(5.2, abs=0.1)
    assert found.score.high == pytest.approx(84.5, abs=0.1)


def shop_run(rows: list[tuple[str, float | None]], **protocol: object) -> MemoryStore:
    """Episodes of products, one by one."""
    episodes = [made(n, r, parts={"cluster": c}) for n, (c, r) in enumerate(rows)]
    info = run_info("shop", "x", len(rows))
    info = msgspec.structs.replace(info, protocol={**info.protocol, **protocol})
    return MemoryStore(info, episodes)


def test_products_may_count_alike() -> None:
    rows = [("a", 1.0)] * 8 + [("b", 0.0), ("c", 0.5), ("c", None)]
    found = figures_of(shop_run(rows))
    assert (found.unit, found.clusters, found.weights) == ("product", 3, "episode")
    assert found.score.mean == pytest.approx(85)
    alike = figures_of(shop_run(rows, weights="cluster"))
    assert alike.weights == "cluster"
    assert alike.score.mean == pytest.approx(50)
    assert alike.success.mean == pytest.approx(100 / 3)
    assert alike.score_at_least.mean == pytest.approx(100 * (1 + 0 + 0.25) / 3)


def test_runs_of_before_are_clustered_by_goal() -> None:
    episodes = [made(n, 0.5, key=f"goal {n % 3}") for n in range(9)]
    found = figures_of(MemoryStore(run_info("shop", "x", 9), episodes))
    assert (found.unit, found.clusters) == ("goal", 3)
    forms = [made(n, 0.5, key=f"Some/task/{n}") for n in range(4)]
    found = figures_of(MemoryStore(run_info("turk", "x", 4), forms))
    assert (found.unit, found.clusters) == ("task", 1)


def test_causes_are_counted_and_named_with_their_episodes() -> None:
    bought = {"r_type": 1.0, "r_att": 0.5, "w_att": 0.5, "r_price": True, "w_price": 0.5}
    episodes = [
        made(0, 1.0),
        made(1, 0.0, status="truncated", parts={"failure": "gave up", "invalid": 1}, steps=4),
        made(2, 0.75, parts={**bought, "failure": "never found", "invalid": 0}, steps=4),
        made(3, 0.75, parts=bought),
        made(4, 0.0, status="truncated"),
        made(5, None),
        made(6, 0.0, parts={"failure": "no such name"}),
    ]
    found = figures_of(MemoryStore(run_info("shop", "x", 7), episodes))
    assert {cause.name: cause.episodes for cause in found.causes} == {
        "never found": (2,),
        "missing attribute": (3,),
        "gave up": (1,),
        "unknown": (4, 6),
    }
    assert sum(cause.share for cause in found.causes) == pytest.approx(1)
    assert found.valid_actions == pytest.approx(100 * 7 / 8), "over those that say so"
    older = figures_of(MemoryStore(run_info("shop", "x", 1), [made(0, 1.0)]))
    assert older.valid_actions is None
    assert older.causes == ()


@pytest.mark.shared
def test_careful_on_the_thousand_products_is_as_sure_as_its_products_allow(
    catalog_1k: Catalog, tmp_path: Path
) -> None:
    """The 500 goals of `webshop-1k`, version 1, are of 47 products, 206 of them of one."""
    base = Protocol(
        id="first", version=1, title="first", domain="shop", data=str(catalog_1k.path),
        goals="synthetic", split="disjoint-test", episodes=500, max_steps=15,
    )  # fmt: skip
    run(base, "careful", out=tmp_path / "run")
    with contextlib.closing(open_run(str(tmp_path / "run"))) as store:
        columns = read_columns(store)
        found = run_figures(store, columns)
    assert found.clusters == 47
    assert np.bincount(columns.cluster).max() == 206
    success = found.success
    assert success.method == "cluster bootstrap"
    assert (success.mean, success.low, success.high) == pytest.approx((27.8, 10.8, 66.0), abs=1.5)
    alone = estimate(columns.reward >= 1, "success").times(100)
    assert (alone.low, alone.high) == pytest.approx((23.8, 31.8), abs=0.3)


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
