"""What plays on a node of a cluster: opens the data there, plays numbers, hands episodes back.

A worker keeps nothing. It plays the numbers it is given in order, and answers when they are
played or when its time slice is over; those it did not come to are dealt again by whoever asked.
"""

import time
from typing import Any

import msgspec

import errands
from errands.agents.agent import EndOfRun, Spender
from errands.errors import ErrandsError
from errands.runs.episode import Episode
from errands.runs.episode_source import Env
from errands.runs.play import agent_for, play, play_waiting
from errands.runs.store.rows import pack
from errands.runs.workers.processes import Job, open_job

__all__ = ["RayPlayer", "Ready", "WorkerReply", "actor_class", "begin"]


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says first: what it has opened, or why it cannot play."""

    key: str = ""
    """Of the source, with the checksum of its data."""
    version: str = ""
    broken: str = ""


class WorkerReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says then."""

    done: tuple[Episode, ...] = ()
    ended: str = ""
    """The agent ends the run."""
    seconds: float = 0.0
    """How long all of it took."""


def begin(line: bytes) -> "tuple[RayPlayer | None, bytes]":
    """Open what a job needs; the player, and its first word."""
    try:
        player = RayPlayer(msgspec.json.decode(line, type=Job))
    except ErrandsError as failure:
        return None, pack(Ready(broken=str(failure)))
    return player, pack(Ready(key=player.key, version=errands.__version__))


class RayPlayer:
    """Data, environments and agents of one process."""

    def __init__(self, job: Job) -> None:
        self._rules = job.rules
        self._source, self._factory = open_job(job)
        self._free: list[Env] = []
        self._told = 0.0
        self.key = self._source.key

    def play(self, numbers: list[int], seconds: float, spent: float) -> bytes:
        """Play these, but begin none once the time is over; `spent` is what the episodes of all
        other workers have cost."""
        self._charge(spent)
        begun = time.monotonic()
        took = 0.0
        env = self._env()
        done = []
        ended = ""
        try:
            for number in numbers:
                agent = agent_for(self._factory, self._rules.seed, number)
                done.append(play(self._source, env, agent, number, self._rules))
                took = time.monotonic() - begun
                if took >= seconds:
                    break
        except EndOfRun as reason:
            ended = str(reason)
        self._free.append(env)
        return pack(WorkerReply(done=tuple(done), ended=ended, seconds=took))

    async def play_waiting(self, number: int, spent: float) -> bytes:
        """Play one of many at once, with an agent that waits for a model."""
        self._charge(spent)
        begun = time.monotonic()
        env = self._env()
        try:
            agent = agent_for(self._factory, self._rules.seed, number)
            episode = await play_waiting(self._source, env, agent, number, self._rules)
        except EndOfRun as reason:
            return pack(WorkerReply(ended=str(reason)))
        self._free.append(env)
        return pack(WorkerReply(done=(episode,), seconds=time.monotonic() - begun))

    def _charge(self, spent: float) -> None:
        """A limit of money is for the whole run."""
        if isinstance(self._factory, Spender) and spent > self._told:
            self._factory.charge(spent - self._told)
            self._told = spent

    def _env(self) -> Any:
        return self._free.pop() if self._free else self._source.env()


def actor_class(waits: bool) -> type:
    """The actor's class. It is made in here so that Ray sends it whole: a node needs errands only
    when the worker says hello, and can then say that it has none."""

    class Computing:
        def hello(self, path: list[str], folder: str, job: bytes) -> bytes | str:
            import contextlib
            import os
            import sys

            sys.path.extend(entry for entry in path if entry not in sys.path)
            with contextlib.suppress(OSError):
                os.chdir(folder)
            try:
                from errands.runs.workers.ray_worker import begin
            except ImportError as failure:
                return f"errands cannot be imported there ({failure}): pip install 'errands[ray]'."
            self.player, ready = begin(job)
            return ready

        def play(self, numbers: list[int], seconds: float, spent: float) -> bytes:
            return self.player.play(numbers, seconds, spent)  # type: ignore[union-attr]

    if not waits:
        return Computing

    class Waiting(Computing):
        async def hello(self, path: list[str], folder: str, job: bytes) -> bytes | str:  # type: ignore[override]
            return super().hello(path, folder, job)

        async def play(self, number: int, spent: float) -> bytes:  # type: ignore[override]
            return await self.player.play_waiting(number, spent)  # type: ignore[union-attr]

    return Waiting
