"""Where a training's time goes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Stopwatch"]


class Stopwatch:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._spent[what] = self._spent.get(what, 0.0) + time.perf_counter() - began

    def shares(self) -> dict[str, float]:
        """Of the measured time; they add up to 1."""
        total = sum(self._spent.values())
        return {what: spent / total for what, spent in self._spent.items()} if total else {}
