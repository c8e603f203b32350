"""`errands train`: demonstrations, and agents that learn from them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from errands.cli.output import Json, print_json, remarks, results
from errands.cli.train import report as train_report
from errands.cli.train import rl as train_rl
from errands.cli.train.progress import (
    Catalog,
    Device,
    Epochs,
    Evaluate,
    Force,
    LearningRate,
    Least,
    Out,
    Resume,
    SaveEvery,
    Seed,
    Threads,
    Track,
    bar,
    changed,
    checked,
    end,
    explain_supervised,
    find_preset,
    need_torch,
    others,
    training,
)
from errands.errors import SettingError

__all__ = ["app", "register"]

app = typer.Typer(
    name="train",
    no_args_is_help=True,
    help="Train agents: demonstrations, search, imitation, reinforcement.",
)


def register(main: typer.Typer) -> None:
    train_rl.register(app)
    train_report.register(app)
    main.add_typer(app)


@app.command("demonstrations")
def demonstrations(
    out: str = typer.Argument(help="A new run: a directory."),
    protocol: str = typer.Option("shop-learn-train", help="Which goals, as which pages."),
    data: str | None = typer.Option(None, help="Another catalogue."),
    episodes: int | None = typer.Option(None, min=1, help="Only the first so many."),
    errors: float = typer.Option(0.05, min=0, max=1, help="How often the shopper errs."),
    workers: int = typer.Option(2, min=1, help="Episodes at once."),
    seed: int = typer.Option(0, min=0, help="Seed of the shopper's errors."),
    resume: bool = typer.Option(False, "--resume", help="Resume a run that was stopped."),
    as_json: bool = Json,
) -> None:
    """Let the scripted shopper give demonstrations: a run with whole pages, to learn from.

    Examples:

    \b
      errands train demonstrations demos
      errands train demonstrations demos --episodes 200
    """
    from errands.runs.runner import run

    try:
        with bar("shopping") as shown:
            task = shown.add_task("", total=episodes)
            finished = run(
                protocol,
                "shopper",
                out=out,
                data=data,
                episodes=episodes,
                settings={"errors": str(errors)},
                workers=workers,
                resume=resume,
                observations="full",
                seed=seed,
                on_start=lambda info, *_: shown.update(task, total=info.episodes),
                on_episode=lambda summary: shown.advance(task),
            )
    except KeyboardInterrupt:
        end(was_stopped=True)
        raise
    if as_json:
        print_json({"run": str(finished.place), "episodes": finished.kept})
        return
    results.print(f"{finished.place}: {finished.kept:,} episodes.", soft_wrap=True)


@app.command("choice")
def choice(
    demonstrations: str = typer.Argument(help="A run with whole text_rich pages, or JSONL."),
    out: str = Out,
    preset: str | None = typer.Option(
        None,
        help="small (the default), rnn, or paper: the paper's schedule, with --encoder its whole"
        " model, without it a small encoder from scratch.",
    ),
    encoder: str | None = typer.Option(
        None,
        metavar="NAME_OR_PATH",
        help="A BERT, RoBERTa or DistilBERT checkpoint of Hugging Face's to read pages with;"
        " implies --preset paper.",
    ),
    pictures: Path | None = typer.Option(
        None, help="Vectors of products' pictures, of `train pictures`."
    ),
    least: float = Least,
    epochs: int | None = Epochs,
    learning_rate: float | None = LearningRate,
    width: int | None = typer.Option(
        None, min=4, help="Width of the vectors (default of a pretrained encoder: its own)."
    ),
    threads: int | None = Threads,
    evaluate: str | None = Evaluate,
    catalog: str | None = Catalog,
    device: str = Device,
    seed: int = Seed,
    resume: bool = Resume,
    save_every: float = SaveEvery,
    track: str | None = Track,
    as_json: bool = Json,
) -> None:
    """Train a choice model by imitation.

    Ctrl-C stops after the current update; --resume leads to the same weights.

    Examples:

    \b
      errands train choice demos --out il
      errands train choice demos --out il --evaluate 0.1
      errands train choice demos --out rnn --preset rnn
      errands train choice demos --out bert --encoder bert-base-uncased
      errands run shop-learn --agent il --checkpoint il
    """
    need_torch()
    from errands.learn.data.pictures import Pictures
    from errands.learn.imitation import PRESETS, train_choice, with_encoder

    name = preset or ("small" if encoder is None else "paper")
    config = find_preset(name, PRESETS)
    if encoder is not None:
        if name != "paper":
            raise SettingError(
                f"--preset {name} has an encoder of its own; leave --encoder or --preset out."
            )
        config = with_encoder(config, encoder)
    share, other = others(evaluate, least)
    config = changed(
        config,
        choice=changed(config.choice, width=width),
        epochs=epochs,
        learning_rate=learning_rate,
        threads=threads,
        seed=seed,
        held_out=share,
    )
    shown = checked(demonstrations, catalog, least)
    remarks.print(
        f"{len(shown.choices):,} choices of {shown.episodes:,} episodes; {shown.left_out:,} left"
        " out for their reward.",
        soft_wrap=True,
    )
    run = {"resume": resume, "track": track, "device": device, "save_every": save_every}
    with training("learning", _describe("choices"), **run) as options:
        trained = train_choice(
            shown,
            Path(out),
            config,
            pictures=None if pictures is None else Pictures.read(pictures),
            others=() if other is None else other.choices,
            options=options,
        )
    explain_supervised(trained, "choices", "choices", as_json)
    end(options.stop())


@app.command("search")
def search(
    demonstrations: str = typer.Argument(help="A run with whole text_rich pages."),
    out: str = Out,
    preset: str | None = typer.Option(
        None, help="small (from scratch), or paper (with --model; BART by default)."
    ),
    model: str | None = typer.Option(
        None, help="A BART or T5 checkpoint of Hugging Face's to train, by name or path."
    ),
    least: float = Least,
    epochs: int | None = Epochs,
    learning_rate: float | None = LearningRate,
    threads: int | None = Threads,
    evaluate: str | None = Evaluate,
    catalog: str | None = Catalog,
    device: str = Device,
    seed: int = Seed,
    resume: bool = Resume,
    save_every: float = SaveEvery,
    track: str | None = Track,
    as_json: bool = Json,
) -> None:
    """Train a search model: from an instruction to what to search for.

    Ctrl-C stops after the current update; --resume leads to the same weights.

    Examples:

    \b
      errands train search demos --out search
      errands train search demos --out bart --model facebook/bart-base
      errands run shop-learn --agent il --checkpoint il --set search=search
    """
    need_torch()
    from errands.learn.search import PRESETS, train_search

    name = preset or ("paper" if model else "small")
    config = find_preset(name, PRESETS)
    if name == "small" and model:
        raise SettingError("--preset small trains from scratch; leave --model or --preset out.")
    share, other = others(evaluate, least)
    config = changed(
        config,
        model=model,
        epochs=epochs,
        learning_rate=learning_rate,
        threads=threads,
        seed=seed,
        held_out=share,
    )
    shown = checked(demonstrations, catalog, least)
    remarks.print(
        f"{len(shown.queries):,} queries of {shown.episodes:,} episodes; {shown.left_out:,} left"
        " out for their reward.",
        soft_wrap=True,
    )
    run = {"resume": resume, "track": track, "device": device, "save_every": save_every}
    with training("learning", _describe("words"), **run) as options:
        trained = train_search(
            shown.queries,
            Path(out),
            config,
            others=() if other is None else other.queries,
            checksum=shown.checksum,
            options=options,
        )
    explain_supervised(trained, "words", "queries", as_json)
    end(options.stop())


@app.command("queries")
def queries(
    checkpoint: str = typer.Argument(help="What `train search` wrote, or a Hugging Face model."),
    out: Path = typer.Option(..., help="The JSON file to write."),
    catalog: str = typer.Option("demo", help="A catalogue's directory or name."),
    goals: str = typer.Option("human", help="synthetic, human, or a file of frozen goals."),
    split: str | None = typer.Option(None, help="Only a split: test, disjoint-test, ..."),
    beams: int = typer.Option(10, min=1, help="How many queries for each instruction."),
    force: bool = Force,
    as_json: bool = Json,
) -> None:
    """Write what a search model would search for, for every instruction of a goal set.

    The file is of the form of the original's goal_query_predict.json.

    Examples:

    \b
      errands train queries search --split disjoint-test --out found.json
      errands run shop-learn --agent choice-oracle --set query=predicted --set queries=found.json
    """
    need_torch()
    from errands.learn.search import open_search_model, predict_queries, write_queries
    from errands.shop.catalog.catalog import Catalog
    from errands.shop.splits import split_indices

    if out.exists() and not force:
        raise SettingError(f"{out} is there already; add --force to replace it.")
    goal_set = Catalog.open(catalog).goals(goals)
    indices = split_indices(split, goal_set)
    model = open_search_model(checkpoint)
    with bar("searching") as shown:
        task = shown.add_task("", total=len(indices))
        instructions = (goal_set[index].instruction_text for index in indices)
        predicted = predict_queries(model, instructions, beams, on_text=lambda: shown.advance(task))
    write_queries(out, predicted, replace=force)
    if as_json:
        print_json({"file": str(out), "instructions": len(predicted)})
        return
    results.print(f"{out}: queries for {len(predicted):,} instructions.", soft_wrap=True)


def _describe(what: str) -> Callable[[Any], str]:
    """How well a supervised training goes."""
    return lambda progress: f"loss {progress.loss:.3f}, {progress.accuracy:.0%} of {what} right"
