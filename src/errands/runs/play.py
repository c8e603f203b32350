"""Playing one episode: an agent, an environment, and a record of all that passes between them.

What happens is written once, as a coroutine. `play` runs one that never waits to its end,
`play_waiting` awaits it, so an agent that computes and one that waits for a model are recorded
alike. Whatever fails ends the episode as an error that names whose failure it was; it never becomes
a reward.
"""

import asyncio
import functools
import hashlib
import inspect
import signal
import threading
import time
from collections.abc import Coroutine
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from errands.agents.agent import (
    Agent,
    AgentFactory,
    EndOfRun,
    ModelError,
    Move,
    PrivilegedAgent,
    SightedAgent,
)
from errands.browser.chromium import BrowserError
from errands.envs.turk import TurkEnv
from errands.errors import ErrandsError, PageError
from errands.runs.answers import AnswerTally
from errands.runs.episode import Episode, Step, Summary, digest
from errands.runs.episode_source import EpisodeSource
from errands.turk.pages.driver import DriverError

__all__ = ["PlayConfig", "agent_for", "episode_seed", "failed", "play", "play_waiting"]

_LONGEST_REASON: Final = 500
_AT_ONCE: Final = frozenset({str, Move})
"""What agents answer that do not wait: nothing to be awaited in it."""


class PlayConfig(msgspec.Struct, frozen=True):
    """How episodes are played and kept, beside what the protocol says."""

    seed: int = 0
    seconds: float | None = None
    """How long one episode may take; None: as long as it likes."""
    observations: str = "full"


class OutOfTime(BaseException):
    """The episode took too long. Not an `Exception`, so that no agent catches it by the way."""


def episode_seed(seed: int, number: int) -> int:
    """The seed of one episode: the same whoever plays it, and in whatever order."""
    drawn = hashlib.blake2b(f"{seed}/{number}".encode(), digest_size=6).digest()
    return int.from_bytes(drawn)


class _FailedAgent:
    """In place of an agent that could not be made: the episode fails for its reason."""

    def __init__(self, failure: BaseException) -> None:
        self._failure = failure

    def begin(self, observation: Any, info: Any) -> None:
        raise self._failure

    def act(self, observation: Any, info: Any) -> str:
        raise self._failure


def agent_for(factory: AgentFactory, seed: int, number: int) -> Agent:
    """The agent of one episode; one that cannot be made is that episode's failure."""
    try:
        return factory.agent(episode_seed(seed, number))
    except EndOfRun:
        raise
    except (Exception, SystemExit) as failure:
        return _FailedAgent(failure)


def play(source: EpisodeSource, env: Any, agent: Agent, number: int, rules: PlayConfig) -> Episode:
    """Play one episode with an agent that answers at once."""
    recorder = _EpisodeRecorder(source, env, agent, number, rules, waiting=False)
    try:
        with _Alarm(rules.seconds):
            return _at_once(recorder.episode())
    except OutOfTime:
        return recorder.out_of_time()


def _at_once(episode: Coroutine[Any, Any, Episode]) -> Episode:
    """What a coroutine returns in which nothing waits: it is over when it has begun."""
    try:
        episode.send(None)
    except StopIteration as over:
        played: Episode = over.value
        return played
    raise AssertionError("an episode waits that should not")


async def play_waiting(
    source: EpisodeSource, env: Any, agent: Agent, number: int, rules: PlayConfig
) -> Episode:
    """Play one episode with an agent that may wait; other episodes go on meanwhile."""
    recorder = _EpisodeRecorder(source, env, agent, number, rules, waiting=True)
    try:
        async with asyncio.timeout(rules.seconds):
            return await recorder.episode()
    except TimeoutError:
        return recorder.out_of_time()


class _EpisodeRecorder:
    """One episode's conversation and what has been recorded of it."""

    def __init__(
        self,
        source: EpisodeSource,
        env: Any,
        agent: Agent,
        number: int,
        rules: PlayConfig,
        *,
        waiting: bool,
    ) -> None:
        """`waiting`: other episodes are played meanwhile, on the same event loop."""
        self._source = source
        self._env = env
        self._agent = agent
        self._number = number
        self._rules = rules
        self._waiting = waiting
        self._begun = time.perf_counter()
        self._steps: list[Step] = []
        self._track = source.track()
        self._keeps = rules.observations
        self._usage = [0, 0, 0.0]
        self._calls = 0
        self._answers = AnswerTally()

    async def episode(self) -> Episode:
        """Everything that happens; it waits for nothing unless others are to go on meanwhile."""
        env, agent, track = self._env, self._agent, self._track
        # A page in a browser is stepped in a thread; the agents share this one.
        threaded = self._waiting and self._source.waits
        owner = "environment"
        try:
            options = self._source.options(self._number)
            reset = functools.partial(env.reset, options=options)
            observation, info = await asyncio.to_thread(reset) if threaded else reset()
            track.saw(env, observation, "", info)
            owner = "agent"
            # Few can do either, and to ask a protocol takes as long as a step.
            if hasattr(agent, "look") and isinstance(agent, PrivilegedAgent):
                agent.look(env)
            if (
                hasattr(agent, "watch")
                and isinstance(agent, SightedAgent)
                and isinstance(env.unwrapped, TurkEnv)
            ):
                agent.watch(env.unwrapped.picture)
            begun = agent.begin(observation, info)
            if begun is not None:
                await self._settled(begun)
            reward, terminated, truncated = 0.0, False, False
            while not (terminated or truncated):
                owner = "agent"
                seen = observation
                asked = time.perf_counter()
                answer = agent.act(observation, info)
                if type(answer) not in _AT_ONCE:
                    answer = await self._settled(answer)
                took = time.perf_counter() - asked
                action = answer if type(answer) is str else _action(answer)
                owner = "environment"
                step = await asyncio.to_thread(env.step, action) if threaded else env.step(action)
                observation, reward, terminated, truncated, info = step
                track.saw(env, observation, action, info)
                self._note(seen, answer, action, float(reward), info, took)
            reward = float(reward)
            return self._made(
                Summary(
                    number=self._number,
                    key=self._source.keys[self._number],
                    status="done" if terminated else "truncated",
                    reward=reward,
                    success=reward >= 1.0,
                    steps=len(self._steps),
                    seconds=time.perf_counter() - self._begun,
                    parts=self._parts(info),
                    **track.figures(),
                ),
                observation,
            )
        except EndOfRun:
            raise
        except (Exception, SystemExit) as failure:
            if owner == "agent" and isinstance(failure, ModelError):
                owner = "model"
            elif isinstance(failure, BrowserError | DriverError | PageError):
                owner = "page"
            return self._failed(owner, _reason(failure))

    async def _settled(self, answer: Any) -> Any:
        """What an agent answers, once it is there."""
        if not inspect.isawaitable(answer):
            return answer
        if self._waiting:
            return await answer
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("the agent is asynchronous; its factory's mode must be 'model'")

    def _parts(self, info: dict[str, Any]) -> dict[str, Any]:
        parts = self._track.parts(self._env, info) | self._answers.parts()
        if "cluster" not in parts:
            parts["cluster"] = self._source.clusters[self._number]
        if self._calls and self._source.protocol.domain == "turk":
            parts["calls"] = self._calls
        return parts

    def out_of_time(self) -> Episode:
        return self._failed("time", f"It took longer than {self._rules.seconds:g} seconds")

    def _note(
        self, seen: Any, answer: Any, action: str, reward: float, info: Any, took: float
    ) -> None:
        kept = "" if self._keeps == "none" else digest(seen)
        text = _text(seen) if self._keeps == "full" else None
        message = info.get("message", "")
        if type(answer) is str:
            self._steps.append(Step(action, reward, kept, text, "", message, took))
            return
        usage = answer.usage
        calls = self._answers.note(answer.calls, valid=bool(info.get("valid_action", True)))
        if usage is None:
            self._steps.append(Step(action, reward, kept, text, answer.thought, message, took))
            return
        self._calls += usage.calls
        spent = (usage.tokens_in, usage.tokens_out, usage.cost)
        self._usage = [total + part for total, part in zip(self._usage, spent, strict=True)]
        if self._keeps != "full":
            # They hold pages.
            calls = tuple(replace(call, messages=(), tools=()) for call in calls)
        step = Step(action, reward, kept, text, answer.thought, message, took, *spent, calls)
        self._steps.append(step)

    def _made(self, summary: Summary, last: Any = None) -> Episode:
        if any(self._usage):
            summary = replace(
                summary,
                tokens_in=int(self._usage[0]),
                tokens_out=int(self._usage[1]),
                cost=float(self._usage[2]),
            )
        kept = last is not None and self._keeps != "none"
        return Episode(
            summary=summary,
            steps=tuple(self._steps),
            last_digest=digest(last) if kept else "",
            last=_text(last) if kept and self._keeps == "full" else None,
        )

    def _failed(self, owner: str, reason: str) -> Episode:
        summary = failed(self._source, self._number, owner, reason).summary
        return self._made(
            replace(
                summary,
                steps=len(self._steps),
                seconds=time.perf_counter() - self._begun,
                parts=summary.parts | self._answers.parts(),
                **self._track.figures(),
            )
        )


def failed(source: EpisodeSource, number: int, owner: str, reason: str) -> Episode:
    """An episode of which nothing is left but that it failed."""
    summary = Summary(
        number=number,
        key=source.keys[number],
        status="error",
        reward=None,
        success=None,
        steps=0,
        seconds=0.0,
        owner=owner,
        error=reason,
        parts={"cluster": source.clusters[number]},
    )
    return Episode(summary=summary, steps=())


def _action(answer: Any) -> str:
    if isinstance(answer, Move):
        return answer.action
    raise TypeError(f"an agent answers with a text or a Move, not with {type(answer).__name__}")


def _text(observation: Any) -> str | None:
    if isinstance(observation, dict):
        observation = observation.get("html")
    return observation if isinstance(observation, str) else None


def _reason(failure: BaseException) -> str:
    said = " ".join(str(failure).split())
    if not isinstance(failure, ErrandsError):
        said = f"{type(failure).__name__}: {said}" if said else type(failure).__name__
    return said[:_LONGEST_REASON]


class _Alarm:
    """Interrupts what runs in the main thread once the time is up, and again until it gives in."""

    __slots__ = ("_before", "_seconds")

    def __init__(self, seconds: float | None) -> None:
        in_main_thread = threading.current_thread() is threading.main_thread()
        self._seconds = seconds if in_main_thread else None

    def __enter__(self) -> None:
        if self._seconds is not None:
            self._before = signal.signal(signal.SIGALRM, _ring)
            signal.setitimer(signal.ITIMER_REAL, self._seconds, 0.5)

    def __exit__(self, *_: object) -> None:
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)


def _ring(number: int, frame: object) -> None:
    raise OutOfTime
