"""The environments as a service: calls in, answers out, whatever carried them.

A step of the shop takes some tens of microseconds, so it is made on the event loop itself.
What takes longer goes aside, to one thread with a bounded queue.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from errands.errors import ErrandsError
from errands.remote.messages import BatchCall, CloseCall, CreateCall, Message, ResetCall, StepCall
from errands.web.core.http_errors import (
    Refusal,
    bad_request,
    busy,
    internal,
    shutting_down,
    too_large,
)
from errands.web.core.limits import Limits
from errands.web.core.metrics import Metrics
from errands.web.env_api.offers import Offer
from errands.web.env_api.sessions import Session, Sessions

__all__ = ["Answer", "Service", "as_refusal"]

Answer = dict[str, Any]
R = TypeVar("R")

_log = logging.getLogger(__name__)
_SPELL: Final = 0.01
"""Seconds after which a batch lets others have their turn."""


class Service:
    """Answers calls; `offers` by the name of the environment."""

    def __init__(
        self,
        offers: Mapping[str, Offer],
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, clock)
        self.metrics = Metrics(self.sessions.__len__)
        self._draining = False
        self._offers = offers
        self._thread = ThreadPoolExecutor(1, "aside")

    def about(self) -> Answer:
        """What is served, and within which limits."""
        limits = self.limits
        return {
            "environments": {name: offer.about() for name, offer in self._offers.items()},
            "limits": {
                "sessions": limits.sessions,
                "sessions_per_client": limits.sessions_per_client or limits.sessions,
                "desks": limits.desks,
                "idle_seconds": limits.idle_seconds,
                "body_bytes": limits.body_bytes,
                "batch": limits.batch,
                "action_length": limits.action_length,
            },
        }

    async def answer(self, call: Message, client: str) -> Answer:
        """Carry a call out; what cannot be is a `Refusal`."""
        begun = time.perf_counter()
        try:
            if isinstance(call, StepCall):
                name, answer = "step", await self._step(call)
            elif isinstance(call, BatchCall):
                name, answer = "batch", await self._batch(call, client)
            elif isinstance(call, ResetCall):
                name, answer = "reset", await self._reset(call)
            elif isinstance(call, CreateCall):
                name, answer = "create", await self._create(call, client)
            else:
                name, answer = "close", await self._close(call)
        except ErrandsError as failure:
            raise self.refused(failure) from None
        except Exception:
            # A defect of ours: the log says which, and the other sessions go on.
            _log.exception("a %s call failed", type(call).__name__.lower())
            raise self.refused(internal()) from None
        self.metrics.latency[name].add(time.perf_counter() - begun)
        return answer

    def refused(self, failure: ErrandsError) -> Refusal:
        """Count a failure, and say it as a refusal."""
        refusal = as_refusal(failure)
        self.metrics.errors[refusal.code] += 1
        return refusal

    def drain(self) -> None:
        """Open no more sessions; what is in flight may finish."""
        self._draining = True

    def is_draining(self) -> bool:
        return self._draining

    async def sweep(self, every: float = 1.0) -> None:
        """Close idle sessions, for ever."""
        while True:
            await asyncio.sleep(every)
            self.expire()

    def expire(self) -> None:
        """Close the sessions that are idle for too long."""
        for session in self.sessions.expire():
            self.metrics.expired += 1
            self._dismiss(session)

    def shut(self) -> None:
        """Give everything up."""
        self._draining = True
        for session in self.sessions.close_all():
            self._dismiss(session)
        self._thread.shutdown()

    async def _step(self, call: StepCall) -> Answer:
        if len(call.action) > self.limits.action_length:
            most = self.limits.action_length
            raise too_large(f"The action has {len(call.action)} characters; the most is {most}.")
        session = self.sessions.find(call.session)
        player = session.player
        if player.aside:
            turn = await self._aside(session, lambda: player.step(call.action))
        else:
            turn = player.step(call.action)
        self.metrics.steps += 1
        return {
            "observation": turn[0],
            "reward": turn[1],
            "terminated": turn[2],
            "truncated": turn[3],
            "info": turn[4],
        }

    async def _reset(self, call: ResetCall) -> Answer:
        session = self.sessions.find(call.session)
        player = session.player
        options = dict(call.options)
        if player.aside:
            seen = await self._aside(session, lambda: player.reset(call.seed, options))
        else:
            seen = player.reset(call.seed, options)
        self.metrics.resets += 1
        return {"observation": seen[0], "info": seen[1]}

    async def _create(self, call: CreateCall, client: str) -> Answer:
        if self._draining:
            raise shutting_down()
        if call.count > self.limits.batch:
            raise too_large(f"count={call.count}: the most at once is {self.limits.batch}.")
        offer = self._offers.get(call.environment)
        if offer is None:
            raise bad_request(
                f"This server has no environment {call.environment!r}; it has"
                f" {' and '.join(self._offers)}."
            )
        desks = call.environment == "turk"
        self.sessions.room_for(client, call.count, desks=desks)
        settings = call.settings
        if offer.at_hand(settings):
            players = [offer.player(settings) for _ in range(call.count)]
        else:
            players = await self._aside(
                None, lambda: [offer.player(settings) for _ in range(call.count)]
            )
            # Others may have come in the meantime.
            self.sessions.room_for(client, call.count, desks=desks)
        opened = [self.sessions.open(player, client).id for player in players]
        self.metrics.created += len(opened)
        return {"sessions": opened, "idle_seconds": self.limits.idle_seconds}

    async def _close(self, call: CloseCall) -> Answer:
        self._dismiss(self.sessions.close(call.session))
        self.metrics.closed += 1
        return {"closed": True}

    async def _batch(self, call: BatchCall, client: str) -> Answer:
        if len(call.calls) > self.limits.batch:
            most = self.limits.batch
            raise too_large(f"The batch has {len(call.calls)} calls; the most is {most}.")
        results: list[Answer] = []
        rest_at = time.perf_counter() + _SPELL
        for inner in call.calls:
            try:
                result = await self.answer(inner, client)
            except Refusal as refusal:
                result = refusal.answer()
            results.append(result if inner.id is None else {"id": inner.id, **result})
            if time.perf_counter() >= rest_at:
                await asyncio.sleep(0)
                rest_at = time.perf_counter() + _SPELL
        return {"results": results}

    async def _aside(self, session: Session | None, work: Callable[[], R]) -> R:
        """Do something in the thread; the queue in front of it is bounded."""
        if self.metrics.aside >= self.limits.aside:
            raise busy()
        self.metrics.aside += 1
        if session is not None:
            session.in_use += 1
        done = asyncio.get_running_loop().run_in_executor(self._thread, work)
        done.add_done_callback(lambda _: self._back(session))
        # Who stops waiting does not stop the work, and it counts until it is done.
        return await asyncio.shield(done)

    def _back(self, session: Session | None) -> None:
        self.metrics.aside -= 1
        if session is not None:
            session.in_use -= 1

    def _dismiss(self, session: Session) -> None:
        if session.player.aside:
            self._thread.submit(session.player.close)
        else:
            session.player.close()


def as_refusal(failure: ErrandsError) -> Refusal:
    """Any error that a caller can mend, as a refusal."""
    if isinstance(failure, Refusal):
        return failure
    return Refusal(400, "bad_setting", str(failure))
