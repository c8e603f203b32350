"""A map over worker processes: results in the order of the pieces, few of them in flight.

`in_order(work, pieces, workers)` is `map(work, pieces)`, done by processes. Each is a fresh
interpreter that is sent `work` once, so `work` must be something that can be pickled by
name, and the calling program needs no `if __name__ == "__main__"`. Pieces are asked for as
results are taken, so memory stays flat however many there are. Workers end with their parent,
whatever ends it.
"""

import contextlib
import fcntl
import gc
import os
import pickle
import selectors
import struct
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, Final, TypeVar

from errands.child_process import child_code
from errands.errors import CatalogError, ErrandsError

__all__ = ["cores", "in_order", "standard_error"]

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_AHEAD: Final = 2
"""Pieces that a worker has at a time, so that it never waits for the next."""
_ROOM: Final = 2
"""Results for each worker that may wait for an earlier one."""
_HEAD: Final = struct.Struct("<Q")
_PIPE: Final = 1 << 20

_START: Final = child_code("errands.shop.build.process_map", "serve_parent", "int(sys.argv[1])")


def cores() -> int:
    """How many processor cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def standard_error() -> int:
    """Where processes that are started may talk: what stands in for it in this one (a notebook's,
    a test's) is often no file."""
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return subprocess.DEVNULL


def in_order(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], workers: int
) -> Iterator[Result]:
    """The results of `work` for each piece, in order; with one worker, in this process."""
    if workers < 2:
        yield from map(work, pieces)
        return
    waiting = enumerate(pieces)
    results: dict[int, Any] = {}
    next_number = 0
    pool: list[_MapWorker] = []
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        line = pickle.dumps(work)
        while True:
            while next_number in results:
                yield results.pop(next_number)
                next_number += 1
            open_pieces = sum(len(worker.given) for worker in pool) + len(results)
            while open_pieces < workers * (_AHEAD + _ROOM):
                idle = min(pool, key=lambda worker: len(worker.given), default=None)
                another = len(pool) < workers and (idle is None or idle.given)
                if not another and idle is not None and len(idle.given) >= _AHEAD:
                    break
                following = next(waiting, None)
                if following is None:
                    break
                if another:
                    idle = _MapWorker(line)
                    stack.callback(idle.end)
                    pool.append(idle)
                    selector.register(idle.pipe, selectors.EVENT_READ, idle)
                assert idle is not None
                idle.give(*following)
                open_pieces += 1
            if not any(worker.given for worker in pool):
                return
            for key, _ in selector.select():
                worker: _MapWorker = key.data
                results.update(worker.heard())


class _MapWorker:
    """One process and the numbers of the pieces it has."""

    def __init__(self, work: bytes) -> None:
        reader, writer = os.pipe()
        self.pipe = reader
        self.given: deque[int] = deque()
        self._buffer = bytearray()
        with contextlib.suppress(OSError, AttributeError):
            # Room for most of a result: the worker goes on while the parent is busy.
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(writer), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=standard_error(),
            pass_fds=[writer],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        os.close(writer)
        os.set_blocking(reader, False)
        self._send(work)

    def give(self, number: int, piece: Any) -> None:
        self.given.append(number)
        self._send(pickle.dumps(piece))

    def heard(self) -> Iterator[tuple[int, Any]]:
        """The results that have come in since last time, with the numbers of their pieces."""
        ended = False
        while not ended:
            try:
                part = os.read(self.pipe, _PIPE)
            except BlockingIOError:
                break
            self._buffer += part
            ended = not part
        while len(self._buffer) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._buffer)
            if len(self._buffer) < _HEAD.size + length:
                break
            with memoryview(self._buffer) as view:
                failure, result = pickle.loads(view[_HEAD.size : _HEAD.size + length])
            del self._buffer[: _HEAD.size + length]
            if failure is not None:
                raise failure
            yield self.given.popleft(), result
        if ended:
            code = self._process.wait()
            how = f"by signal {-code}" if code < 0 else f"with exit status {code}"
            raise CatalogError(
                f"A worker process ended {how} before its work was done (too little memory?);"
                " nothing was written. Try again with fewer: --workers 1."
            )

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self.pipe)
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # Its end is noticed on the other pipe.
            self._process.stdin.write(_HEAD.pack(len(data)) + data)
            self._process.stdin.flush()


def serve_parent(writer: int) -> None:
    """What a worker does: answer each piece with a failure or a result."""
    # Products come and go without cycles; looking for some costs a tenth of the time.
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)
    with open(writer, "wb") as out, open(0, "rb", closefd=False) as source:
        work = pickle.loads(_receive(source))
        while data := _receive(source):
            try:
                answer = pickle.dumps((None, work(pickle.loads(data))), protocol=5)
            except Exception as failure:
                answer = _failed(failure)
            out.write(_HEAD.pack(len(answer)))
            out.write(answer)
            out.flush()


def _receive(source: IO[bytes]) -> bytes:
    head = source.read(_HEAD.size)
    return source.read(_HEAD.unpack(head)[0]) if len(head) == _HEAD.size else b""


def _failed(failure: Exception) -> bytes:
    if not isinstance(failure, ErrandsError):
        failure.add_note("In a worker process:\n" + traceback.format_exc())
    try:
        answer = pickle.dumps((failure, None))
        pickle.loads(answer)
    except Exception:
        answer = pickle.dumps((RuntimeError(traceback.format_exc()), None))
    return answer
