"""`errands train`: demonstrations, and agents that learn from them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import typer

from errands.cli.completion import catalog_names, protocol_names
from errands.cli.options import CatalogData, takes_records
from errands.cli.output import Force, Json, answer, counting, refuse_to_replace, remarks
from errands.cli.train import dagger, pictures, ppo, rl
from errands.cli.train.progress import (
    SupervisedOptions,
    TrainingRun,
    changed,
    checked,
    end,
    find_preset,
    need_torch,
    time_shares,
)
from errands.errors import SettingError

__all__ = ["app"]

app = typer.Typer(
    name="train",
    no_args_is_help=True,
    help="Train agents: demonstrations, search, imitation, DAgger, reinforcement, PPO.",
)

_NOT_SCRATCH: Final = (
    "--from-scratch draws the weights of a pretrained model anew, and none is named; add {}"
    " NAME_OR_PATH, or leave it out: small models begin from scratch anyway."
)


@app.command("demonstrations")
def demonstrations(
    out: str = typer.Argument(help="A new run: a directory."),
    protocol: str = typer.Option(
        "shop-learn-train", help="Which goals, as which pages.", autocompletion=protocol_names
    ),
    data: str | None = typer.Option(None, help="Another catalogue.", autocompletion=catalog_names),
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
    from errands.envs.groups import is_for_testing
    from errands.runs.protocol import find_protocol
    from errands.runs.runner import run

    try:
        with counting() as shown:
            task = shown.add_task("shopping", total=episodes, remark="")
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
    if is_for_testing(split := find_protocol(protocol).split):
        remarks.print(
            f"{protocol} is for testing ({split}): what learns from these episodes must not be"
            " tested on it."
        )
    record = {"run": finished.place, "episodes": finished.kept}
    answer(as_json, record, f"{finished.place}: {finished.kept:,} episodes.")


@app.command("choice")
@takes_records
def choice(
    lesson: SupervisedOptions,
    how: TrainingRun,
    demonstrations: str = typer.Argument(help="A run with whole text_rich pages, or JSONL."),
    preset: str | None = typer.Option(
        None,
        help="small (the default), matching (reads how well things fit, not words), rnn, or paper:"
        " the paper's schedule, with --encoder its whole model, without it a small encoder from"
        " scratch.",
    ),
    encoder: str | None = typer.Option(
        None,
        metavar="NAME_OR_PATH",
        help="A BERT, RoBERTa or DistilBERT checkpoint of Hugging Face's to read pages with;"
        " implies --preset paper.",
    ),
    from_scratch: bool = typer.Option(
        False, "--from-scratch", help="Draw the encoder's weights anew (the paper's ablation)."
    ),
    pictures: Path | None = typer.Option(
        None, help="Vectors of products' pictures, of `train pictures`."
    ),
    width: int | None = typer.Option(
        None,
        min=4,
        max=16_384,
        help="Width of the vectors (default of a pretrained encoder: its own).",
    ),
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
        config = with_encoder(config, encoder, from_scratch=from_scratch)
    elif from_scratch:
        raise SettingError(_NOT_SCRATCH.format("--encoder"))
    config = changed(config, choice=changed(config.choice, width=width))

    def train(shown: Any, others: Any, config: Any, options: Any) -> Any:
        seen = None if pictures is None else Pictures.read(pictures)
        return train_choice(
            shown, Path(lesson.out), config, pictures=seen, others=others, options=options
        )

    _train_supervised(train, config, demonstrations, lesson, how, "choices", "choices", as_json)


@app.command("search")
@takes_records
def search(
    lesson: SupervisedOptions,
    how: TrainingRun,
    demonstrations: str = typer.Argument(
        help="A run with whole text_rich pages, or people's queries: the original's"
        " goal_query_map.json."
    ),
    instructions: str | None = typer.Option(
        None,
        metavar="FILE",
        help="The original's human_goals.json: of people's queries, leave out those for goals that"
        " are tested on (0 to 1499).",
    ),
    preset: str | None = typer.Option(
        None, help="small (from scratch), or paper (with --model; BART by default)."
    ),
    model: str | None = typer.Option(
        None, help="A BART or T5 checkpoint of Hugging Face's to train, by name or path."
    ),
    from_scratch: bool = typer.Option(
        False, "--from-scratch", help="Draw the model's weights anew (the paper's ablation)."
    ),
    as_json: bool = Json,
) -> None:
    """Train a search model: from an instruction to what to search for.

    Ctrl-C stops after the current update; --resume leads to the same weights.

    Examples:

    \b
      errands train search demos --out search
      errands train search goal_query_map.json --instructions human_goals.json --out people
      errands train search demos --out bart --model facebook/bart-base
      errands run shop-learn --agent il --checkpoint il --set search=search
    """
    need_torch()
    from errands.learn.search import PRESETS, train_search

    name = preset or ("paper" if model else "small")
    config = changed(find_preset(name, PRESETS), model=model, from_scratch=from_scratch)
    if from_scratch and not config.model:
        raise SettingError(_NOT_SCRATCH.format("--model"))
    if name == "small" and model:
        raise SettingError("--preset small trains from scratch; leave --model or --preset out.")

    def train(shown: Any, others: Any, config: Any, options: Any) -> Any:
        return train_search(
            *(shown.queries, Path(lesson.out), config),
            others=others,
            checksum=shown.checksum,
            goals=shown.goals,
            options=options,
        )

    if instructions is not None and not demonstrations.endswith(".json"):
        raise SettingError(
            f"--instructions says which of people's queries to learn from, and {demonstrations}"
            " holds none; leave it out."
        )
    if instructions is None and demonstrations.endswith(".json"):
        remarks.print(
            "All instructions are learnt from, those of goals that are tested on, too; to leave"
            " them out, add --instructions human_goals.json."
        )
    _train_supervised(
        train, config, demonstrations, lesson, how, "queries", "words", as_json, instructions
    )


def _train_supervised(
    train: Callable[[Any, Any, Any, Any], Any],
    config: Any,
    demonstrations: str,
    lesson: SupervisedOptions,
    how: TrainingRun,
    examples: str,
    unit: str,
    as_json: bool,
    instructions: str | None = None,
) -> None:
    """Learn from demonstrations: `examples` is what is taken from them, `unit` what can be right.

    `train` gets the demonstrations, other examples to measure on, the config and the options.
    """
    share, other = lesson.measured(demonstrations)
    config = changed(
        config,
        epochs=lesson.epochs,
        learning_rate=lesson.learning_rate,
        threads=how.threads,
        seed=how.seed,
        held_out=share,
    )
    shown = checked(demonstrations, lesson.catalog, lesson.least, instructions)
    remarks.print(
        f"{len(getattr(shown, examples)):,} {examples} of {shown.episodes:,} episodes;"
        f" {shown.left_out:,} left out for their reward."
    )

    def describe(progress: Any) -> str:
        return f"loss {progress.loss:.3f}, {progress.accuracy:.0%} of {unit} right"

    with how.training(lesson.out, "learning", describe) as options:
        trained = train(shown, () if other is None else getattr(other, examples), config, options)
    record = {
        "checkpoint": trained.folder,
        "updates": trained.steps,
        "loss": trained.loss,
        "accuracy": trained.accuracy,
        **trained.held_out,
        f"{examples}_per_second": trained.choices_per_second,
        f"{examples}_per_cpu_second": trained.choices_per_cpu_second,
        "shares": trained.shares,
    }
    held_out = ""
    if trained.held_out:
        held_out = (
            f" ({trained.held_out['held_out_accuracy']:.1%} of those it was measured on, loss"
            f" {trained.held_out['held_out_loss']:.3f})"
        )
    answer(
        as_json,
        record,
        f"{trained.folder}: {trained.steps:,} updates, loss {trained.loss:.3f},"
        f" {trained.accuracy:.1%} of {unit} right{held_out}. {trained.choices_per_second:,.0f}"
        f" {examples} a second, {trained.choices_per_cpu_second:,.0f} a CPU second; time:"
        f" {time_shares(trained.shares)}.",
    )
    end(options.stop())


@app.command("queries")
def queries(
    checkpoint: str = typer.Argument(help="What `train search` wrote, or a Hugging Face model."),
    out: Path = typer.Option(..., help="The JSON file to write."),
    catalog: str = CatalogData,
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
      errands train queries search --data demo-easy --split disjoint-test --out found.json
      errands run shop-learn --agent choice-oracle --set query=predicted --set queries=found.json
    """
    need_torch()
    from errands.learn.search import open_search_model, predict_queries, write_queries
    from errands.shop.catalog.catalog import Catalog
    from errands.shop.splits import split_indices

    refuse_to_replace(out, force)
    if not out.absolute().parent.is_dir():
        raise SettingError(f"{out} cannot be written: there is no folder {out.parent}.")
    goal_set = Catalog.open(catalog).goals(goals)
    indices = split_indices(split, goal_set)
    model = open_search_model(checkpoint)
    with counting() as shown:
        task = shown.add_task("searching", total=len(indices), remark="")
        instructions = (goal_set[index].instruction_text for index in indices)
        predicted = predict_queries(model, instructions, beams, on_text=lambda: shown.advance(task))
    write_queries(out, predicted, replace=force)
    record = {"file": out, "instructions": len(predicted)}
    answer(as_json, record, f"{out}: queries for {len(predicted):,} instructions.")


app.command("dagger")(dagger.dagger)
app.command("rl")(rl.rl)
app.command("ppo")(ppo.ppo)
app.command("pictures")(pictures.pictures)
