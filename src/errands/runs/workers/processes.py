"""Worker processes: each plays episodes and keeps them itself; the runner deals out numbers.

A worker is told episode numbers on its standard input and answers on a pipe of its own with one
line for some finished episodes. It keeps an episode before it reports it, so whatever dies,
nothing that was finished is lost. Workers die with the runner. A worker that dies alone costs its
episode another try; an episode that ends two workers becomes an error.
"""

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from errands.agents.agent import AgentFactory, EndOfRun
from errands.agents.registry import make_factory
from errands.child_process import child_code
from errands.runs.episode import Summary
from errands.runs.episode_source import EpisodeSource, open_source
from errands.runs.play import PlayConfig, failed
from errands.runs.protocol import Protocol
from errands.runs.store.base import Store, StoreError
from errands.shop.build.process_map import standard_error
from errands.shop.catalog.verification import Verify
from errands.turk.proofs import Proof, adopt_proofs

__all__ = ["GRACE", "TRIES", "Job", "Message", "fair_share", "open_job", "play_in_processes"]

TRIES: Final = 2
"""An episode that ends so many workers becomes an error."""
_AHEAD_SECONDS: Final = 0.5
"""A worker is given about this much work ahead, so that it never waits."""
_MOST_AHEAD: Final = 256
GRACE = 30.0
"""Seconds beyond an episode's time after which a worker that says nothing is ended."""
_PATIENCE: Final = 5.0
"""Seconds between a worker's last word and its end."""


_START: Final = child_code("errands.runs.workers.process_main", "main")


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says: finished episodes, or why it stops."""

    done: tuple[Summary, ...] = ()
    ended: str = ""
    """The agent ends the run."""
    broken: str = ""
    """The store or the data failed: nothing more can be kept."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process needs to know, as data."""

    protocol: Protocol
    agent: str
    settings: dict[str, Any]
    observation: str
    rules: PlayConfig
    place: str
    fsync: bool = False
    proofs: tuple[Proof, ...] = ()
    """What is known here of form pages, and perhaps not on another machine."""
    verify: Verify = "quick"
    """Another machine has files of its own."""


def open_job(job: Job) -> tuple[EpisodeSource, AgentFactory]:
    """What a worker plays: the data, whose environments are its own, and what makes its agents."""
    adopt_proofs(job.proofs)
    source = open_source(job.protocol, observation=job.observation, verify=job.verify)
    try:
        return source, make_factory(job.agent, job.protocol.domain, source.env(), job.settings)
    except BaseException:
        source.close()
        raise


class _WorkerProcess:
    """One process and the numbers it was given."""

    def __init__(self, job: bytes, locks: Sequence[int]) -> None:
        reader, writer = os.pipe()
        self.pipe = reader
        self.given: deque[int] = deque()
        self.rate = 0.0
        self._buffer = b""
        self._heard = time.monotonic()
        self._decoder = msgspec.json.Decoder(Message)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, str(writer), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=standard_error(),
            pass_fds=[writer, *locks],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        os.close(writer)
        os.set_blocking(reader, False)
        self._write(job + b"\n")

    def give(self, numbers: Sequence[int]) -> None:
        if numbers:
            if not self.given:
                self._heard = time.monotonic()
            self.given.extend(numbers)
            self._write(" ".join(map(str, numbers)).encode() + b"\n")

    def wants(self) -> int:
        """How many more numbers it should have."""
        ahead = min(max(int(self.rate * _AHEAD_SECONDS), 1), _MOST_AHEAD)
        return ahead - len(self.given) if len(self.given) <= ahead // 2 else 0

    def heard(self) -> tuple[list[Message], bool]:
        """What it said since last time, and whether it is still there."""
        alive = True
        while True:
            try:
                piece = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                break
            if not piece:
                alive = False
                break
            self._buffer += piece
        *lines, self._buffer = self._buffer.split(b"\n")
        messages = [self._decoder.decode(line) for line in lines]
        done = sum(len(message.done) for message in messages)
        if done:
            now = time.monotonic()
            self.rate = done / max(now - self._heard, 1e-3)
            self._heard = now
        return messages, alive

    def end_if_stuck(self, seconds: float | None) -> None:
        """End it where its agent will not be interrupted; that is noticed on the pipe."""
        if seconds is not None and self.given and self.silent > seconds + GRACE:
            self.process.kill()

    @property
    def silent(self) -> float:
        return time.monotonic() - self._heard

    def stop(self) -> None:
        """No more numbers: it ends when it has played those it has."""
        with contextlib.suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()

    def end(self, patience: float = 0.0) -> None:
        """Make sure that it is gone; one that is going by itself may have a moment for it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.stop()
        os.close(self.pipe)

    def _write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # Its end is noticed on the other pipe.
            self.process.stdin.write(line)
            self.process.stdin.flush()


def fair_share(waiting: int, workers: int) -> int:
    """How many numbers one worker may be given at once: ever less towards the end, so that all
    have something to do until then."""
    return -(-waiting // (2 * workers))


def play_in_processes(
    job: Job,
    source: EpisodeSource,
    store: Store,
    pending: Sequence[int],
    workers: int,
    on_episode: Callable[[Summary], None],
    locks: Sequence[int] = (),
) -> None:
    """Play these episodes with so many processes; `locks` are descriptors that they hold too."""
    # The files of this machine were verified when the source was opened.
    line = msgspec.json.encode(msgspec.structs.replace(job, verify="off"))
    waiting = deque(pending)
    strikes: Counter[int] = Counter()
    processes: set[_WorkerProcess] = set()
    with selectors.DefaultSelector() as selector, _ended_in_any_case(processes, store):

        def hire() -> None:
            worker = _WorkerProcess(line, locks)
            processes.add(worker)
            selector.register(worker.pipe, selectors.EVENT_READ, worker)
            worker.give([waiting.popleft()])

        for _ in range(min(workers, len(pending))):
            hire()
        while processes:
            for key, _ in selector.select(1.0):
                worker: _WorkerProcess = key.data
                messages, alive = worker.heard()
                for message in messages:
                    _take(message, worker, on_episode)
                if alive:
                    fair = fair_share(len(waiting), workers)
                    worker.give([waiting.popleft() for _ in range(min(worker.wants(), fair))])
                    if not waiting and not worker.given:
                        worker.stop()
                    continue
                selector.unregister(worker.pipe)
                processes.discard(worker)
                worker.end(_PATIENCE)
                if worker.given:
                    _report_lost(worker, source, store, waiting, strikes, on_episode)
                    if waiting:
                        hire()
            for worker in processes:
                worker.end_if_stuck(job.rules.seconds)


def _take(message: Message, worker: _WorkerProcess, on_episode: Callable[[Summary], None]) -> None:
    for summary in message.done:
        worker.given.remove(summary.number)
        on_episode(summary)
    if message.ended:
        raise EndOfRun(message.ended)
    if message.broken:
        raise StoreError(message.broken)


def _report_lost(
    worker: _WorkerProcess,
    source: EpisodeSource,
    store: Store,
    waiting: deque[int],
    strikes: Counter[int],
    on_episode: Callable[[Summary], None],
) -> None:
    """A worker died: what it had kept counts, what it was at is tried once more."""
    store.gather()
    kept = store.numbers()
    for number in [number for number in worker.given if number in kept]:
        worker.given.remove(number)
        on_episode(store.episode(number).summary)
    if not worker.given:
        return
    suspect = worker.given[0]
    strikes[suspect] += 1
    if strikes[suspect] >= TRIES:
        worker.given.popleft()
        code = worker.process.returncode
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        reason = f"The process that played it ended twice, the last time by {how}"
        episode = failed(source, suspect, "worker", reason)
        store.add(episode)
        on_episode(episode.summary)
    waiting.extendleft(reversed(worker.given))


@contextlib.contextmanager
def _ended_in_any_case(processes: set[_WorkerProcess], store: Store) -> Iterator[None]:
    try:
        yield
    finally:
        for worker in processes:
            worker.end()
        store.gather()
