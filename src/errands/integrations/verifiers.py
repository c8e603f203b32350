"""verifiers: WebShop and TurkingBench as tasksets, for `vf-eval`, `vf-validate` and prime-rl.

A taskset's id is a module of its own: the distributions `errands-shop` and `errands-forms` (in
packages/) name what is here.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from errands.integrations.frameworks import require

require("verifiers")

import verifiers.v1 as vf  # noqa: E402
from pydantic import model_validator  # noqa: E402
from verifiers.v1.harnesses.null import NullHarness  # noqa: E402

from errands.errors import ErrandsError, SettingError  # noqa: E402
from errands.integrations.episodes import ToolEpisodes, open_episodes  # noqa: E402
from errands.integrations.reference import gold_calls  # noqa: E402
from errands.integrations.verifiers_tools import (  # noqa: E402
    EpisodesOptions,
    EpisodeState,
    EpisodeToolset,
    EpisodeToolsetConfig,
)

__all__ = [
    "EpisodeData",
    "EpisodeTask",
    "EpisodesConfig",
    "EpisodesEnv",
    "EpisodesEnvConfig",
    "EpisodesTaskset",
    "FormTasksConfig",
    "NullHarness",
    "ShopTasksConfig",
]

_ARGUMENT: Final = 100_000
"""Bytes of a prompt that still fit into one argument of a harness's program."""


class EpisodeData(vf.TaskData):
    """An episode, without what it hides."""

    episode: int
    """Its number under the protocol."""
    row: dict[str, Any]
    """What is played."""
    options: dict[str, Any]
    """What its episodes were opened with."""
    protocol: str
    """The protocol's key: what the reward can be compared with."""


class EpisodeTask(vf.Task[EpisodeData, EpisodeState, vf.TaskConfig]):
    """Playing an episode with tools, and what that was worth."""

    @property
    def episodes(self) -> ToolEpisodes:
        return open_episodes(**self.data.options)

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        trace.state.row = dict(self.data.row)

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Write down the episode in the trace, from which it can be scored again."""
        state, episodes = trace.state, self.episodes
        tools = await episodes.aside(episodes.at, state.episode)
        trace.info["errands"] = {
            "state": state.episode,
            "refused": state.refused,
            **episodes.result(tools),
        }

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Whether the reference answer can be given and earns what there is to earn: all in the
        shop, and something for every field of a form page, about which people may disagree."""
        episodes = self.episodes
        if episodes.pointer:
            return None
        calls = await episodes.aside(gold_calls, episodes, self.data.episode)
        tools = await episodes.aside(episodes.at, {**self.data.row, "calls": calls})
        if episodes.domain == "shop":
            return tools.success
        return tools.done and all(part > 0 for part in tools.reward_parts.values())

    @vf.stop
    async def over(self, trace: vf.Trace) -> bool:
        return bool(trace.state.done)

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        episodes = self.episodes
        tools = await episodes.aside(episodes.at, trace.info["errands"]["state"])
        return tools.reward

    @vf.metric
    async def outcome(self, trace: vf.Trace) -> dict[str, float]:
        told = trace.info["errands"]
        return {name: float(told[name]) for name in ("success", "done", "steps", "refused")}


class EpisodesConfig(EpisodesOptions, vf.TasksetConfig):
    """Which episodes are tasks, as `--env.taskset.protocol` and so on."""

    DOMAIN: ClassVar[str] = ""
    tools: vf.SharedToolsetConfig = vf.SharedToolsetConfig()
    """Where the tools' server runs."""

    @model_validator(mode="after")
    def check(self) -> "EpisodesConfig":
        """Refuse what cannot be opened when it is set."""
        try:
            domain = self.open().domain
            if self.DOMAIN and domain != self.DOMAIN:
                raise SettingError(
                    f"The protocol {self.protocol!r} is of the domain {domain}; expected one of"
                    f" {self.DOMAIN} (the tasksets are errands-shop and errands-forms)."
                )
        except ErrandsError as failure:
            raise ValueError(str(failure)) from None
        return self


class ShopTasksConfig(EpisodesConfig):
    """WebShop."""

    DOMAIN = "shop"


class FormTasksConfig(EpisodesConfig):
    """TurkingBench."""

    DOMAIN = "turk"
    protocol: str = "turk-demo"


class EpisodesTaskset(vf.Taskset[EpisodeTask, EpisodesConfig]):
    """A protocol's episodes as tasks, in its order."""

    def load(self) -> Iterable[EpisodeTask]:
        episodes = self.config.open()
        for number in range(len(episodes)):
            _, messages = episodes.conversation(number)
            text = str(messages[-1]["content"])
            short = len(text.encode()) <= _ARGUMENT
            data = EpisodeData(
                id=episodes.name(number),
                name=episodes.name(number),
                system_prompt=messages[0]["content"],
                prompt=text if short else [vf.UserMessage(content=text)],
                episode=number,
                row=episodes.row(number),
                options=self.config.options(),
                protocol=episodes.key,
            )
            yield EpisodeTask(data, self.config.task)

    @classmethod
    def toolsets(cls, config: EpisodesConfig) -> list[vf.Toolset]:
        placed = {name: getattr(config.tools, name) for name in type(config.tools).model_fields}
        return [EpisodeToolset(EpisodeToolsetConfig(**config.options(), **placed))]


class EpisodesEnvConfig(vf.SingleAgentEnvConfig):
    """One agent, whose program runs here: it calls tools and executes nothing."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class EpisodesEnv(vf.SingleAgentEnv, vf.Env[EpisodesEnvConfig]):
    """One agent plays one episode."""
