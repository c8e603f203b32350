"""`errands turk compare`: plays under both drivers, outside what any proof has seen."""

from contextlib import closing
from pathlib import Path

import msgspec
import typer

from errands.agents.random_agent import random_action
from errands.cli.output import json_lines, print_json, progress_bar, results, table
from errands.cli.turk.verify import app, shard_of
from errands.errors import DataError
from errands.turk.drivers import Pages, start_browser
from errands.turk.effects.plays import DriverComparison, compare_drivers
from errands.turk.tasks.loader import load_tasks

__all__ = ["app"]


@app.command("compare")
def compare_command(
    tasks: str = typer.Argument("demo", metavar="[TASKS]", help="A folder of tasks, or demo."),
    plays: int = typer.Option(50, min=1, help="Plays of the random agent, and as many walks."),
    split: str = typer.Option("all", help="train, test, test_challenge, subjective or all."),
    shard: str = typer.Option("1/1", metavar="K/N", help="Only every N-th task, from the K-th on."),
    out: Path | None = typer.Option(
        None, help="A file of JSON lines, one a task: tasks that it has already are passed over."
    ),
    as_json: bool = json_lines("task"),
) -> None:
    """Check the proofs from outside: play tasks under both drivers and compare every step.

    Only tasks that `auto` plays without a browser are played: an agent that fills in what it sees,
    and walks that do anything anywhere, on rows and seeds that the proofs have not seen. Needs a
    browser. Ends with 1 where anything differs.

    Example: errands turk compare tasks --plays 50 --shard 1/2 --out compared.jsonl
    """
    opened = load_tasks(tasks, split)
    known = {one.task: one for one in _read(out)}
    names = shard_of(opened.names, shard)
    with (
        closing(start_browser(pictures=False)) as browser,
        closing(Pages("auto", browser=lambda: browser)) as pages,
        progress_bar() as bar,
    ):
        for number, name in enumerate(names, 1):
            task = opened.task(name)
            if name not in known and pages.choice(task) == "dom":
                dom = pages.driver_for(task)
                known[name] = compare_drivers(task, dom, browser, random_action, plays)
                _append(out, known[name])
            if as_json and name in known:
                print_json(known[name])
            bar("comparing", number, len(names))
    compared = [known[name] for name in names if name in known]
    if not as_json:
        _show(compared, len(names))
    if any(one.differences for one in compared):
        raise typer.Exit(1)


def _read(path: Path | None) -> list[DriverComparison]:
    if path is None or not path.exists():
        return []
    try:
        lines = path.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=DriverComparison) for line in lines]
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeDecodeError) as failure:
        raise DataError(f"{path} cannot be read ({failure}); name another --out.") from None


def _append(path: Path | None, comparison: DriverComparison) -> None:
    if path is not None:
        try:
            with path.open("ab") as file:
                file.write(msgspec.json.encode(comparison) + b"\n")
        except OSError as failure:
            raise DataError(f"{path} cannot be written ({failure.strerror}).") from None


def _show(compared: list[DriverComparison], tasks: int) -> None:
    rows = [
        (
            one.task,
            *(
                f"{count:,}"
                for count in (one.agent_plays + one.walks, one.actions, one.unseen_rows)
            ),
            str(len(one.differences)),
            one.differences[0] if one.differences else "",
        )
        for one in compared
    ]
    headings = ("task", "plays", "actions", "rows not in the proof", "differences", "the first")
    results.print(table(*headings, rows=rows))
    differing = sum(bool(one.differences) for one in compared)
    results.print(
        f"{len(compared)} of {tasks} tasks run without a browser; {differing} of them differ"
        " from it."
    )
