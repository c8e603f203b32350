"""Figures of TurkingBench: the shapes of the paper's table 4 and figures 6, 7 and 8.

A score is the mean over tasks of what their fields got, under both rules, with the mean over
fields beside it. Under the rules of the protocol it is the headline: the one figure that a run
is known by, wherever it is shown. The score against the length of the page is one dot an instance.

Intervals of figures over tasks are by task: tasks are drawn anew, each with all its instances.
Those of a single task, and of a run that has one task alone, are by instance, and say nothing
about other tasks.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
import numpy as np

from errands.agents.llm.turk.conditions import Condition, published_table
from errands.reports.statistics.estimate import Clusters, Estimate, estimate, named_rng
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
    "agent_name",
    "demonstrations",
    "estimate_of",
    "headline_at_least",
    "score_summary",
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
    calls: int = 0
    """How often a model was asked, in all episodes that did not fail."""


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
    condition: str = ""
    """The row of the published table whose conditions these are."""
    published: float | None = None
    """That row's score, in %; None where the run is of another protocol or departs from the row."""
    submitted: Estimate | None = None
    """None where the run was not played under these rules."""


class DemonstrationCurve(msgspec.Struct, frozen=True):
    """A line of the paper's figure 7: one agent, shown more and more demonstrations."""

    agent: str
    points: tuple[tuple[int, Estimate], ...]
    """Under the paper's rules."""
    released: tuple[tuple[int, Estimate], ...] = ()
    """Under the released rules, which the published figure is of."""


def estimate_of(figure: ScoreEstimate) -> Estimate:
    """A figure of TurkingBench as a percentage, in the shape all others have."""
    return Estimate(
        figure.mean, figure.low, figure.high, figure.count, figure.clusters, figure.method
    ).times(100)


def scores_side_by_side(
    runs: Sequence[TurkFigures], rules: str = "paper"
) -> dict[str, dict[str, list[Estimate | None]]]:
    """The score of each task and of each field type in each run."""
    each = [run.rules[rules] for run in runs]
    tasks = [{one.task: estimate_of(one.all) for one in summary.tasks} for summary in each]
    types = [{one.type: estimate_of(one.macro) for one in summary.types} for summary in each]
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
    calls = 0
    for _, part in parts:
        calls += int(part.get("calls", 0))
        if "fields" in part:
            scores += _field_scores(part)
            lengths[str(part["task"]), int(part["row"])] = int(part.get("page_chars", 0))
    # Whether anything was submitted is the run's choice; the other rules are for every run.
    played = [
        *DISPLAYED,
        *([SUBMITTED] if any(each.submitted is not None for each in scores) else ()),
    ]
    summaries = {rules: score_summary(scores, rules, seed=seed) for rules in played}
    pairs = [
        (lengths[one.task, one.row], one.paper, one.task)
        for one in instance_scores(scores)
        if one.paper is not None
    ]
    return TurkFigures(summaries, _lengths(pairs, seed), calls)


def score_summary(scores: Iterable[FieldScore], rules: str, *, seed: int = 0) -> ScoreSummary:
    """All figures under one set of rules, with intervals by task, or by instance within one."""
    listed = list(scores)
    pools: dict[str, dict[str, dict[int, list[float]]]] = {}
    for score in listed:
        value = score.under(rules)
        if value is not None:
            kinds = pools.setdefault(score.task, {})
            for kind in ("", score.type):
                kinds.setdefault(kind, {}).setdefault(score.row, []).append(value)
    plain = summarize(listed, rules, resamples=1)
    tasks = {
        task: {kind: _pooled(rows, f"{task} {kind}", seed) for kind, rows in kinds.items()}
        for task, kinds in pools.items()
    }

    def over(kind: str, *, macro: bool) -> ScoreEstimate:
        each = [kinds[kind] for kinds in tasks.values() if kind in kinds]
        return _over_tasks(each, f"{kind} {'macro' if macro else 'micro'}", seed, macro=macro)

    return replace(
        plain,
        macro=over("", macro=True),
        micro=over("", macro=False),
        tasks=tuple(
            replace(
                one,
                all=tasks.get(one.task, {}).get("", one.all),
                types={kind: tasks[one.task][kind] for kind in one.types},
            )
            for one in plain.tasks
        ),
        types=tuple(
            replace(one, macro=over(one.type, macro=True), micro=over(one.type, macro=False))
            for one in plain.types
        ),
    )


def _pooled(rows: Mapping[int, Sequence[float]], name: str, seed: int) -> ScoreEstimate:
    """One task's mean over fields, its instances drawn anew."""
    sums, sizes = [math.fsum(row) for row in rows.values()], [len(row) for row in rows.values()]
    return _plain(_estimate(Clusters(sums, sizes=sizes), name, seed), sum(sizes))


def _over_tasks(
    tasks: Sequence[ScoreEstimate], name: str, seed: int, *, macro: bool
) -> ScoreEstimate:
    """The mean over tasks, or over all their fields, tasks drawn anew."""
    if len(tasks) == 1:
        return tasks[0]
    means, counts = [task.mean or 0.0 for task in tasks], [task.count for task in tasks]
    sums = [mean * count for mean, count in zip(means, counts, strict=True)]
    clusters = Clusters(means) if macro else Clusters(sums, sizes=counts)
    return _plain(_estimate(clusters, name, seed), sum(counts))


def _estimate(clusters: Clusters, name: str, seed: int) -> Estimate:
    # Under the released rules a range can score below 0.
    least = min(0.0, clusters.mean) if clusters.total else 0.0
    return estimate(clusters, name, seed=seed, span=(least, 1.0))


def _plain(figure: Estimate, fields: int) -> ScoreEstimate:
    return ScoreEstimate(
        figure.mean, figure.low, figure.high, fields, figure.clusters, figure.method
    )


def headline_at_least(
    parts: Iterable[tuple[int, Mapping[str, Any]]],
    failed: Sequence[str],
    rules: str,
    *,
    seed: int = 0,
) -> ScoreEstimate:
    """The mean over tasks with episodes that failed (by their keys) as pages of nothing right."""
    scores = [score for _, part in parts if "fields" in part for score in _field_scores(part)]
    return score_summary([*scores, *_zeros(scores, failed)], rules, seed=seed).macro


def _zeros(scores: Sequence[FieldScore], failed: Sequence[str]) -> Iterator[FieldScore]:
    """Pages that failed, as if all was wrong: as many fields as a page of the task has."""
    pages: dict[str, list[int]] = {}
    for one in instance_scores(scores):
        if one.fields:
            pages.setdefault(one.task, []).append(one.fields)
    for place, key in enumerate(failed, 1):
        task = key.rpartition("/")[0]
        fields = pages.get(task, [1])
        for number in range(max(1, round(sum(fields) / len(fields)))):
            # Rows of their own, below 0: nothing else is asked of them.
            yield FieldScore(task, -place, f"failed {number}", "failed", 0.0, 0.0)


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


def _lengths(instances: Sequence[tuple[int, float, str]], seed: int) -> PageLengths:
    """Of lengths, scores and tasks."""
    if not instances:
        return PageLengths(0, (), (), None)
    rows = sorted(instances)
    ordered = [(chars, score) for chars, score, _ in rows]
    chars = np.array([pair[0] for pair in ordered])
    score = np.array([pair[1] for pair in ordered])
    task = np.unique([row[2] for row in rows], return_inverse=True)[1]
    dots = ordered
    if len(ordered) > MOST_DOTS:
        rng = named_rng(seed, "page length dots")
        dots = [ordered[i] for i in sorted(rng.choice(len(ordered), MOST_DOTS, replace=False))]
    bands = tuple(
        LengthBand(
            int(chars[part[0]]),
            int(chars[part[len(part) // 2]]),
            int(chars[part[-1]]),
            estimate(
                Clusters(score[part], task[part]), f"page length band {place}", seed=seed
            ).times(100),
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
    """A run as a row of table 4; what an agent does not say of itself stays empty. Where the run
    does not say how often a model was asked, it is taken to be once a step."""
    calls = figures.calls or steps
    settings = info.agent_settings
    observation = info.shown_as
    pictures = "screenshot" in observation or bool(settings.get("vision"))
    has_model = bool(settings.get("model"))
    # Runs of the first version say `view`.
    encoding = str(settings.get("encoding") or settings.get("view") or "auto")
    if encoding == "auto":
        encoding = "full" if "html" in observation else observation
    condition = published_table().condition_of(info.agent, settings)
    paper, released = figures.rules["paper"], figures.rules["released"]
    return Table4Row(
        str(settings.get("model") or info.agent),
        ("T + V" if pictures else "T") if has_model else "",
        encoding if has_model else "",
        _shown(info),
        tokens_in / calls if tokens_in and calls else None,
        estimate_of(paper.macro),
        estimate_of(released.macro),
        estimate_of(paper.micro),
        "" if condition is None else condition.name,
        _published(info, condition),
        estimate_of(figures.rules[SUBMITTED].macro) if SUBMITTED in figures.rules else None,
    )


def _published(info: RunInfo, condition: Condition | None) -> float | None:
    """What was published for a run's row: of its protocol, and of its number of demonstrations."""
    table = published_table()
    if condition is None or info.protocol.get("id") != table.protocol:
        return None
    usual = table.settings(condition).get("demos") if condition.settings else None
    return condition.score if _shown(info) == usual else None


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
    lines: dict[bytes, dict[int, TurkFigures]] = {}
    names: dict[bytes, str] = {}
    for info, figures in runs:
        shown = _shown(info)
        if shown is None:
            continue
        rest = {k: v for k, v in info.agent_settings.items() if k not in SHOWN}
        alike = [info.agent, info.shown_as, info.protocol_key, rest]
        same = msgspec.json.encode(alike, order="deterministic")
        names[same] = agent_name(info)
        lines.setdefault(same, {})[shown] = figures
    return tuple(
        DemonstrationCurve(names[same], *(_points(runs, rules) for rules in ("paper", "released")))
        for same, runs in lines.items()
        if len(runs) > 1
    )


def agent_name(info: RunInfo) -> str:
    """An agent, with its model and its condition where it has some."""
    model, condition = (info.agent_settings.get(name) for name in ("model", "condition"))
    name = f"{info.agent} {model}" if isinstance(model, str) and model else info.agent
    return f"{name}, {condition}" if isinstance(condition, str) and condition else name


def _points(runs: Mapping[int, TurkFigures], rules: str) -> tuple[tuple[int, Estimate], ...]:
    return tuple((shown, estimate_of(runs[shown].rules[rules].macro)) for shown in sorted(runs))
