"""TRL: episodes as `GRPOTrainer`'s environments, shop and forms in one run.

    shop = open_episodes("shop-learn-train", max_steps=15, training=True)
    forms = open_episodes("turk", split="train", driver="dom", training=True)
    GRPOTrainer(
        model="Qwen/Qwen3-0.6B",
        args=GRPOConfig(max_tool_calling_iterations=100, ...),
        train_dataset=dataset(shop, forms),
        environment_factory=environments(shop, forms),
        reward_funcs=log_episodes,
    )

TRL's column `environment` is the protocol's key, so a run tells apart whatever it mixes. The tools
own the reward (`get_reward`), which TRL logs under their class's name; `log_episodes` adds nothing
to it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from errands.agents.llm.tools import EpisodeTools
from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes
from errands.integrations.frameworks import require

require("trl")

from datasets import Dataset  # noqa: E402

__all__ = ["dataset", "environments", "log_episodes"]

_COLUMNS: Final = ("goal", "task", "row")
"""What `reset` takes in either domain."""


def environments(*episodes: ToolEpisodes) -> dict[str, Callable[[], EpisodeTools]]:
    """What is TRL's `environment_factory`: for each key, a callable that gives tools. It pickles
    in a few hundred bytes, and the process that reads it opens the episodes itself."""
    return {one.key: one.tools for one in _given(episodes)}


def dataset(*episodes: ToolEpisodes, evaluation: bool = False) -> Dataset:
    """A row for each episode: what the conversation begins with, and what is played. TRL hands a
    row to `reset`, and adds the page that this returns to the last message; the model is shown
    nothing else of it. With `evaluation` it may be of a split for testing: an `eval_dataset`."""
    rows = []
    for one in _given(episodes):
        if not evaluation:
            one.check_training()
        opening = {"prompt": one.messages(), "environment": one.key}
        rows += [{**opening, **dict.fromkeys(_COLUMNS), **row} for row in one]
    return Dataset.from_list(rows)


def log_episodes(
    environments: Sequence[EpisodeTools],
    environment: Sequence[str],
    log_extra: Callable[[str, list[Any]], None],
    log_metric: Callable[[str, float], None],
    **_: Any,
) -> list[None]:
    """A reward function that rewards nothing, and logs: how a batch went, under each protocol's
    key, and for TRL's table of completions what each of them was scored under."""
    log_extra("protocol", list(environment))
    log_extra("steps", [tools.steps for tools in environments])
    for key, tools in zip(environment, environments, strict=True):
        for name in ("reward", "success", "done", "steps"):
            log_metric(f"{key}/{name}", float(getattr(tools, name)))
    return [None] * len(environments)


def _given(episodes: Sequence[ToolEpisodes]) -> Sequence[ToolEpisodes]:
    if not episodes:
        raise SettingError(
            "TRL needs episodes to play; pass open_episodes('shop-learn-train', training=True)."
        )
    keys = [one.key for one in episodes]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise SettingError(f"The episodes of {twice!r} are given twice; pass each protocol once.")
    return episodes
