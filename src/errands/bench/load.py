"""A load generator for a server of environments: many shoppers, few of them at a time.

Every session has a connection of its own (or shares one with its batch), and takes its turn as
soon as it is among the few that may be waiting for an answer. Written close to the wire, so
that one core of this side is enough for one core of the other.
"""

import abc
import asyncio
import random
import time
from array import array
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

__all__ = ["TRANSPORTS", "Load"]

TRANSPORTS: Final = ("http", "websocket", "batch")
EPISODE_STEPS: Final = 15
_BATCH: Final = 250
_OPENING: Final = 64
"""Connections that are being opened at a time."""


class _Available(msgspec.Struct):
    clickables: list[str]


class _Info(msgspec.Struct):
    instruction: str
    available_actions: _Available


class _Answer(msgspec.Struct):
    """What a shopper needs of an answer; the rest is passed over."""

    info: _Info | None = None
    terminated: bool = False
    error: dict[str, Any] | None = None
    results: list["_Answer"] | None = None
    sessions: list[str] | None = None


_decode = msgspec.json.Decoder(_Answer).decode
_encode = msgspec.json.Encoder().encode
_EMPTY: Final = _Answer()


class Link(asyncio.Protocol, abc.ABC):
    """A connection on which one question at a time is asked."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._buffer = b""
        self._then: Callable[[bytes], None] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, failure: Exception | None) -> None:
        if self._then is not None:
            self._lost()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        while (message := self._message()) is not None:
            then, self._then = self._then, None
            if then is not None:
                then(message)

    def write(self, data: bytes, then: Callable[[bytes], None]) -> None:
        assert self.transport is not None
        self._then = then
        self.transport.write(data)

    def close(self) -> None:
        self._then = None
        if self.transport is not None:
            self.transport.close()

    @abc.abstractmethod
    def _message(self) -> bytes | None:
        """The next whole answer, taken out of what has arrived."""

    @abc.abstractmethod
    def ask(self, call: dict[str, Any], then: Callable[[bytes], None]) -> None:
        """Send a call; `then` is given its answer."""


class HttpLink(Link):
    """HTTP with a connection that stays open."""

    def _message(self) -> bytes | None:
        head, gap, rest = self._buffer.partition(b"\r\n\r\n")
        if not gap:
            return None
        at = head.index(b"content-length: ") + 16
        end = head.find(b"\r", at)
        size = int(head[at : end if end >= 0 else None])
        if len(rest) < size:
            return None
        self._buffer = rest[size:]
        return rest[:size]

    def ask(self, call: dict[str, Any], then: Callable[[bytes], None]) -> None:
        call = dict(call)
        do = call.pop("do")
        session = call.pop("session", "")
        path = {"create": "/v1/sessions", "batch": "/v1/batch"}.get(do)
        body = _encode(call)
        head = (
            f"POST {path or f'/v1/sessions/{session}/{do}'} HTTP/1.1\r\nhost: bench\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.write(head.encode() + body, then)


class SocketLink(Link):
    """A WebSocket; what is sent is masked with zeros, which changes nothing."""

    def shake_hands(self, then: Callable[[bytes], None]) -> None:
        self._open = False
        self.write(
            b"GET /v1/socket HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Key: ZXJyYW5kcyBiZW5jaCBrZQ==\r\n"
            b"Sec-WebSocket-Version: 13\r\n\r\n",
            then,
        )

    def _message(self) -> bytes | None:
        data = self._buffer
        if not self._open:
            head, gap, rest = data.partition(b"\r\n\r\n")
            if not gap:
                return None
            self._open = True
            self._buffer = rest
            return head
        if len(data) < 2:
            return None
        size, start = data[1], 2
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(data) < start:
                return None
            size = int.from_bytes(data[2:start])
        if len(data) < start + size:
            return None
        self._buffer = data[start + size :]
        message = data[start : start + size]
        if data[0] & 0x0F == 0x9:
            assert self.transport is not None
            self.transport.write(_frame(0x8A, message))
            return self._message()
        return message

    def ask(self, call: dict[str, Any], then: Callable[[bytes], None]) -> None:
        self.write(_frame(0x81, _encode(call)), then)


def _frame(kind: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        head = bytes((kind, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((kind, 0x80 | 126)) + size.to_bytes(2)
    else:
        head = bytes((kind, 0x80 | 127)) + size.to_bytes(8)
    return head + b"\0\0\0\0" + payload


class RandomClicker:
    """Clicks about at random; searches for the instruction where nothing else is to be done."""

    __slots__ = ("query", "rng", "session", "steps")

    def __init__(self, session: str, rng: random.Random) -> None:
        self.session = session
        self.rng = rng
        self.steps = -1
        self.query = ""

    def call(self, last: _Answer) -> dict[str, Any]:
        """What to ask for after an answer."""
        info = last.info
        if info is None or last.terminated or not 0 <= self.steps < EPISODE_STEPS:
            self.steps = 0
            return {"do": "reset", "session": self.session}
        self.steps += 1
        clickables = info.available_actions.clickables
        action = f"search[{info.instruction}]"
        if self.steps > 1 and clickables:
            picked = self.rng.choice(clickables)
            action = action if picked == "search" else f"click[{picked}]"
        return {"do": "step", "session": self.session, "action": action}


class Load:
    """So many sessions of one server, stepped for some time."""

    def __init__(self, host: str, port: int, transport: str, sessions: int, at_once: int) -> None:
        self.host, self.port = host, port
        self.transport = transport
        self.sessions = sessions
        self.at_once = at_once
        self.steps = self.resets = 0
        self.errors: list[str] = []
        self.latencies = array("d")
        self._idle: deque[tuple[Link, list[RandomClicker], list[_Answer]]] = deque()
        self._until = 0.0
        self._busy = 0
        self._done: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Connect, create the sessions, and begin an episode in each."""
        size = _BATCH if self.transport == "batch" else 1
        groups = [min(size, self.sessions - at) for at in range(0, self.sessions, size)]
        for start in range(0, len(groups), _OPENING):
            some = groups[start : start + _OPENING]
            self._idle.extend(await asyncio.gather(*map(self._group, some)))

    async def _group(self, size: int) -> tuple[Link, list[RandomClicker], list[_Answer]]:
        loop = asyncio.get_running_loop()
        kind = HttpLink if self.transport == "http" else SocketLink
        _, link = await loop.create_connection(lambda: kind(self._lost), self.host, self.port)
        if isinstance(link, SocketLink):
            upgrade: asyncio.Future[bytes] = loop.create_future()
            link.shake_hands(upgrade.set_result)
            head = await upgrade
            if b" 101 " not in head:
                self.errors.append(head[:80].decode("ascii", "replace"))
        answer: asyncio.Future[bytes] = loop.create_future()
        link.ask({"do": "create", "environment": "shop", "count": size}, answer.set_result)
        created = _decode(await answer)
        if created.sessions is None:
            raise RuntimeError(f"sessions could not be opened: {created.error}")
        shoppers = [
            RandomClicker(session, random.Random(len(self._idle) * _BATCH + place))
            for place, session in enumerate(created.sessions)
        ]
        return link, shoppers, [_EMPTY] * size

    async def play(self, seconds: float) -> float:
        """Step for so long; how long it took until all answers were there."""
        begun = time.perf_counter()
        self._until = begun + seconds
        self._done = asyncio.get_running_loop().create_future()
        for _ in range(min(self.at_once, len(self._idle))):
            self._busy += 1
            self._next()
        await self._done
        return time.perf_counter() - begun

    def close(self) -> None:
        for link, _, _ in self._idle:
            link.close()

    def _next(self) -> None:
        """The one that has waited longest takes its turn."""
        if time.perf_counter() >= self._until:
            self._busy -= 1
            if not self._busy and self._done is not None and not self._done.done():
                self._done.set_result(None)
            return
        link, shoppers, last = self._idle.popleft()
        calls = [shopper.call(seen) for shopper, seen in zip(shoppers, last, strict=True)]
        begun = time.perf_counter()

        def answered(data: bytes) -> None:
            self.latencies.append(time.perf_counter() - begun)
            answer = _decode(data)
            answers = [answer] if answer.results is None else answer.results
            for call, one in zip(calls, answers, strict=True):
                if one.error is not None:
                    self.errors.append(str(one.error))
                elif call["do"] == "step":
                    self.steps += 1
                else:
                    self.resets += 1
            self._idle.append((link, shoppers, answers))
            self._next()

        link.ask({"do": "batch", "calls": calls} if self.transport == "batch" else calls[0],
                 answered)  # fmt: skip

    def _lost(self) -> None:
        self.errors.append("connection lost")
        self._next()
