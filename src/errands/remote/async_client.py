"""A client for asyncio: many calls at once over a few WebSockets.

    async with AsyncConnection("http://127.0.0.1:8000", sockets=4) as server:
        sessions = await server.create("turk", {"split": "train"}, count=64)
        begun = await asyncio.gather(*(server.call("reset", session=one) for one in sessions))

A server answers the calls of one socket one after another, and each goes to the socket where the
fewest wait; so slow calls (of form pages) are made at once on as many sockets as there are. A call
that is cancelled leaves the others alone: its answer is known by its id, and dropped.
"""

import asyncio
import contextlib
import itertools
from asyncio import sleep
from typing import Any, Final, Self

import msgspec

from errands.errors import ErrandsError, SettingError
from errands.remote.client import (
    PATIENCE,
    broken,
    busy_seconds,
    check,
    handshake,
    no_connection,
    no_websockets,
    packed,
)

__all__ = ["AsyncConnection"]

_MOST_SOCKETS: Final = 64
Reply = dict[str, Any]


class AsyncConnection:
    """A few WebSockets to a server; any number of tasks of one event loop may call at once."""

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 60.0, sockets: int = 1
    ) -> None:
        if not 1 <= sockets <= _MOST_SOCKETS:
            raise SettingError(f"sockets={sockets}: expected 1 to {_MOST_SOCKETS}.")
        self._url = url
        self._timeout = timeout
        self._handshake = handshake(url, token, timeout)
        self._wanted = sockets
        self._lines: list[_Line] = []

    async def open(self) -> Self:
        """Connect; `async with` does so, too. What is broken is connected anew."""
        try:
            from websockets.asyncio.client import connect
        except ImportError:
            raise no_websockets() from None
        self._lines = [line for line in self._lines if not line.broken]
        try:
            while len(self._lines) < self._wanted:
                self._lines.append(_Line(await connect(**self._handshake)))
        except Exception as failure:
            await self.close()
            raise no_connection(self._url, failure) from None
        except BaseException:
            await self.close()
            raise
        return self

    async def create(self, environment: str, settings: Reply, count: int = 1) -> list[str]:
        """Open sessions."""
        answer = await self.call("create", environment=environment, settings=settings, count=count)
        sessions: list[str] = answer["sessions"]
        return sessions

    async def indices(self, split: str | None = None, *, goals: str | None = None) -> list[int]:
        """The indices of the goals of a split, ascending; `goals` names a goal set of the server's
        other than its default."""
        found: list[int] = []
        while True:
            answer = await self.call("goals", split=split, goals=goals, offset=len(found))
            found += answer["indices"]
            if len(found) >= answer["count"]:
                return found

    async def tasks(self, split: str = "all") -> dict[str, int]:
        """The tasks of a split, and how many rows each has."""
        listed = (await self.call("tasks", split=split))["tasks"]
        return {task["task"]: task["rows"] for task in listed}

    async def batch(self, calls: list[Reply]) -> list[Reply]:
        """Many calls in one message; the first refusal among them is raised."""
        results: list[Reply] = (await self.call("batch", calls=calls))["results"]
        for result in results:
            check(result)
        return results

    async def call(self, do: str, **arguments: Any) -> Reply:
        """One call and its answer."""
        if not self._lines:
            raise ErrandsError("There is no connection; open it, or use `async with`.")
        for _ in range(PATIENCE):
            line = min(self._lines, key=lambda line: (line.broken, len(line.waiting)))
            answer = await line.ask({"do": do, **arguments}, self._timeout)
            seconds = busy_seconds(answer)
            if seconds is None:
                break
            await sleep(seconds)
        check(answer)
        return answer

    async def close(self) -> None:
        """Disconnect: calls that wait for an answer fail. Sessions live on until they expire."""
        lines, self._lines = self._lines, []
        for line in lines:
            await line.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *failure: object) -> None:
        await self.close()


class _Line:
    """One WebSocket, and the calls that wait for their answers by id."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._ids = itertools.count()
        self._failure: object = None
        """Why the connection is no more."""
        self.waiting: dict[int, asyncio.Future[Reply | None]] = {}
        """None is the answer once the connection is broken."""
        self._reader = asyncio.create_task(self._read())

    @property
    def broken(self) -> bool:
        """Whether the connection is no more."""
        return self._failure is not None

    async def ask(self, call: Reply, timeout: float) -> Reply:
        """Send a call and wait for its answer, so many seconds at most."""
        id = next(self._ids)
        message = packed({**call, "id": id})
        answer: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self.waiting[id] = answer
        try:
            async with asyncio.timeout(timeout):
                await self._send(message)
                reply = None if self._failure else await answer
        except TimeoutError:
            raise ErrandsError(
                f"The server did not answer within {timeout:g} seconds; whether it did what was"
                " asked is not known."
            ) from None
        finally:
            del self.waiting[id]
        if reply is None:
            raise broken(self._failure)
        return reply

    async def close(self) -> None:
        await self._socket.close()
        await self._reader

    async def _send(self, message: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        # Where it is closed, the reader says so to all who wait.
        with contextlib.suppress(ConnectionClosed):
            await self._socket.send(message)

    async def _read(self) -> None:
        """Hand answers to those who wait, until the connection ends."""
        decode = msgspec.msgpack.Decoder().decode
        try:
            async for message in self._socket:
                answer: Reply = decode(message)
                waiting = self.waiting.get(answer.pop("id", -1))
                # Who was cancelled waits no more.
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
            self._failure = "it was closed"
        except Exception as failure:
            self._failure = failure
        for waiting in self.waiting.values():
            if not waiting.done():
                waiting.set_result(None)
