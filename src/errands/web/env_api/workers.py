"""Environments in processes of their own: the server talks to clients, workers play.

A session lives in one worker, which makes its calls in their order. Server and worker share a pair
of sockets, over which lists of calls go and lists of outcomes come back, in the order in which they
were asked for: what many clients ask at one moment, or a batch, is one message. A worker ends with
its server, whatever ends that. One that ends alone takes its sessions with it, and another takes
its place.
"""

import asyncio
import logging
import os
import socket
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

import msgspec

from errands.child_process import child_code
from errands.errors import ErrandsError
from errands.remote.messages import CloseCall, ResetCall, Settings, StepCall
from errands.web.core.http_errors import HttpError
from errands.web.core.limits import ServerLimits

__all__ = [
    "HostedEnv",
    "OpenOrder",
    "Order",
    "Outcome",
    "Refusal",
    "WorkerPool",
    "WorkerProcess",
    "WorkerSetup",
    "framed",
    "frames",
]

_HEAD: Final = struct.Struct("<I")
_PAUSE: Final = 1.0
"""Seconds before a worker that ended is replaced: one that cannot start must not be started
without end in a hurry."""
_log = logging.getLogger(__name__)

_START: Final = child_code("errands.web.env_api.worker_main", "main", "int(sys.argv[1])")


class WorkerSetup(msgspec.Struct, frozen=True):
    """What a worker plays."""

    environment: str
    data: str
    """A catalogue, or a folder of tasks."""
    goals: str
    limits: ServerLimits


class OpenOrder(msgspec.Struct, frozen=True, tag="open", tag_field="do"):
    """Open sessions with the same settings."""

    sessions: list[str]
    settings: Settings


class Refusal(msgspec.Struct, frozen=True):
    """Why something was not done: an `HttpError` on its way."""

    status: int
    code: str
    message: str
    retry_after: int | None = None

    def error(self) -> HttpError:
        return HttpError(self.status, self.code, self.message, retry_after=self.retry_after)


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """What became of a call."""

    answer: dict[str, Any]
    refusal: Refusal | None = None


Order = OpenOrder | ResetCall | StepCall | CloseCall
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[Outcome]).decode


def framed(message: bytes) -> bytes:
    """A message with its length before it."""
    return _HEAD.pack(len(message)) + message


def frames(buffer: bytearray) -> Iterator[bytes]:
    """The whole messages at the beginning of a buffer, which are taken out of it."""
    at = 0
    while len(buffer) >= at + _HEAD.size:
        (size,) = _HEAD.unpack_from(buffer, at)
        end = at + _HEAD.size + size
        if len(buffer) < end:
            break
        yield bytes(buffer[at + _HEAD.size : end])
        at = end
    del buffer[:at]


def worker_lost() -> HttpError:
    return HttpError(
        500, "worker_lost", "The process that played this session ended; create another session."
    )


class WorkerProcess(asyncio.Protocol):
    """One process, and what it was asked."""

    def __init__(self, setup: WorkerSetup, on_end: Callable[["WorkerProcess"], None]) -> None:
        self.sessions = 0
        """That were opened here and not closed."""
        self._on_end = on_end
        self._waiting: deque[asyncio.Future[list[Outcome]]] = deque()
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._setup = setup

    async def start(self) -> None:
        """Wait until it is ready to play; it may have something to complain of instead."""
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self, sock=self._socket)
        assert self._transport is not None
        ready: asyncio.Future[list[Outcome]] = loop.create_future()
        self._waiting.append(ready)
        self._transport.write(framed(_encode(self._setup)))
        [outcome] = await ready
        if outcome.refusal is not None:
            raise ErrandsError(outcome.refusal.message)

    def ask(self, orders: Sequence[Order]) -> "asyncio.Future[list[Outcome]]":
        """Send some calls; their outcomes come in the same order."""
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        if self._transport is None:
            future.set_exception(worker_lost())
        else:
            self._waiting.append(future)
            self._transport.write(framed(_encode(orders)))
        return future

    def end(self) -> None:
        """Have it end; it has nothing to tidy up."""
        self.process.terminate()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        for message in frames(self._buffer):
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(_decode(message))

    def connection_lost(self, failure: Exception | None) -> None:
        self._transport = None
        for future in self._waiting:
            if not future.done():
                future.set_exception(worker_lost())
        self._waiting.clear()
        self._on_end(self)


class HostedEnv:
    """The environment of a session that a worker plays."""

    __slots__ = ("id", "worker")
    is_slow = True

    def __init__(self, worker: WorkerProcess, id: str) -> None:
        self.worker = worker
        self.id = id
        worker.sessions += 1

    def close(self) -> None:
        self.worker.sessions -= 1
        # Nobody waits for it, nor hears that the worker is gone.
        self.worker.ask([CloseCall(session=self.id)]).add_done_callback(asyncio.Future.exception)


class WorkerPool:
    """The workers of one environment; `on_lost` is told of one that ended by itself."""

    def __init__(self, setup: WorkerSetup, count: int) -> None:
        self.on_lost: Callable[[WorkerProcess], None] = lambda worker: None
        self._setup = setup
        self._closing = False
        # All at once: each takes a second to start.
        self._starting = [WorkerProcess(setup, self._ended) for _ in range(count)]
        self._workers: list[WorkerProcess] = []
        self._replacing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        for worker in self._starting:
            await worker.start()
            self._workers.append(worker)
        self._starting.clear()

    def pick(self, count: int) -> dict[WorkerProcess, int]:
        """Where so many new sessions should go: to those that have the fewest."""
        if not self._workers:
            raise HttpError(
                503, "busy", "The processes that play are being started again.", retry_after=2
            )
        load = {worker: worker.sessions for worker in self._workers}
        picked = dict.fromkeys(load, 0)
        for _ in range(count):
            least = min(load, key=load.__getitem__)
            load[least] += 1
            picked[least] += 1
        return {worker: share for worker, share in picked.items() if share}

    def close(self) -> None:
        """End all of them."""
        self._closing = True
        for task in self._replacing:
            task.cancel()
        workers = *self._workers, *self._starting
        for worker in workers:
            worker.end()
        for worker in workers:
            worker.process.wait()

    def _ended(self, worker: WorkerProcess) -> None:
        if self._closing:
            return
        if worker not in self._workers:
            return  # It could not start.
        self._workers.remove(worker)
        status = worker.process.wait()
        _log.error(
            "a process that plays %s ended (%d), and with it %d sessions; another is started",
            *(self._setup.environment, status, worker.sessions),
        )
        self.on_lost(worker)
        task = asyncio.get_running_loop().create_task(self._replace())
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replace(self) -> None:
        while True:
            await asyncio.sleep(_PAUSE)
            worker = WorkerProcess(self._setup, self._ended)
            try:
                await worker.start()
            except ErrandsError as failure:
                _log.error("it cannot: %s", failure)
                worker.end()
                worker.process.wait()
            else:
                self._workers.append(worker)
                return
