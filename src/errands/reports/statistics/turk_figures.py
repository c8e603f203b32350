"""Figures of TurkingBench: the shapes of the paper's table 4 and figures 6, 7 and 8.

A score is the mean over tasks of what their fields got, under both rules, with the mean over
fields beside it. The score against the length of the page is one dot an instance.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from errands.reports.statistics.estimate import Estimate, estimate, named_rng
from errands.runs.episode import RunInfo, Summary
from errands.turk.scoring.metrics import DISPLAYED, RULES, SUBMITTED
from errands.turk.scoring.summary import (
    FieldScore,
    ScoreEstimate,
    ScoreSummary,
    instance_scores,
    summarize,
)

__all__ = [
    "DemonstrationCurve",
    "LengthBand",
    "PageLengths",
    "Table4Row",
    "TaskFigures",
    "TurkFigures",
    "demonstrations",
    "estimate_of",
    "scores_side_by_side",
    "table_row",
    "task_figures",
    "turk_figures",
]

MOST_DOTS: Final = 1500
BANDS: Final = 4
SHOWN: Final = ("demonstrations", "demos")
"""What agents call the number of demonstrations."""


class LengthBand(msgspec.Struct, frozen=True):
    """The score on pages of about one length."""

    shortest: int
    median: int
    longest: int
    score: Estimate


class PageLengths(msgspec.Struct, frozen=True):
    """Score against page length, instance by instance, under the paper's rules."""

    instances: int
    dots: tuple[tuple[int, float], ...]
    """Characters of the page, and the score: all instances, or a drawn sample of them."""
    bands: tuple[LengthBand, ...]
    """Quarters of the instances, from short to long pages."""
    correlation: float | None
    """Spearman's: of the ranks. None where all lengths or all scores are the same."""


class TurkFigures(msgspec.Struct, frozen=True):
    """What is reported of a run on forms."""

    rules: dict[str, ScoreSummary]
    """By name of the rules: macro and micro score, tasks, field types."""
    lengths: PageLengths


class TaskFigures(msgspec.Struct, frozen=True):
    """One task of a run."""

    task: str
    instances: int
    errors: int
    paper: float | None
    """The mean over its fields, by the paper's rules."""
    released: float | None
    submitted: float | None
    """None where the run was not played under these rules."""
    instance_figure: dict[str, float | None]
    """The original's figure for an instance, ranges counted as 1: `mean` and `worst`."""


class Table4Row(msgspec.Struct, frozen=True):
    """A row of the paper's table 4."""

    model: str
    modalities: str
    encoding: str
    demonstrations: int | None
    input_tokens: float | None
    """Mean tokens of a prompt."""
    paper: Estimate
    released: Estimate
    micro: Estimate
    """Over fields instead of tasks, under the paper's rules."""
    submitted: Estimate | None = None
    """None where the run was not played under these rules."""


class DemonstrationCurve(msgspec.Struct, frozen=True):
    """A line of the paper's figure 7: one agent, shown more and more demonstrations."""

    agent: str
    points: tuple[tuple[int, Estimate], ...]


def estimate_of(figure: ScoreEstimate) -> Estimate:
    """A figure of TurkingBench as a percentage, in the shape all others have."""
    return Estimate(figure.mean, figure.low, figure.high, figure.count).times(100)


def scores_side_by_side(
    runs: Sequence[TurkFigures],
) -> dict[str, dict[str, list[Estimate | None]]]:
    """The score of each task and of each field type in each run, under the paper's rules."""
    papers = [run.rules["paper"] for run in runs]
    tasks = [{one.task: estimate_of(one.all) for one in paper.tasks} for paper in papers]
    types = [{one.type: estimate_of(one.macro) for one in paper.types} for paper in papers]
    task_names = dict.fromkeys(name for scores in tasks for name in scores)
    type_names = sorted({name for scores in types for name in scores})
    return {
        "task": {name: [scores.get(name) for scores in tasks] for name in task_names},
        "field type": {name: [scores.get(name) for scores in types] for name in type_names},
    }


def turk_figures(parts: Iterable[tuple[int, Mapping[str, Any]]], *, seed: int = 0) -> TurkFigures:
    """All figures of a run, from what each episode scored."""
    scores: list[FieldScore] = []
    lengths: dict[tuple[str, int], int] = {}
    for _, part in parts:
        if "fields" in part:
            scores += _field_scores(part)
            lengths[str(part["task"]), int(part["row"])] = int(part.get("page_chars", 0))
    # Whether anything was submitted is the run's choice; the other rules are for every run.
    played = [
        *DISPLAYED,
        *([SUBMITTED] if any(each.submitted is not None for each in scores) else ()),
    ]
    summaries = {rules: summarize(scores, rules, seed=seed) for rules in played}
    pairs = [
        (lengths[one.task, one.row], one.paper)
        for one in instance_scores(scores)
        if one.paper is not None
    ]
    return TurkFigures(summaries, _lengths(pairs, seed))


def task_figures(episodes: Iterable[Summary]) -> list[TaskFigures]:
    """A row for each task, in the order in which they were played."""
    tasks: dict[str, list[Summary]] = {}
    for episode in sorted(episodes, key=lambda each: each.number):
        tasks.setdefault(episode.key.rpartition("/")[0], []).append(episode)
    return [_task_figures(task, each) for task, each in tasks.items()]


def _task_figures(task: str, episodes: Sequence[Summary]) -> TaskFigures:
    scores = [score for each in episodes if "fields" in each.parts
              for score in _field_scores(each.parts)]  # fmt: skip
    means = {rules: summarize(scores, rules, resamples=1).micro.mean for rules in RULES}
    figures = [one.ranges_as_one for one in instance_scores(scores)]
    counted = [figure for figure in figures if figure is not None]
    mean = sum(counted) / len(counted) if counted else None
    worst = min(counted, default=None)
    errors = sum(each.status == "error" for each in episodes)
    ranged = {"mean": mean, "worst": worst}
    return TaskFigures(task, len(episodes), errors, instance_figure=ranged, **means)


def _field_scores(parts: Mapping[str, Any]) -> list[FieldScore]:
    """What an episode scored; one that was played before there was `submitted` has two scores."""
    return [
        FieldScore(str(parts["task"]), int(parts["row"]), name, kind, *map(_number, scores))
        for name, kind, *scores in parts["fields"]
    ]


def _number(score: Any) -> float | None:
    return None if score is None else float(score)


def _lengths(pairs: Sequence[tuple[int, float]], seed: int) -> PageLengths:
    if not pairs:
        return PageLengths(0, (), (), None)
    ordered = sorted(pairs)
    chars = np.array([pair[0] for pair in ordered])
    score = np.array([pair[1] for pair in ordered])
    dots = ordered
    if len(ordered) > MOST_DOTS:
        rng = named_rng(seed, "page length dots")
        dots = [ordered[i] for i in sorted(rng.choice(len(ordered), MOST_DOTS, replace=False))]
    bands = tuple(
        LengthBand(
            int(chars[part[0]]),
            int(chars[part[len(part) // 2]]),
            int(chars[part[-1]]),
            estimate(score[part], f"page length band {place}", seed=seed).times(100),
        )
        for place, part in enumerate(np.array_split(np.arange(len(ordered)), BANDS))
        if len(part)
    )
    return PageLengths(len(ordered), tuple(dots), bands, _spearman(chars, score))


def _spearman(first: Any, second: Any) -> float | None:
    ranks = [_ranks(first), _ranks(second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return None
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: Any) -> Any:
    """Places in order; equal values share the mean of theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[where]


def table_row(info: RunInfo, figures: TurkFigures, tokens_in: int, steps: int) -> Table4Row:
    """A run as a row of table 4; what an agent does not say of itself stays empty."""
    settings = info.agent_settings
    observation = str(info.protocol.get("observation", ""))
    pictures = "screenshot" in observation
    has_model = bool(settings.get("model"))
    view = str(settings.get("view") or "auto")
    if view == "auto":
        view = "full" if "html" in observation else observation
    paper, released = figures.rules["paper"], figures.rules["released"]
    return Table4Row(
        str(settings.get("model") or info.agent),
        ("T + V" if pictures else "T") if has_model else "",
        view if has_model else "",
        _shown(info),
        tokens_in / steps if tokens_in and steps else None,
        estimate_of(paper.macro),
        estimate_of(released.macro),
        estimate_of(paper.micro),
        estimate_of(figures.rules[SUBMITTED].macro) if SUBMITTED in figures.rules else None,
    )


def _shown(info: RunInfo) -> int | None:
    """How many demonstrations the agent was given, where it says so."""
    for name in SHOWN:
        number = info.agent_settings.get(name)
        if isinstance(number, int) and not isinstance(number, bool):
            return number
    return None


def demonstrations(
    runs: Sequence[tuple[RunInfo, TurkFigures]],
) -> tuple[DemonstrationCurve, ...]:
    """Lines over runs that differ in nothing but the number of demonstrations."""
    lines: dict[bytes, dict[int, Estimate]] = {}
    names: dict[bytes, str] = {}
    for info, figures in runs:
        shown = _shown(info)
        if shown is None:
            continue
        rest = {k: v for k, v in info.agent_settings.items() if k not in SHOWN}
        same = msgspec.json.encode([info.agent, info.protocol_key, rest], order="deterministic")
        model = rest.get("model")
        names[same] = f"{info.agent} {model}" if model else info.agent
        lines.setdefault(same, {})[shown] = estimate_of(figures.rules["paper"].macro)
    return tuple(
        DemonstrationCurve(names[same], tuple(sorted(points.items())))
        for same, points in lines.items()
        if len(points) > 1
    )
