"""`do-nothing`: submits a form as it is, which many a page rewards."""

from collections.abc import Mapping
from typing import Any

from errands.agents.agent import AgentFactory
from errands.agents.factory import SimpleFactory

__all__ = ["DoNothing", "make"]


class DoNothing:
    """Hands the form back."""

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """There is nothing to prepare."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        return "submit()"


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    return SimpleFactory("do-nothing", lambda seed: DoNothing())
