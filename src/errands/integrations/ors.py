"""ORS, the Open Reward Standard: protocols as environments that its server hosts.

    Server([environment("shop-demo", "shop-learn-train"), environment("turk-demo")]).run()

Each protocol is a split, a task is a number of it, and an instance plays one episode.
"""

# ruff: noqa: E402 - a framework that is missing is said before it is imported.

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from errands.agents.llm.tools import EpisodeTools, ToolError, ToolSpec, call_tool
from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes, open_splits
from errands.integrations.frameworks import require

require("ors")

from openreward.environments import Environment, Split, TextBlock, ToolOutput, tool
from openreward.environments.types import Message
from pydantic import BaseModel, ConfigDict

__all__ = ["OrsEpisode", "environment"]


class OrsEpisode(Environment):
    """One episode; `environment` makes the classes that a server hosts."""

    splits: ClassVar[Mapping[str, ToolEpisodes]] = {}

    def __init__(
        self, task_spec: Mapping[str, Any] | None = None, secrets: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(task_spec or {}, dict(secrets or {}))
        self._episodes, self._number = self._chosen(self.task_spec)
        self._tools: EpisodeTools | None = None
        self._messages: list[Any] = []
        self._turn = asyncio.Lock()

    @classmethod
    def list_splits(cls) -> list[Split]:
        return [Split(name=name, type=one.purpose) for name, one in cls.splits.items()]

    @classmethod
    def list_tasks(cls, split: str) -> list[dict[str, Any]]:
        """What an instance is made with: nothing of a goal but its number."""
        episodes = cls._split(split)
        return [
            {"id": episodes.name(number), "split": split, "index": number}
            for number in range(len(episodes))
        ]

    def setup(self) -> None:
        self._tools, self._messages = self._episodes.conversation(self._number)

    def teardown(self) -> None:
        if self._tools is not None:
            self._episodes.release(self._tools)

    def get_messages(self) -> list[Message]:
        """The rules, then the task and its first page."""
        return [
            Message(role=one["role"], blocks=[TextBlock(text=one["content"])])
            for one in self._messages
        ]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Call a tool, one after the other."""
        async with self._turn:
            return await self._episodes.aside(self._call, name, arguments)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """What a model did wrong is a text that it reads; a reward of None is no step."""
        tools = self._tools
        if tools is None:
            raise SettingError("There is no episode yet: setup() begins it.")
        before = tools.steps
        problem = None
        try:
            text = call_tool(tools, name, arguments)
        except ToolError as failure:
            text = problem = str(failure)
        return ToolOutput(
            blocks=[TextBlock(text=text)],
            metadata={**self._episodes.result(tools), "error": problem},
            reward=tools.reward if tools.steps > before else None,
            finished=tools.done,
        )

    @classmethod
    def _split(cls, name: object) -> ToolEpisodes:
        found = cls.splits.get(name) if isinstance(name, str) else None
        if found is None:
            raise SettingError(
                f"There is no split {str(name)[:60]!r} here; expected"
                f" {' or '.join(map(repr, cls.splits))}."
            )
        return found

    @classmethod
    def _chosen(cls, task: Mapping[str, Any]) -> tuple[ToolEpisodes, int]:
        episodes, number = cls._split(task.get("split")), task.get("index")
        if type(number) is not int or not 0 <= number < len(episodes):
            raise SettingError(
                f"The index {str(number)[:60]!r} of a task is no number from 0 to"
                f" {len(episodes) - 1}."
            )
        return episodes, number


def environment(*protocols: str, name: str | None = None, **changes: Any) -> type[OrsEpisode]:
    """An environment of some protocols (`shop-demo` without any) that have the same tools.

    `name` is what clients ask for: `errands_shop` or `errands_turk` where it is left out.
    `changes` are those of `open_episodes`, and the key says so.
    """
    splits = open_splits(protocols or ("shop-demo",), **changes)
    first = next(iter(splits.values()))
    methods = {spec.name: _method(spec) for spec in first.specs}
    return type(name or f"errands_{first.domain}", (OrsEpisode,), {"splits": splits, **methods})


def _method(spec: ToolSpec) -> Any:
    """A tool as ORS finds it: a method with a model of its arguments, which are checked by
    `call_tool` alone."""

    class Arguments(BaseModel):
        model_config = ConfigDict(extra="allow")

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return spec.parameters

    async def method(self: OrsEpisode, arguments: Arguments) -> ToolOutput:
        return await self.call(spec.name, arguments.model_extra or {})

    method.__name__ = spec.name
    method.__doc__ = spec.description
    return tool(method)
