"""`errands train dagger`: a choice model that learns what a teacher would do where it comes to."""

from pathlib import Path

import typer

from errands.cli.options import takes_records
from errands.cli.output import Json, answer
from errands.cli.train.playing import PlayingOptions, describe, evaluated, record_of
from errands.cli.train.progress import (
    Epochs,
    LearningRate,
    Out,
    TrainingRun,
    changed,
    end,
    find_preset,
    need_torch,
    time_shares,
)

__all__ = ["dagger"]


@takes_records
def dagger(
    how: TrainingRun,
    playing: PlayingOptions,
    out: str = Out,
    preset: str = typer.Option("small", help="small, the only one."),
    num_iterations: int | None = typer.Option(
        None, min=1, help="Rounds of playing and learning; in the first the teacher plays."
    ),
    num_envs: int | None = typer.Option(None, min=1, help="Environments side by side."),
    num_steps: int | None = typer.Option(
        None, min=1, help="Steps of every environment in each round."
    ),
    beta: float | None = typer.Option(
        None, min=0, max=1, help="The teacher's share of actions: this to the power of the round."
    ),
    looks: int | None = typer.Option(
        None, min=1, help="Products that the teacher opens before it buys the best of them."
    ),
    epochs: int | None = Epochs,
    learning_rate: float | None = LearningRate,
    as_json: bool = Json,
) -> None:
    """Train a choice model on a teacher's advice, on the pages that the model itself comes to.

    The teacher opens some products, goes back to the best of them by the environment's rules, picks
    the options that are wanted, and buys: it knows the goals of training, and gives no advice on
    others. The model is evaluated after every round, unless --evaluate-every is 0.

    Ctrl-C stops after the current update; what a round plays is kept once it is played. --resume
    leads to the same weights.

    Examples:

    \b
      errands train dagger --out il
      errands train ppo --out il-rl --from il
      errands run shop-learn --agent il --checkpoint il
    """
    need_torch()
    from errands.learn.dagger import PRESETS, train_dagger

    config = changed(
        find_preset(preset, PRESETS),
        num_iterations=num_iterations,
        num_envs=num_envs,
        num_steps=num_steps,
        beta=beta,
        looks=looks,
        epochs=epochs,
        learning_rate=learning_rate,
        threads=how.threads,
        seed=how.seed,
    )
    training_env, evaluation = playing.open_envs(config.num_envs)
    with how.training(out, "learning", describe) as options:
        trained = train_dagger(
            training_env,
            Path(out),
            config,
            search=playing.search_policy(),
            evaluation=evaluation,
            options=options,
        )
    answer(
        as_json,
        record_of(trained),
        f"{out}: {trained.iterations} rounds, {trained.examples:,} pages with advice, loss"
        f" {trained.loss:.3f}, {trained.accuracy:.1%} of it followed; the last episodes scored"
        f" {trained.score:.1f}, {trained.success:.1%} right.{evaluated(trained, out)} Time:"
        f" {time_shares(trained.shares)}.",
    )
    end(options.stop())
