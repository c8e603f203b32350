"""The tools of both domains as a verifiers toolset: one server for all rollouts of a run.

verifiers starts it as `python -m errands.integrations.verifiers_tools`, and fetches and sends back
a rollout's state around each call: what is played and the calls so far, which are done again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakValueDictionary

from errands.integrations.frameworks import require

require("verifiers")

import verifiers.v1 as vf  # noqa: E402
from mcp.types import CallToolResult, TextContent, Tool  # noqa: E402
from pydantic import Field  # noqa: E402

from errands.agents.llm.tools import ToolError, call_tool  # noqa: E402
from errands.integrations.episodes import ToolEpisodes, open_episodes  # noqa: E402

__all__ = ["EpisodeState", "EpisodeToolset", "EpisodeToolsetConfig", "EpisodesOptions"]


class EpisodesOptions(vf.BaseConfig):
    """Which episodes are played: what `open_episodes` takes."""

    protocol: str = "shop-demo"
    """A protocol's name, or FILE.toml#name."""
    data: str | None = None
    """Another catalogue, or folder of tasks."""
    split: str | None = None
    """Another split."""
    episodes: int | None = None
    """The first so many."""
    max_steps: int | None = None
    """Tool calls in an episode."""
    per_task: int | None = None
    """Instances of each task (form pages)."""
    driver: str | None = None
    """What shows form pages: dom, browser or auto."""
    training: bool = False
    """Refuse splits that are for testing."""

    def open(self) -> ToolEpisodes:
        return open_episodes(**self.options())

    def options(self) -> dict[str, Any]:
        """Those that are set, as JSON."""
        given = {name: getattr(self, name) for name in EpisodesOptions.model_fields}
        return {name: value for name, value in given.items() if value is not None}


class EpisodeToolsetConfig(EpisodesOptions, vf.SharedToolsetConfig):
    """Which episodes the tools play, and where their server runs."""


class EpisodeState(vf.State):
    """A rollout's episode as a value."""

    row: dict[str, Any] = Field(default_factory=dict)
    """What is played."""
    calls: list[dict[str, Any]] = Field(default_factory=list)
    refused: int = 0
    """Calls that were answered with an error; not all of them are steps."""
    done: bool = False

    @property
    def episode(self) -> dict[str, Any]:
        """What `ToolEpisodes.at` plays again."""
        return {**self.row, "calls": self.calls}


class EpisodeToolset(vf.Toolset[EpisodeToolsetConfig, EpisodeState]):
    """The tools that a model is offered, under their own names."""

    TOOL_PREFIX = None

    def __init__(self, config: EpisodeToolsetConfig) -> None:
        super().__init__(config)
        self._turns: WeakValueDictionary[Any, asyncio.Lock] = WeakValueDictionary()

    async def setup(self) -> None:
        # Opened before the first call, not by it.
        self.config.open()

    def register(self, mcp: Any) -> None:
        # A server's handlers call these two, so that names, texts and schemas are those of the
        # tools' own description, instead of what would be read from signatures.
        mcp.list_tools = self.list_tools
        mcp.call_tool = self._in_turn(self._with_state(self.call_tool))

    async def list_tools(self) -> list[Tool]:
        return [
            Tool(name=spec.name, description=spec.description, input_schema=spec.parameters)
            for spec in self.config.open().specs
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> CallToolResult:
        """Do a call in the rollout's episode; what was wrong with it is told to the model."""
        state, episodes = self.state, self.config.open()
        tools = await episodes.aside(episodes.at, state.episode)
        wrong = False
        try:
            text = await episodes.aside(call_tool, tools, name, arguments)
        except ToolError as error:
            text, wrong = str(error), True
        state.calls, state.done = list(tools.calls), tools.done
        state.refused += wrong
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=wrong)

    def _in_turn(
        self, call: Callable[..., Awaitable[CallToolResult]]
    ) -> Callable[..., Awaitable[CallToolResult]]:
        """One call after the other in each rollout: the last state that is sent back wins."""

        async def waited(*args: Any, **kwargs: Any) -> CallToolResult:
            url, _, route = self._state_channel()
            turn = self._turns.setdefault((url, route), asyncio.Lock())
            async with turn:
                return await call(*args, **kwargs)

        return waited


if __name__ == "__main__":
    EpisodeToolset.run()
