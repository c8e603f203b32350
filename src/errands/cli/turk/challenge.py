"""`errands turk challenge`: what pointer and keys add to filling in fields, task by task."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final

import typer

from errands.cli.output import json_lines, print_json, progress_bar, remarks, results, table
from errands.cli.turk.compare import app
from errands.cli.turk.verify import figure_pair
from errands.turk.drivers import Pages
from errands.turk.effects.rows import evenly_spaced
from errands.turk.oracle.coverage import ORACLES, Coverage, measure_coverage
from errands.turk.scoring.metrics import DISPLAYED, RULES
from errands.turk.tasks.loader import load_tasks

__all__ = ["app"]

_NAMED: Final = 5
"""So many fields are named for one reason."""


@app.command("challenge")
def challenge_command(
    tasks: str = typer.Argument("demo", metavar="[TASKS]", help="A folder of tasks, or demo."),
    split: str = typer.Option("test_challenge", help="Which tasks; or all."),
    instances: int = typer.Option(3, min=0, help="Instances of each task, evenly; 0: all."),
    as_json: bool = json_lines("task"),
) -> None:
    """Play the oracle by fields and the one with pointer and keys, and compare them.

    For each: the score under paper and released rules (displayed fields) and under submitted
    rules (what the page would send), and the share of the workers' answers that the page holds
    in the end, displayed or not. The second oracle rehearses each page on a copy, with a bounded
    number of trials; fields that it does not get right are named with the reason. Needs a browser.

    Example: errands turk challenge tasks --instances 5
    """
    opened = load_tasks(tasks, split)
    cells: list[tuple[str, ...]] = []
    unreached: list[str] = []
    failed: list[str] = []
    with closing(Pages("browser")) as pages, progress_bar() as bar:
        for name in opened.names[:1]:
            # Without a browser there is nothing to compare: said at once, not for each page.
            pages.driver_for(opened.task(name))
        for number, name in enumerate(opened.names, 1):
            task = opened.task(name)
            rows = evenly_spaced(len(task.instances), instances or len(task.instances))
            coverage = {
                oracle: measure_coverage(play, task, rows, pages)
                for oracle, play in ORACLES.items()
            }
            bar("playing tasks", number, len(opened))
            failed += [f"{name} {error}" for one in coverage.values() for error in one.errors]
            if as_json:
                print_json({"task": name, **coverage})
            last = coverage["pointer-oracle"]
            counts = (str(last.instances), str(last.fields))
            cells.append((name, *counts, *map(_cell, coverage.values())))
            unreached += _reasons(name, last.unreached)
    if not as_json:
        headings = ("task", "instances", "fields")
        results.print(
            table(*headings, *(f"{name}: score, answered" for name in ORACLES), rows=cells)
        )
        results.print(f"Score is {' / '.join(RULES)}, answered is {' / '.join(DISPLAYED)}.")
        for line in unreached:
            results.print(line)
    for error in failed[:20]:
        remarks.print(error)


def _reasons(task: str, unreached: Mapping[str, str]) -> Iterator[str]:
    """What the second oracle did not get right of a task, a line a reason."""
    for reason in dict.fromkeys(unreached.values()):
        names = [name for name in unreached if unreached[name] == reason]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"{task}: {', '.join(names[:_NAMED])}{more}: {reason}."


def _cell(one: Coverage) -> str:
    return f"{figure_pair(one.scores)}, {figure_pair(one.answered)}"
