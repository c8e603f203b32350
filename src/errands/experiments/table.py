"""A table of an experiment: agents over seeds, with their spread, and what it shows.

A row's score is the mean over its seeds; its 95 % interval is over products, each with all its
goals and seeds (`errands.reports.statistics.estimate`). Two rows are compared goal by goal, and
again by product; as that takes the trained models as given, one must be above the other with every
seed, too. Of claims about several others all must hold, which needs no correction.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.errors import DataError
from errands.reports.markdown import table as markdown_table
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.estimate import Clusters, Estimate, estimate
from errands.runs.store.places import open_run

__all__ = [
    "Claim",
    "ExperimentRow",
    "ExperimentTable",
    "above",
    "highest",
    "interval_text",
    "read_row",
    "to_markdown",
]


class ExperimentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's results."""

    name: str
    score: Estimate
    """In points, 0 to 100."""
    success: Estimate
    """In per cent."""
    scores: tuple[float, ...]
    """Of each seed."""
    successes: tuple[float, ...]
    steps: float
    """Mean actions of an episode."""
    paper: str = ""
    """What the paper reports."""
    rewards: tuple[tuple[float, ...], ...] = ()
    """Of each seed, goal by goal."""
    products: tuple[str, ...] = ()
    """What each goal is of; empty: each of a product of its own."""
    weights: str = "episode"
    """What counts alike, as the protocol says: every episode, or every product (`cluster`)."""

    @property
    def labels(self) -> NDArray[np.int64] | None:
        """Goals of one product by a number that they share."""
        if not self.products:
            return None
        return np.asarray(np.unique(self.products, return_inverse=True)[1], np.int64)

    @property
    def score_spread(self) -> float | None:
        return _spread(self.scores)

    @property
    def success_spread(self) -> float | None:
        return _spread(self.successes)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Something the table is meant to show, whether it does, and by how much."""

    says: str
    holds: bool
    evidence: str


class ExperimentTable(msgspec.Struct, frozen=True, kw_only=True):
    """Rows, and what they show."""

    title: str
    rows: tuple[ExperimentRow, ...]
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return all(claim.holds for claim in self.claims)


def read_row(name: str, places: Sequence[Path], paper: str = "") -> ExperimentRow:
    """An agent's row, of a run for each seed."""
    rewards, steps, products, weights = [], [], (), "episode"
    for place in places:
        with closing(open_run(str(place))) as store:
            columns = read_columns(store)
            weights = str(store.info.protocol.get("weights", "episode"))
        failed = int(columns.failed.sum())
        if failed:
            raise DataError(
                f"{failed} episodes of {place} ended in an error, so it has no score; see"
                f" `errands report {place}`."
            )
        rewards.append(columns.reward)
        steps.append(float(columns.steps.mean()))
        products = tuple(columns.clusters[code] for code in columns.cluster)
    matrix = np.array(rewards)
    won = (matrix >= 1).astype(float)
    labels = np.unique(products, return_inverse=True)[1]
    success = Clusters(won.mean(axis=0), labels, weights=weights)
    of_seed = [
        [Clusters(line, labels, weights=weights).mean for line in part] for part in (matrix, won)
    ]
    return ExperimentRow(
        name=name,
        score=estimate(
            Clusters(matrix.mean(axis=0), labels, weights=weights), f"{name} score"
        ).times(100),
        success=estimate(success, f"{name} success", is_rate=True).times(100),
        scores=tuple(100 * mean for mean in of_seed[0]),
        successes=tuple(100 * mean for mean in of_seed[1]),
        steps=float(np.mean(steps)),
        paper=paper,
        rewards=tuple(tuple(line.tolist()) for line in matrix),
        products=products,
        weights=weights,
    )


def above(better: ExperimentRow, worse: ExperimentRow) -> Claim:
    """That one agent beats another in score and in success, each outside of the 95 % interval and
    with every seed."""
    score, success = _differences(better, worse)
    of_seeds = [
        _of_seeds(better.scores, worse.scores),
        _of_seeds(better.successes, worse.successes),
    ]
    seeds = "; by seed " + ", ".join(
        f"{first:+.1f} / {second:+.1f}" for first, second in zip(*of_seeds, strict=True)
    )
    return Claim(
        says=f"{better.name} is above {worse.name} in score and success rate",
        holds=all((each.low or 0.0) > 0 for each in (score, success))
        and all(each > 0 for part in of_seeds for each in part),
        evidence=_evidence(score, success) + (seeds if len(of_seeds[0]) > 1 else ""),
    )


def highest(top: ExperimentRow, others: Sequence[ExperimentRow]) -> Claim:
    """That nobody is above."""
    second = max(others, key=lambda row: row.score.mean or 0)
    claims = [above(top, other) for other in others]
    return Claim(
        says=f"{top.name} is above all others",
        holds=all(claim.holds for claim in claims),
        evidence=f"next is {second.name}: " + above(top, second).evidence,
    )


def to_markdown(table: ExperimentTable) -> str:
    """The table, its claims and notes."""
    has_paper = any(row.paper for row in table.rows)
    head = ["agent", "score (95 %)", "over seeds", "success rate (95 %)", "over seeds", "steps"]
    lines = [
        [
            row.name,
            interval_text(row.score, ""),
            _seeds(row.scores, row.score_spread),
            interval_text(row.success, " %"),
            _seeds(row.successes, row.success_spread),
            f"{row.steps:.1f}",
            *([row.paper] if has_paper else []),
        ]
        for row in table.rows
    ]
    parts = [f"## {table.title}", ""]
    parts += markdown_table([*head, *(["the paper"] if has_paper else [])], lines)
    parts += [
        f"- {'shown' if claim.holds else '**not shown**'}: {claim.says}: {claim.evidence}."
        for claim in table.claims
    ]
    parts += ["", *table.notes] if table.notes else []
    return "\n".join(parts) + "\n"


def _differences(one: ExperimentRow, other: ExperimentRow) -> tuple[Estimate, Estimate]:
    first, second = (np.array(row.rewards) for row in (one, other))
    if first.shape[1] != second.shape[1]:
        raise DataError(f"{one.name} and {other.name} were not tested on the same goals.")
    name = f"{one.name} | {other.name}"
    return (
        _paired(first.mean(axis=0) - second.mean(axis=0), one, name),
        _paired(_won(first) - _won(second), one, f"{name} success"),
    )


def _of_seeds(better: Sequence[float], worse: Sequence[float]) -> list[float]:
    """The differences between rows with each seed; what has fewer is the same with all of them."""
    count = max(len(better), len(worse))
    parts = (part * count if len(part) == 1 else part for part in (tuple(better), tuple(worse)))
    return [one - other for one, other in zip(*parts, strict=False)]


def _paired(differences: NDArray[np.float64], row: ExperimentRow, name: str) -> Estimate:
    clusters = Clusters(differences, row.labels, weights=row.weights)
    return estimate(clusters, name, span=(-1.0, 1.0)).times(100)


def _won(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((rewards >= 1).mean(axis=0), np.float64)


def _spread(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _evidence(score: Estimate, success: Estimate) -> str:
    return f"{interval_text(score, '', '+')} points, {interval_text(success, '', '+')} % of goals"


def interval_text(value: Estimate, unit: str = "", sign: str = "") -> str:
    """An estimate with its interval: `52.1 % (49.8 to 54.4)`."""
    if value.mean is None:
        return "-"
    return f"{value.mean:{sign}.1f}{unit} ({value.low:.1f} to {value.high:.1f})"


def _seeds(values: Sequence[float], spread: float | None) -> str:
    listed = ", ".join(f"{value:.1f}" for value in values)
    return listed if spread is None else f"{listed}; sd {spread:.1f}"
