"""The rate limit, on a clock of its own."""

import asyncio
from typing import Any

import pytest

from errands.agents.llm.transport.rate import RateLimit


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


def entered(clock: Clock, limit: RateLimit, sizes: list[int]) -> list[float]:
    async def everything() -> list[float]:
        times = []
        for size in sizes:
            await limit.enter(size)
            times.append(clock.now - 100)
        return times

    return asyncio.run(everything())


@pytest.mark.parametrize(
    ("settings", "sizes", "times"),
    [
        ({}, [5] * 4, [0, 0, 0, 0]),
        ({"requests": 2}, [1] * 5, [0, 0, 60, 60, 120]),
        ({"tokens": 100}, [60, 40, 10, 60], [0, 0, 60, 60]),
        ({"tokens": 100}, [500, 1], [0, 60]),
        ({"requests": 3, "tokens": 100}, [90, 20, 20], [0, 60, 60]),
    ],
)
def test_no_minute_has_more(settings: Any, sizes: list[int], times: list[float]) -> None:
    clock = Clock()
    limit = RateLimit(**settings, clock=clock, sleep=clock.sleep)
    assert entered(clock, limit, sizes) == times


def test_what_was_guessed_is_put_right() -> None:
    clock = Clock()
    limit = RateLimit(tokens=100, clock=clock, sleep=clock.sleep)

    async def two() -> None:
        limit.settle(await limit.enter(100), 10)
        await limit.enter(80)

    asyncio.run(two())
    assert clock.now == 100


def test_a_pause_is_for_everybody() -> None:
    clock = Clock()
    limit = RateLimit(clock=clock, sleep=clock.sleep)
    limit.pause(7)
    limit.pause(3)
    assert entered(clock, limit, [1, 1]) == [7, 7]
