"""From scores of fields to the figures of a report, each with its confidence interval.

A task's figure pools the fields of all its instances. The headline is the macro average, the
unweighted mean over tasks, which is what the paper's table prints; the micro average over all
fields can be very different, so reports show both. Intervals are 95 % bootstrap intervals over
instances, drawn anew within each task: the tasks are the benchmark, the instances are a sample.
With one instance a task there is no spread to see, and the interval is the figure itself.

Fields that do not count (None) are left out everywhere, and so are scores that are not a number,
which the released range rule can give and which would blank a whole task. A figure of nothing is
None, never a division by zero.
"""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from errands.errors import SettingError
from errands.turk.scoring.metrics import RULES, SUBMITTED

__all__ = [
    "FieldScore", "InstanceScore", "ScoreEstimate", "ScoreSummary", "TaskSummary", "TypeSummary",
    "instance_scores", "summarize",
]  # fmt: skip

_CHUNK: Final = 1 << 20
"""How many weights are drawn at once, to keep memory flat."""

_Floats = npt.NDArray[np.float64]
_Pool = dict[int, list[float]]
"""The scores of one task's instances by row, of one type or all."""


@dataclass(frozen=True)
class FieldScore:
    """One field of one instance, scored under all rules; None where it does not count."""

    task: str
    row: int
    field: str
    type: str
    paper: float | None
    released: float | None
    submitted: float | None = None

    def under(self, rules: str) -> float | None:
        """The score under rules by name, None also where it is not a number."""
        if rules not in RULES:
            expected = " or ".join(repr(name) for name in RULES)
            raise SettingError(f"There are no rules {rules!r}: expected {expected}.")
        score: float | None = getattr(self, rules)
        return None if score is None or math.isnan(score) else score


@dataclass(frozen=True)
class InstanceScore:
    """One page: means over its fields, None where none counted."""

    task: str
    row: int
    fields: int
    """How many fields were scored under any rules."""
    paper: float | None
    released: float | None
    ranges_as_one: float | None
    """The original's per-instance figure: `released`, with every range counted as 1."""
    submitted: float | None = None


@dataclass(frozen=True)
class ScoreEstimate:
    """A mean with its 95 % interval; all None where nothing counted."""

    mean: float | None
    low: float | None
    high: float | None
    count: int
    """Fields that counted."""
    clusters: int = 0
    """What was drawn anew for the interval, where it is not instances within each task."""
    method: str = ""
    """How the interval was made, likewise."""


@dataclass(frozen=True)
class TaskSummary:
    """One task: its pooled fields, all and by type."""

    task: str
    instances: int
    """Instances with a field that counted."""
    all: ScoreEstimate
    types: Mapping[str, ScoreEstimate] = field(default_factory=dict)


@dataclass(frozen=True)
class TypeSummary:
    """Fields of one type: the mean over tasks that have it, and over all such fields."""

    type: str
    tasks: int
    macro: ScoreEstimate
    micro: ScoreEstimate


@dataclass(frozen=True)
class ScoreSummary:
    """Everything a report shows under one set of rules."""

    rules: str
    instances: int
    """Instances with a field that counted."""
    macro: ScoreEstimate
    """The headline: the mean over tasks."""
    micro: ScoreEstimate
    """The mean over fields."""
    tasks: tuple[TaskSummary, ...]
    """In order of appearance, with those where nothing counted."""
    types: tuple[TypeSummary, ...]
    """By name."""


def instance_scores(scores: Iterable[FieldScore]) -> list[InstanceScore]:
    """The figures of each page, in order of appearance."""
    pages: dict[tuple[str, int], list[FieldScore]] = {}
    for score in scores:
        pages.setdefault((score.task, score.row), []).append(score)
    return [_instance(task, row, fields) for (task, row), fields in pages.items()]


def _instance(task: str, row: int, fields: Sequence[FieldScore]) -> InstanceScore:
    released = [score.under("released") for score in fields]
    as_one = [
        1.0 if score.type == "range" and score.released is not None else under
        for score, under in zip(fields, released, strict=True)
    ]
    counted = sum(
        any(each is not None for each in (score.paper, score.released, score.submitted))
        for score in fields
    )
    paper, submitted = (
        _mean([score.under(rules) for score in fields]) for rules in ("paper", SUBMITTED)
    )
    return InstanceScore(task, row, counted, paper, _mean(released), _mean(as_one), submitted)


def _mean(scores: Iterable[float | None]) -> float | None:
    counted = [score for score in scores if score is not None]
    return math.fsum(counted) / len(counted) if counted else None


def summarize(
    scores: Iterable[FieldScore], rules: str = "paper", *, seed: int = 0, resamples: int = 1000
) -> ScoreSummary:
    """All figures under one set of rules.

    The generator is private; a task's draws depend on the seed and its name alone, so that its
    interval is the same in every report.
    """
    if seed < 0 or resamples < 1:
        raise SettingError("A seed must not be negative, and at least 1 resample is needed.")
    tasks: dict[str, dict[str, _Pool]] = {}
    for score in scores:
        pools = tasks.setdefault(score.task, {"": {}})
        value = score.under(rules)
        if value is not None:
            for kind in ("", score.type):
                pools.setdefault(kind, {}).setdefault(score.row, []).append(value)
    drawn = {
        task: {kind: _draw(pool, [seed, _key(task), _key(kind)], resamples)
               for kind, pool in pools.items() if pool}
        for task, pools in tasks.items()
    }  # fmt: skip
    kinds = sorted({kind for draws in drawn.values() for kind in draws if kind})
    return ScoreSummary(
        rules,
        sum(len(pools[""]) for pools in tasks.values()),
        _macro(_of_kind(drawn, "")),
        _micro(_of_kind(drawn, "")),
        tuple(
            TaskSummary(
                task,
                len(tasks[task][""]),
                _micro(_of_kind({task: draws}, "")),
                {kind: _micro([draws[kind]]) for kind in sorted(draws) if kind},
            )
            for task, draws in drawn.items()
        ),
        tuple(
            TypeSummary(kind, len(draws), _macro(draws), _micro(draws))
            for kind in kinds
            for draws in [_of_kind(drawn, kind)]
        ),
    )


def _key(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class _Draws:
    """One task's sum of scores and count of fields: as they are, and in every resample."""

    sum: float
    count: int
    sums: _Floats
    counts: _Floats


def _draw(pool: _Pool, seed: Sequence[int], resamples: int) -> _Draws:
    """Instances drawn with replacement; every one has fields, so no count is ever 0."""
    sums = np.array([math.fsum(row) for row in pool.values()])
    counts = np.array([len(row) for row in pool.values()], dtype=np.float64)
    rng = np.random.default_rng(list(seed))
    size = len(sums)
    step = max(1, _CHUNK // size)
    drawn_sums, drawn_counts = np.empty(resamples), np.empty(resamples)
    for start in range(0, resamples, step):
        end = min(start + step, resamples)
        picked = rng.integers(size, size=(end - start, size))
        drawn_sums[start:end] = sums[picked].sum(axis=1)
        drawn_counts[start:end] = counts[picked].sum(axis=1)
    return _Draws(math.fsum(sums), int(counts.sum()), drawn_sums, drawn_counts)


def _of_kind(drawn: Mapping[str, Mapping[str, _Draws]], kind: str) -> list[_Draws]:
    return [draws[kind] for draws in drawn.values() if kind in draws]


def _macro(tasks: Sequence[_Draws]) -> ScoreEstimate:
    """The mean over tasks of their pooled means."""
    if not tasks:
        return ScoreEstimate(None, None, None, 0)
    mean = math.fsum(task.sum / task.count for task in tasks) / len(tasks)
    resampled = sum((task.sums / task.counts for task in tasks), np.zeros(1)) / len(tasks)
    return _figure(mean, resampled, tasks)


def _micro(tasks: Sequence[_Draws]) -> ScoreEstimate:
    """The mean over fields, of all tasks together."""
    if not tasks:
        return ScoreEstimate(None, None, None, 0)
    mean = math.fsum(task.sum for task in tasks) / sum(task.count for task in tasks)
    sums = sum((task.sums for task in tasks), np.zeros(1))
    return _figure(mean, sums / sum((task.counts for task in tasks), np.zeros(1)), tasks)


def _figure(mean: float, resampled: _Floats, tasks: Sequence[_Draws]) -> ScoreEstimate:
    low, high = (float(bound) for bound in np.percentile(resampled, [2.5, 97.5]))
    # Where all resamples agree, their sums may differ from the mean in the last bit.
    return ScoreEstimate(mean, min(low, mean), max(high, mean), sum(task.count for task in tasks))
