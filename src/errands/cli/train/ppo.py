"""`errands train ppo`: a choice model that learns from what its own choices earn, by PPO."""

from pathlib import Path

import typer

from errands.cli.options import takes_records
from errands.cli.output import Json
from errands.cli.train.playing import PlayingOptions, describe, explain, warn_of_warmup
from errands.cli.train.progress import (
    LearningRate,
    Least,
    Out,
    TrainingRun,
    changed,
    end,
    find_preset,
    need_torch,
)

__all__ = ["ppo"]


@takes_records
def ppo(
    how: TrainingRun,
    playing: PlayingOptions,
    out: str = Out,
    start: str | None = typer.Option(None, "--from", help="The choice model to begin with."),
    demonstrations: str | None = typer.Option(
        None, help="A run to learn from which words mean the same, without --from."
    ),
    least: float = Least,
    preset: str = typer.Option("small", help="small, the only one."),
    total_timesteps: int | None = typer.Option(None, min=1, help="Steps of all environments."),
    num_envs: int | None = typer.Option(None, min=1, help="Environments side by side."),
    num_steps: int | None = typer.Option(
        None, min=1, help="Steps of every environment between updates."
    ),
    learning_rate: float | None = LearningRate,
    gamma: float | None = typer.Option(None, min=0, max=1, help="The discount factor."),
    gae_lambda: float | None = typer.Option(
        None, min=0, max=1, help="The lambda of generalised advantages."
    ),
    update_epochs: int | None = typer.Option(None, min=1, help="Passes over each batch."),
    minibatch_size: int | None = typer.Option(None, min=1, help="Steps of a minibatch."),
    clip_coef: float | None = typer.Option(None, min=0, help="Where ratios are clipped."),
    ent_coef: float | None = typer.Option(None, min=0, help="The weight of the entropy."),
    vf_coef: float | None = typer.Option(None, min=0, help="The weight of the value loss."),
    max_grad_norm: float | None = typer.Option(None, min=0, help="Where gradients are clipped."),
    critic_warmup_updates: int | None = typer.Option(
        None, min=0, help="Updates at the beginning in which only the value is learnt."
    ),
    as_json: bool = Json,
) -> None:
    """Train a choice model by proximal policy optimisation, from scratch or from another model.

    Options have the names of CleanRL. The best checkpoint by evaluation is kept in the folder
    `best` of --out. Ctrl-C stops after the current update; --resume leads to the same weights.

    Examples:

    \b
      errands train ppo --out il-rl --from il
      errands train ppo --out rl --total-timesteps 500000
      errands run shop-learn --agent rl --checkpoint il-rl
    """
    need_torch()
    from errands.learn.data.demonstrations import read_demonstrations
    from errands.learn.ppo import PRESETS, train_ppo

    config = changed(
        find_preset(preset, PRESETS),
        total_timesteps=total_timesteps,
        num_envs=num_envs,
        num_steps=num_steps,
        learning_rate=learning_rate,
        gamma=gamma,
        gae_lambda=gae_lambda,
        update_epochs=update_epochs,
        minibatch_size=minibatch_size,
        clip_coef=clip_coef,
        ent_coef=ent_coef,
        vf_coef=vf_coef,
        max_grad_norm=max_grad_norm,
        critic_warmup_updates=critic_warmup_updates,
        threads=how.threads,
        seed=how.seed,
    )
    warn_of_warmup(config)
    training_env, evaluation = playing.open_envs(config.num_envs)
    shown = None
    if demonstrations is not None:
        shown = read_demonstrations(demonstrations, least=least, checksum=training_env.checksum)
    with how.training(out, "playing", describe) as options:
        trained = train_ppo(
            training_env,
            Path(out),
            config,
            start=None if start is None else Path(start),
            demonstrations=shown,
            search=playing.search_policy(),
            evaluation=evaluation,
            options=options,
        )
    explain(trained, out, as_json)
    end(options.stop())
