"""GEM: `gem.make("errands:shop")` and `gem.make("errands:forms")`, text environments.

    from errands.integrations import gem as errands_gem

    errands_gem.register()
    env = gem.make("errands:shop", protocol="shop-learn-train")
    observation, info = env.reset(seed=0)

The model writes its calls (`errands.integrations.text`). Episodes are drawn by the environment's
own generator, so that no seed of GEM's or of anybody else moves; `info` names the protocol.
"""

import copy
from typing import Any, Self

import numpy as np

from errands.errors import SettingError
from errands.integrations.episodes import open_episodes
from errands.integrations.frameworks import require
from errands.integrations.text import TextEpisode

require("gem")

import gem  # noqa: E402

__all__ = ["ENVIRONMENTS", "GemEnv", "register"]

ENVIRONMENTS = {
    "errands:shop": {"protocol": "shop-learn-train"},
    "errands:forms": {"protocol": "turk", "split": "train"},
}
"""Ids in GEM's registry, with what they play unless it is said otherwise."""


class GemEnv(gem.core.Env):
    """Episodes of a protocol, one after another."""

    def __init__(
        self,
        protocol: str = "shop-learn-train",
        seed: int = 0,
        training: bool = True,
        **changes: Any,
    ) -> None:
        """`changes` are options of `open_episodes`; `training=False` allows splits for testing."""
        super().__init__()
        self.episodes = open_episodes(protocol, training=training, **changes)
        self._rng = np.random.default_rng(seed)
        self.episode: TextEpisode | None = None

    def reset(
        self, seed: int | None = None, number: int | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode: of this `number`, or one that is drawn."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        if number is None:
            number = int(self._rng.integers(len(self.episodes)))
        self.episode = TextEpisode(self.episodes, number)
        observation = "\n\n".join(message["content"] for message in self.episode.messages)
        return observation, self._info(self.episode, True)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One answer of the model."""
        if self.episode is None:
            raise SettingError("The environment has no episode yet; call reset() first.")
        turn = self.episode.answer(action)
        terminated = turn.done and not turn.truncated
        info = self._info(self.episode, turn.valid)
        return turn.observation, turn.reward, terminated, turn.truncated, info

    def sample_random_action(self) -> str:
        """A call that is understood, wherever the episode is."""
        shop = self.episodes.domain == "shop"
        if shop:
            return "click[back to search]" if self._rng.random() < 0.5 else "search[gift]"
        return '<tool_call>{"name": "read", "arguments": {}}</tool_call>'

    def spawn(self, same_state: bool = False, **changes: Any) -> Self:
        """Another environment of the same episodes; with `same_state` where this one is now."""
        seed = changes.pop("seed", None)
        if changes:
            raise SettingError(f"spawn has no option {next(iter(changes))!r}; expected seed.")
        other = copy.copy(self)
        other._rng = copy.deepcopy(self._rng) if same_state else np.random.default_rng(seed)
        other.episode = None
        if same_state and self.episode is not None:
            episode = copy.copy(self.episode)
            episode.tools = self.episodes.at(self.episode.tools.state)
            other.episode = episode
        return other

    def _info(self, episode: TextEpisode, valid: bool) -> dict[str, Any]:
        return {**episode.result(), "number": episode.number, "valid_action": valid}


def register() -> None:
    """Make the environments known to GEM; again changes nothing."""
    for name, options in ENVIRONMENTS.items():
        if name not in gem.envs.registration.ENV_REGISTRY:
            gem.register(name, "errands.integrations.gem:GemEnv", **options)
