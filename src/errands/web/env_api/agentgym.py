"""AgentGym's WebShop server: its routes, so that its client plays here without a change.

Environments are numbers that anyone can list, `session_id` is the index of a goal, observations are
the original's `text`. What the original's server lacks, or gets wrong, is right here: `/close`,
`/state` (which sends the names of its fields instead of their values), limits, expiry. An action
that makes no sense does nothing, as there; so does one that is too long.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable
from itertools import chain
from typing import Annotated, Any, Final

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from errands.envs.config import ShopConfig
from errands.envs.episode import ShopContext, ShopEpisode
from errands.errors import ErrandsError
from errands.remote.messages import encode_json
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.shop.navigation import SEARCH
from errands.web.core.application import AppPart
from errands.web.core.bodies import read_body
from errands.web.core.clients import client_of
from errands.web.core.http_errors import (
    HttpError,
    decode_request,
    respond,
    send_error,
    shutting_down,
)
from errands.web.core.limits import ServerLimits
from errands.web.core.metrics import metric
from errands.web.core.openapi import Json, operation, paths
from errands.web.env_api.endpoints import query_fields
from errands.web.env_api.providers import ShopSessionEnv
from errands.web.env_api.service import as_http_error
from errands.web.env_api.sessions import Sessions

__all__ = ["AgentGym", "agentgym"]

_NUMBERS: Final = 2**31
Index = Annotated[int, msgspec.Meta(ge=0, lt=_NUMBERS)]
GoalIndex = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class AgentGymReset(msgspec.Struct, frozen=True):
    """Begin an episode: on the goal of that index, or on one that is drawn."""

    env_idx: Index
    session_id: GoalIndex | None = None


class AgentGymStep(msgspec.Struct, frozen=True):
    """Act."""

    env_idx: Index
    action: str


class AgentGymEnv(msgspec.Struct, frozen=True):
    """Which environment is meant."""

    env_idx: Index


class AgentGymTurn(msgspec.Struct, frozen=True):
    """What an action led to."""

    state: str
    reward: float
    done: bool
    info: None = None


class AgentGymActions(msgspec.Struct, frozen=True):
    """What can be done."""

    has_search_bar: bool
    clickables: list[str]


class AgentGymState(msgspec.Struct, frozen=True):
    """Everything there is to see."""

    url: str
    html: str
    instruction_text: str


class AgentGymClosed(msgspec.Struct, frozen=True):
    """An environment that is no more."""

    closed: bool = True


class AgentGym:
    """Shops by number."""

    def __init__(
        self,
        catalog: Catalog,
        goals: str | GoalSet,
        limits: ServerLimits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, clock)
        self.in_flight = self.created = self.steps = self.errors = 0
        self.draining = False
        self._context = ShopContext(ShopConfig(catalog, goals))

    def create(self, client: str) -> int:
        """Open an environment, on a goal that is drawn."""
        if self.draining:
            raise shutting_down()
        self.sessions.room_for(client, 1)
        env = ShopSessionEnv(self._context)
        env.reset(None, {})
        number = secrets.randbelow(_NUMBERS)
        while str(number) in self.sessions:
            number = secrets.randbelow(_NUMBERS)
        self.sessions.open(env, client, str(number))
        self.created += 1
        return number

    def reset(self, asked: AgentGymReset) -> list[Any]:
        goal = {} if asked.session_id is None else {"goal": asked.session_id}
        observation, _ = self._env(asked.env_idx).reset(None, goal)
        return [observation, None]

    def step(self, asked: AgentGymStep) -> AgentGymTurn:
        episode = self._episode(asked.env_idx)
        self.steps += 1
        action = asked.action if len(asked.action) <= self.limits.action_length else ""
        state, reward, done, _, _ = episode.step(action)
        return AgentGymTurn(state, reward, done)

    def available_actions(self, asked: AgentGymEnv) -> AgentGymActions:
        page = self._episode(asked.env_idx).page
        return AgentGymActions(page.has_search_bar, list(page.clicks))

    def instruction_text(self, asked: AgentGymEnv) -> str:
        episode = self._episode(asked.env_idx)
        # The original reads it off the page, and its search page has a space more.
        space = " " if episode.page.state.page == SEARCH else ""
        return f"Instruction:{space}{episode.goal.instruction_text}"

    def observation(self, asked: AgentGymEnv) -> str:
        return self._episode(asked.env_idx).text()

    def state(self, asked: AgentGymEnv) -> AgentGymState:
        episode = self._episode(asked.env_idx)
        # As the search page had it, where the episode began.
        instruction = f"Instruction: {episode.goal.instruction_text}"
        return AgentGymState(episode.url(), episode.html(), instruction)

    def list_envs(self) -> list[int]:
        return [int(id) for id in self.sessions]

    def close(self, asked: AgentGymEnv) -> AgentGymClosed:
        self._env(asked.env_idx)
        self.sessions.close(str(asked.env_idx)).env.close()
        return AgentGymClosed()

    def expire(self) -> None:
        """Close the environments that are idle for too long."""
        for session in self.sessions.expire():
            session.env.close()

    def metrics(self) -> str:
        """Its counters, for `GET /metrics`."""
        opened = len(self.sessions)
        lines = chain(
            metric("agentgym_environments", "gauge", "AgentGym's environments.", opened),
            metric("agentgym_created_total", "counter", "Environments created.", self.created),
            metric("agentgym_steps_total", "counter", "Steps made.", self.steps),
            metric("agentgym_errors_total", "counter", "Requests refused.", self.errors),
        )
        return "\n".join(lines) + "\n"

    def _env(self, number: int) -> ShopSessionEnv:
        try:
            env = self.sessions.find(str(number)).env
        except HttpError:
            raise HttpError(
                404,
                "unknown_environment",
                f"There is no environment {number}: it was never created, was closed, or expired;"
                " POST /create makes another.",
            ) from None
        assert isinstance(env, ShopSessionEnv)
        return env

    def _episode(self, number: int) -> ShopEpisode:
        episode = self._env(number).episode
        assert episode is not None
        return episode


def agentgym(gym: AgentGym, prefix: str = "") -> AppPart:
    """The part of an application that speaks AgentGym's protocol, below a prefix."""

    def post(record: Any, answer: Callable[[Any], Any]) -> "_GymEndpoint":
        # As there: a number may be given as a text.
        decoder = msgspec.json.Decoder(record, strict=False)
        return _GymEndpoint(gym, lambda scope, body: answer(decode_request(decoder, body)))

    def get(answer: Callable[[Any], Any]) -> "_GymEndpoint":
        return _GymEndpoint(gym, lambda scope, _: answer(query_fields(scope, AgentGymEnv)))

    routes = [
        Route(f"{prefix}/step", post(AgentGymStep, gym.step), methods=["POST"]),
        Route(f"{prefix}/observation", get(gym.observation), methods=["GET"]),
        Route(f"{prefix}/available_actions", get(gym.available_actions), methods=["GET"]),
        Route(f"{prefix}/instruction_text", get(gym.instruction_text), methods=["GET"]),
        Route(f"{prefix}/state", get(gym.state), methods=["GET"]),
        Route(f"{prefix}/reset", post(AgentGymReset, gym.reset), methods=["POST"]),
        Route(f"{prefix}/close", post(AgentGymEnv, gym.close), methods=["POST"]),
        Route(
            f"{prefix}/create",
            _GymEndpoint(gym, lambda scope, _: gym.create(client_of(scope))),
            methods=["POST"],
        ),
        Route(
            f"{prefix}/list_envs", _GymEndpoint(gym, lambda *_: gym.list_envs()), methods=["GET"]
        ),
        Route(f"{prefix}/", _GymEndpoint(gym, lambda *_: "ok"), methods=["GET"]),
    ]

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async def sweep() -> None:
            while True:
                await asyncio.sleep(1.0)
                gym.expire()

        sweeper = asyncio.create_task(sweep())
        try:
            yield
        finally:
            sweeper.cancel()

    def drain() -> None:
        gym.draining = True

    return AppPart(
        routes=routes,
        paths=lambda: agentgym_paths(prefix),
        lifespan=lifespan,
        metrics=gym.metrics,
        drain=drain,
        busy=lambda: gym.in_flight > 0,
    )


class _GymEndpoint:
    """One request, answered at once."""

    def __init__(self, gym: AgentGym, answer: Callable[[Scope, bytes], Any]) -> None:
        self._gym = gym
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gym, limits = self._gym, self._gym.limits
        gym.in_flight += 1
        try:
            if gym.in_flight > limits.in_flight:
                raise HttpError(503, "busy", "Too many requests are in flight; try again.")
            body = await read_body(scope, receive, limits.body_bytes, limits.body_seconds)
            answer = encode_json(self._answer(scope, body))
        except ErrandsError as failure:
            gym.errors += 1
            await send_error(send, as_http_error(failure))
        else:
            await respond(send, 200, answer)
        finally:
            gym.in_flight -= 1


def agentgym_paths(prefix: str) -> Json:
    """Its paths and schemas."""

    def call(summary: str, *, body: type | None = None, **answer: Any) -> Json:
        return operation(summary, body=body, token=True, **answer)

    def asked(summary: str, **answer: Any) -> Json:
        schema = {"type": "integer", "minimum": 0, "maximum": _NUMBERS - 1}
        described = call(summary, query={"env_idx": schema}, **answer)
        described["parameters"][0]["required"] = True
        return described

    text: Json = {"type": "string"}
    either: Json = {"type": ["string", "null"]}
    start: Json = {"type": "array", "items": either, "minItems": 2, "maxItems": 2}
    numbers: Json = {"type": "array", "items": {"type": "integer"}}
    operations = {
        "/": {"get": call("Whether it is there", schema=text)},
        "/list_envs": {"get": call("All environments", schema=numbers)},
        "/create": {"post": call("Open an environment", schema={"type": "integer"})},
        "/reset": {"post": call("Begin an episode", schema=start, body=AgentGymReset)},
        "/step": {"post": call("Act", answer=AgentGymTurn, body=AgentGymStep)},
        "/close": {"post": call("Close an environment", answer=AgentGymClosed, body=AgentGymEnv)},
        "/available_actions": {"get": asked("What can be done", answer=AgentGymActions)},
        "/instruction_text": {"get": asked("What is asked for", schema=text)},
        "/observation": {"get": asked("The page as text", schema=text)},
        "/state": {"get": asked("The page as HTML", answer=AgentGymState)},
    }
    records = (
        *(AgentGymReset, AgentGymStep, AgentGymEnv),
        *(AgentGymTurn, AgentGymActions, AgentGymState, AgentGymClosed),
    )
    return paths({f"{prefix}{path}": one for path, one in operations.items()}, records)
