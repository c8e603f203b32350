"""`errands experiment`: the paper's tables on our data, each one command."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer
from rich.progress import TextColumn, TimeElapsedColumn
from rich.text import Text

from errands.cli.completion import catalog_names
from errands.cli.experiment import nouns
from errands.cli.options import takes_records
from errands.cli.output import (
    Force,
    Json,
    print_json,
    progress,
    progress_bar,
    refuse_to_replace,
    results,
)
from errands.cli.output import table as printed_table
from errands.cli.train.progress import changed, need_torch
from errands.errors import ErrandsError, SettingError

if TYPE_CHECKING:
    from errands.experiments.paper import Experiment

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
        help="Another catalogue than the demo: the 1,000 real products (webshop-1k), or one with"
        " 100 human goals or more to test on.",
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
    goals: int | None = typer.Option(
        None, min=100, help="How many fresh goals are tested on, with --difficulty (default: 1000)."
    ),
    rnn: str = typer.Option(
        "small",
        help="small (hidden size 128), or paper: 512 and 100,000 steps, about four hours of CPU"
        " time for each seed.",
    ),
    check: bool = typer.Option(
        False, "--check", help="Exit with status 1 if a claim does not hold."
    ),
    as_json: bool = Json,
) -> None:
    """Scripts, IL, RL, IL+RL, RNN and the choice oracle on held-out goals, over seeds.

    Below an hour on two cores, with --quick some minutes. Finished jobs stay in the folder: the
    same command goes on with what is left, and the other experiments use them, too. With the real
    products as --data, what is learnt from is of webshop-1k-train, and tested is on webshop-1k.

    Examples:

    \b
      errands experiment table
      errands experiment table --data webshop-1k --out experiment-1k
      errands experiment table --difficulty paper --goals 1000 --seeds 3
      errands experiment table --quick --check
    """
    need_torch()
    from errands.experiments.config import PAPER_RNN

    if rnn not in ("small", "paper"):
        raise SettingError(f"There is no RNN {rnn!r}; expected small or paper.")
    changes: dict[str, Any] = {"rnn": PAPER_RNN} if rnn == "paper" else {}
    if goals is not None:
        if not difficulty:
            raise SettingError("--goals is of fresh goals; add --difficulty paper or easy.")
        changes["goals"] = goals
    _run("table", chosen, check, as_json, difficulty=difficulty, **changes)


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


@app.command("pretrained")
@takes_records
def pretrained(
    chosen: _ExperimentOptions,
    encoder: str = typer.Option(
        "",
        metavar="NAME_OR_PATH",
        help="A BERT, RoBERTa or DistilBERT checkpoint of Hugging Face's to read pages with.",
    ),
    search_model: str = typer.Option(
        "", metavar="NAME_OR_PATH", help="A BART or T5 checkpoint to search with."
    ),
    demonstrations: int = typer.Option(100, min=1, help="How many are learnt from."),
    episodes: int = typer.Option(100, min=1, help="How many goals are tested on."),
    epochs: int = typer.Option(2, min=1, help="Passes over them, of the choice model."),
    as_json: bool = Json,
) -> None:
    """Imitation with and without pretrained weights (the paper's ablations).

    The same architecture and training each time, from the checkpoint and from weights drawn at
    random: of the choice model with --encoder, of the search model with --search-model. Processors
    take long: the defaults are for an encoder of 20 million weights.

    Examples:

    \b
      errands experiment pretrained --encoder all-minilm-l6-v2 --seeds 1
      errands experiment pretrained --encoder bert-base-uncased --search-model facebook/bart-base
    """
    from errands.experiments.config import FULL

    _run(
        "pretrained",
        replace(chosen, out=chosen.out or Path("experiment-pretrained")),
        False,
        as_json,
        encoder=encoder,
        search_model=search_model,
        demonstrations=demonstrations,
        episodes=episodes,
        pretrained=msgspec.structs.replace(FULL.pretrained, epochs=epochs),
    )


@app.command("travel")
@takes_records
def travel(
    chosen: _ExperimentOptions,
    difficulty: str = typer.Option("paper", help="Of the shop where agents learn: paper or easy."),
    goals: int = typer.Option(1_000, min=1, help="How many fresh goals are tested on."),
    place: list[str] = typer.Option(
        [],
        metavar="[PROTOCOL=]CATALOG",
        help="Another shop: fresh goals of the difficulty in a catalogue, or a protocol's goals;"
        " may be repeated.",
    ),
    as_json: bool = Json,
) -> None:
    """The main table's models in shops that they have never seen.

    On the catalogue they learnt in, on one that another seed generated, and wherever --place says.
    With the folder of `experiment table --difficulty` nothing is trained again.

    Examples:

    \b
      errands experiment travel --difficulty paper --out experiment
      errands experiment travel --out experiment --place webshop-1k=shop-1k --place full
    """
    need_torch()
    from errands.experiments.travel import travel_experiment

    found = travel_experiment(place)
    _run("travel", chosen, False, as_json, found, difficulty=difficulty, goals=goals)


@app.command("human-queries")
def human_queries(
    pairs: Path = typer.Argument(help="People's queries: the original's goal_query_map.json."),
    instructions: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="The original's human_goals.json: learn from goals 1500 and later, hold out 0 to 499."
        " Without it three tenths of the instructions are held out.",
    ),
    catalog: list[str] = typer.Option(
        [],
        "--data",
        help="A catalogue to search in; may be repeated.",
        autocompletion=catalog_names,
    ),
    out: Path = typer.Option(
        Path("human-queries"), help="The folder for models; the same command goes on."
    ),
    seeds: int = typer.Option(3, min=1, help="How many models are trained."),
    model: str | None = typer.Option(
        None,
        metavar="NAME_OR_PATH",
        help="A BART or T5 checkpoint of Hugging Face's to train instead of a small model.",
    ),
    epochs: int | None = typer.Option(None, min=1, help="Passes over all queries."),
    as_json: bool = Json,
) -> None:
    """Train a search model on people's queries, and compare it with the rules.

    How like people's its queries are, on instructions that are held out; where the wanted product
    is among what they find, and what the choice oracle earns with them, on goals of the catalogues
    that are named. A minute of CPU time for each small model.

    Examples:

    \b
      errands experiment human-queries goal_query_map.json --instructions human_goals.json
      errands experiment human-queries goal_query_map.json --data webshop-1k --seeds 1
    """
    need_torch()
    from errands.experiments.human_queries import study_queries, to_markdown
    from errands.learn.data.query_pairs import read_pairs
    from errands.learn.search import PRESETS

    preset = PRESETS["paper" if model else "small"]
    config = changed(preset, threads=1, model=model, epochs=epochs)
    parted = read_pairs(pairs, instructions)
    with progress_bar() as bar:
        study = study_queries(out, parted, catalog, config=config, seeds=range(seeds), progress=bar)
    text = to_markdown(study)
    _write(out / "human-queries.md", text)
    if as_json:
        print_json(msgspec.to_builtins(study))
    else:
        results.print(text)


@app.command("people")
def people(
    runs: list[str] = typer.Argument(
        help="Runs of people, as `errands crowd export demonstrations` and `errands crowd"
        " import-logs` write them, and of agents on the same goals."
    ),
    include_trials: bool = typer.Option(
        False, "--include-trials", help="Count the first assignments of each worker, too."
    ),
    out: Path | None = typer.Option(None, help="A Markdown file to write as well."),
    force: bool = Force,
    as_json: bool = Json,
) -> None:
    """The paper's human rows: everybody, experts, the best and the last, and trajectories.

    Score, success and the reward's parts; states visited, items checked and searches on average, at
    most and at least. Other runs are rows beside them.

    Examples:

    \b
      errands crowd export demonstrations site.sqlite --data shop-1k --out runs/people
      errands run runs/people/protocol.toml --agent rule --out runs/rule
      errands experiment people runs/people runs/rule
    """
    from errands.experiments.people import people_rows, to_markdown

    refuse_to_replace(out, force)
    rows = people_rows(runs, include_trials=include_trials)
    text = to_markdown(rows)
    if out is not None:
        _write(out, text)
    if as_json:
        print_json(msgspec.to_builtins(rows))
    else:
        results.print(text)


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
    _write(out / "calibration.md", text)
    if as_json:
        print_json(msgspec.to_builtins(rows))
    else:
        results.print(text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise SettingError(f"{path} cannot be written ({reason}).") from None


def _run(
    name: str,
    chosen: _ExperimentOptions,
    check: bool,
    as_json: bool,
    found: "Experiment | None" = None,
    **changes: Any,
) -> None:
    """Do an experiment: the one of that name, unless one is given."""
    need_torch()
    from errands.experiments.config import FULL, QUICK
    from errands.experiments.fresh import with_fresh_goals
    from errands.experiments.paper import EXPERIMENTS
    from errands.experiments.real_data import is_real, real_config, with_real_goals
    from errands.experiments.scheduler import PLAN, costs, open_folder, run_jobs
    from errands.experiments.table import to_markdown
    from errands.runs.store.lock import RunLock
    from errands.shop.catalog.catalog import Catalog

    config = msgspec.structs.replace(
        QUICK if chosen.quick else FULL, catalog=chosen.catalog, **changes
    )
    if chosen.seeds is not None:
        config = msgspec.structs.replace(config, seeds=tuple(range(chosen.seeds)))
    # Before there is anything of this experiment.
    if chosen.catalog and is_real(Catalog.open(chosen.catalog)):
        config = real_config(config)
    folder = chosen.out or Path("experiment-quick" if chosen.quick else "experiment")
    experiment = found or EXPERIMENTS[name]
    if not config.difficulty:
        experiment.check(config)
    is_new = not (folder / PLAN).exists()
    was_there = folder.exists()
    open_folder(folder, config)
    try:
        config = with_real_goals(folder, with_fresh_goals(folder, config))
        experiment.check(config)
    except ErrandsError:
        if is_new:  # Then all that is in it was made just now.
            shutil.rmtree(folder)
            if was_there:
                folder.mkdir()
        raise
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
