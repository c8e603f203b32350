"""`errands data`: the original data sets, from a server or a folder onto this machine."""

import contextlib
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.filesize import decimal
from rich.progress import DownloadColumn, TaskID, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from errands.cli.completion import dataset_names
from errands.cli.output import Json, print_json, program, progress, progress_bar, results
from errands.data import DATASETS, Dataset, FetchReport, fetch, find_dataset
from errands.errors import CatalogError, SettingError
from errands.home import catalogs_dir, data_dir
from errands.progress import Progress as OnProgress

__all__ = ["app", "next_command"]

_HELP = """Bring a data set of WebShop or TurkingBench onto this machine, checked.

Errands ships no copy of them: name a server (--url) or a folder (--from) that has the files.
Interrupted downloads are continued; files that are there and good are left alone. Without NAME,
the data sets are listed. Examples:

\b
  errands data
  errands data webshop-1k --from ~/Downloads/webshop --build
  errands data webshop --url https://example.org/data
  errands data turkingbench --from turking-bench-main.zip
"""
_NAMES = [dataset.name for dataset in DATASETS]


app = typer.Typer()


@app.command("data", help=_HELP)
def _data(
    name: str | None = typer.Argument(
        None, metavar="[NAME]", help=f"{', '.join(_NAMES)}.", autocompletion=dataset_names
    ),
    url: str | None = typer.Option(
        None,
        metavar="URL",
        help="Server that has the files at URL/NAME/FILE or URL/FILE, or a task archive's address"
        " (default: $ERRANDS_DATA_URL).",
    ),
    folder: Path | None = typer.Option(
        None, "--from", metavar="FOLDER", help="Folder (or task archive) to copy from."
    ),
    out: Path | None = typer.Option(
        None, metavar="DIR", help="Where the files go (default: the cache)."
    ),
    force: bool = typer.Option(
        False, "--force", help="Bring the files again although they are there."
    ),
    no_verify: bool = typer.Option(
        False, "--no-verify", help="Take files that are none of the known versions."
    ),
    build: bool = typer.Option(
        False, "--build", help="Then build its catalogue, which has the data set's name."
    ),
    as_json: bool = Json,
) -> None:
    if name is None:
        _list(as_json)
        return
    dataset = find_dataset(name)
    if build and not dataset.files:
        raise SettingError(
            f"{name} has tasks, of which no catalogue is built; leave out --build. `errands turk"
            f" info {name}` tells what it holds."
        )
    with _bars() as show:
        report = fetch(
            dataset,
            url=url,
            folder=folder,
            out=out,
            force=force,
            verify=not no_verify,
            progress=show,
        )
    built = _build(dataset, report, force) if build else None
    if as_json:
        print_json({**report.as_dict(), **({} if built is None else {"catalog": built})})
    else:
        _print(dataset, report, built)


def _build(dataset: Dataset, report: FetchReport, force: bool) -> Path:
    """The catalogue of a data set, built unless it was of these files before."""
    from errands.shop.build.builder import build_catalog
    from errands.shop.catalog.catalog import Catalog

    place = catalogs_dir() / dataset.name
    files: Any = {file.option[2:]: report.folder / file.name for file in dataset.files}
    with contextlib.suppress(CatalogError):
        sources = {source.sha256 for source in Catalog.open(place).manifest.sources}
        if not force and sources == {file.sha256 for file in report.files}:
            return place
    with progress_bar() as bar:
        build_catalog(place, **files, replace=place.exists(), progress=bar)
    return place


def next_command(dataset: Dataset, folder: Path) -> str | None:
    """The command that makes use of the files, where there is one."""
    if not dataset.files:
        return None
    words = ["catalog", "build", str(catalogs_dir() / dataset.name)]
    for file in dataset.files:
        words += [file.option, str(folder / file.name)]
    return f"{program()} {shlex.join(words)}"


def _print(dataset: Dataset, report: FetchReport, built: Path | None) -> None:
    if report.nothing_to_do:
        typer.echo(f"{dataset.name} is already in {report.folder}; nothing to do.")
    else:
        typer.echo(f"{dataset.name} is now in {report.folder}:")
    words = {
        "sha256": "checksum right",
        "git-blob": "checksum right",
        "size": "size right, checksum not known",
        "unknown": "nothing known to check against",
        "differs": "NOT a known version",
    }
    if dataset.tasks:
        checks = Counter(file.check for file in report.files)
        total = decimal(sum(file.bytes for file in report.files))
        typer.echo(f"  {len(report.files) // 2} of {dataset.tasks} tasks, {total}")
        for check, count in checks.items():
            typer.echo(f"  {count} files: {words[check]}")
    else:
        for file in report.files:
            typer.echo(f"  {file.name}  {decimal(file.bytes)}  {file.status}, {words[file.check]}")
    if report.nothing_to_do and (catalogs_dir() / dataset.name).exists():
        built = catalogs_dir() / dataset.name
    if built is not None:
        typer.echo(f"Its catalogue is {built}.")
        typer.echo(f"Next:\n  {program()} demo --data {dataset.name}")
    elif command := next_command(dataset, report.folder):
        typer.echo(f"Next:\n  {command}")


def _list(as_json: bool) -> None:
    rows = [(dataset, data_dir(dataset.name), _there(dataset)) for dataset in DATASETS]
    if as_json:
        sets = [
            {"name": dataset.name, "folder": folder, "there": there, "of": of}
            for dataset, folder, (there, of) in rows
        ]
        print_json({"datasets": sets})
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "what it is", "here"):
        table.add_column(heading, no_wrap=heading != "what it is")
    for dataset, _, (there, of) in rows:
        kind = "tasks" if dataset.tasks else "files"
        table.add_row(dataset.name, dataset.summary, f"{there} of {of} {kind}")
    results.print(table)
    results.print(f"\nKept in {data_dir('NAME')}. Get one: {program()} data NAME")


def _there(dataset: Dataset) -> tuple[int, int]:
    """How many of the files or tasks are in the cache (looked at, not checked)."""
    folder = data_dir(dataset.name)
    if dataset.tasks:
        return sum(1 for _ in folder.glob("tasks/*/template.html")), dataset.tasks
    return sum((folder / file.name).is_file() for file in dataset.files), len(dataset.files)


@contextmanager
def _bars() -> Iterator[OnProgress]:
    """A progress bar on standard error for the thing that is being done, if anybody watches."""
    with progress(DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as bars:
        current: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in current:
                for task in current.values():
                    bars.remove_task(task)
                current.clear()
                current[what] = bars.add_task(what, total=total)
            bars.update(current[what], completed=done, total=total)

        yield show
