"""The example of an agent passes the kit, and runs."""

import agent as example
import gymnasium
import pytest

from errands.agents.agent import Agent
from errands.testing import AgentConformance


class TestThrifty(AgentConformance):
    def agent(self, env: gymnasium.Env, seed: int) -> Agent:  # type: ignore[type-arg]
        return example.Thrifty()


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert len(capsys.readouterr().out.splitlines()) == 3
