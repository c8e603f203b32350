"""`errands experiment`: the paper's tables on our data, each one command."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.progress import TextColumn, TimeElapsedColumn
from rich.text import Text

from errands.cli.completion import catalog_names
from errands.cli.experiment import nouns
from errands.cli.options import takes_records
from errands.cli.output import Json, print_json, progress, progress_bar, results
from errands.cli.output import table as printed_table
from errands.cli.train.progress import need_torch
from errands.errors import SettingError

__all__ = ["app"]

app = typer.Typer(
    name="experiment",
    no_args_is_help=True,
    help="The paper's tables on our data: training, testing, comparing, in one command each.",
)


@dataclass(frozen=True)
class _ExperimentOptions:
    """What all experiments are told."""

    out: Path | None = typer.Option(
        None, help="The folder for trainings and runs (default: experiment)."
    )
    quick: bool = typer.Option(
        False, "--quick", help="Minutes instead of an hour: one seed, short trainings."
    )
    seeds: int | None = typer.Option(
        None, min=1, help="How many trainings of each kind (default: 3)."
    )
    catalog: str = typer.Option(
        "",
        "--data",
        help="Another catalogue than the demo, with 100 human goals or more to test on.",
        autocompletion=catalog_names,
    )
    workers: int = typer.Option(2, min=1, help="Jobs at once, a core each.")


@app.command("table")
@takes_records
def table(
    chosen: _ExperimentOptions,
    difficulty: str = typer.Option(
        "", help="Fresh goals of this difficulty instead of those of shop-learn: paper or easy."
    ),
    goals: int = typer.Option(
        1_000, min=1, help="How many fresh goals are tested on, with --difficulty."
    ),
    check: bool = typer.Option(
        False, "--check", help="Exit with status 1 if a claim does not hold."
    ),
    as_json: bool = Json,
) -> None:
    """Scripts, IL, RL, IL+RL, RNN and the choice oracle on held-out goals, over seeds.

    Below an hour on two cores, with --quick some minutes. Finished jobs stay in the folder: the
    same command goes on with what is left, and the other experiments use them, too.

    Examples:

    \b
      errands experiment table
      errands experiment table --difficulty paper --goals 1000 --seeds 3
      errands experiment table --quick --check
    """
    _run("table", chosen, check, as_json, difficulty=difficulty, goals=goals)


def _add(name: str, description: str) -> None:
    """A command of an experiment that claims nothing: all of them are called alike."""

    @app.command(name, help=f"{description}\n\nExamples:\n\n\b\n  errands experiment {name}")
    @takes_records
    def experiment(chosen: _ExperimentOptions, as_json: bool = Json) -> None:
        _run(name, chosen, False, as_json)


_add(
    "queries",
    "The choice oracle with four sources of queries (the paper's table 5).\n\n"
    "The instruction, the search model's first, and the first and last query of a shopper (the"
    " scripted one: there are no people in the demo).",
)
_add("chance", "Greedy search and choice against sampled ones (table 7).")
_add("pictures", "Imitation with and without pictures (table 8).")
_add("search", "Imitation with and without a learnt search.")


@app.command("calibration")
def calibration(
    out: Path = typer.Option(
        Path("calibration"), help="The folder for what each seed gave; the same command goes on."
    ),
    difficulty: str = typer.Option("paper", help="easy, paper or hard."),
    products: int | None = typer.Option(
        None, min=1, help="Of each catalogue; the original's 1,181,436 unless told."
    ),
    seed: list[int] = typer.Option(
        [101, 102, 103], help="Of the generator; may be repeated, a catalogue each."
    ),
    sample: int = typer.Option(3000, min=1, help="How many goals of each catalogue are drawn."),
    keep: bool = typer.Option(False, "--keep", help="Keep the catalogues (1.4 GB at full size)."),
    as_json: bool = Json,
) -> None:
    """Show whether generated shops are as hard as the paper's.

    Generates a catalogue for each seed, and counts what rule and choice oracle score, the latter
    with the paper's four sources of queries, beside the statistics of `errands catalog info
    --against paper`. About ten minutes for a catalogue of full size on two cores.

    Examples:

    \b
      errands experiment calibration
      errands experiment calibration --products 5000 --seed 7 --seed 8 --sample 1000
    """
    from errands.experiments.calibration import FULL_SIZE, calibrate, to_markdown

    with progress_bar() as bar:
        rows = calibrate(
            out,
            difficulty=difficulty,
            products=products or FULL_SIZE,
            seeds=seed,
            sample=sample,
            keep=keep,
            progress=bar,
        )
    text = to_markdown(rows)
    (out / "calibration.md").write_text(text + "\n", encoding="utf-8")
    if as_json:
        print_json(msgspec.to_builtins(rows))
    else:
        results.print(text)


def _run(name: str, chosen: _ExperimentOptions, check: bool, as_json: bool, **changes: Any) -> None:
    need_torch()
    from errands.experiments.config import FULL, QUICK
    from errands.experiments.fresh import with_fresh_goals
    from errands.experiments.paper import EXPERIMENTS
    from errands.experiments.scheduler import costs, open_folder, run_jobs
    from errands.experiments.table import to_markdown
    from errands.runs.store.lock import RunLock
    from errands.shop.catalog.catalog import Catalog

    config = msgspec.structs.replace(
        QUICK if chosen.quick else FULL, catalog=chosen.catalog, **changes
    )
    if chosen.seeds is not None:
        config = msgspec.structs.replace(config, seeds=tuple(range(chosen.seeds)))
    if chosen.catalog:
        Catalog.open(chosen.catalog)  # Before there is anything of this experiment.
    folder = chosen.out or Path("experiment-quick" if chosen.quick else "experiment")
    experiment = EXPERIMENTS[name]
    if not config.difficulty:
        experiment.check(config)
    open_folder(folder, config)
    config = with_fresh_goals(folder, config)
    experiment.check(config)
    jobs = experiment.jobs(config)
    with RunLock(folder), _bars(len(jobs)) as show:
        try:
            run_jobs(jobs, folder, config, chosen.workers, show)
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
            f" table as {name}.md. `errands report {folder}/run-...` tells more of any run."
        )
    if check and not read.holds:
        raise typer.Exit(1)


@contextmanager
def _bars(total: int) -> Iterator[Callable[[Mapping[str, float], int], None]]:
    """A bar for everything, and one for each running job."""
    with progress(TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn()) as shown:
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


def _show(outcome: Any) -> None:
    rows = [
        (
            row.name,
            *_cells(row.score, row.score_spread, ""),
            *_cells(row.success, row.success_spread, " %"),
            f"{row.steps:.1f}",
        )
        for row in outcome.rows
    ]
    headings = ("agent", "score", "95 %", "sd", "success", "95 %", "sd", "steps")
    printed = printed_table(*headings, rows=rows, left=1, title=outcome.title)
    printed.columns[0].no_wrap = True
    results.print(printed)
    for claim in outcome.claims:
        mark = Text("shown", "green") if claim.holds else Text("not shown", "red")
        line = mark.append(f": {claim.says}: {claim.evidence}.", "default")
        results.print(line)
    for note in outcome.notes:
        results.print(note)


def _cells(value: Any, spread: float | None, unit: str) -> tuple[str, str, str]:
    return (
        f"{value.mean:.1f}{unit}",
        f"{value.low:.1f}-{value.high:.1f}",
        "" if spread is None else f"{spread:.1f}",
    )


app.command("nouns")(nouns.nouns)
