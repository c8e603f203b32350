"""`do-nothing`: submits a form as it is, which many a page rewards."""

from collections.abc import Mapping
from typing import Any

from errands.agents import Maker
from errands.agents.factory import SimpleMaker

__all__ = ["DoNothing", "make"]


class DoNothing:
    """Hands the form back."""

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """There is nothing to prepare."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        return "submit()"


def make(half: str, env: Any, settings: Mapping[str, Any]) -> Maker:
    return SimpleMaker("do-nothing", lambda seed: DoNothing())
