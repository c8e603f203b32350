"""The tables of a report, which the page and the Markdown show alike."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from errands.agents.llm.turk.conditions import published_table
from errands.agents.model_call import ONE
from errands.reports.content import SCORES, Run
from errands.reports.formatting import DASH, dash, dollars, duration, fixed, p_value, share, whole
from errands.reports.statistics.comparison import RunComparison
from errands.reports.statistics.estimate import METHODS, Estimate
from errands.reports.statistics.figures import FailureCause
from errands.reports.statistics.seeds import SeedGroup
from errands.runs.failures import FAILURES

__all__ = [
    "CauseCount",
    "Cell",
    "Explained",
    "MeanAndGreatest",
    "Table",
    "Value",
    "answers_table",
    "cause_table",
    "comparison_table",
    "headline_table",
    "interval_methods",
    "repeat_table",
    "seed_table",
    "shop_tables",
    "table_4",
    "usage_table",
]

SHOWN_EPISODES: Final = 5
"""Of one cause, as links."""


class Value(NamedTuple):
    """A mean that is shown with its interval."""

    estimate: Estimate
    digits: int = 1


class MeanAndGreatest(NamedTuple):
    """The mean of something counted in each episode, the greatest of all, and perhaps the least."""

    mean: str
    greatest: str
    least: str = ""


class CauseCount(NamedTuple):
    """How many episodes one cause cost something, and where to look."""

    run: Run
    cause: FailureCause

    @property
    def share(self) -> float:
        """Of all episodes that are no errors."""
        figures = self.run.figures
        return self.cause.count / max(figures.episodes - figures.errors, 1)

    @property
    def shown(self) -> tuple[int, ...]:
        """The first of its episodes that the report lists."""
        listed = set(self.run.listed.numbers)
        return tuple(n for n in self.cause.episodes if n in listed)[:SHOWN_EPISODES]


class Explained(NamedTuple):
    """A name, and what it means."""

    name: str
    meaning: str


Cell = str | Run | Value | MeanAndGreatest | CauseCount | Explained


class Table(NamedTuple):
    """The first cell of a row names it."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    units: Sequence[str] = ()
    """What the intervals are over: products, tasks, ..."""
    remark: str = ""

    @property
    def note(self) -> str:
        """How the intervals of the table were made, and what else is to be said below it."""
        values = [cell.estimate for row in self.rows for cell in row if isinstance(cell, Value)]
        made = interval_methods(values, self.units)
        return " ".join(filter(None, [made and f"95 % intervals: {made}.", self.remark]))


def interval_methods(estimates: Iterable[Estimate], units: Iterable[str]) -> str:
    """How some intervals were made, and over what; empty where there are none."""
    used = {one.method for one in estimates}
    named = [method for method in METHODS if method in used]
    over = " and ".join(f"{unit}s" for unit in dict.fromkeys(units))
    return ", ".join(named) + (f", over {over}" if over else "") if named else ""


def _units(runs: Iterable[Run]) -> list[str]:
    return [run.figures.unit if run.figures.clusters != 1 else "episode" for run in runs]


def headline_table(runs: Sequence[Run]) -> Table:
    """What each run is known by."""
    names = {SCORES.get(run.info.domain, "Score") for run in runs}
    score = names.pop() if len(names) == 1 else "Score"
    return Table(
        "",
        ["run", "protocol", "episodes", "errors", score, "Success Rate (%)",
         "score, errors as 0", "valid actions (%)"],
        [
            [
                run,
                run.info.protocol_key,
                f"{run.figures.episodes:,}",
                f"{run.figures.errors:,}",
                Value(run.figures.score),
                Value(run.figures.success),
                Value(run.figures.score_at_least),
                dash(run.figures.valid_actions),
            ]
            for run in runs
        ],
        _units(runs),
    )  # fmt: skip


def seed_table(groups: Sequence[SeedGroup], runs: Sequence[Run]) -> Table:
    """Agents that were played with several seeds."""
    members = {label for group in groups for label in group.runs}
    return Table(
        "Agents with several seeds: the mean over all episodes, and the spread between seeds",
        ["agent", "seeds", "score", "each seed", "standard deviation", "Success Rate (%)",
         "each seed", "standard deviation"],
        [
            [
                group.label,
                ", ".join(map(str, group.seeds)),
                Value(group.score),
                ", ".join(map(fixed, group.scores)),
                fixed(group.score_spread),
                Value(group.success),
                ", ".join(map(fixed, group.successes)),
                fixed(group.success_spread),
            ]
            for group in groups
        ],
        _units(run for run in runs if run.label in members),
        "Intervals are over goals, with all seeds; what another seed gives is the deviation.",
    )  # fmt: skip


def repeat_table(runs: Sequence[Run]) -> Table:
    """Goals that were played several times."""
    some = [run for run in runs if run.figures.repeats is not None]
    rows: list[list[Cell]] = []
    for run in some:
        repeats = run.figures.repeats
        assert repeats is not None
        rows += [
            [
                run,
                str(point.k),
                f"{point.goals:,}",
                Value(point.any),
                Value(point.all),
                dash(repeats.within, 4) if point.k == 1 else "",
                dash(repeats.between, 4) if point.k == 1 else "",
                share(repeats.shared) if point.k == 1 else "",
            ]
            for point in repeats.points
        ]
    return Table(
        "Goals played several times: pass@k (one of k attempts succeeds), pass^k (all of them do)",
        ["run", "k", "goals", "pass@k (%)", "pass^k (%)", "variance within goals",
         "variance between goals", "share between"],
        rows,
        _units(some),
        "Variances are those of the reward, by a one-way analysis of variance.",
    )  # fmt: skip


def cause_table(runs: Sequence[Run]) -> Table:
    """What cost the episodes below 1, for runs of one domain."""
    causes = [{cause.name: cause for cause in run.figures.causes} for run in runs]
    names = FAILURES[runs[0].info.domain]
    return Table(
        "What cost the episodes below 1: episodes, and their share of all that are no errors",
        ["cause", *(run.label for run in runs)],
        [
            [
                Explained(name, meaning),
                *(
                    CauseCount(run, of_run[name]) if name in of_run else "0"
                    for run, of_run in zip(runs, causes, strict=True)
                ),
            ]
            for name, meaning in names.items()
            if any(name in of_run for of_run in causes)
        ],
    )


def comparison_table(made: Sequence[RunComparison], runs: Sequence[Run]) -> Table:
    """All pairs that are compared."""
    kept = [one for one in made if not one.refused]
    tests = " and ".join(dict.fromkeys(one.success_test for one in kept))
    return Table(
        "",
        ["second against first", "pairs", "difference", "p", "p (Holm)", "success difference",
         "p of successes", "p of successes (Holm)", "wins / ties / losses"],
        [
            [
                f"{one.second} against {one.first}",
                f"{one.pairs:,}",
                Value(one.difference),
                p_value(one.p),
                p_value(one.p_holm),
                Value(one.success_difference),
                p_value(one.success_p),
                p_value(one.success_p_holm),
                f"{one.wins:,} / {one.ties:,} / {one.losses:,}",
            ]
            for one in kept
        ],
        _units(runs),
        f"Intervals are paired. p: sign-flip permutation by cluster; of successes: {tests}.",
    )  # fmt: skip


def shop_tables(runs: Sequence[Run]) -> tuple[Table, Table]:
    """The reward's parts, and trajectories."""
    parts = [part.title for part in runs[0].figures.parts]
    spreads = [spread.title for spread in runs[0].figures.trajectory]
    return (
        Table(
            "The reward's parts over purchases, with 95 % intervals",
            ["run", *parts, "bought (%)"],
            [
                [
                    run,
                    *(Value(part.mean, 2) for part in run.figures.parts),
                    Value(run.figures.bought) if run.figures.bought else DASH,
                ]
                for run in runs
            ],
            _units(runs),
        ),
        Table(
            "Trajectories: mean of an episode, least and greatest",
            ["run", *spreads],
            [
                [
                    run,
                    *(
                        MeanAndGreatest(dash(spread.mean), whole(spread.max), whole(spread.min))
                        for spread in run.figures.trajectory
                    ),
                ]
                for run in runs
            ],
        ),
    )


def table_4(runs: Sequence[Run]) -> Table:
    """TurkingBench, in the shape and the order of the paper's table 4; what was published stands
    beside what was measured, and what was submitted where a run was played under these rules."""
    published = any(run.row4 is not None and run.row4.published is not None for run in runs)
    submitted = any(run.row4 is not None and run.row4.submitted is not None for run in runs)
    return Table(
        "Scores in %: mean over tasks under each rules, and the mean over fields",
        ["model", "modalities", "text encoding", "demonstrations", "input tokens",
         "score, paper’s rules", "score, released rules",
         *(["published"] if published else []), "over fields",
         *(["score, submitted rules"] if submitted else [])],
        [
            [
                run,
                row.modalities or DASH,
                row.encoding or DASH,
                DASH if row.demonstrations is None else str(row.demonstrations),
                whole(row.input_tokens),
                Value(row.paper),
                Value(row.released),
                *([dash(row.published)] if published else []),
                Value(row.micro),
                *([DASH if row.submitted is None else Value(row.submitted)] if submitted else []),
            ]
            for run in sorted(runs, key=_table_place)
            if (row := run.row4) is not None
        ],
        _units(runs),
    )  # fmt: skip


def _table_place(run: Run) -> int:
    """Where a run stands among the published rows; those of no row keep their order, below."""
    table = published_table()
    return table.place(table.condition_of(run.info.agent, run.info.agent_settings))


def answers_table(runs: Sequence[Run]) -> Table:
    """What became of the answers of language models."""
    asked = [(run, run.figures.answers) for run in runs if run.figures.answers is not None]
    return Table(
        "Answers of the model, by what came of them; in brackets the episodes that have such",
        ["run", "answers", "came to nothing", "valid actions", *ONE.values(), "retries", "cached",
         "reasoning tokens"],
        [
            [
                run,
                whole(answers.answers),
                share(answers.nothing_share),
                share(answers.valid_share),
                *(
                    f"{answers.outcomes[outcome]:,} ({answers.episodes_with[outcome]:,})"
                    if answers.outcomes[outcome]
                    else "0"
                    for outcome in ONE
                ),
                whole(answers.retries),
                whole(answers.cached),
                whole(answers.tokens_reasoning),
            ]
            for run, answers in asked
        ],
    )  # fmt: skip


def usage_table(runs: Sequence[Run]) -> Table:
    """Tokens, cost and time."""
    return Table(
        "What the runs took, errors included",
        ["run", "tokens in", "tokens out", "cost", "cost an episode", "time, all episodes",
         "time an episode"],
        [
            [
                run,
                whole(usage.tokens_in),
                whole(usage.tokens_out),
                dollars(usage.cost),
                dollars(usage.cost_mean),
                duration(usage.seconds),
                MeanAndGreatest(duration(usage.seconds_mean), duration(usage.seconds_max)),
            ]
            for run in runs
            for usage in [run.figures.usage]
        ],
    )  # fmt: skip
