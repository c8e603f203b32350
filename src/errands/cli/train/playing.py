"""What the commands share that train by playing: where, how it is searched, how it is evaluated."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from errands.cli.completion import catalog_names, protocol_names
from errands.cli.output import answer, remarks
from errands.cli.train.progress import time_shares
from errands.errors import SettingError

if TYPE_CHECKING:
    from errands.learn.environments import TrainingEnv
    from errands.learn.evaluation import EvalConfig
    from errands.learn.rollout import SearchPolicy

__all__ = ["PlayingOptions", "describe", "evaluated", "explain", "record_of", "warn_of_warmup"]


@dataclass(frozen=True)
class PlayingOptions:
    """Where a training plays, and how it is evaluated."""

    search: str | None = typer.Option(
        None,
        help="The search model to search with (default: the matching model chooses among queries,"
        " others search with the instruction's own words).",
    )
    queries: str | None = typer.Option(
        None,
        metavar="top|sample",
        help="With --search: its best query (the default), or a sampled one.",
    )
    protocol: str = typer.Option(
        "shop-learn-train", help="Which goals, as which pages.", autocompletion=protocol_names
    )
    catalog: str | None = typer.Option(
        None, "--data", help="Another catalogue.", autocompletion=catalog_names
    )
    evaluate_every: int = typer.Option(
        5_000, min=0, metavar="STEPS", help="Steps between evaluations on other goals; 0: none."
    )
    evaluate_episodes: int = typer.Option(50, min=1, help="How many, of disjoint-eval.")
    evaluate_choose: str = typer.Option(
        "best", metavar="best|sample", help="Evaluate with greedy or with sampled actions."
    )

    def open_envs(self, num_envs: int) -> "tuple[TrainingEnv, EvalConfig | None]":
        """The environments to train in, and what is evaluated."""
        from errands.agents.factory import one_of
        from errands.learn.environments import open_training_env
        from errands.learn.evaluation import open_eval_config

        if self.queries is not None:
            one_of("queries", self.queries, ("top", "sample"))
            if self.search is None:
                raise SettingError("--queries says how a search model is used; add --search DIR.")
        one_of("evaluate-choose", self.evaluate_choose, ("best", "sample"))
        training_env = open_training_env(self.protocol, num_envs, self.catalog)
        if training_env.test_goals:
            remarks.print(
                f"{self.protocol} also trains on {training_env.test_goals:,} goals of"
                " disjoint-test, so do not test the model on them."
            )
        if not self.evaluate_every:
            return training_env, None
        evaluation = open_eval_config(
            self.protocol,
            episodes=self.evaluate_episodes,
            every=self.evaluate_every,
            choose=self.evaluate_choose,
            catalog=self.catalog,
        )
        if not set(evaluation.goals).isdisjoint(training_env.goals):
            remarks.print(
                f"{self.protocol} also trains on goals that it is evaluated on, so evaluations are"
                " too good."
            )
        return training_env, evaluation

    def search_policy(self) -> "SearchPolicy | None":
        """None where the training has its own way to search."""
        from errands.learn.rollout import SearchPolicy
        from errands.learn.search import open_search_model

        if self.search is None:
            return None
        # Goals come again; what can be searched for them is the same each time.
        source = cache(open_search_model(self.search).queries)
        is_sampled = self.queries == "sample"
        # As checkpoints spell it: before there was a choice, all of them were sampled.
        name = self.search if is_sampled else f"{self.search}, the best"
        return SearchPolicy(source, is_sampled, name)


def describe(progress: Any) -> str:
    return f"score {progress.score:.1f}, {progress.success:.0%} right"


def warn_of_warmup(config: Any) -> None:
    """Say so where a training is over before its policy learns."""
    if config.num_updates <= config.critic_warmup_updates:
        remarks.print(
            f"In the first {config.critic_warmup_updates} updates only the value is learnt"
            f" (--critic-warmup-updates), and {config.total_timesteps:,} steps make"
            f" {config.num_updates}: the choices stay as they are."
        )


def record_of(trained: Any) -> dict[str, Any]:
    """How a training ended, for JSON."""
    record: dict[str, Any] = trained._asdict()
    for name in ("evaluated", "best"):
        record[name] = None if record[name] is None else record[name]._asdict()
    return record


def explain(trained: Any, out: str, as_json: bool) -> None:
    """How a training by reinforcement ended."""
    answer(
        as_json,
        record_of(trained),
        f"{out}: {trained.steps:,} steps, {trained.episodes:,} episodes; the last ones scored"
        f" {trained.score:.1f}, {trained.success:.1%} right.{evaluated(trained, out)}"
        f" {trained.steps_per_second:,.0f} steps a second, {trained.steps_per_cpu_second:,.0f} a"
        f" CPU second; time: {time_shares(trained.shares)}. Words: from {trained.words_from}.",
    )


def evaluated(trained: Any, out: str) -> str:
    """What evaluations found, if there were any."""
    if trained.evaluated is None or trained.best is None:
        return ""
    return (
        f" On other goals {trained.evaluated.score:.1f}, {trained.evaluated.success:.1%} right;"
        f" at best {trained.best.score:.1f}, kept in {Path(out) / 'best'}."
    )
