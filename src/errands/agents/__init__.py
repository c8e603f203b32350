"""Agents: one readable file each. An agent sees what an environment shows and names an action."""

from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["Agent"]


class Agent(Protocol):
    """A player of episodes."""

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        """A new episode starts: forget the last one."""
        ...

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        ...
