"""`errands train`: demonstrations, and agents that learn from them."""

from pathlib import Path

import msgspec
import typer

from errands.cli.output import Json, print_json, remarks, results
from errands.cli.train import report as train_report
from errands.cli.train import rl as train_rl
from errands.cli.train.progress import (
    Catalog,
    Device,
    Evaluate,
    Resume,
    SaveEvery,
    Seed,
    Track,
    asked_to_stop,
    bar,
    checked,
    chosen,
    end,
    need_torch,
    others,
    shown_on,
    tell,
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
    seed: int = typer.Option(0, min=0, help="Of the shopper's chance."),
    resume: bool = typer.Option(False, "--resume", help="Go on with a run that was stopped."),
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
    out: str = typer.Option(..., help="The checkpoint's directory."),
    preset: str | None = typer.Option(
        None,
        help="small (unless told), rnn, or paper: the paper's schedule, with --encoder its whole"
        " model, without it a small encoder from scratch.",
    ),
    encoder: str | None = typer.Option(
        None,
        metavar="NAME_OR_PATH",
        help="A BERT, RoBERTa or DistilBERT checkpoint of Hugging Face's to read pages with;"
        " implies --preset paper.",
    ),
    pictures: Path | None = typer.Option(
        None, help="What products look like, of `train pictures`; seen on their pages."
    ),
    least: float = typer.Option(0.99, min=0, max=1, help="The reward an episode needs."),
    epochs: int | None = typer.Option(None, min=1, help="Rounds over all choices."),
    rate: float | None = typer.Option(None, min=0, help="The learning rate."),
    width: int | None = typer.Option(
        None, min=4, help="Of the vectors; a pretrained encoder's are as wide as it is."
    ),
    threads: int | None = typer.Option(None, min=1, help="Cores to use."),
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

    Ctrl-C stops after the update at hand; --resume goes on to the same weights.

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

    named = preset or ("small" if encoder is None else "paper")
    config = chosen(named, PRESETS)
    if encoder is not None:
        if named != "paper":
            raise SettingError(
                f"--preset {named} has an encoder of its own; leave --encoder or --preset out."
            )
        config = with_encoder(config, encoder)
    share, other = others(evaluate, least)
    given = {
        "epochs": epochs,
        "rate": rate,
        "threads": threads,
        "seed": seed,
        "held_out": share,
    }
    config = msgspec.structs.replace(
        config,
        choice=config.choice
        if width is None
        else msgspec.structs.replace(config.choice, width=width),
        **{name: value for name, value in given.items() if value is not None},
    )
    shown = checked(demonstrations, catalog, least)
    remarks.print(
        f"{len(shown.choices):,} choices of {shown.episodes:,} episodes; {shown.left_out:,} left"
        " out for their reward.",
        soft_wrap=True,
    )
    with bar("learning") as shown_bar, asked_to_stop() as stop:
        trained = train_choice(
            shown,
            Path(out),
            config,
            pictures=None if pictures is None else Pictures.read(pictures),
            others=() if other is None else other.choices,
            resume=resume,
            track=track,
            on_progress=shown_on(shown_bar, "choices"),
            stop=stop,
            save_every=save_every,
            device=device,
        )
    tell(trained, "choices", "choices", as_json)
    end(stop())


@app.command("search")
def search(
    demonstrations: str = typer.Argument(help="A run with whole text_rich pages."),
    out: str = typer.Option(..., help="The checkpoint's directory."),
    preset: str | None = typer.Option(
        None, help="small (from scratch), or paper (with --model; BART unless told)."
    ),
    model: str | None = typer.Option(
        None, help="A BART or T5 checkpoint of Hugging Face's to train, by name or path."
    ),
    least: float = typer.Option(0.99, min=0, max=1, help="The reward an episode needs."),
    epochs: int | None = typer.Option(None, min=1, help="Rounds over all queries."),
    rate: float | None = typer.Option(None, min=0, help="The learning rate."),
    threads: int | None = typer.Option(None, min=1, help="Cores to use."),
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

    Ctrl-C stops after the update at hand; --resume goes on to the same weights.

    Examples:

    \b
      errands train search demos --out search
      errands train search demos --out bart --model facebook/bart-base
      errands run shop-learn --agent il --checkpoint il --set search=search
    """
    need_torch()
    from errands.learn.search_training import PRESETS, train_search

    named = preset or ("paper" if model else "small")
    usual = chosen(named, PRESETS)
    if named == "small" and model:
        raise SettingError("--preset small trains from scratch; leave --model or --preset out.")
    share, other = others(evaluate, least)
    given = {
        "model": model,
        "epochs": epochs,
        "rate": rate,
        "threads": threads,
        "seed": seed,
        "held_out": share,
    }
    config = msgspec.structs.replace(
        usual, **{name: value for name, value in given.items() if value is not None}
    )
    shown = checked(demonstrations, catalog, least)
    remarks.print(
        f"{len(shown.queries):,} queries of {shown.episodes:,} episodes; {shown.left_out:,} left"
        " out for their reward.",
        soft_wrap=True,
    )
    with bar("learning") as shown_bar, asked_to_stop() as stop:
        trained = train_search(
            shown.queries,
            Path(out),
            config,
            others=() if other is None else other.queries,
            checksum=shown.checksum,
            resume=resume,
            track=track,
            on_progress=shown_on(shown_bar, "words"),
            stop=stop,
            save_every=save_every,
            device=device,
        )
    tell(trained, "words", "queries", as_json)
    end(stop())


@app.command("queries")
def queries(
    checkpoint: str = typer.Argument(help="What `train search` wrote, or a Hugging Face model."),
    out: Path = typer.Option(..., help="The JSON file to write."),
    catalog: str = typer.Option("demo", help="A catalogue's directory or name."),
    goals: str = typer.Option("human", help="synthetic, human, or a file of frozen goals."),
    split: str | None = typer.Option(None, help="Only a split: test, disjoint-test, ..."),
    beams: int = typer.Option(10, min=1, help="How many queries for each instruction."),
    force: bool = typer.Option(False, "--force", help="Replace a file that is there already."),
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
    from errands.learn.data.query_file import predict_queries, write_queries
    from errands.learn.search_training import open_search_model
    from errands.shop.catalog.catalog import Catalog
    from errands.shop.splits import split_indices

    if out.exists() and not force:
        raise SettingError(f"{out} is there already; add --force to replace it.")
    opened = Catalog.open(catalog).goals(goals)
    wanted = split_indices(split, opened)
    model = open_search_model(checkpoint)
    with bar("searching") as shown:
        task = shown.add_task("", total=len(wanted))
        texts = (opened[index].instruction_text for index in wanted)
        found = predict_queries(model, texts, beams, on_text=lambda: shown.advance(task))
    write_queries(out, found, replace=force)
    if as_json:
        print_json({"file": str(out), "instructions": len(found)})
        return
    results.print(f"{out}: queries for {len(found):,} instructions.", soft_wrap=True)
