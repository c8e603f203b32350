"""A table of an experiment: agents over seeds, with their spread, and what it shows.

A row's score is the mean over its seeds; its 95 % interval is a bootstrap over goals, each goal
with its mean over seeds. Two rows are compared goal by goal.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.errors import DataError
from errands.reports.markdown import table as markdown_table
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.estimate import Estimate, estimate
from errands.runs.store.places import open_run

__all__ = ["Claim", "Row", "Table", "above", "highest", "not_below", "read_row", "to_markdown"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """An agent."""

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

    @property
    def score_spread(self) -> float | None:
        return _spread(self.scores)

    @property
    def success_spread(self) -> float | None:
        return _spread(self.successes)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Something the table is to show, whether it does, and by how much."""

    says: str
    holds: bool
    evidence: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    title: str
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return all(claim.holds for claim in self.claims)


def read_row(name: str, places: Sequence[Path], paper: str = "") -> Row:
    """An agent's row, of a run for each seed."""
    rewards, steps = [], []
    for place in places:
        store = open_run(str(place))
        try:
            columns = read_columns(store)
        finally:
            store.close()
        failed = int(columns.failed.sum())
        if failed:
            raise DataError(
                f"{failed} episodes of {place} ended in an error, so it cannot be judged; see"
                f" `errands report {place}`."
            )
        order = np.argsort(columns.number)
        rewards.append(columns.reward[order])
        steps.append(float(columns.steps.mean()))
    held = np.array(rewards)
    won = (held >= 1).astype(float)
    return Row(
        name=name,
        score=estimate(held.mean(axis=0), f"{name} score").times(100),
        success=estimate(won.mean(axis=0), f"{name} success").times(100),
        scores=tuple((100 * held.mean(axis=1)).tolist()),
        successes=tuple((100 * won.mean(axis=1)).tolist()),
        steps=float(np.mean(steps)),
        paper=paper,
        rewards=tuple(tuple(line.tolist()) for line in held),
    )


def above(better: Row, worse: Row) -> Claim:
    """That one agent beats another in score and in success, each outside of the 95 % interval."""
    score, success = _differences(better, worse)
    return Claim(
        says=f"{better.name} is above {worse.name} in score and success rate",
        holds=_low(score) > 0 and _low(success) > 0,
        evidence=_told(score, success),
    )


def not_below(one: Row, other: Row) -> Claim:
    """That an agent is not below another by more than chance explains."""
    score, success = _differences(one, other)
    return Claim(
        says=f"{one.name} is not below {other.name}, by the paired 95 % intervals",
        holds=_high(score) >= 0 and _high(success) >= 0,
        evidence=_told(score, success),
    )


def highest(top: Row, others: Sequence[Row]) -> Claim:
    """That nobody is above."""
    second = max(others, key=lambda row: row.score.mean or 0)
    claims = [above(top, other) for other in others]
    return Claim(
        says=f"{top.name} is above all others",
        holds=all(claim.holds for claim in claims),
        evidence=f"next is {second.name}: " + above(top, second).evidence,
    )


def to_markdown(table: Table) -> str:
    """The table, its claims and notes."""
    has_paper = any(row.paper for row in table.rows)
    head = ["agent", "score (95 %)", "over seeds", "success rate (95 %)", "over seeds", "steps"]
    lines = [
        [
            row.name,
            _interval(row.score, ""),
            _seeds(row.scores, row.score_spread),
            _interval(row.success, " %"),
            _seeds(row.successes, row.success_spread),
            f"{row.steps:.1f}",
            *([row.paper] if has_paper else []),
        ]
        for row in table.rows
    ]
    parts = [f"## {table.title}", ""]
    parts += markdown_table([*head, *(["the paper"] if has_paper else [])], lines)
    for claim in table.claims:
        parts.append(
            f"- {'shown' if claim.holds else '**not shown**'}: {claim.says}: {claim.evidence}."
        )
    parts += ["", *table.notes] if table.notes else []
    return "\n".join(parts) + "\n"


def _differences(one: Row, other: Row) -> tuple[Estimate, Estimate]:
    first, second = (np.array(row.rewards) for row in (one, other))
    if first.shape[1] != second.shape[1]:
        raise DataError(f"{one.name} and {other.name} were not judged by the same goals.")
    name = f"{one.name} | {other.name}"
    return (
        estimate(first.mean(axis=0) - second.mean(axis=0), name).times(100),
        estimate(_won(first) - _won(second), f"{name} success").times(100),
    )


def _won(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((rewards >= 1).mean(axis=0), np.float64)


def _spread(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _low(found: Estimate) -> float:
    return found.low if found.low is not None else 0.0


def _high(found: Estimate) -> float:
    return found.high if found.high is not None else 0.0


def _told(score: Estimate, success: Estimate) -> str:
    return f"{_interval(score, '', '+')} points, {_interval(success, '', '+')} % of goals"


def _interval(found: Estimate, unit: str, sign: str = "") -> str:
    if found.mean is None:
        return "-"
    return f"{found.mean:{sign}.1f}{unit} ({found.low:.1f} to {found.high:.1f})"


def _seeds(values: Sequence[float], spread: float | None) -> str:
    told = ", ".join(f"{value:.1f}" for value in values)
    return told if spread is None else f"{told}; sd {spread:.1f}"
