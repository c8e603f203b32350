"""The paper's human rows, of runs of people: how well they shop, and how.

    rows = people_rows(["runs/people", "runs/rule"])
    to_markdown(rows)

A run of people is an export of a site (`errands crowd export demonstrations`) or of the original's
logs (`errands crowd import-logs`). Everybody in it is one row, the better half of them another, the
best and the last of them one each, as the paper tells of its workers; every other run is one row.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from errands.errors import DataError, SettingError
from errands.experiments.table import interval_text
from errands.reports.formatting import dash
from errands.reports.markdown import table as markdown_table
from errands.reports.statistics.columns import PARTS, Array, Columns, read_columns
from errands.reports.statistics.estimate import Clusters, Estimate, estimate
from errands.reports.statistics.figures import TRAJECTORY
from errands.runs.store.base import Store
from errands.runs.store.places import open_run

__all__ = ["Counted", "PeopleRow", "people_rows", "to_markdown"]

_COUNTED: Final = ("states", "items", "searches", "steps")
_PAPER: Final = {
    "everybody": "75.5 / 50.0 %",
    "experts": "82.1 / 59.6 %",
    "the best": "87.4 / 69.5 %",
    "the last": "45.8 / 10.0 %",
    "rule": "45.6 / 9.6 %",
    "il": "59.9 / 29.1 %",
    "rl": "62.4 / 28.7 %",
}


class Counted(msgspec.Struct, frozen=True):
    """What is counted in each episode: on average, at most and at least."""

    mean: float
    max: float
    min: float


class PeopleRow(msgspec.Struct, frozen=True, kw_only=True):
    """Some people, or an agent."""

    name: str
    episodes: int
    people: int | None
    """How many; None for an agent."""
    score: Estimate
    success: Estimate
    parts: dict[str, float | None]
    """Of the reward (type, attributes, options, price), 0 to 100, of purchases where they count."""
    counted: dict[str, Counted]
    """States visited, items checked, searches, steps."""
    paper: str = ""


def people_rows(places: Sequence[str | Path], *, include_trials: bool = False) -> list[PeopleRow]:
    """The rows of these runs; a worker's trial counts only if it is to."""
    rows: list[PeopleRow] = []
    has_people = False
    for place in places:
        with closing(open_run(str(place))) as store:
            if store.info.domain != "shop":
                raise SettingError(f"{place} is a run of form pages; expected one of the shop.")
            columns = read_columns(store)
            if store.info.agent == "human":
                has_people = True
                rows += _of_people(str(place), store, columns, include_trials)
            else:
                agent = store.info.agent
                rows.append(_row(agent, columns, ~columns.failed, None, _PAPER.get(agent, "")))
    if not has_people:
        raise SettingError(
            "None of these runs is of people; export one with `errands crowd export"
            " demonstrations`, or from the original's logs with `errands crowd import-logs`."
        )
    return rows


def _of_people(
    place: str, store: Store, columns: Columns, include_trials: bool
) -> Iterator[PeopleRow]:
    told = {one.number: one.parts for one in store.summaries()}
    parts = [told[number] for number in columns.number.tolist()]
    counts = np.array([include_trials or not one.get("is_trial", False) for one in parts])
    counts &= ~columns.failed
    if not counts.any():
        raise DataError(
            f"{place} has nothing but trials of workers; add --include-trials to count them."
        )
    workers = np.array([str(one.get("worker", "?")) for one in parts])
    names, sizes = np.unique(workers[counts], return_counts=True)
    averages = {
        number: (float(columns.reward[counts & (workers == name)].mean()), int(size))
        for number, (name, size) in enumerate(zip(names, sizes, strict=True))
    }
    # An export of experts alone has no better half that means anything.
    who = str(store.info.agent_settings.get("who", ""))
    everybody = "experts" if who.startswith("experts") else "everybody"
    yield _row(everybody, columns, counts, len(names), _PAPER[everybody])
    if len(names) < 2:
        return
    if everybody == "everybody":
        best = _better_half(averages)
        chosen = counts & np.isin(workers, names[best])
        yield _row("experts", columns, chosen, len(best), _PAPER["experts"])
    ranked = sorted(averages, key=lambda number: (-averages[number][0], number))
    for name, number in (("the best", ranked[0]), ("the last", ranked[-1])):
        yield _row(name, columns, counts & (workers == names[number]), 1, _PAPER[name])


def _better_half(averages: Mapping[int, tuple[float, int]]) -> list[int]:
    """The experts, as a site counts them: by mean reward, rounded up; among equal ones those with
    more episodes come first."""
    order = sorted(averages, key=lambda one: (-averages[one][0], -averages[one][1], one))
    return sorted(order[: (len(order) + 1) // 2])


def _row(name: str, columns: Columns, chosen: Array, people: int | None, paper: str) -> PeopleRow:
    rewards = columns.reward[chosen]
    if not len(rewards):
        raise DataError(f"All episodes of {name} ended in an error.")
    labels = columns.cluster[chosen]
    bought = {title: columns.parts[chosen, place] for place, title in enumerate(PARTS.values())}
    won = (rewards >= 1).astype(float)
    return PeopleRow(
        name=name,
        episodes=len(rewards),
        people=people,
        score=estimate(Clusters(rewards, labels), f"{name} score").times(100),
        success=estimate(Clusters(won, labels), f"{name} success", is_rate=True).times(100),
        parts={title: _mean(values) for title, values in bought.items()},
        counted={each: _counted(getattr(columns, each)[chosen]) for each in _COUNTED},
        paper=paper,
    )


def _mean(values: Array) -> float | None:
    there = values[~np.isnan(values)]
    return 100 * float(there.mean()) if len(there) else None


def _counted(values: Any) -> Counted:
    return Counted(float(values.mean()), float(values.max()), float(values.min()))


def to_markdown(rows: Sequence[PeopleRow]) -> str:
    """The two tables of the paper: scores with their parts, and trajectories."""
    parts = list(rows[0].parts)
    lines = [
        [
            _title(row),
            f"{row.episodes:,}",
            interval_text(row.score),
            interval_text(row.success, " %"),
            *(dash(row.parts[part]) for part in parts),
            row.paper,
        ]
        for row in rows
    ]
    head = ["who", "episodes", "score (95 %)", "success rate (95 %)", *parts, "the paper"]
    spreads = [
        [
            _title(row),
            *(
                f"{one.mean:.1f} / {one.max:.0f} / {one.min:.0f}"
                for one in (row.counted[name] for name in _COUNTED)
            ),
        ]
        for row in rows
    ]
    titles = [TRAJECTORY[name] for name in _COUNTED]
    return "\n".join(
        [
            "## People, and agents on what they shopped for",
            "",
            *markdown_table(head, lines),
            "Intervals are over products. Experts: the better half of the workers by their mean"
            " reward. The paper's figures are of 500 goals of the full catalogue: 13 workers, 7 of"
            " them experts; the best and the last are of those. Its experts take 11.3 steps on"
            " average, its IL+RL 4.5.",
            "",
            "Trajectories: average / maximum / minimum of an episode.",
            "",
            *markdown_table(["who", *titles], spreads),
        ]
    )


def _title(row: PeopleRow) -> str:
    return row.name if row.people is None else f"{row.name} ({row.people:,})"
