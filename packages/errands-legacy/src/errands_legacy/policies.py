"""The original's two policies for its demonstration."""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

__all__ = ["BasePolicy", "HumanPolicy", "RandomPolicy"]


class BasePolicy(ABC):
    """Says what to do on a page."""

    @abstractmethod
    def forward(self, observation: str, available_actions: Mapping[str, Any]) -> str:
        """An action."""


class RandomPolicy(BasePolicy):
    """Searches for shoes, then clicks on anything."""

    def __init__(self, seed: int = 4) -> None:
        self._random = random.Random(seed)

    def forward(self, observation: str, available_actions: Mapping[str, Any]) -> str:
        if available_actions["has_search_bar"]:
            return "search[shoes]"
        return f"click[{self._random.choice(available_actions['clickables'] or ['None'])}]"


class HumanPolicy(BasePolicy):
    """Asks at the terminal."""

    def forward(self, observation: str, available_actions: Mapping[str, Any]) -> str:
        return input("> ")
