"""`errands experiment`: the paper's tables on our data, each one command."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Printed
from rich.text import Text

from errands.cli.output import Json, print_json, remarks, results
from errands.cli.train.progress import need_torch
from errands.errors import SettingError

__all__ = ["register"]

app = typer.Typer(
    name="experiment",
    no_args_is_help=True,
    help="The paper's tables on our data: training, testing, comparing, in one command each.",
)

Out = typer.Option(None, help="The folder for trainings and runs (default: experiment).")
Quick = typer.Option(
    False, "--quick", help="Minutes instead of an hour: one seed, short trainings."
)
Seeds = typer.Option(None, min=1, help="How many trainings of each kind (default: 3).")
Catalog = typer.Option("", help="Another catalogue than the demo, with human goals.")
Workers = typer.Option(2, min=1, help="Jobs at once, a core each.")
Check = typer.Option(False, "--check", help="Exit with status 1 if a claim does not hold.")


def register(main: typer.Typer) -> None:
    main.add_typer(app)


@app.command("table")
def table(
    out: Path | None = Out,
    quick: bool = Quick,
    seeds: int | None = Seeds,
    catalog: str = Catalog,
    workers: int = Workers,
    check: bool = Check,
    as_json: bool = Json,
) -> None:
    """Rule, IL, RL, IL+RL, RNN and the choice oracle on held-out goals, over seeds.

    Below an hour on two cores, with --quick some minutes. Finished jobs stay in the folder: the
    same command goes on with what is left, and the other experiments use them, too.

    Examples:

    \b
      errands experiment table
      errands experiment table --quick --check
    """
    _run("table", out, quick, seeds, catalog, workers, check, as_json)


def _add(name: str, description: str) -> None:
    """A command of an experiment that claims nothing: all of them are called alike."""

    @app.command(name, help=f"{description}\n\nExamples:\n\n\b\n  errands experiment {name}")
    def experiment(
        out: Path | None = Out,
        quick: bool = Quick,
        seeds: int | None = Seeds,
        catalog: str = Catalog,
        workers: int = Workers,
        as_json: bool = Json,
    ) -> None:
        _run(name, out, quick, seeds, catalog, workers, False, as_json)


_add(
    "queries",
    "The choice oracle with four sources of queries (the paper's table 5).\n\n"
    "The instruction, the search model's first, and the first and last query of a shopper (the"
    " scripted one: there are no people in the demo).",
)
_add("chance", "Greedy search and choice against sampled ones (table 7).")
_add("pictures", "Imitation with and without pictures (table 8).")
_add("search", "Imitation with and without a learnt search.")


def _run(
    name: str,
    out: Path | None,
    quick: bool,
    seeds: int | None,
    catalog: str,
    workers: int,
    check: bool,
    as_json: bool,
) -> None:
    need_torch()
    from errands.experiments.config import FULL, QUICK
    from errands.experiments.paper import EXPERIMENTS
    from errands.experiments.scheduler import costs, open_folder, run_jobs
    from errands.experiments.table import to_markdown
    from errands.runs.store.lock import RunLock

    config = msgspec.structs.replace(QUICK if quick else FULL, catalog=catalog)
    if seeds is not None:
        config = msgspec.structs.replace(config, seeds=tuple(range(seeds)))
    folder = out or Path("experiment-quick" if quick else "experiment")
    experiment = EXPERIMENTS[name]
    jobs = experiment.jobs(config)
    open_folder(folder, config)
    with RunLock(folder), _bars(len(jobs)) as show:
        try:
            run_jobs(jobs, folder, config, workers, show)
        except KeyboardInterrupt:
            raise SettingError(
                f"Stopped; what is done is in {folder}, and the same command goes on."
            ) from None
    read = experiment.read(folder, config)
    names = {job.name for job in jobs}
    cpu = sum(cost.cpu for name, cost in costs(folder).items() if name in names)
    (folder / f"{name}.md").write_text(to_markdown(read), encoding="utf-8")
    if as_json:
        print_json(
            {
                **msgspec.to_builtins(read),
                "holds": read.holds,
                "cpu_seconds": cpu,
                "work": {job: cost._asdict() for job, cost in costs(folder).items()},
            }
        )
    else:
        _show(read)
        results.print(
            f"{len(jobs)} jobs, {cpu / 60:.0f} minutes of CPU time; in {folder}, the"
            f" table as {name}.md. `errands report {folder}/run-...` tells more of any run.",
            soft_wrap=True,
        )
    if check and not read.holds:
        raise typer.Exit(1)


@contextmanager
def _bars(total: int) -> Iterator[Callable[[Mapping[str, float], int], None]]:
    """A bar for everything, and one for each running job."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=remarks,
        transient=True,
    ) as shown:
        whole = shown.add_task("everything", total=total)
        bars: dict[str, Any] = {}

        def show(running: Mapping[str, float], done: int) -> None:
            for name in bars.keys() - running.keys():
                shown.remove_task(bars.pop(name))
            for name, share in running.items():
                if name not in bars:
                    bars[name] = shown.add_task(name, total=1.0)
                shown.update(bars[name], completed=share)
            shown.update(whole, completed=done + sum(running.values()))

        yield show


def _show(table: Any) -> None:
    printed = Printed(title=table.title, title_justify="left")
    for column in ("agent", "score", "95 %", "sd", "success", "95 %", "sd", "steps"):
        is_name = column == "agent"
        printed.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    for row in table.rows:
        printed.add_row(
            row.name,
            *_cells(row.score, row.score_spread, ""),
            *_cells(row.success, row.success_spread, " %"),
            f"{row.steps:.1f}",
        )
    results.print(printed)
    for claim in table.claims:
        mark = Text("shown", "green") if claim.holds else Text("not shown", "red")
        line = mark.append(f": {claim.says}: {claim.evidence}.", "default")
        results.print(line, soft_wrap=True)
    for note in table.notes:
        results.print(note, soft_wrap=True)


def _cells(value: Any, spread: float | None, unit: str) -> tuple[str, str, str]:
    return (
        f"{value.mean:.1f}{unit}",
        f"{value.low:.1f}-{value.high:.1f}",
        "" if spread is None else f"{spread:.1f}",
    )
