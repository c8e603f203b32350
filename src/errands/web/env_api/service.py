"""The environments as a service: calls in, answers out, whatever carried them.

A step of the shop takes some tens of microseconds, so it is made on the event loop itself.
What takes longer goes to a few threads with a bounded queue; the calls of one session are all made
by one of them, in their order, and what belongs to no session has a thread of its own. Where there
are processes that play an environment (`pools`), its sessions live there instead.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, Final, TypeVar

from errands.errors import ErrandsError
from errands.remote.messages import (
    BatchCall,
    Call,
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
from errands.web.env_api.sessions import (
    Session,
    SessionEnv,
    Sessions,
    Turn,
    new_id,
    reset_answer,
    step_answer,
)
from errands.web.env_api.workers import HostedEnv, OpenOrder, WorkerPool, WorkerProcess

__all__ = ["Answer", "Service", "as_http_error"]

Answer = dict[str, Any]
R = TypeVar("R")

HostedCalls = dict[WorkerProcess, list[tuple[int, Session, StepCall | ResetCall]]]
"""Calls of a batch that processes make: the place in the batch, the session, the call."""

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
        pools: Mapping[str, WorkerPool] = MappingProxyType({}),
    ) -> None:
        self.limits = limits
        self.sessions = Sessions(limits, clock)
        self.metrics = Metrics(self.sessions.__len__)
        self._draining = False
        self._providers = providers
        self._pools = pools
        for pool in pools.values():
            pool.on_lost = self._lost
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
                "form_processes": limits.form_processes,
                "shop_processes": limits.shop_processes,
                "idle_seconds": limits.idle_seconds,
                "body_bytes": limits.body_bytes,
                "batch": limits.batch,
                "action_length": limits.action_length,
            },
        }

    async def answer(self, call: Message, client: str) -> Answer:
        """Carry a call out; what cannot be is an `HttpError`."""
        answer = self.answer_now(call)
        return await self.answer_later(call, client) if answer is None else answer

    def answer_now(self, call: Message) -> Answer | None:
        """Carry a call out that takes no time: a step or a reset of a quick environment. None:
        nothing is done, and `answer_later` does it."""
        begun = time.perf_counter()
        try:
            if isinstance(call, StepCall):
                name, answer = "step", self._step(call)
            elif isinstance(call, ResetCall):
                name, answer = "reset", self._reset(call)
            else:
                return None
        except Exception as failure:
            raise self._refused(call, failure) from None
        if answer is not None:
            self.metrics.latency[name].add(time.perf_counter() - begun)
        return answer

    async def answer_later(self, call: Message, client: str) -> Answer:
        """Carry out any other call."""
        begun = time.perf_counter()
        try:
            if isinstance(call, BatchCall):
                name, answer = "batch", await self._batch(call, client)
            elif isinstance(call, StepCall):
                name, answer = "step", await self._slow(call)
            elif isinstance(call, ResetCall):
                name, answer = "reset", await self._slow(call)
            elif isinstance(call, CreateCall):
                name, answer = "create", await self._create(call, client)
            elif isinstance(call, GoalsCall | TasksCall):
                name, answer = "split", await self._split(call)
            else:
                name, answer = "close", self._close(call)
        except Exception as failure:
            raise self._refused(call, failure) from None
        self.metrics.latency[name].add(time.perf_counter() - begun)
        return answer

    def _refused(self, call: Message, failure: Exception) -> HttpError:
        if isinstance(failure, ErrandsError):
            return self.count_error(failure)
        # A defect of ours: the log says which, and the other sessions go on.
        _log.error("a %s call failed", type(call).__name__.lower(), exc_info=failure)
        return self.count_error(internal())

    def count_error(self, failure: ErrandsError) -> HttpError:
        """Count a failure, and give it as an HTTP error."""
        error = as_http_error(failure)
        self.metrics.errors[error.code] += 1
        return error

    async def start(self) -> None:
        """Wait until all processes are ready to play."""
        for pool in self._pools.values():
            await pool.start()

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
        for pool in self._pools.values():
            pool.close()

    def _step(self, call: StepCall) -> Answer | None:
        if len(call.action) > self.limits.action_length:
            most = self.limits.action_length
            raise too_large(f"The action has {len(call.action)} characters; the most is {most}.")
        env = self.sessions.find(call.session).env
        if env.is_slow or isinstance(env, HostedEnv):
            return None
        return self._stepped(env.step(call.action))

    def _stepped(self, turn: Turn) -> Answer:
        self.metrics.steps += 1
        return step_answer(turn)

    def _reset(self, call: ResetCall) -> Answer | None:
        env = self.sessions.find(call.session).env
        if env.is_slow or isinstance(env, HostedEnv):
            return None
        return self._begun(env.reset(call.seed, dict(call.options)))

    def _begun(self, seen: tuple[Any, dict[str, Any]]) -> Answer:
        self.metrics.resets += 1
        return reset_answer(seen)

    async def _slow(self, call: StepCall | ResetCall) -> Answer:
        """A step or a reset that is made elsewhere."""
        session = self.sessions.find(call.session)
        env = session.env
        if isinstance(env, HostedEnv):
            [result] = await self._hosted(env.worker, [(session, call)])
            if isinstance(result, HttpError):
                raise result
            return result
        if isinstance(call, StepCall):
            action = call.action
            return self._stepped(await self._in_thread(session, lambda: env.step(action)))
        seed, options = call.seed, dict(call.options)
        return self._begun(await self._in_thread(session, lambda: env.reset(seed, options)))

    async def _hosted(
        self, worker: WorkerProcess, calls: Sequence[tuple[Session, StepCall | ResetCall]]
    ) -> list[Answer | HttpError]:
        """Have a process make some calls."""
        sessions = [session for session, _ in calls]
        # The shop's are bounded by their connections, and are no sooner asked than answered.
        waiting = int(sessions[0].is_form)
        if waiting and self.metrics.slow_calls >= self.limits.slow_calls:
            raise busy()
        self.metrics.slow_calls += waiting
        for session in sessions:
            session.in_use += 1
        asked = worker.ask([call for _, call in calls])

        def done(_: object) -> None:
            self.metrics.slow_calls -= waiting
            for session in sessions:
                session.in_use -= 1

        asked.add_done_callback(done)
        # Who stops waiting does not stop the work, and it counts until it is done.
        outcomes = await asyncio.shield(asked)
        results: list[Answer | HttpError] = []
        for (_, call), outcome in zip(calls, outcomes, strict=True):
            if outcome.refusal is not None:
                results.append(outcome.refusal.error())
                continue
            if isinstance(call, StepCall):
                self.metrics.steps += 1
            else:
                self.metrics.resets += 1
            results.append(outcome.answer)
        return results

    async def _create(self, call: CreateCall, client: str) -> Answer:
        if self._draining:
            raise shutting_down()
        if call.count > self.limits.batch:
            raise too_large(f"count={call.count}: the most at once is {self.limits.batch}.")
        provider = self._provider(call.environment)
        form_pages = call.environment == "turk"
        self.sessions.room_for(client, call.count, form_pages=form_pages)
        settings = call.settings
        envs: Sequence[SessionEnv | HostedEnv]
        if call.environment in self._pools:
            envs = await self._host(self._pools[call.environment], call)
        elif provider.is_quick(settings):
            envs = [provider.make_env(settings) for _ in range(call.count)]
        else:
            envs = await self._in_thread(
                None, lambda: [provider.make_env(settings) for _ in range(call.count)]
            )
        try:
            # Others may have come in the meantime.
            self.sessions.room_for(client, call.count, form_pages=form_pages)
        except HttpError:
            for env in envs:
                env.close()
            raise
        opened = [
            self.sessions.open(
                env,
                client,
                env.id if isinstance(env, HostedEnv) else None,
                form_pages=form_pages,
            ).id
            for env in envs
        ]
        self.metrics.created += len(opened)
        return {"sessions": opened, "idle_seconds": self.limits.idle_seconds}

    async def _host(self, pool: WorkerPool, call: CreateCall) -> list[HostedEnv]:
        """New sessions in processes."""
        share = {
            worker: [HostedEnv(worker, new_id()) for _ in range(count)]
            for worker, count in pool.pick(call.count).items()
        }
        envs = [env for some in share.values() for env in some]
        try:
            asked = [
                worker.ask([OpenOrder([env.id for env in some], call.settings)])
                for worker, some in share.items()
            ]
            for [outcome] in await asyncio.gather(*asked):
                if outcome.refusal is not None:
                    raise outcome.refusal.error()
        except BaseException:
            for env in envs:
                env.close()
            raise
        return envs

    def _lost(self, worker: WorkerProcess) -> None:
        """A process has ended, and its sessions with it."""
        for _ in self.sessions.close_all(
            lambda session: isinstance(session.env, HostedEnv) and session.env.worker is worker
        ):
            self.metrics.lost += 1

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

    def _close(self, call: CloseCall) -> Answer:
        self._close_env(self.sessions.close(call.session))
        self.metrics.closed += 1
        return {"closed": True}

    async def _batch(self, call: BatchCall, client: str) -> Answer:
        if len(call.calls) > self.limits.batch:
            most = self.limits.batch
            raise too_large(f"The batch has {len(call.calls)} calls; the most is {most}.")
        results: list[Answer | HttpError] = []
        waiting: HostedCalls = {}
        rest_at = time.perf_counter() + _TURN
        for place, inner in enumerate(call.calls):
            try:
                answer = self.answer_now(inner)
                if answer is None:
                    answer = self._put_off(inner, place, waiting)
                if answer is None:
                    # It may concern a session that has something else to do first.
                    await self._catch_up(waiting, results)
                    answer = await self.answer_later(inner, client)
                results.append(answer)
            except HttpError as error:
                results.append(error)
            if time.perf_counter() >= rest_at:
                await asyncio.sleep(0)
                rest_at = time.perf_counter() + _TURN
        await self._catch_up(waiting, results)
        answers = (one.answer() if isinstance(one, HttpError) else one for one in results)
        return {
            "results": [
                answer if inner.id is None else {"id": inner.id, **answer}
                for inner, answer in zip(call.calls, answers, strict=True)
            ]
        }

    def _put_off(self, call: Call, place: int, waiting: HostedCalls) -> Answer | None:
        """A call of a batch that a process makes, to be sent with others; None if it is none."""
        if isinstance(call, CloseCall):
            return None
        session = self.sessions.find(call.session)
        if not isinstance(session.env, HostedEnv):
            return None
        waiting.setdefault(session.env.worker, []).append((place, session, call))
        return {}

    async def _catch_up(self, waiting: HostedCalls, results: list[Answer | HttpError]) -> None:
        """Have all processes make what was put off, at once."""
        if not waiting:
            return
        groups = dict(waiting)
        waiting.clear()
        asked = (
            self._hosted(worker, [(session, call) for _, session, call in some])
            for worker, some in groups.items()
        )
        for some, done in zip(
            groups.values(), await asyncio.gather(*asked, return_exceptions=True), strict=True
        ):
            if isinstance(done, BaseException) and not isinstance(done, HttpError):
                raise done
            for at, (place, _, _) in enumerate(some):
                result = done if isinstance(done, HttpError) else done[at]
                results[place] = result
                if isinstance(result, HttpError):
                    self.count_error(result)

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
        if session.env.is_slow and not isinstance(session.env, HostedEnv):
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
