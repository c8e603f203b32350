"""A rate limit shared by all episodes: so many requests and tokens in any minute."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

__all__ = ["RateLimit", "Slot"]

_MINUTE: Final = 60.0


class Slot:
    """One request's place in the last minute."""

    __slots__ = ("at", "tokens")

    def __init__(self, at: float, tokens: int) -> None:
        self.at = at
        self.tokens = tokens


class RateLimit:
    """Lets requests through, first come, first served; None is no limit."""

    def __init__(
        self,
        requests: int | None = None,
        tokens: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._requests = requests
        self._tokens = tokens
        self._clock = clock
        self._sleep = sleep
        self._recent: deque[Slot] = deque()
        self._paused_until = 0.0
        self._turn = asyncio.Lock()

    async def enter(self, tokens: int) -> Slot:
        """Wait for a place; `tokens` is a guess that `settle` puts right."""
        async with self._turn:
            while (wait := self._wait(tokens)) > 0:
                await self._sleep(wait)
            slot = Slot(self._clock(), tokens)
            self._recent.append(slot)
            return slot

    def settle(self, slot: Slot, tokens: int) -> None:
        """What the request really took."""
        slot.tokens = tokens

    def pause(self, seconds: float) -> None:
        """Nobody enters for so long: the endpoint asked for it."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    async def nap(self, seconds: float) -> None:
        """Wait, while others go on."""
        await self._sleep(seconds)

    def _wait(self, tokens: int) -> float:
        now = self._clock()
        while self._recent and now - self._recent[0].at >= _MINUTE:
            self._recent.popleft()
        wait = self._paused_until - now
        if self._requests is not None and len(self._recent) >= self._requests:
            wait = max(wait, self._recent[-self._requests].at + _MINUTE - now)
        if self._tokens is not None:
            wait = max(wait, self._until_tokens_fit(tokens, now))
        return wait

    def _until_tokens_fit(self, tokens: int, now: float) -> float:
        """A request above the whole limit goes alone."""
        assert self._tokens is not None
        excess = sum(slot.tokens for slot in self._recent) + tokens - self._tokens
        wait = 0.0
        for slot in self._recent:
            if excess <= 0:
                break
            excess -= slot.tokens
            wait = slot.at + _MINUTE - now
        return wait
