"""`errands train`: demonstrations, and agents that learn from them."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from errands.cli.output import Json, print_json, remarks, results
from errands.errors import SettingError

__all__ = ["register"]

app = typer.Typer(
    name="train",
    no_args_is_help=True,
    help="Train agents: demonstrations, search, imitation, reinforcement.",
)


def register(main: typer.Typer) -> None:
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
) -> None:
    """Let the scripted shopper give demonstrations: a run with whole pages, to learn from.

    Examples:

    \b
      errands train demonstrations demos
      errands train demonstrations demos --episodes 200
    """
    from errands.runs.runner import run

    with _bar("shopping") as bar:
        task = bar.add_task("", total=episodes)
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
            on_start=lambda info, *_: bar.update(task, total=info.episodes),
            on_episode=lambda summary: bar.advance(task),
        )
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
    least: float = typer.Option(0.99, min=0, max=1, help="The reward an episode needs."),
    epochs: int | None = typer.Option(None, min=1, help="Rounds over all choices."),
    rate: float | None = typer.Option(None, min=0, help="The learning rate."),
    width: int | None = typer.Option(
        None, min=4, help="Of the vectors; a pretrained encoder's are as wide as it is."
    ),
    seed: int = typer.Option(0, min=0, help="Of everything that is chance."),
    resume: bool = typer.Option(False, "--resume", help="Go on with a training that was stopped."),
    track: str | None = typer.Option(None, help="A tracker's module: trackio, wandb or alike."),
    as_json: bool = Json,
) -> None:
    """Train a choice model by imitation.

    Ctrl-C stops after the update at hand; --resume goes on to the same weights.

    Examples:

    \b
      errands train choice demos --out il
      errands train choice demos --out rnn --preset rnn
      errands train choice demos --out bert --encoder bert-base-uncased
      errands run shop-learn --agent il --checkpoint il
    """
    _need_torch()
    from errands.learn.demonstrations import read_choices_file, read_demonstrations
    from errands.learn.imitation import PRESETS, train_choice, with_encoder

    chosen = preset or ("small" if encoder is None else "paper")
    if chosen not in PRESETS:
        raise SettingError(f"There is no preset {chosen!r}; expected {', '.join(PRESETS)}.")
    config = PRESETS[chosen]
    if encoder is not None:
        if chosen != "paper":
            raise SettingError(
                f"--preset {chosen} has an encoder of its own; leave --encoder or --preset out."
            )
        config = with_encoder(config, encoder)
    given = {"epochs": epochs, "rate": rate, "seed": seed}
    config = msgspec.structs.replace(
        config,
        choice=config.choice
        if width is None
        else msgspec.structs.replace(config.choice, width=width),
        **{name: value for name, value in given.items() if value is not None},
    )
    if demonstrations.endswith(".jsonl"):
        shown = read_choices_file(demonstrations)
    else:
        shown = read_demonstrations(demonstrations, least=least)
    remarks.print(
        f"{len(shown.choices):,} choices of {shown.episodes:,} episodes; {shown.left_out:,} left"
        " out for their reward.",
        soft_wrap=True,
    )
    with _bar("learning") as bar, _asked_to_stop() as stop:
        trained = train_choice(
            shown,
            Path(out),
            config,
            resume=resume,
            track=track,
            on_progress=_shown_on(bar, "choices"),
            stop=stop,
        )
    _tell(trained, "choices", "choices", as_json)


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
    seed: int = typer.Option(0, min=0, help="Of everything that is chance."),
    resume: bool = typer.Option(False, "--resume", help="Go on with a training that was stopped."),
    track: str | None = typer.Option(None, help="A tracker's module: trackio, wandb or alike."),
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
    _need_torch()
    from errands.learn.demonstrations import read_demonstrations
    from errands.learn.search_training import PRESETS, train_search

    chosen = preset or ("paper" if model else "small")
    if chosen not in PRESETS:
        raise SettingError(f"There is no preset {chosen!r}; expected {', '.join(PRESETS)}.")
    if chosen == "small" and model:
        raise SettingError("--preset small trains from scratch; leave --model or --preset out.")
    given = {"model": model, "epochs": epochs, "rate": rate, "threads": threads, "seed": seed}
    config = msgspec.structs.replace(
        PRESETS[chosen], **{name: value for name, value in given.items() if value is not None}
    )
    shown = read_demonstrations(demonstrations, least=least)
    remarks.print(
        f"{len(shown.queries):,} queries of {shown.episodes:,} episodes; {shown.left_out:,} left"
        " out for their reward.",
        soft_wrap=True,
    )
    with _bar("learning") as bar, _asked_to_stop() as stop:
        trained = train_search(
            shown.queries,
            Path(out),
            config,
            checksum=shown.checksum,
            resume=resume,
            track=track,
            on_progress=_shown_on(bar, "words"),
            stop=stop,
        )
    _tell(trained, "words", "queries", as_json)


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
    _need_torch()
    from errands.learn.query_file import predict_queries, write_queries
    from errands.learn.search_training import open_search_model
    from errands.shop.catalog import Catalog
    from errands.shop.split import split_indices

    opened = Catalog.open(catalog).goals(goals)
    wanted = split_indices(split, opened)
    model = open_search_model(checkpoint)
    with _bar("searching") as bar:
        task = bar.add_task("", total=len(wanted))
        texts = (opened[index].instruction_text for index in wanted)
        found = predict_queries(model, texts, beams, on_text=lambda: bar.advance(task))
    write_queries(out, found, replace=force)
    if as_json:
        print_json({"file": str(out), "instructions": len(found)})
        return
    results.print(f"{out}: queries for {len(found):,} instructions.", soft_wrap=True)


@app.command("rl")
def rl(
    out: str = typer.Option(..., help="The checkpoint's directory."),
    start: str | None = typer.Option(None, "--from", help="The choice model to begin with."),
    demonstrations: str | None = typer.Option(
        None, help="A run to keep imitating, and to take words from."
    ),
    preset: str = typer.Option("small", help="small, paper or paper-rnn."),
    steps: int | None = typer.Option(None, min=1, help="Steps of all shoppers together."),
    environments: int | None = typer.Option(None, min=1, help="Shoppers side by side."),
    search: str | None = typer.Option(
        None, help="The search model to search with (default: the instruction's own words)."
    ),
    protocol: str = typer.Option("shop-learn-train", help="Which goals, as which pages."),
    catalog: str | None = typer.Option(None, help="Another catalogue."),
    rate: float | None = typer.Option(None, min=0, help="The learning rate."),
    entropy: float | None = typer.Option(None, min=0, help="The weight of the entropy."),
    imitation: float | None = typer.Option(None, min=0, help="The weight of imitating."),
    seed: int = typer.Option(0, min=0, help="Of everything that is chance."),
    resume: bool = typer.Option(False, "--resume", help="Go on with a training that was stopped."),
    track: str | None = typer.Option(None, help="A tracker's module: trackio, wandb or alike."),
    as_json: bool = Json,
) -> None:
    """Train a choice model by reinforcement, from scratch or from a model that imitates.

    Ctrl-C stops after the update at hand; --resume goes on to the same weights.

    Examples:

    \b
      errands train rl --out rl --from il
      errands train rl --out rl --from il --demonstrations demos --imitation 0.2
      errands train rl --out rnn --preset paper-rnn --environments 8
      errands run shop-learn --agent rl --checkpoint rl
    """
    _need_torch()
    from errands.learn.demonstrations import read_demonstrations
    from errands.learn.reinforcement import PRESETS, train_rl
    from errands.learn.search_training import open_search_model
    from errands.learn.shoppers import own_words
    from errands.learn.training_floor import open_floor

    if preset not in PRESETS:
        raise SettingError(f"There is no preset {preset!r}; expected {', '.join(PRESETS)}.")
    given = {
        "steps": steps,
        "environments": environments,
        "rate": rate,
        "entropy": entropy,
        "imitation": imitation,
        "seed": seed,
    }
    config = msgspec.structs.replace(
        PRESETS[preset], **{name: value for name, value in given.items() if value is not None}
    )
    floor = open_floor(protocol, config.environments, catalog)
    shown = None
    if demonstrations is not None:
        shown = read_demonstrations(demonstrations, checksum=floor.checksum)
    with _bar("shopping") as bar, _asked_to_stop() as stop:
        task = bar.add_task("", total=None)

        def show(reached: Any) -> None:
            bar.update(
                task,
                total=reached.steps,
                completed=reached.step,
                description=f"score {reached.score:.1f}, {reached.success:.0%} right",
            )

        trained = train_rl(
            floor.env,
            floor.goals,
            Path(out),
            config,
            start=None if start is None else Path(start),
            shown=shown,
            checksum=floor.checksum,
            queries=own_words if search is None else open_search_model(search).queries,
            resume=resume,
            track=track,
            on_progress=show,
            stop=stop,
        )
        if stop():
            remarks.print("Stopped and saved; the same command with --resume goes on.")
    if as_json:
        print_json({**trained._asdict(), "folder": str(trained.folder)})
        return
    shares = ", ".join(f"{name} {share:.0%}" for name, share in trained.shares.items())
    results.print(
        f"{out}: {trained.steps:,} steps, {trained.episodes:,} episodes; the last ones scored"
        f" {trained.score:.1f}, {trained.success:.1%} right. {trained.steps_per_second:,.0f} steps"
        f" a second; time: {shares}. Words: from {trained.words_from}.",
        soft_wrap=True,
    )


def _need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise SettingError(
            "Training needs PyTorch, which is not installed; run pip install 'errands[train]'."
        ) from None


def _bar(what: str) -> Progress:
    return Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
        console=remarks,
        transient=True,
    )


def _shown_on(bar: Progress, what: str) -> Callable[[Any], None]:
    """Shows how far a training is, and how much of what it gets right."""
    task = bar.add_task("", total=None)
    return lambda reached: bar.update(
        task,
        total=reached.steps,
        completed=reached.step,
        description=f"loss {reached.loss:.3f}, {reached.accuracy:.0%} of {what} right",
    )


def _tell(trained: Any, what: str, examples: str, as_json: bool) -> None:
    """How a training ended."""
    if as_json:
        print_json(
            {
                "checkpoint": str(trained.folder),
                "updates": trained.steps,
                "loss": trained.loss,
                "accuracy": trained.accuracy,
                f"{examples}_per_second": trained.choices_per_second,
            }
        )
        return
    results.print(
        f"{trained.folder}: {trained.steps:,} updates, loss {trained.loss:.3f},"
        f" {trained.accuracy:.1%} of {what} right, {trained.choices_per_second:,.0f} {examples} a"
        " second.",
        soft_wrap=True,
    )


@contextmanager
def _asked_to_stop() -> Iterator[Any]:
    """Whether Ctrl-C or SIGTERM came; a second Ctrl-C ends at once."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
