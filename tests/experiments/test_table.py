"""What a table shows, and what it does not."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from errands.errors import DataError
from errands.experiments.table import (
    ExperimentRow,
    ExperimentTable,
    above,
    highest,
    read_row,
    to_markdown,
)
from errands.reports.statistics.estimate import estimate
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog
from errands.shop.splits import split_indices


def row(name: str, *seeds: list[float]) -> ExperimentRow:
    held = np.array(seeds)
    won = held >= 1
    return ExperimentRow(
        name=name,
        score=estimate(held.mean(axis=0), name).times(100),
        success=estimate(won.mean(axis=0), name).times(100),
        scores=tuple((100 * held.mean(axis=1)).tolist()),
        successes=tuple((100 * won.mean(axis=1)).tolist()),
        steps=1.0,
        rewards=tuple(map(tuple, held.tolist())),
    )


GOALS = 60
LOW = row("low", [0.2] * GOALS)
HIGH = row("high", [1.0] * GOALS, [1.0, 0.5] * (GOALS // 2))
EVEN = row("even", [0.2, 1.0] * (GOALS // 2))
ODD = row("odd", [1.0, 0.2] * (GOALS // 2))


def test_better_outside_of_the_interval() -> None:
    claim = above(HIGH, LOW)
    assert claim.holds
    assert "+67.5 (" in claim.evidence
    assert not above(LOW, HIGH).holds
    assert not above(EVEN, ODD).holds, "the difference is chance"


def test_better_in_score_alone_is_not_enough() -> None:
    careful = row("careful", [0.9] * GOALS)
    assert not above(careful, LOW).holds
    lucky = row("lucky", [1.0] * 10 + [0.0] * 50)
    assert not above(lucky, LOW).holds


def test_better_with_one_seed_alone_is_not_enough() -> None:
    lucky = row("lucky", [1.0] * GOALS, [0.1] * GOALS)
    claim = above(lucky, LOW)
    assert not claim.holds
    assert "by seed +80.0 / +100.0, -10.0 / +0.0" in claim.evidence
    assert "by seed" not in above(ODD, LOW).evidence
    # Seeds that begin from one another are compared in pairs.
    first, second = row("a", [0.2] * GOALS, [0.8] * GOALS), row("b", [0.1] * GOALS, [1.0] * GOALS)
    assert "by seed -10.0 / +0.0, +20.0 / +100.0" in above(second, first).evidence


def test_goals_of_one_product_are_drawn_together() -> None:
    rewards = [1.0] * 30 + [0.0] * 30
    alone = row("alone", rewards)
    products = tuple("a" if at < 30 else "b" for at in range(GOALS))
    twins = msgspec.structs.replace(row("twins", rewards), products=products)
    flat = row("flat", [0.5] * GOALS)
    narrow, wide = above(alone, flat), above(twins, flat)
    assert "+0.0 (-11.7 to 13.3) points" in narrow.evidence
    assert "+0.0 (-50.0 to 50.0) points" in wide.evidence


def test_the_highest_is_above_everyone() -> None:
    top = row("top", [1.0] * GOALS)
    assert highest(top, [LOW, EVEN]).holds
    assert not highest(EVEN, [LOW, ODD]).holds
    assert "next is even" in highest(top, [LOW, EVEN]).evidence


def test_rows_of_other_goals_are_not_compared() -> None:
    with pytest.raises(DataError, match="same goals"):
        above(HIGH, row("short", [1.0] * 3))


def test_spread_over_seeds() -> None:
    assert HIGH.score_spread == pytest.approx(np.std([100, 75], ddof=1))
    assert LOW.score_spread is None
    table = ExperimentTable(
        title="T", rows=(LOW, HIGH), claims=(above(LOW, HIGH),), notes=("By hand.",)
    )
    text = to_markdown(table)
    assert "100.0, 75.0; sd 17.7" in text
    assert "**not shown**: low is above high" in text
    assert text.endswith("By hand.\n")
    assert not table.holds


def test_runs_make_a_row(little: Catalog, tmp_path: Path) -> None:
    rules = Protocol(
        id="t", version=1, title="t", domain="shop", data=str(little.path), goals="human",
        split="disjoint-test", episodes=5, observation="text_rich", max_steps=20,
    )  # fmt: skip
    run(rules, "rule", out=tmp_path / "one")
    run(rules, "random", out=tmp_path / "two", settings={}, seed=1)
    found = read_row("both", [tmp_path / "one", tmp_path / "two"], "paper")
    assert len(found.rewards) == 2
    assert len(found.rewards[0]) == 5
    assert found.scores[0] == pytest.approx(100 * sum(found.rewards[0]) / 5)


def test_a_run_with_errors_is_not_judged(little: Catalog, tmp_path: Path) -> None:
    rules = Protocol(
        id="t", version=1, title="t", domain="shop", data=str(little.path), goals="human",
        split="disjoint-test", episodes=2, observation="text_rich", max_steps=20,
    )  # fmt: skip
    queries = tmp_path / "queries.json"
    goals = little.goals("human")
    [*_, other] = (goals[index] for index in split_indices("disjoint-train", goals))
    queries.write_text(json.dumps({other.instruction_text: ["a lamp"]}))
    settings = {"query": "predicted", "queries": str(queries), "missing": "skip"}
    run(rules, "choice-oracle", out=tmp_path / "run", settings=settings)
    with pytest.raises(DataError, match=r"2 episodes of .* ended in an error"):
        read_row("oracle", [tmp_path / "run"])
