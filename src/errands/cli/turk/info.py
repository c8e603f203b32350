"""`errands turk`: look at sets of crowdsourcing tasks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from errands.cli.output import (
    Force,
    Json,
    print_json,
    refuse_to_replace,
    remarks,
    results,
    table,
    write_new,
)
from errands.reports.html.turk_chart import draw
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.paper_figures import figure_3, table_2
from errands.turk.tasks.splits import SPLITS
from errands.turk.tasks.statistics import Spread, TaskSetStatistics, ranked, survey

__all__ = ["app"]

app = typer.Typer(
    name="turk",
    help="Crowdsourcing tasks: pages to fill in, and how people filled them in.",
    no_args_is_help=True,
)


@app.callback()
def _turk() -> None:
    pass


@app.command()
def info(
    tasks: str = typer.Argument(
        "demo",
        metavar="[TASKS]",
        help="A folder of tasks, one task's folder, demo or turkingbench.",
    ),
    split: str = typer.Option("all", help=f"One of {', '.join(SPLITS)}."),
    each: bool = typer.Option(True, help="List every task."),
    figures: bool = typer.Option(
        False, "--figures", help="Only the paper's figure 3 and table 2, with what was published."
    ),
    plot: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw the figures, too."),
    force: bool = Force,
    as_json: bool = Json,
) -> None:
    """Say what a set of tasks holds: instances, fields and their types, length of templates.

    Fields are counted before any script runs. Exit status 1 where a folder is no usable task
    (a file is missing or broken): it is named, and what is played here is without it.

    \b
    Examples:
      errands turk info
      errands turk info turkingbench --split test --plot test.svg
      errands turk info turkingbench --figures
    """
    refuse_to_replace(plot, force)
    opened = load_tasks(tasks, split)
    with remarks.status("reading the tasks") as status:
        statistics = survey(opened, progress=lambda name: status.update(f"reading {name}"))
    if plot is not None:
        write_new(plot, draw(statistics), replace=True)
        remarks.print(f"The plot is in {plot}.")
    if as_json:
        paper = {"figure_3": figure_3(statistics), "table_2": table_2(statistics)}
        print_json(paper if figures else _facts(statistics))
    elif figures:
        _show_figures(statistics)
    else:
        _show(statistics, each)
    for problem in statistics.problems:
        left = " Left out." if problem.fatal else ""
        remarks.print(f"{problem.task}: {problem.message}{left}")
    if statistics.broken:
        # A script must notice that this is not all of it.
        raise typer.Exit(1)


def _facts(statistics: TaskSetStatistics) -> dict[str, Any]:
    return {
        "place": statistics.place,
        "split": statistics.split,
        "tasks": len(statistics.tasks),
        "instances": statistics.instances,
        "answers": statistics.answers,
        "spreads": statistics.spreads,
        "types": statistics.types,
        "each": statistics.tasks,
        "missing": statistics.missing,
        "problems": statistics.problems,
    }


def _show(statistics: TaskSetStatistics, each: bool) -> None:
    if each:
        _list(statistics)
    split = "" if statistics.split == "all" else f", split {statistics.split}"
    measures = [
        ("tasks", f"{len(statistics.tasks):,}"),
        *([("left out", f"{len(statistics.broken):,}")] if statistics.broken else []),
        ("instances", f"{statistics.instances:,}"),
        ("answers of workers", f"{statistics.answers:,}"),
        *((name, "", *_figures(spread)) for name, spread in statistics.spreads.items()),
    ]
    headings: tuple[str, ...] = ("measure", "total", "mean", "median", "least", "most")
    title = f"Tasks of {statistics.place}{split}"
    results.print(table(*headings, rows=measures, left=1, title=title))
    whole = sum(fact.on_pages for fact in statistics.types) or 1
    types = [
        (fact.type, *(f"{count:,}" for count in (fact.fields, fact.tasks, fact.on_pages)),
         f"{fact.on_pages / whole:.1%}")
        for fact in statistics.types
    ]  # fmt: skip
    headings = ("type", "fields", "in tasks", "on all pages", "share")
    results.print(table(*headings, rows=types, left=1, title="Fields by type"))
    unplaced = [
        f"{task.name}: Answer.{name}" for task in statistics.tasks for name in task.unplaced_fields
    ]
    if unplaced:
        results.print(
            f"{len(unplaced):,} answer column{' has' if len(unplaced) == 1 else 's have'} no field"
            f" in the template (made by a script, or left over): {_first(unplaced)}"
        )
    if statistics.missing:
        named = _first(statistics.missing)
        results.print(f"{len(statistics.missing):,} tasks of this split are not here: {named}")
    if not (unplaced or statistics.missing or statistics.problems):
        results.print("Nothing is wrong: every variable has a column, every answer a field.")


def _first(names: Sequence[str]) -> str:
    """The first three."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _show_figures(statistics: TaskSetStatistics) -> None:
    rows = [
        (one.measure, *_figures(Spread(one.ours, one.published))[:2])
        for one in figure_3(statistics)
    ]
    headings: tuple[str, ...] = ("measure", "here", "published")
    results.print(table(*headings, rows=rows, left=1, title="Figure 3. The tasks"))
    places = [
        (one.type, *(f"{count:,}" for count in (one.on_pages, one.place, one.published_place)),
         f"{one.fields:,}")
        for one in table_2(statistics)
    ]  # fmt: skip
    headings = ("type", "on all pages", "place", "published place", "on templates")
    results.print(table(*headings, rows=places, left=1, title="Table 2. Fields by type"))
    results.print("Why some differ: docs/guides/form-pages.md, The paper's figures.")


def _list(statistics: TaskSetStatistics) -> None:
    rows = []
    for task in ranked(statistics.tasks):
        counts = (task.instances, sum(task.fields.values()), task.characters)
        rows.append((task.name, task.split, *(f"{count:,}" for count in counts)))
    rows += [(name, "left out", "", "", "") for name in statistics.broken]
    headings = ("task", "split", "instances", "fields", "characters")
    results.print(table(*headings, rows=rows, left=2, title="Every task"))


def _figures(spread: Spread) -> list[str]:
    """Four figures, with a decimal where they are small."""
    return [
        f"{figure:,.0f}" if figure == int(figure) or figure >= 1000 else f"{figure:,.1f}"
        for figure in (spread.mean, spread.median, spread.least, spread.most)
    ]
