"""`errands train rl`: a choice model that learns from what its own choices earn."""

from pathlib import Path
from typing import Final

import typer

from errands.cli.options import takes_records
from errands.cli.output import Json, remarks
from errands.cli.train.playing import PlayingOptions, describe, explain, warn_of_warmup
from errands.cli.train.progress import (
    LearningRate,
    Least,
    Out,
    TrainingRun,
    changed,
    checked,
    end,
    find_preset,
    need_torch,
)

__all__ = ["rl"]

_IMITATION: Final = 0.2


@takes_records
def rl(
    how: TrainingRun,
    playing: PlayingOptions,
    out: str = Out,
    start: str | None = typer.Option(None, "--from", help="The choice model to begin with."),
    demonstrations: str | None = typer.Option(
        None,
        help="A run (or JSONL) to keep imitating beside --from; without it, to take words from.",
    ),
    least: float = Least,
    preset: str = typer.Option("small", help="small, paper or paper-rnn."),
    pictures: Path | None = typer.Option(
        None, help="Vectors of products' pictures, of `train pictures`; for a model from scratch."
    ),
    total_timesteps: int | None = typer.Option(None, min=1, help="Steps of all environments."),
    num_envs: int | None = typer.Option(None, min=1, help="Environments side by side."),
    num_steps: int | None = typer.Option(
        None, min=1, help="Steps of every environment between updates."
    ),
    learning_rate: float | None = LearningRate,
    gamma: float | None = typer.Option(None, min=0, max=1, help="The discount factor."),
    ent_coef: float | None = typer.Option(None, min=0, help="The weight of the entropy."),
    vf_coef: float | None = typer.Option(None, min=0, help="The weight of the value loss."),
    max_grad_norm: float | None = typer.Option(None, min=0, help="Where gradients are clipped."),
    critic_warmup_updates: int | None = typer.Option(
        None, min=0, help="Updates at the beginning in which only the value is learnt."
    ),
    imitation: float | None = typer.Option(
        None,
        min=0,
        help="The weight of imitating (default: 0.2 with --demonstrations and --from, else 0).",
    ),
    as_json: bool = Json,
) -> None:
    """Train a choice model by reinforcement, from scratch or from a model that imitates.

    Options have the names of CleanRL. The best checkpoint by evaluation is kept in the folder
    `best` of --out. Ctrl-C stops after the current update; --resume leads to the same weights.

    Examples:

    \b
      errands train rl --out rl --from il
      errands train rl --out rl --from il --demonstrations demos
      errands train rl --out rnn --preset paper-rnn --num-envs 8
      errands run shop-learn --agent rl --checkpoint rl
    """
    need_torch()
    from errands.learn.a2c import PRESETS, train_rl
    from errands.learn.checkpoint import read_info
    from errands.learn.data.demonstrations import read_demonstrations
    from errands.learn.data.pictures import Pictures

    if imitation is None and start is not None and demonstrations is not None:
        imitation = _IMITATION
    config = changed(
        find_preset(preset, PRESETS),
        total_timesteps=total_timesteps,
        num_envs=num_envs,
        num_steps=num_steps,
        learning_rate=learning_rate,
        gamma=gamma,
        ent_coef=ent_coef,
        vf_coef=vf_coef,
        max_grad_norm=max_grad_norm,
        critic_warmup_updates=critic_warmup_updates,
        imitation_coef=imitation,
        threads=how.threads,
        seed=how.seed,
    )
    start_info = None if start is None else read_info(Path(start), "choice")
    warn_of_warmup(config)
    training_env, evaluation = playing.open_envs(config.num_envs)
    shown = None
    if demonstrations is not None:
        shown = (
            checked(demonstrations, None, least)
            if demonstrations.endswith(".jsonl")
            else read_demonstrations(demonstrations, least=least, checksum=training_env.checksum)
        )
    if start_info is not None and preset != "small":
        remarks.print(f"The model is that of {start}; of the preset only the training is taken.")
    if start_info is not None and start_info.checksum not in ("", training_env.checksum):
        # To go on in another shop may be intended, so this is no error.
        remarks.print(
            f"{start} was trained on another catalogue; words of this one that it does not know"
            " are told apart by their hash alone."
        )
    with how.training(out, "playing", describe) as options:
        trained = train_rl(
            training_env,
            Path(out),
            config,
            start=None if start is None else Path(start),
            demonstrations=shown,
            pictures=None if pictures is None else Pictures.read(pictures),
            search=playing.search_policy(),
            evaluation=evaluation,
            options=options,
        )
    explain(trained, out, as_json)
    end(options.stop())
