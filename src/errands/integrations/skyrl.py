"""SkyRL: `skyrl_gym.make("errands", ...)`, a text environment for its generator and trainers.

    from errands.integrations import skyrl

    skyrl.register()                                     # the id `errands`
    rows = skyrl.dataset("shop-learn-train")             # rows for SkyRL's data loader

The model writes its calls (`errands.integrations.text`); pages come back as messages of the user's.
A row says in `extra_info` what is played; SkyRL hands it to the environment.
"""

from collections.abc import Mapping
from typing import Any

from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.integrations.frameworks import require
from errands.integrations.text import TextEpisode

require("skyrl")

import skyrl_gym  # noqa: E402
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput  # noqa: E402

__all__ = ["ENVIRONMENT", "SkyRLEnv", "dataset", "register"]

ENVIRONMENT = "errands"
"""The id, in SkyRL's registry and in the column `env_class`."""

Row = dict[str, Any]


class SkyRLEnv(BaseTextEnv):
    """One episode; `extras` is a row of `dataset`."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        given = (extras or {}).get("extra_info")
        told = dict(given) if isinstance(given, Mapping) else {}
        number = told.pop("number", None)
        if number is None or "protocol" not in told:
            raise SettingError(
                "A row for the environment 'errands' has extra_info with protocol and number;"
                " errands.integrations.skyrl.dataset makes such rows."
            )
        self.episode = TextEpisode(open_episodes(**told), number)
        self.max_turns = self.episode.most_turns
        self._valid = 0

    def init(self, prompt: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The conversation's beginning; the row's own prompt is the same."""
        return self.episode.messages, {"protocol": self.episode.episodes.key}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """One answer of the model."""
        turn = self.episode.answer(action)
        self.turns = self.episode.turns
        self._valid += turn.valid
        observations = [] if turn.done else [{"role": "user", "content": turn.observation}]
        return BaseTextEnvStepOutput(
            observations=observations,
            reward=turn.reward,
            done=turn.done,
            metadata={**self.episode.result(), "valid_action": turn.valid},
        )

    def get_metrics(self) -> dict[str, Any]:
        """What SkyRL logs of an episode: numbers, which it averages."""
        result = self.episode.result()
        return {
            "reward": result["reward"],
            "success": float(result["success"]),
            "steps": result["steps"],
            "valid_share": self._valid / max(self.turns, 1),
        }


def register() -> None:
    """Make the environment known to SkyRL; again changes nothing."""
    if ENVIRONMENT not in skyrl_gym.registry:
        skyrl_gym.register(id=ENVIRONMENT, entry_point="errands.integrations.skyrl:SkyRLEnv")


def dataset(
    protocol: str = "shop-learn-train", *, training: bool = True, **changes: Any
) -> list[Row]:
    """A row for each episode; `changes` are options of `open_episodes`. For evaluating on a split
    that is for testing, `training=False`."""
    episodes = open_episodes(protocol, training=training, **changes)
    told = {"protocol": protocol, "training": training, **changes}
    return [_row(episodes, number, told) for number in range(len(episodes))]


def _row(episodes: ToolEpisodes, number: int, told: Mapping[str, Any]) -> Row:
    return {
        "data_source": episodes.key,
        "prompt": TextEpisode(episodes, number).messages,
        "env_class": ENVIRONMENT,
        "extra_info": {**told, "number": number},
    }
