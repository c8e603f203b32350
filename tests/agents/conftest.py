"""How the agents' tests play: as a run does, one episode at a time."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from errands.agents.agent import AgentFactory, Move, PrivilegedAgent
from errands.envs.turk import TurkEnv
from errands.turk.tasks.loader import TaskSet, load_tasks


class Played(NamedTuple):
    """One episode."""

    reward: float
    terminated: bool
    actions: list[str]
    info: Mapping[str, Any]


Play = Callable[..., Played]


def _play(env: Any, factory: AgentFactory, options: dict[str, Any], seed: int = 0) -> Played:
    agent = factory.agent(seed)
    seen, info = env.reset(seed=seed, options=options)
    if isinstance(agent, PrivilegedAgent):
        agent.look(env)
    assert not inspect.isawaitable(agent.begin(seen, info))
    actions: list[str] = []
    while True:
        answer = agent.act(seen, info)
        assert isinstance(answer, str | Move)
        actions.append(answer if isinstance(answer, str) else answer.action)
        seen, reward, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            return Played(float(reward), terminated, actions, info)
        assert len(actions) < 1000, "the agent never comes to an end"


@pytest.fixture(scope="session")
def play() -> Play:
    return _play


@pytest.fixture(scope="session")
def demo_tasks() -> TaskSet:
    return load_tasks("demo")


@pytest.fixture
def turk_env(demo_tasks: TaskSet) -> Iterator[TurkEnv]:
    """The demo tasks without a browser."""
    env = TurkEnv(demo_tasks, driver="dom", max_steps=200)
    yield env
    env.close()
