"""How commands talk: results on standard output, progress and remarks on standard error."""

import contextlib
import json
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["Json", "print_json", "program", "progress_bar", "remarks", "results"]

Json = typer.Option(False, "--json", help="Print JSON instead of a table.")

# Paths and product texts may hold brackets: nothing is taken for markup.
results = Console(highlight=False, markup=False)
remarks = Console(stderr=True, highlight=False, markup=False)


def program() -> str:
    """How the user can call this command again: by name where that is on the path."""
    if shutil.which("errands"):
        return "errands"
    return "python -m errands" if sys.argv[0].endswith("__main__.py") else sys.argv[0]


def print_json(value: Any) -> None:
    """One JSON value on one line of standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


class _Bar:
    """A progress bar that is told stages, as the builder reports them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage not in self._tasks:
            for task in self._tasks.values():
                held = self._progress.tasks[task]
                self._progress.update(task, total=held.total or 1, completed=held.total or 1)
            self._tasks[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)


@contextlib.contextmanager
def progress_bar() -> Iterator[_Bar]:
    """A bar on standard error; silent where that is not a terminal."""
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=remarks, disable=not remarks.is_terminal) as progress:
        yield _Bar(progress)
