"""`errands train rl`: a choice model that learns from what its own choices earn."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import typer

from errands.cli.output import Json, print_json, remarks, results
from errands.cli.train.progress import (
    Device,
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
    times,
)

__all__ = ["register"]

_IMITATION: Final = 0.2


def register(train: typer.Typer) -> None:
    train.command("rl")(rl)


def rl(
    out: str = typer.Option(..., help="The checkpoint's directory."),
    start: str | None = typer.Option(None, "--from", help="The choice model to begin with."),
    demonstrations: str | None = typer.Option(
        None,
        help="A run (or JSONL) to keep imitating beside --from; without it, to take words from.",
    ),
    least: float = typer.Option(
        0.99, min=0, max=1, help="The reward an episode of --demonstrations needs."
    ),
    preset: str = typer.Option("small", help="small, paper or paper-rnn."),
    pictures: Path | None = typer.Option(
        None, help="What products look like, of `train pictures`; for a model from scratch."
    ),
    steps: int | None = typer.Option(None, min=1, help="Steps of all shoppers together."),
    environments: int | None = typer.Option(None, min=1, help="Shoppers side by side."),
    search: str | None = typer.Option(
        None, help="The search model to search with (default: the instruction's own words)."
    ),
    queries: str = typer.Option(
        "top", metavar="top|sample", help="The search model's best query, or one by chance."
    ),
    protocol: str = typer.Option("shop-learn-train", help="Which goals, as which pages."),
    catalog: str | None = typer.Option(None, help="Another catalogue."),
    rate: float | None = typer.Option(None, min=0, help="The learning rate."),
    entropy: float | None = typer.Option(None, min=0, help="The weight of the entropy."),
    imitation: float | None = typer.Option(
        None,
        min=0,
        help="The weight of imitating (default: 0.2 with --demonstrations and --from, else 0).",
    ),
    evaluate_every: int = typer.Option(
        5_000, min=0, metavar="STEPS", help="Between evaluations on other goals; 0: none."
    ),
    evaluate_episodes: int = typer.Option(50, min=1, help="How many, of disjoint-eval."),
    evaluate_choose: str = typer.Option(
        "best", metavar="best|sample", help="Evaluate with the best actions, or by chance."
    ),
    device: str = Device,
    seed: int = Seed,
    resume: bool = Resume,
    save_every: float = SaveEvery,
    track: str | None = Track,
    as_json: bool = Json,
) -> None:
    """Train a choice model by reinforcement, from scratch or from a model that imitates.

    The best checkpoint by evaluation is kept in the folder `best` of --out. Ctrl-C stops after
    the update at hand; --resume goes on to the same weights.

    Examples:

    \b
      errands train rl --out rl --from il
      errands train rl --out rl --from il --demonstrations demos
      errands train rl --out rnn --preset paper-rnn --environments 8
      errands run shop-learn --agent rl --checkpoint rl
    """
    need_torch()
    from errands.agents.factory import one_of
    from errands.learn.a2c import PRESETS, train_rl
    from errands.learn.checkpoint import read_about
    from errands.learn.data.demonstrations import read_demonstrations
    from errands.learn.data.pictures import Pictures
    from errands.learn.environments import open_floor
    from errands.learn.evaluation import open_exam
    from errands.learn.rollout import own_words
    from errands.learn.search_training import open_search_model

    one_of("queries", queries, ("top", "sample"))
    if imitation is None and start is not None and demonstrations is not None:
        imitation = _IMITATION
    given = {
        "steps": steps,
        "environments": environments,
        "rate": rate,
        "entropy": entropy,
        "imitation": imitation,
        "seed": seed,
    }
    config = msgspec.structs.replace(
        chosen(preset, PRESETS),
        **{name: value for name, value in given.items() if value is not None},
    )
    before = None if start is None else read_about(Path(start), "choice")
    floor = open_floor(protocol, config.environments, catalog)
    if floor.judged:
        remarks.print(
            f"{protocol} also trains on {floor.judged:,} goals of disjoint-test, so do not judge"
            " the model on them.",
            soft_wrap=True,
        )
    exam = None
    if evaluate_every:
        exam = open_exam(
            protocol,
            episodes=evaluate_episodes,
            every=evaluate_every,
            choose=evaluate_choose,
            catalog=catalog,
        )
        if not set(exam.goals).isdisjoint(floor.goals):
            remarks.print(
                f"{protocol} also trains on goals that it is evaluated on, so evaluations are"
                " too good.",
                soft_wrap=True,
            )
    shown = None
    if demonstrations is not None:
        shown = (
            checked(demonstrations, None, least)
            if demonstrations.endswith(".jsonl")
            else read_demonstrations(demonstrations, least=least, checksum=floor.checksum)
        )
    if before is not None and before.checksum not in ("", floor.checksum):
        # Going on in another shop is a thing to want, so this is no mistake.
        remarks.print(
            f"{start} was trained on another catalogue; words of this one that it does not know"
            " are told apart by their hash alone.",
            soft_wrap=True,
        )
    with bar("shopping") as shown_bar, asked_to_stop() as stop:
        task = shown_bar.add_task("", total=None)

        def show(reached: Any) -> None:
            shown_bar.update(
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
            pictures=None if pictures is None else Pictures.read(pictures),
            checksum=floor.checksum,
            device=device,
            protocol=floor.protocol,
            # Goals come again; what can be searched for them is the same each time.
            queries=own_words if search is None else cache(open_search_model(search).queries),
            queries_from=_source(search, queries),
            sample_queries=queries == "sample",
            exam=exam,
            resume=resume,
            track=track,
            on_progress=show,
            stop=stop,
            save_every=save_every,
        )
    _tell(trained, out, as_json)
    end(stop())


def _source(search: str | None, queries: str) -> str:
    """Where queries come from, in a checkpoint's words: before there was a choice, all of them
    were drawn."""
    if search is None:
        return "own words"
    return search if queries == "sample" else f"{search}, the best"


def _tell(trained: Any, out: str, as_json: bool) -> None:
    if as_json:
        told = {**trained._asdict(), "folder": str(trained.folder)}
        for name in ("evaluated", "best"):
            told[name] = None if told[name] is None else told[name]._asdict()
        print_json(told)
        return
    evaluated = ""
    if trained.evaluated is not None and trained.best is not None:
        evaluated = (
            f" On other goals {trained.evaluated.score:.1f}, {trained.evaluated.success:.1%} right;"
            f" at best {trained.best.score:.1f}, kept in {Path(out) / 'best'}."
        )
    results.print(
        f"{out}: {trained.steps:,} steps, {trained.episodes:,} episodes; the last ones scored"
        f" {trained.score:.1f}, {trained.success:.1%} right.{evaluated}"
        f" {trained.steps_per_second:,.0f} steps a second, {trained.steps_per_cpu_second:,.0f} a"
        f" CPU second; time: {times(trained.shares)}. Words: from {trained.words_from}.",
        soft_wrap=True,
    )
