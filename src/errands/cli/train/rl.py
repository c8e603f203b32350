"""`errands train rl`: a choice model that learns from what its own choices earn."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import typer

from errands.cli.completion import catalog_names, protocol_names
from errands.cli.options import takes_records
from errands.cli.output import Json, answer, remarks
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
    time_shares,
)

__all__ = ["rl"]

_IMITATION: Final = 0.2


@takes_records
def rl(
    how: TrainingRun,
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
    imitation: float | None = typer.Option(
        None,
        min=0,
        help="The weight of imitating (default: 0.2 with --demonstrations and --from, else 0).",
    ),
    search: str | None = typer.Option(
        None, help="The search model to search with (default: the instruction's own words)."
    ),
    queries: str = typer.Option(
        "top", metavar="top|sample", help="The search model's best query, or a sampled one."
    ),
    protocol: str = typer.Option(
        "shop-learn-train", help="Which goals, as which pages.", autocompletion=protocol_names
    ),
    catalog: str | None = typer.Option(
        None, "--data", help="Another catalogue.", autocompletion=catalog_names
    ),
    evaluate_every: int = typer.Option(
        5_000, min=0, metavar="STEPS", help="Steps between evaluations on other goals; 0: none."
    ),
    evaluate_episodes: int = typer.Option(50, min=1, help="How many, of disjoint-eval."),
    evaluate_choose: str = typer.Option(
        "best", metavar="best|sample", help="Evaluate with greedy or with sampled actions."
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
    from errands.agents.factory import one_of
    from errands.learn.a2c import PRESETS, train_rl
    from errands.learn.checkpoint import read_info
    from errands.learn.data.demonstrations import read_demonstrations
    from errands.learn.data.pictures import Pictures
    from errands.learn.environments import open_training_env
    from errands.learn.evaluation import open_eval_config
    from errands.learn.rollout import SearchPolicy
    from errands.learn.search import open_search_model

    one_of("queries", queries, ("top", "sample"))
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
        imitation_coef=imitation,
        threads=how.threads,
        seed=how.seed,
    )
    start_info = None if start is None else read_info(Path(start), "choice")
    training_env = open_training_env(protocol, config.num_envs, catalog)
    if training_env.test_goals:
        remarks.print(
            f"{protocol} also trains on {training_env.test_goals:,} goals of disjoint-test, so do"
            " not test the model on them."
        )
    evaluation = None
    if evaluate_every:
        evaluation = open_eval_config(
            protocol,
            episodes=evaluate_episodes,
            every=evaluate_every,
            choose=evaluate_choose,
            catalog=catalog,
        )
        if not set(evaluation.goals).isdisjoint(training_env.goals):
            remarks.print(
                f"{protocol} also trains on goals that it is evaluated on, so evaluations are"
                " too good."
            )
    shown = None
    if demonstrations is not None:
        shown = (
            checked(demonstrations, None, least)
            if demonstrations.endswith(".jsonl")
            else read_demonstrations(demonstrations, least=least, checksum=training_env.checksum)
        )
    if start_info is not None and start_info.checksum not in ("", training_env.checksum):
        # To go on in another shop may be intended, so this is no error.
        remarks.print(
            f"{start} was trained on another catalogue; words of this one that it does not know"
            " are told apart by their hash alone."
        )
    search_policy = SearchPolicy()
    if search is not None:
        # Goals come again; what can be searched for them is the same each time.
        source = cache(open_search_model(search).queries)
        search_policy = SearchPolicy(source, queries == "sample", _source_name(search, queries))
    with how.training("playing", _describe) as options:
        trained = train_rl(
            training_env,
            Path(out),
            config,
            start=None if start is None else Path(start),
            demonstrations=shown,
            pictures=None if pictures is None else Pictures.read(pictures),
            search=search_policy,
            evaluation=evaluation,
            options=options,
        )
    _explain(trained, out, as_json)
    end(options.stop())


def _describe(progress: Any) -> str:
    return f"score {progress.score:.1f}, {progress.success:.0%} right"


def _source_name(search: str, queries: str) -> str:
    """Where queries come from, as checkpoints spell it: before there was a choice, all of them
    were sampled."""
    return search if queries == "sample" else f"{search}, the best"


def _explain(trained: Any, out: str, as_json: bool) -> None:
    record = trained._asdict()
    for name in ("evaluated", "best"):
        record[name] = None if record[name] is None else record[name]._asdict()
    evaluated = ""
    if trained.evaluated is not None and trained.best is not None:
        evaluated = (
            f" On other goals {trained.evaluated.score:.1f}, {trained.evaluated.success:.1%} right;"
            f" at best {trained.best.score:.1f}, kept in {Path(out) / 'best'}."
        )
    answer(
        as_json,
        record,
        f"{out}: {trained.steps:,} steps, {trained.episodes:,} episodes; the last ones scored"
        f" {trained.score:.1f}, {trained.success:.1%} right.{evaluated}"
        f" {trained.steps_per_second:,.0f} steps a second, {trained.steps_per_cpu_second:,.0f} a"
        f" CPU second; time: {time_shares(trained.shares)}. Words: from {trained.words_from}.",
    )
