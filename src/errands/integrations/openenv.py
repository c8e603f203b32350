"""OpenEnv: a protocol's episodes as a server of tools, for one session or hundreds.

    application = app("shop-learn-train", "shop-demo")
    uvicorn.run(application, host="127.0.0.1", port=8000)

A session is reset to an episode (`split` is a protocol, `index` a number of it), then every step is
a call of a tool. Protocols that are served together have the same tools; `errands serve --openenv`
does all of this, and packages/errands-openenv is the same as a Hugging Face Space.
"""

# ruff: noqa: E402 - a framework that is missing is said before it is imported.

import asyncio
import functools
import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from errands import __version__
from errands.agents.llm.tools import EpisodeTools, ToolError, call_tool
from errands.errors import ErrandsError, SettingError
from errands.integrations.episodes import ToolEpisodes, open_splits
from errands.integrations.frameworks import require

require("openenv")

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import mcp_types as wire
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import (
    ConcurrencyConfig,
    EnvironmentMetadata,
    Observation,
    State,
)

__all__ = ["NAME", "OpeningObservation", "ToolSession", "app"]

NAME: Final = "errands"
"""Of the environment, in the addresses of the Task API."""
_Result = TypeVar("_Result")


class OpeningObservation(Observation):
    """What a session is told when it is reset."""

    messages: list[dict[str, Any]]
    """What a model is shown first: the rules, then the task and its first page."""


class ToolSession(Environment[wire.CallToolAction, Observation, State]):
    """One client's episodes, one after another."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    # Nothing waits in the threads that OpenEnv would otherwise keep, one a session.
    REQUIRES_SINGLE_THREAD_EXECUTOR = True

    def __init__(self, splits: Mapping[str, ToolEpisodes]) -> None:
        super().__init__()
        self._splits = splits
        self._episodes = next(iter(splits.values()))
        self._tools: EpisodeTools | None = None
        self._state = State()
        self._turn = asyncio.Lock()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        split: str | None = None,
        index: int | None = None,
        **unknown: object,
    ) -> OpeningObservation:
        """Begin an episode: that of `index`, or one that `seed` draws."""
        if unknown:
            raise SettingError(
                f"reset has no argument {next(iter(unknown))[:60]!r}; expected split, index, seed"
                " or episode_id."
            )
        name = next(iter(self._splits)) if split is None else split
        episodes = self._split(name)
        number = _number("index", index)
        drawn = _number("seed", seed)
        if number is None:
            number = random.Random(drawn).randrange(len(episodes))
        if episode_id is not None and not (isinstance(episode_id, str) and len(episode_id) < 256):
            raise SettingError("An episode_id is a text of at most 255 characters.")
        self.close()
        self._episodes = episodes
        self._tools, messages = episodes.conversation(number)
        self._state = State(
            episode_id=episode_id or str(uuid.uuid4()),
            split=name,
            index=number,
            protocol=episodes.key,
        )
        return OpeningObservation(messages=messages, metadata=self._told())

    def step(
        self, action: wire.CallToolAction | wire.ListToolsAction, timeout_s: float | None = None
    ) -> Observation:
        """Call a tool, or list them. What a model did wrong is a result that it reads, and an
        error beside it; a reward of None says that the call was no step."""
        if isinstance(action, wire.ListToolsAction):
            return wire.ListToolsObservation(tools=_offered(self._episodes), done=self._done)
        tools = self._tools
        before = 0 if tools is None else tools.steps
        error = None
        try:
            if tools is None:
                raise ToolError("There is no episode yet: reset the session first.")
            text = call_tool(tools, action.tool_name, action.arguments)
        except ToolError as failure:
            text = str(failure)
            error = wire.ToolError(error_type=self._kind(action.tool_name, before), message=text)
        is_step = tools is not None and tools.steps > before
        return wire.CallToolObservation(
            tool_name=action.tool_name,
            result=text,
            error=error,
            done=self._done,
            reward=tools.reward if tools is not None and is_step else None,
            metadata=self._told(),
        )

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **where: Any
    ) -> OpeningObservation:
        return await self._in_turn(
            functools.partial(self.reset, seed, episode_id, **where),
        )

    async def step_async(
        self, action: wire.CallToolAction | wire.ListToolsAction, timeout_s: float | None = None
    ) -> Observation:
        return await self._in_turn(functools.partial(self.step, action, timeout_s))

    @property
    def state(self) -> State:
        """The episode's id, its steps, and what is played."""
        steps = 0 if self._tools is None else self._tools.steps
        return self._state.model_copy(update={"step_count": steps})

    def close(self) -> None:
        if self._tools is not None:
            self._episodes.release(self._tools)
            self._tools = None

    def get_metadata(self) -> EnvironmentMetadata:
        """What is served, by the keys that scores are compared with."""
        served = "; ".join(
            f"{name}: {episodes.protocol.title} ({episodes.key})"
            for name, episodes in self._splits.items()
        )
        return EnvironmentMetadata(name=NAME, description=served, version=__version__)

    def list_splits(self) -> list[dict[str, str]]:
        """Every protocol that is served; the first is the one without a `split`."""
        return [{"name": name, "type": episodes.purpose} for name, episodes in self._splits.items()]

    def num_tasks(self, split: str) -> int:
        return len(self._split(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """What resets a session to an episode, and what it plays."""
        episodes = self._split(split)
        if not 0 <= index < len(episodes):
            raise IndexError(index)
        row = {"id": episodes.name(index), "split": split, "index": index}
        return {**row, "plays": episodes.row(index)}

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        numbers = range(self.num_tasks(split))[start:stop]
        return [self.get_task(split, number) for number in numbers]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return self.get_task_range(split)

    @property
    def _done(self) -> bool:
        return self._tools is not None and self._tools.done

    def _told(self) -> dict[str, Any]:
        if self._tools is None:
            return {"protocol": self._episodes.key}
        return self._episodes.result(self._tools)

    def _split(self, name: object) -> ToolEpisodes:
        found = self._splits.get(name) if isinstance(name, str) else None
        if found is None:
            raise SettingError(
                f"There is no split {str(name)[:60]!r} here; expected"
                f" {' or '.join(map(repr, self._splits))}."
            )
        return found

    def _kind(self, tool: str, before: int) -> wire.ToolErrorType:
        """What kind of error a call was."""
        if tool not in {spec.name for spec in self._episodes.specs}:
            return wire.ToolErrorType.TOOL_NOT_FOUND
        if self._tools is None or self._tools.done or self._tools.steps > before:
            return wire.ToolErrorType.EXECUTION_ERROR
        return wire.ToolErrorType.INVALID_ARGS

    async def _in_turn(self, work: Callable[[], _Result]) -> _Result:
        """Do one thing after the other."""
        async with self._turn:
            return await self._episodes.aside(work)


def app(
    *protocols: str,
    sessions: int = 256,
    idle: float = 900.0,
    most_bytes: int = 2**20,
    **changes: Any,
) -> FastAPI:
    """The server of some protocols (`shop-demo` without any), each of which is a split.

    `sessions` may be open at once; one without a connection ends after `idle` seconds; a request
    has at most `most_bytes`. `changes` are those of `open_episodes`, and the keys say so.
    """
    splits = open_splits(protocols or ("shop-demo",), **changes)
    application = create_app(
        functools.partial(ToolSession, splits),
        wire.CallToolAction,
        wire.CallToolObservation,
        env_name=NAME,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=idle),
        reset_observation_cls=OpeningObservation,
    )
    application.add_exception_handler(ErrandsError, _refuse)
    application.add_middleware(_BoundedBody, most=most_bytes)
    return application


def _offered(episodes: ToolEpisodes) -> list[Any]:
    return [
        wire.Tool(name=spec.name, description=spec.description, input_schema=spec.parameters)
        for spec in episodes.specs
    ]


def _number(name: str, value: object) -> int | None:
    """A number as a client may send it: none, or a whole one from 0."""
    if value is None or (type(value) is int and value >= 0):
        return value
    raise SettingError(f"{name} {str(value)[:60]!r} is no whole number from 0.")


async def _refuse(request: Request, failure: Exception) -> JSONResponse:
    """A mistake of the caller's is a sentence, not a failure of the server."""
    return JSONResponse({"detail": str(failure)}, status_code=400)


class _BoundedBody:
    """ASGI: requests that are too large are not read to their end."""

    def __init__(self, app: Any, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read = 0

        async def bounded() -> Any:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                raise SettingError(f"A request may have {self._most} bytes at most.")
            return message

        await self._app(scope, bounded, send)
