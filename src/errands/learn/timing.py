"""Where a training's time goes, and how fast it is."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

__all__ = ["EVALUATION", "Rate", "Speed", "Stopwatch"]

EVALUATION: Final = "evaluation"
"""What is no part of training, and does not count against its speed."""

Item = TypeVar("Item")


class Rate(NamedTuple):
    """How much is done in a second, by the clock and of the processor's time."""

    per_second: float
    per_cpu_second: float

    def figures(self, unit: str) -> dict[str, float]:
        """For a training's log."""
        return {f"{unit}_{name}": value for name, value in self._asdict().items()}


class Stopwatch:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._cpu: dict[str, float] = {}

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        began, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self._spent[what] = self._spent.get(what, 0.0) + time.perf_counter() - began
            self._cpu[what] = self._cpu.get(what, 0.0) + time.process_time() - cpu

    def timed(self, what: str, items: Iterable[Item]) -> Iterator[Item]:
        """The same items; what it takes to make them is measured."""
        iterator = iter(items)
        while True:
            with self.on(what):
                item = next(iterator, None)
            if item is None:
                return
            yield item

    def spent(self, what: str) -> tuple[float, float]:
        """Seconds by the clock, and of the processor."""
        return self._spent.get(what, 0.0), self._cpu.get(what, 0.0)

    def shares(self) -> dict[str, float]:
        """Of the measured time; they add up to 1."""
        total = sum(self._spent.values())
        return {what: spent / total for what, spent in self._spent.items()} if total else {}

    def figures(self) -> dict[str, float]:
        """The shares, for a training's log."""
        return {f"time_{what}": share for what, share in self.shares().items()}


class Speed:
    """How fast a training is from now on; evaluations are not counted."""

    def __init__(self, watch: Stopwatch) -> None:
        self._watch = watch
        self._began = self._last = (0, *self._now())

    def _now(self) -> tuple[float, float]:
        clock, cpu = self._watch.spent(EVALUATION)
        return time.perf_counter() - clock, time.process_time() - cpu

    def whole(self, done: int) -> Rate:
        """From the beginning on, with so much done."""
        return self._since(self._began, done)

    def lately(self, done: int) -> Rate:
        """Since this was last asked."""
        last, self._last = self._last, (done, *self._now())
        return self._since(last, done)

    def _since(self, before: tuple[int, float, float], done: int) -> Rate:
        clock, cpu = self._now()
        return Rate(
            (done - before[0]) / max(clock - before[1], 1e-9),
            (done - before[0]) / max(cpu - before[2], 1e-9),
        )
