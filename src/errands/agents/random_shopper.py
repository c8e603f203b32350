"""A random shopper: searches for something, then clicks on anything.

The floor of every comparison, and the load of `errands bench shop`.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["RandomShopper"]


class RandomShopper:
    """Searches for a query drawn from `queries`, else clicks uniformly on what is there."""

    def __init__(self, queries: Sequence[str], seed: int = 0) -> None:
        self._queries = queries
        self._random = random.Random(seed).random

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        """Nothing is carried from one episode to the next."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        available = info["available_actions"]
        if available["has_search_bar"]:
            return f"search[{self._pick(self._queries)}]"
        clickables = available["clickables"]
        return f"click[{self._pick(clickables)}]" if clickables else "wait"

    def _pick(self, choices: Sequence[str]) -> str:
        return choices[int(self._random() * len(choices))]
