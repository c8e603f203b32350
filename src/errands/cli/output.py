"""How commands talk: results on standard output, progress and remarks on standard error."""

import contextlib
import json
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from errands.errors import DataError, SettingError

__all__ = [
    "Force",
    "Json",
    "answer",
    "counting",
    "json_lines",
    "print_json",
    "printable",
    "program",
    "progress",
    "progress_bar",
    "refuse_to_replace",
    "remarks",
    "results",
    "table",
    "write_new",
]

Force = typer.Option(False, "--force", help="Replace a file that is there already.")
Json = typer.Option(False, "--json", help="Print one JSON document.")


def json_lines(what: str) -> Any:
    """The option `--json` of a command that prints as it goes."""
    return typer.Option(False, "--json", help=f"Print a line of JSON for each {what}.")


class _PlainConsole(Console):
    """Takes nothing for markup, as paths and product texts may hold brackets, and leaves it to the
    terminal to wrap lines, as they may hold commands to copy."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        is_text = all(isinstance(each, str | Text) for each in objects)
        super().print(*objects, **{"soft_wrap": is_text, **options})


results = _PlainConsole()
remarks = _PlainConsole(stderr=True)


def program() -> str:
    """How the user can call this command again: by name where that is on the path."""
    if shutil.which("errands"):
        return "errands"
    called = sys.argv[0]
    is_script = Path(called).name == "errands"
    return shlex.quote(called) if is_script else f"{shlex.quote(sys.executable)} -m errands"


def print_json(value: Any) -> None:
    """One JSON value on one line of standard output; records and paths may be in it."""
    typer.echo(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else msgspec.to_builtins(value, enc_hook=_plain)


def answer(as_json: bool, record: Any, *lines: str) -> None:
    """What a command found: as JSON, or in words."""
    if as_json:
        print_json(record)
        return
    for line in lines:
        results.print(line)


def table(
    *headings: str,
    rows: Iterable[Iterable[str]] = (),
    left: int | None = None,
    title: str = "",
    whole: bool = False,
) -> Table:
    """A table; after the `left` columns, all stand on the right, as numbers do.

    With `whole`, the first column has names that are typed elsewhere, and are never broken.
    """
    made = Table(*headings, title=title or None)
    for column in made.columns:
        column.overflow = "fold"
    for column in made.columns[left:] if left is not None else ():
        column.justify = "right"
    made.columns[0].no_wrap = whole
    for row in rows:
        made.add_row(*row)
    return made


def printable(text: str) -> str:
    """A text of others' for a terminal: nothing in it acts there."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in text)


def refuse_to_replace(path: Path | None, force: bool) -> None:
    """Before the work, not after it: a file that is there is not lost by mistake."""
    if path is not None and path.is_file() and not force:
        raise SettingError(f"{path} is there already; add --force to replace it.")


def write_new(path: Path, text: str, *, replace: bool) -> None:
    """Write a file; one that is there is not lost by mistake."""
    try:
        with path.open("w" if replace else "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise SettingError(f"{path} is there already; --force overwrites it.") from None
    except OSError as failure:
        raise DataError(f"{path} cannot be written ({failure.strerror}).") from None


def progress(*columns: ProgressColumn, transient: bool = True, quiet: bool = False) -> Progress:
    """A bar on standard error, with what is said behind it; silent where that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        console=remarks,
        transient=transient,
        disable=quiet or not remarks.is_terminal,
    )


def counting(*, transient: bool = True, quiet: bool = False) -> Progress:
    """A bar that counts, and has room for a `remark` about each task."""
    remark = TextColumn("{task.fields[remark]}")
    times = TimeElapsedColumn(), TimeRemainingColumn()
    return progress(MofNCompleteColumn(), remark, *times, transient=transient, quiet=quiet)


class _StageBar:
    """A progress bar that is told stages, as the builder reports them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage not in self._tasks:
            for task in self._tasks.values():
                whole = self._progress.tasks[task].total or 1
                self._progress.update(task, total=whole, completed=whole)
            self._tasks[stage] = self._progress.add_task(f"{stage:<20}", total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)


@contextlib.contextmanager
def progress_bar() -> Iterator[_StageBar]:
    """A bar for each stage of a piece of work."""
    with progress(MofNCompleteColumn(), TimeElapsedColumn(), transient=False) as shown:
        yield _StageBar(shown)
