"""Workers on a Ray cluster: one actor for each CPU plays, the runner deals and keeps.

A worker is given a small batch of numbers and one more ahead, and answers at the end of a short
time slice with whole episodes. What it did not come to, or had not begun when others ran out of
work, is dealt again: to whom it goes does not matter, for a number gives an episode, and the first
answer counts. A worker or a node that is lost costs the episodes of its open slice another try.
"""

import contextlib
import os
import queue
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Final

import msgspec

import errands
from errands.agents.agent import EndOfRun
from errands.runs.episode import Episode
from errands.runs.episode_source import EpisodeSource
from errands.runs.play import failed
from errands.runs.store.rows import unpack
from errands.runs.workers import processes as pool
from errands.runs.workers.ray_cluster import ClusterError, Node, living_nodes
from errands.runs.workers.ray_worker import Ready, WorkerReply, actor_class

__all__ = ["AT_ONCE", "played_on_ray", "time_slice"]

AT_ONCE: Final = 16
"""Episodes that one worker plays at once where the agent waits for a model."""
_AHEAD: Final = 2
"""Batches that a worker has: the one it plays, and one more, so that it never waits."""
_SLICE: Final = 0.1
_SLICE_EACH: Final = 0.002
_MOST: Final = 4096
_OVERDUE: Final = 3.0
"""A batch that takes so many slices is held up by an episode of it: others may play the rest."""
_LOOK: Final = 3.0
"""Seconds between looks at which nodes there are."""
_NO_NODE: Final = 60.0
"""Seconds that a cluster which has lost every node may take to have one again."""
_SLOW: Final = 30.0
_STARTS: Final = 3
"""A node where so many workers end before they begin plays no more."""
_LOST_NODE: Final = 0.5
"""How a lost node counts against an episode, where a worker that ended counts 1: it is most
likely not its fault, but one that pulls down every node must come to an end, too."""

Remark = Callable[[str], None]


def time_slice(workers: int) -> float:
    """Seconds after which a worker answers: the more workers, the rarer, so that the runner can
    follow (about 500 answers a second)."""
    return max(_SLICE, _SLICE_EACH * workers)


def played_on_ray(
    ray: Any,
    job: pool.Job,
    source: EpisodeSource,
    pending: Sequence[int],
    workers: int | None,
    *,
    on_remark: Remark,
    waits: bool = False,
    spent: float = 0.0,
) -> Generator[Episode, None, None]:
    """Episodes as they arrive, each once; to close the iterator ends the workers.

    `workers` play at once: None for one for each CPU. With `waits`, for agents that wait for a
    model, a worker plays many episodes at once, and all of them together so many as `workers`;
    `spent` is what the run has cost before, in US dollars.
    """
    pool = _RayPool(ray, job, source, pending, workers, on_remark, waits, spent)
    try:
        while pool.left:
            pool.recruit()
            for call, answer in pool.heard():
                yield from pool.take(call, answer)
            yield from pool.end_stuck()
            pool.deal()
    finally:
        pool.end()


class _Call:
    """Something asked of a worker, and not answered yet."""

    def __init__(self, worker: "_RayWorker", numbers: list[int]) -> None:
        self.worker = worker
        self.numbers = numbers
        """What is to be dealt again if it is not played; empty for the first call."""
        self.begun = time.monotonic()
        self.ref: Any = None


class _RayWorker:
    """One actor, and what it was asked."""

    def __init__(self, actor: Any, node: Node) -> None:
        self.actor = actor
        self.node = node
        self.calls: deque[_Call] = deque()
        self.ready = False
        self.gone = False
        self.alone = False
        """Whether it plays a number that may end it, and is to have no other meanwhile."""
        self.rate = 0.0
        self.cost = 0.0
        self.heard = time.monotonic()


class _RayPool:
    """All workers of a run, what is left to play, and who plays it."""

    def __init__(
        self,
        ray: Any,
        job: pool.Job,
        source: EpisodeSource,
        pending: Sequence[int],
        workers: int | None,
        on_remark: Remark,
        waits: bool,
        spent: float,
    ) -> None:
        self._ray = ray
        self._line = msgspec.json.encode(job)
        self._seconds = job.rules.seconds
        self._source = source
        self._remark = on_remark
        self._waits = waits
        self._room = min(AT_ONCE, workers or AT_ONCE) if waits else _AHEAD
        self._most = workers if workers is None or not waits else -(-workers // AT_ONCE)
        self._kind = ray.remote(actor_class(waits))
        self.left = set(pending)
        self._waiting = deque(pending)
        self._suspects: deque[int] = deque()
        self._strikes: defaultdict[int, float] = defaultdict(float)
        self._workers: set[_RayWorker] = set()
        self._hungry: set[_RayWorker] = set()
        self._excluded: dict[str, str] = {}
        self._starts: Counter[str] = Counter()
        self._events: queue.SimpleQueue[tuple[_Call, Future[bytes | str]]] = queue.SimpleQueue()
        self._cost = spent
        self._begun = self._peopled = time.monotonic()
        self._looked = -_LOOK
        self._slow_said = False

    # Who plays.

    def recruit(self) -> None:
        """Now and then: a worker for each CPU that has none."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        nodes = [node for node in living_nodes(self._ray) if node.cpus]
        usable = [node for node in nodes if node.id not in self._excluded]
        if usable:
            self._peopled = now
        elif self._excluded and len(self._excluded) >= len(nodes):
            raise ClusterError(
                f"No node of the cluster can play. {next(iter(self._excluded.values()))}"
            )
        elif now - self._peopled > _NO_NODE or not (nodes or self._workers or self._excluded):
            raise ClusterError(
                "The cluster has no node with a CPU to play on. Start one (`ray start"
                " --address=HEAD:PORT`); a run that had begun goes on with --resume."
            )
        held = Counter(worker.node.id for worker in self._workers)
        most = min(self._most or len(self.left), len(self.left))
        for place in range(max((node.cpus for node in usable), default=0)):
            for node in usable:
                if place < node.cpus and held[node.id] <= place and len(self._workers) < most:
                    held[node.id] += 1
                    self._hire(node)
        slow = not any(worker.ready for worker in self._workers) and now - self._begun > _SLOW
        if slow and not self._slow_said:
            self._slow_said = True
            self._remark(
                "No worker could begin so far: the cluster's CPUs are taken, or its nodes are slow"
            )

    def _hire(self, node: Node) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        place = NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)
        settings: dict[str, Any] = {"max_concurrency": self._room} if self._waits else {}
        actor = self._kind.options(
            num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy=place, **settings
        ).remote()
        worker = _RayWorker(actor, node)
        self._workers.add(worker)
        path = [os.path.abspath(entry) for entry in sys.path if entry]
        self._ask(worker, [], actor.hello.remote(path, os.getcwd(), self._line))

    def _ask(self, worker: _RayWorker, numbers: list[int], ref: Any) -> None:
        call = _Call(worker, numbers)
        call.ref = ref
        if not worker.calls:
            worker.heard = call.begun
        worker.calls.append(call)
        ref.future().add_done_callback(lambda answer: self._events.put((call, answer)))

    def end(self) -> None:
        """Nobody plays any more."""
        for worker in self._workers:
            worker.gone = True
            with contextlib.suppress(Exception):
                self._ray.kill(worker.actor)
        self._workers.clear()

    # What they say.

    def heard(self) -> Iterator[tuple[_Call, Future[bytes | str]]]:
        """All answers that have come, after a little waiting where there is none."""
        with contextlib.suppress(queue.Empty):
            yield self._events.get(timeout=1.0)
            while True:
                yield self._events.get_nowait()

    def take(self, call: _Call, answer: "Future[bytes | str]") -> Iterator[Episode]:
        """What comes of an answer: episodes, a worker that is ready, or one that is lost."""
        worker = call.worker
        failure = answer.exception()
        if failure is not None:
            if call in worker.calls and not worker.gone:
                yield from self._lost(worker, failure)
            return
        expected = call in worker.calls and not worker.gone
        if expected:
            worker.calls.remove(call)
            worker.heard = time.monotonic()
            self._hungry.add(worker)
        said = answer.result()
        if not worker.ready:
            if expected:
                self._welcome(worker, said)
            return
        assert isinstance(said, bytes)
        message: WorkerReply = unpack(said, WorkerReply)
        if expected:  # Else they have been dealt again.
            done = {episode.summary.number for episode in message.done}
            again = [number for number in call.numbers if number not in done]
            self._waiting.extendleft(reversed(again))
            worker.alone = False
        if message.done:
            worker.rate = len(message.done) / max(message.seconds, 1e-4)
        for episode in message.done:
            worker.cost += episode.summary.cost
            if episode.summary.number in self.left:
                yield self._counted(episode)
        if message.ended:
            raise EndOfRun(message.ended)

    def _counted(self, episode: Episode) -> Episode:
        self.left.discard(episode.summary.number)
        self._cost += episode.summary.cost
        return episode

    def _welcome(self, worker: _RayWorker, said: bytes | str) -> None:
        """A worker has opened the data, the same as here, or its node does not play."""
        ready: Ready = Ready(broken=said) if isinstance(said, str) else unpack(said, Ready)
        problem = ready.broken
        if not problem and ready.version != errands.__version__:
            problem = f"It has errands {ready.version}, and {errands.__version__} is needed."
        elif not problem and ready.key != self._source.key:
            problem = f"It has other data: {ready.key}, and {self._source.key} is needed."
        if problem:
            self._exclude(worker.node, problem)
        else:
            worker.ready = True
            self._starts.pop(worker.node.id, None)

    def _exclude(self, node: Node, problem: str) -> None:
        if node.id not in self._excluded:
            self._excluded[node.id] = f"Node {node.name} does not play: {problem}"
            self._remark(self._excluded[node.id].rstrip("."))
        for worker in [held for held in self._workers if held.node.id == node.id]:
            self._dismiss(worker)
            for call in worker.calls:
                self._waiting.extendleft(reversed(call.numbers))
        self._looked = -_LOOK

    def _dismiss(self, worker: _RayWorker) -> None:
        worker.gone = True
        self._workers.discard(worker)
        self._hungry.discard(worker)
        with contextlib.suppress(Exception):
            self._ray.kill(worker.actor)

    # Whom the run loses.

    def end_stuck(self) -> Iterator[Episode]:
        """End workers whose agent will not be interrupted, or whom nobody can hear."""
        if self._seconds is None:
            return
        limit = self._seconds + time_slice(len(self._workers)) + pool.GRACE
        now = time.monotonic()
        for worker in [held for held in self._workers if held.ready and held.calls]:
            if now - worker.heard > limit:
                yield from self._lost(worker, None)

    def _lost(self, worker: _RayWorker, failure: BaseException | None) -> Iterator[Episode]:
        """A worker is gone. The batch it was at is tried once more, each number of it alone, for
        one may be the reason; what waited behind it is dealt as if nothing had happened."""
        self._dismiss(worker)
        own_fault = failure is None or self._own_fault(worker, failure)
        if not worker.ready:
            self._starts[worker.node.id] += own_fault
            if self._starts[worker.node.id] >= _STARTS:
                reason = "" if failure is None else " ".join(str(failure).split())[:300]
                self._exclude(worker.node, f"Workers cannot begin there ({reason}).")
            return
        blamed = worker.calls if self._waits else list(worker.calls)[:1]
        for call in reversed(worker.calls):
            if call not in blamed:
                self._waiting.extendleft(reversed(call.numbers))
        suspects = [number for call in blamed for number in call.numbers if number in self.left]
        if not own_fault:
            self._waiting.extendleft(reversed(suspects))
        else:
            self._suspects.extend(suspects)
            self._looked = -_LOOK  # Its place can be taken at once.
        if len(suspects) == 1:
            yield from self._struck(suspects[0], worker, 1.0 if own_fault else _LOST_NODE)

    def _struck(self, number: int, worker: _RayWorker, weight: float) -> Iterator[Episode]:
        """A worker was lost that played nothing but this; in the end that is an error."""
        self._strikes[number] += weight
        if self._strikes[number] >= pool.TRIES:
            node = worker.node.name
            reason = (
                f"The worker that played it ended again and again, the last time on node {node}"
            )
            yield self._counted(failed(self._source, number, "worker", reason))

    def _own_fault(self, worker: _RayWorker, failure: BaseException) -> bool:
        """Whether the process ended, and not the machine or the way to it."""
        known = self._ray.exceptions
        if isinstance(failure, known.ActorUnavailableError | known.ObjectLostError):
            return False
        return worker.node.id in {node.id for node in living_nodes(self._ray)}

    # Who gets what.

    def deal(self) -> None:
        """Numbers for all who can take more."""
        idle = [held for held in self._hungry if not held.calls]
        if idle and not self._waiting and not self._suspects:
            self._take_back(len(idle))
        for worker in list(self._hungry):
            while self._suspects and not worker.calls:
                number = self._suspects.popleft()
                if number in self.left:
                    worker.alone = True
                    self._give(worker, [number])
            while self._waiting and not (self._suspects or worker.alone):
                if len(worker.calls) >= self._room:
                    break
                numbers = self._batch(worker)
                if numbers:
                    self._give(worker, numbers)
            if worker.alone or len(worker.calls) >= self._room:
                self._hungry.discard(worker)

    def _batch(self, worker: _RayWorker) -> list[int]:
        """The next numbers for a worker: a slice's work, and a fair share at most."""
        size = 1
        if not self._waits:
            size = int(worker.rate * time_slice(len(self._workers)))
            size = min(size, _MOST, pool.fair_share(len(self._waiting), len(self._workers)))
        numbers: list[int] = []
        while self._waiting and len(numbers) < max(size, 1):
            number = self._waiting.popleft()
            if number in self.left:
                numbers.append(number)
        return numbers

    def _give(self, worker: _RayWorker, numbers: list[int]) -> None:
        spent = self._cost - worker.cost
        if self._waits:
            ref = worker.actor.play.remote(numbers[0], spent)
        else:
            ref = worker.actor.play.remote(numbers, time_slice(len(self._workers)), spent)
        self._ask(worker, numbers, ref)

    def _take_back(self, idle: int) -> None:
        """Work for the idle: first batches that lie behind another, then what waits within a
        batch behind an episode that takes long. The first of a batch is surely being played."""
        if self._waits:
            return
        now = time.monotonic()
        overdue = _OVERDUE * time_slice(len(self._workers))
        for worker in [held for held in self._workers if held.ready and not held.alone]:
            if len(self._waiting) >= idle:
                return
            if len(worker.calls) > 1:
                call = worker.calls.pop()
                self._waiting.extend(call.numbers)
                with contextlib.suppress(Exception):
                    self._ray.cancel(call.ref)
                self._hungry.add(worker)
            elif worker.calls and now - worker.heard > overdue:
                call = worker.calls[0]
                self._waiting.extend(call.numbers[1:])
                call.numbers = call.numbers[:1]
