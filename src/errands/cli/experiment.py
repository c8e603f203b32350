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
    help="The paper's tables on our data: training, judging, comparing, in one command each.",
)

Out = typer.Option(None, help="The folder that holds the work (default: experiment).")
Quick = typer.Option(False, "--quick", help="Minutes instead of an hour: one seed, less of all.")
Seeds = typer.Option(None, min=1, help="How many trainings of each kind (default: 3).")
Catalog = typer.Option("", help="Another catalogue than the demo, with human goals.")
Workers = typer.Option(2, min=1, help="Pieces of work at once, a core each.")
Check = typer.Option(False, "--check", help="End with code 1 if the table does not show it.")


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

    Below an hour on two cores, with --quick some minutes. What is done stays in the folder: the
    same command goes on with what is left, and the other experiments use it, too.

    Examples:

    \b
      errands experiment table
      errands experiment table --quick --check
    """
    _carry_out("table", out, quick, seeds, catalog, workers, check, as_json)


def _add(name: str, told: str) -> None:
    """A command of an experiment that claims nothing: all of them are called alike."""

    @app.command(name, help=f"{told}\n\nExamples:\n\n\b\n  errands experiment {name}")
    def experiment(
        out: Path | None = Out,
        quick: bool = Quick,
        seeds: int | None = Seeds,
        catalog: str = Catalog,
        workers: int = Workers,
        as_json: bool = Json,
    ) -> None:
        _carry_out(name, out, quick, seeds, catalog, workers, False, as_json)


_add(
    "queries",
    "The choice oracle with four sources of queries (the paper's table 5).\n\n"
    "The instruction, the search model's best, and the first and last query of a shopper (the"
    " scripted one: there are no people in the demo).",
)
_add("chance", "The best search and choice against those drawn by chance (table 7).")
_add("pictures", "Imitation with and without pictures (table 8).")
_add("search", "Imitation with and without a learnt search.")


def _carry_out(
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
    from errands.experiments.plan import FULL, QUICK
    from errands.experiments.scheduler import carry_out, spent, take_folder
    from errands.experiments.table import to_markdown
    from errands.experiments.tables import EXPERIMENTS
    from errands.runs.store.lock import RunLock

    plan = msgspec.structs.replace(QUICK if quick else FULL, catalog=catalog)
    if seeds is not None:
        plan = msgspec.structs.replace(plan, seeds=tuple(range(seeds)))
    folder = out or Path("experiment-quick" if quick else "experiment")
    experiment = EXPERIMENTS[name]
    works = experiment.works(plan)
    take_folder(folder, plan)
    with RunLock(folder), _bars(len(works)) as look:
        try:
            carry_out(works, folder, plan, workers, look)
        except KeyboardInterrupt:
            raise SettingError(
                f"Stopped; what is done is in {folder}, and the same command goes on."
            ) from None
    found = experiment.read(folder, plan)
    took = [cost for work, cost in spent(folder).items() if work in {one.name for one in works}]
    cpu = sum(cost.cpu for cost in took)
    text = to_markdown(found)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    if as_json:
        print_json(
            {
                **msgspec.to_builtins(found),
                "holds": found.holds,
                "cpu_seconds": cpu,
                "work": {work: cost._asdict() for work, cost in spent(folder).items()},
            }
        )
    else:
        _show(found)
        results.print(
            f"{len(works)} pieces of work, {cpu / 60:.0f} minutes of CPU time; in {folder}, the"
            f" table as {name}.md. `errands report {folder}/run-...` tells more of any run.",
            soft_wrap=True,
        )
    if check and not found.holds:
        raise typer.Exit(1)


@contextmanager
def _bars(total: int) -> Iterator[Callable[[Mapping[str, float], int], None]]:
    """A bar for everything, and one for each piece of work under way."""
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

        def look(under_way: Mapping[str, float], done: int) -> None:
            for name in bars.keys() - under_way.keys():
                shown.remove_task(bars.pop(name))
            for name, share in under_way.items():
                if name not in bars:
                    bars[name] = shown.add_task(name, total=1.0)
                shown.update(bars[name], completed=share)
            shown.update(whole, completed=done + sum(under_way.values()))

        yield look


def _show(found: Any) -> None:
    printed = Printed(title=found.title, title_justify="left")
    for column in ("agent", "score", "95 %", "sd", "success", "95 %", "sd", "steps"):
        is_name = column == "agent"
        printed.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    for row in found.rows:
        printed.add_row(
            row.name,
            *_cells(row.score, row.score_spread, ""),
            *_cells(row.success, row.success_spread, " %"),
            f"{row.steps:.1f}",
        )
    results.print(printed)
    for claim in found.claims:
        mark = Text("shown", "green") if claim.holds else Text("not shown", "red")
        told = mark.append(f": {claim.says}: {claim.evidence}.", "default")
        results.print(told, soft_wrap=True)
    for note in found.notes:
        results.print(note, soft_wrap=True)


def _cells(found: Any, spread: float | None, unit: str) -> tuple[str, str, str]:
    return (
        f"{found.mean:.1f}{unit}",
        f"{found.low:.1f}-{found.high:.1f}",
        "" if spread is None else f"{spread:.1f}",
    )
