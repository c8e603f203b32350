"""`errands turk challenge`: what pointer and keys add to filling in fields, task by task."""

import msgspec
import typer
from rich.table import Table

from errands.cli.output import Json, print_json, progress_bar, remarks, results
from errands.cli.turk.info import group
from errands.cli.turk.verify import register
from errands.turk.drivers import Pages
from errands.turk.effects.verify import evenly_spaced
from errands.turk.oracle.coverage import ORACLES, Coverage, measure_coverage
from errands.turk.scoring.metrics import RULES
from errands.turk.tasks.loader import load_tasks

__all__ = ["register"]


@group.command("challenge")
def challenge_command(
    tasks: str = typer.Argument("demo", metavar="[DIR]", help="A folder of tasks, or demo."),
    split: str = typer.Option("test_challenge", help="Which tasks; or all."),
    instances: int = typer.Option(3, min=0, help="Instances of each task, evenly; 0: all."),
    as_json: bool = Json,
) -> None:
    """Play the oracle by fields and the one with pointer and keys, and compare them.

    For each: the score (displayed fields only) and the share of the workers' answers that the
    page holds in the end, hidden fields included, under both rules. Needs a browser.

    Example: errands turk challenge tasks --instances 5
    """
    opened = load_tasks(tasks, split)
    pages = Pages("browser")
    table = Table(
        "task", "instances", "fields", *(f"{agent}: score, answered" for agent in ORACLES)
    )
    failed: list[str] = []
    try:
        for name in opened.names[:1]:
            # Without a browser there is nothing to compare: said at once, not for each page.
            pages.driver_for(opened.task(name))
        with progress_bar() as bar:
            for number, name in enumerate(opened.names, 1):
                task = opened.task(name)
                rows = evenly_spaced(len(task.instances), instances or len(task.instances))
                coverage = {
                    name: measure_coverage(play, task, rows, pages)
                    for name, play in ORACLES.items()
                }
                bar("playing tasks", number, len(opened))
                failed += [f"{name} {error}" for one in coverage.values() for error in one.errors]
                if as_json:
                    print_json({"task": name, **msgspec.to_builtins(coverage)})
                last = coverage["pointer-oracle"]
                cells = [_cell(one) for one in coverage.values()]
                table.add_row(name, str(last.instances), str(last.fields), *cells)
    finally:
        pages.close()
    if not as_json:
        results.print(table)
        results.print(f"Score and answered are {' / '.join(RULES)}.")
    for error in failed[:20]:
        remarks.print(error)


def _cell(one: Coverage) -> str:
    return f"{_both(one.scores)}, {_both(one.answered)}"


def _both(figures: dict[str, float | None]) -> str:
    shown = ("-" if value is None else f"{value:.2f}" for value in figures.values())
    return " / ".join(shown)
