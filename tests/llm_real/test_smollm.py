"""Episodes with a real, very small model, end to end: the plumbing, not the cleverness.

Run by `make test-llm`, which installs the model and its server; not part of `make test`.
"""

import asyncio
import time
from typing import Any

import gymnasium
import pytest

from errands.agents.agent import ModelError, Move
from errands.agents.llm.factory import LanguageModel, make
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.turk.actions.grammar import GrammarError, parse_answer

SMALL = {"max_tokens": 32, "timeout": 300.0, "price_in": 0.1, "price_out": 0.4}
TASKS = ("Two Charts", "Lost Property Matching")


@pytest.fixture(scope="module")
def table() -> Any:
    """What was reached, printed at the end."""
    rows: list[tuple[str, ...]] = [
        ("half", "mode", "episode", "steps", "readable", "end", "reward", "in", "out", "seconds")
    ]
    yield rows
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print("\n\nSmolLM2-135M-Instruct (Q4_1) on one thread")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


class Played:
    def __init__(self) -> None:
        self.moves: list[Move] = []
        self.messages: list[str] = []
        self.reward = 0.0
        self.end = "running"
        self.seconds = 0.0


async def _play(
    factory: LanguageModel, env: gymnasium.Env[Any, Any], seed: int, options: Any
) -> Any:
    played = Played()
    agent: Any = factory.agent(seed)
    begun = time.monotonic()
    observation, info = env.reset(seed=seed, options=options)
    await agent.begin(observation, info)
    while played.end == "running":
        move = await agent.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(move.action)
        played.moves.append(move)
        played.messages.append(info.get("message", ""))
        played.reward += reward
        if terminated or truncated:
            played.end = "done" if terminated else "truncated"
    played.seconds = time.monotonic() - begun
    return played


def play_all(factory: LanguageModel, episodes: list[tuple[Any, Any]]) -> list[Played]:
    """All episodes at once on one loop."""

    async def everything() -> list[Played]:
        return await asyncio.gather(
            *(_play(factory, env, seed, options) for seed, (env, options) in enumerate(episodes))
        )

    try:
        return asyncio.run(everything())
    finally:
        factory.close()


def record(rows: Any, half: str, mode: str, names: list[str], results: list[Played]) -> None:
    for name, played in zip(names, results, strict=True):
        usages = [move.usage for move in played.moves if move.usage is not None]
        asked = [move for move in played.moves if move.usage is not None]
        readable = sum(not move.action.startswith(("invalid[", "no_answer")) for move in asked)
        assert played.end in ("done", "truncated")
        assert all(usage.tokens_in > 0 and usage.calls > 0 for usage in usages)
        assert sum(usage.tokens_out for usage in usages) > 0
        assert sum(usage.cost for usage in usages) > 0
        assert all(move.thought for move in asked)
        counted = [sum(usage.tokens_in for usage in usages), sum(u.tokens_out for u in usages)]
        about = [half, mode, name, len(played.moves), f"{readable}/{len(asked)}", played.end]
        figures = [f"{played.reward:.2f}", *counted, f"{played.seconds:.0f}"]
        rows.append(tuple(map(str, [*about, *figures])))


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("act, 1 shot", {"style": "act", "shots": 1, "window": 3500}),
        ("react", {"style": "react", "thoughts": 1}),
        ("act, stream", {"style": "act", "stream": True}),
        ("act, tools", {"style": "act", "calls": "tools"}),
    ],
)
def test_shop(endpoint: str, table: Any, mode: str, settings: dict[str, Any]) -> None:
    envs = [ShopEnv(split="test", max_steps=3) for _ in range(2)]
    given = {"model": "smollm2", "base_url": endpoint, "top": 3, "shots": 0, "window": 2400}
    factory = make("shop", envs[0], {**given, **SMALL, **settings})
    results = play_all(factory, [(env, {"goal": goal}) for goal, env in enumerate(envs)])
    for played in results:
        for move in played.moves:
            assert move.action.startswith(("search[", "click[", "invalid["))
            assert move.action.endswith("]")
    record(table, "shop", mode, ["goal 0", "goal 1"], results)


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("field, relevant", {"encoding": "relevant"}),
        ("field, relevant, 2 demos", {"encoding": "relevant", "demos": 2}),
        ("field, full, cut", {"encoding": "full", "budget": 900}),
        ("whole, relevant", {"ask": "whole", "encoding": "relevant", "max_tokens": 96}),
        ("field, tools", {"calls": "tools", "encoding": "relevant"}),
    ],
)
def test_turk(endpoint: str, table: Any, mode: str, settings: dict[str, Any]) -> None:
    envs = [TurkEnv(split="test", driver="dom", max_steps=20) for _ in TASKS]
    given = {"model": "smollm2", "base_url": endpoint, "budget": 3500}
    factory = make("turk", envs[0], {**given, **SMALL, **settings})
    episodes = [(env, {"task": task, "row": 0}) for env, task in zip(envs, TASKS, strict=True)]
    results = play_all(factory, episodes)
    for played in results:
        assert played.moves[-1].action == "submit()"
        for move, message in zip(played.moves, played.messages, strict=True):
            try:
                parse_answer(move.action)
            except GrammarError:
                assert move.action == "no_answer()"
                assert message
        if settings["encoding"] == "full":
            assert any("The page was too long" in move.thought for move in played.moves)
    record(table, "turk", mode, list(TASKS), results)


def test_what_the_server_refuses_is_explained(endpoint: str) -> None:
    env = ShopEnv(split="test")
    env.reset(options={"goal": 0})
    factory = make("shop", env, {"model": "smollm2", "base_url": endpoint, **SMALL, "window": 0})
    agent: Any = factory.agent(0)

    async def too_much() -> None:
        observation, info = env.reset(options={"goal": 0})
        info["instruction"] = "a very long wish " * 10_000
        await agent.begin(observation, info)
        await agent.act(observation, info)

    try:
        with pytest.raises(ModelError, match=r"answered 400.*context size"):
            asyncio.run(too_much())
    finally:
        factory.close()
