"""The environments as a service: calls in, answers out, whatever carried them.

A step of the shop takes some tens of microseconds, so it is made on the event loop itself.
What takes longer goes to a few threads with a bounded queue; the calls of one session are all made
by one of them, in their order, and what belongs to no session has a thread of its own.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from errands.errors import ErrandsError
from errands.remote.messages import (
    BatchCall,
    CloseCall,
    CreateCall,
    GoalsCall,
    Message,
    ResetCall,
    StepCall,
    TasksCall,
)
from errands.web.core.http_errors import (
    HttpError,
    bad_request,
    busy,
    internal,
    shutting_down,
    too_large,
)
from errands.web.core.limits import ServerLimits
from errands.web.core.metrics import Metrics
from errands.web.env_api.providers import EnvProvider
from errands.web.env_api.sessions import Session, Sessions

__all__ = ["Answer", "Service", "as_http_error"]

Answer = dict[str, Any]
R = TypeVar("R")

_log = logging.getLogger(__name__)
_TURN: Final = 0.01
"""Seconds after which a batch lets others have their turn."""


class Service:
    """Answers calls; `providers` by the name of the environment."""

    def __init__(
        self,
        providers: Mapping[str, EnvProvider],
        limits: ServerLimits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, clock)
        self.metrics = Metrics(self.sessions.__len__)
        self._draining = False
        self._providers = providers
        self._threads = [ThreadPoolExecutor(1, "slow-calls") for _ in range(limits.form_threads)]
        # What belongs to no session may take seconds (a split), and holds up none.
        self._aside = ThreadPoolExecutor(1, "slow-calls-aside")

    def about(self) -> Answer:
        """What is served, and within which limits."""
        limits = self.limits
        return {
            "environments": {name: provider.about() for name, provider in self._providers.items()},
            "limits": {
                "sessions": limits.sessions,
                "sessions_per_client": limits.sessions_per_client or limits.sessions,
                "desks": limits.turk_sessions,
                "form_threads": limits.form_threads,
                "idle_seconds": limits.idle_seconds,
                "body_bytes": limits.body_bytes,
                "batch": limits.batch,
                "action_length": limits.action_length,
            },
        }

    async def answer(self, call: Message, client: str) -> Answer:
        """Carry a call out; what cannot be is an `HttpError`."""
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
            elif isinstance(call, GoalsCall | TasksCall):
                name, answer = "split", await self._split(call)
            else:
                name, answer = "close", await self._close(call)
        except ErrandsError as failure:
            raise self.count_error(failure) from None
        except Exception:
            # A defect of ours: the log says which, and the other sessions go on.
            _log.exception("a %s call failed", type(call).__name__.lower())
            raise self.count_error(internal()) from None
        self.metrics.latency[name].add(time.perf_counter() - begun)
        return answer

    def count_error(self, failure: ErrandsError) -> HttpError:
        """Count a failure, and give it as an HTTP error."""
        error = as_http_error(failure)
        self.metrics.errors[error.code] += 1
        return error

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
            self._close_env(session)

    def shut(self) -> None:
        """Close all sessions."""
        self._draining = True
        for session in self.sessions.close_all():
            self._close_env(session)
        for thread in (*self._threads, self._aside):
            thread.shutdown()

    async def _step(self, call: StepCall) -> Answer:
        if len(call.action) > self.limits.action_length:
            most = self.limits.action_length
            raise too_large(f"The action has {len(call.action)} characters; the most is {most}.")
        session = self.sessions.find(call.session)
        env = session.env
        if env.is_slow:
            turn = await self._in_thread(session, lambda: env.step(call.action))
        else:
            turn = env.step(call.action)
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
        env = session.env
        options = dict(call.options)
        if env.is_slow:
            seen = await self._in_thread(session, lambda: env.reset(call.seed, options))
        else:
            seen = env.reset(call.seed, options)
        self.metrics.resets += 1
        return {"observation": seen[0], "info": seen[1]}

    async def _create(self, call: CreateCall, client: str) -> Answer:
        if self._draining:
            raise shutting_down()
        if call.count > self.limits.batch:
            raise too_large(f"count={call.count}: the most at once is {self.limits.batch}.")
        provider = self._provider(call.environment)
        form_pages = call.environment == "turk"
        self.sessions.room_for(client, call.count, form_pages=form_pages)
        settings = call.settings
        if provider.is_quick(settings):
            envs = [provider.make_env(settings) for _ in range(call.count)]
        else:
            envs = await self._in_thread(
                None, lambda: [provider.make_env(settings) for _ in range(call.count)]
            )
            # Others may have come in the meantime.
            self.sessions.room_for(client, call.count, form_pages=form_pages)
        opened = [self.sessions.open(env, client).id for env in envs]
        self.metrics.created += len(opened)
        return {"sessions": opened, "idle_seconds": self.limits.idle_seconds}

    async def _split(self, call: GoalsCall | TasksCall) -> Answer:
        provider = self._provider("shop" if isinstance(call, GoalsCall) else "turk")
        # Finding a disjoint split of a full-size catalogue takes seconds, and so does counting the
        # rows of all tasks.
        return await self._in_thread(None, lambda: provider.split(call))

    def _provider(self, environment: str) -> EnvProvider:
        provider = self._providers.get(environment)
        if provider is None:
            raise bad_request(
                f"This server has no environment {environment!r}; it has"
                f" {' and '.join(self._providers)}."
            )
        return provider

    async def _close(self, call: CloseCall) -> Answer:
        self._close_env(self.sessions.close(call.session))
        self.metrics.closed += 1
        return {"closed": True}

    async def _batch(self, call: BatchCall, client: str) -> Answer:
        if len(call.calls) > self.limits.batch:
            most = self.limits.batch
            raise too_large(f"The batch has {len(call.calls)} calls; the most is {most}.")
        results: list[Answer] = []
        rest_at = time.perf_counter() + _TURN
        for inner in call.calls:
            try:
                result = await self.answer(inner, client)
            except HttpError as error:
                result = error.answer()
            results.append(result if inner.id is None else {"id": inner.id, **result})
            if time.perf_counter() >= rest_at:
                await asyncio.sleep(0)
                rest_at = time.perf_counter() + _TURN
        return {"results": results}

    async def _in_thread(self, session: Session | None, work: Callable[[], R]) -> R:
        """Do something in a thread; the queue in front of them all is bounded."""
        if self.metrics.slow_calls >= self.limits.slow_calls:
            raise busy()
        self.metrics.slow_calls += 1
        if session is not None:
            session.in_use += 1
        thread = self._aside if session is None else self._thread_of(session)
        done = asyncio.get_running_loop().run_in_executor(thread, work)
        done.add_done_callback(lambda _: self._thread_done(session))
        # Who stops waiting does not stop the work, and it counts until it is done.
        return await asyncio.shield(done)

    def _thread_done(self, session: Session | None) -> None:
        self.metrics.slow_calls -= 1
        if session is not None:
            session.in_use -= 1

    def _close_env(self, session: Session) -> None:
        if session.env.is_slow:
            self._thread_of(session).submit(session.env.close)
        else:
            session.env.close()

    def _thread_of(self, session: Session) -> ThreadPoolExecutor:
        return self._threads[session.thread % len(self._threads)]


def as_http_error(failure: ErrandsError) -> HttpError:
    """Any error that a caller can correct, as an HTTP error."""
    if isinstance(failure, HttpError):
        return failure
    return HttpError(400, "bad_setting", str(failure))
