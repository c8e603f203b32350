"""The tables of a report, which the page and the Markdown show alike."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from errands.agents.llm.turk.conditions import published_table
from errands.reports.content import Run
from errands.reports.formatting import DASH, dash, dollars, duration, whole
from errands.reports.statistics.estimate import Estimate

__all__ = ["Cell", "MeanAndGreatest", "Table", "Value", "shop_tables", "table_4", "usage_table"]


class Value(NamedTuple):
    """A mean that is shown with its interval."""

    estimate: Estimate
    digits: int = 1


class MeanAndGreatest(NamedTuple):
    """The mean of something counted in each episode, and the greatest of all."""

    mean: str
    greatest: str


Cell = str | Run | Value | MeanAndGreatest


class Table(NamedTuple):
    """The first cell of a row names it."""

    caption: str
    head: Sequence[str]
    rows: Iterable[Sequence[Cell]]


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
        ),
        Table(
            "Trajectories: mean and greatest of an episode",
            ["run", *spreads],
            [
                [
                    run,
                    *(
                        MeanAndGreatest(dash(spread.mean), whole(spread.max))
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
    )  # fmt: skip


def _table_place(run: Run) -> int:
    """Where a run stands among the published rows; those of no row keep their order, below."""
    table = published_table()
    return table.place(table.condition_of(run.info.agent, run.info.agent_settings))


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
