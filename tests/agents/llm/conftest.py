"""Agents of a chat endpoint on loopback."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import pytest
from chat_endpoint import Endpoint

from errands.agents.llm.factory import LanguageModel, make

KEY = "sk-very-secret-4711-abcdef"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def factory(endpoint: Endpoint) -> Iterator[Callable[..., LanguageModel]]:
    """Makes factories for the endpoint, quick to retry, closed at the end."""
    made: list[LanguageModel] = []

    def new(domain: str, env: gymnasium.Env[Any, Any], **settings: Any) -> LanguageModel:
        given = {"model": "m", "base_url": endpoint.url, "wait": 0.01, "timeout": 5.0}
        given |= {"price_in": 1.0, "price_out": 2.0}
        made.append(make(domain, env, given | settings))
        return made[-1]

    yield new
    for one in made:
        one.close()


class Played:
    """What came of an episode."""

    def __init__(self) -> None:
        self.moves: list[Any] = []
        self.messages: list[str] = []
        self.reward = 0.0
        self.terminated = False
        self.info: dict[str, Any] = {}


async def _play(
    factory: LanguageModel, env: gymnasium.Env[Any, Any], seed: int, most: int, options: Any
) -> Played:
    played = Played()
    agent: Any = factory.agent(seed)
    observation, info = env.reset(seed=seed, options=options)
    await agent.begin(observation, info)
    for _ in range(most):
        move = await agent.act(observation, info)
        played.moves.append(move)
        observation, reward, terminated, truncated, info = env.step(move.action)
        played.messages.append(info.get("message", ""))
        played.reward += reward
        played.terminated = terminated
        if terminated or truncated:
            break
    played.info = info
    return played


@pytest.fixture
def play() -> Callable[..., Played]:
    """Plays one episode to its end."""

    def run(
        factory: LanguageModel,
        env: gymnasium.Env[Any, Any],
        *,
        seed: int = 0,
        most: int = 40,
        options: Any = None,
    ) -> Played:
        return asyncio.run(asyncio.wait_for(_play(factory, env, seed, most, options), 60))

    return run


@pytest.fixture
def play_many() -> Callable[..., list[Any]]:
    """Plays many episodes at once on one loop; a failed one is its exception."""

    def run(
        factory: LanguageModel, envs: list[gymnasium.Env[Any, Any]], most: int = 40
    ) -> list[Any]:
        async def everything() -> list[Any]:
            return await asyncio.gather(
                *(_play(factory, env, seed, most, None) for seed, env in enumerate(envs)),
                return_exceptions=True,
            )

        begun = time.monotonic()
        results = asyncio.run(asyncio.wait_for(everything(), 120))
        assert time.monotonic() - begun < 120
        return results

    return run
