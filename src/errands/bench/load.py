"""A load generator for a server of environments: many shoppers, few of them at a time.

Every session has a connection of its own (or shares one with its batch), and takes its turn as
soon as it is among the few that may be waiting for an answer. Written close to the wire, so
that one core of this side is enough for one core of the other; of an answer it reads what a shopper
needs, and passes the rest over. Over a WebSocket it speaks msgpack, as our own clients do.
"""

import abc
import asyncio
import random
import time
from array import array
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from errands.errors import ErrandsError
from errands.remote.messages import (
    BatchCall,
    Call,
    CreateCall,
    Message,
    ResetBody,
    ResetCall,
    StepBody,
    StepCall,
    encode_json,
    encode_msgpack,
)

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


_EMPTY: Final = _Answer()
Then = Callable[[bytes], None]
Group = tuple["Link", list["RandomClicker"], list[_Answer]]
"""A connection, who uses it, and the last answer that each of them got."""


class Link(asyncio.Protocol, abc.ABC):
    """A connection on which one question at a time is asked."""

    decode: Callable[[bytes], _Answer]
    """An answer, read."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._buffer = b""
        self._then: Then | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, failure: Exception | None) -> None:
        if self._then is not None:
            self._lost()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        while (message := self._message()) is not None:
            then, self._then = self._then, None
            if then is not None:
                then(message)

    def write(self, data: bytes, then: Then) -> None:
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
    def ask(self, call: Message, then: Then) -> None:
        """Send a call; `then` is given its answer."""


class HttpLink(Link):
    """HTTP with a connection that stays open."""

    decode = staticmethod(msgspec.json.Decoder(_Answer).decode)

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

    def ask(self, call: Message, then: Then) -> None:
        body: StepBody | ResetBody | Message
        if isinstance(call, StepCall):
            path, body = f"/v1/sessions/{call.session}/step", StepBody(action=call.action)
        elif isinstance(call, ResetCall):
            path, body = f"/v1/sessions/{call.session}/reset", ResetBody()
        else:
            path, body = "/v1/sessions", call
        data = encode_json(body)
        head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\n"
            f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        self.write(head.encode() + data, then)


class SocketLink(Link):
    """A WebSocket; what is sent is masked with zeros, which changes nothing."""

    decode = staticmethod(msgspec.msgpack.Decoder(_Answer).decode)
    _open = False

    def shake_hands(self, then: Then) -> None:
        self.write(
            b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
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

    def ask(self, call: Message, then: Then) -> None:
        self.write(_frame(0x82, encode_msgpack(call)), then)


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

    __slots__ = ("random", "session", "steps")

    def __init__(self, session: str, seed: int) -> None:
        self.session = session
        self.random = random.Random(seed).random
        self.steps = -1

    def call(self, last: _Answer) -> Call:
        """What to ask for after an answer."""
        info = last.info
        if info is None or last.terminated or not 0 <= self.steps < EPISODE_STEPS:
            self.steps = 0
            return ResetCall(session=self.session)
        self.steps += 1
        clickables = info.available_actions.clickables
        action = f"search[{info.instruction}]"
        if self.steps > 1 and clickables:
            picked = clickables[int(self.random() * len(clickables))]
            action = action if picked == "search" else f"click[{picked}]"
        return StepCall(session=self.session, action=action)


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
        self._idle: deque[Group] = deque()
        self._until = 0.0
        self._busy = 0
        self._done: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Connect, and create the sessions."""
        size = _BATCH if self.transport == "batch" else 1
        starts = range(0, self.sessions, size)
        for first in range(0, len(starts), _OPENING):
            some = (self._group(start, size) for start in starts[first : first + _OPENING])
            self._idle.extend(await asyncio.gather(*some))

    async def _group(self, start: int, most: int) -> Group:
        loop = asyncio.get_running_loop()
        kind = HttpLink if self.transport == "http" else SocketLink
        _, link = await loop.create_connection(lambda: kind(self._lost), self.host, self.port)
        if isinstance(link, SocketLink):
            upgrade: asyncio.Future[bytes] = loop.create_future()
            link.shake_hands(upgrade.set_result)
            head = await upgrade
            if b" 101 " not in head:
                said = head.partition(b"\r\n")[0].decode("ascii", "replace")
                raise ErrandsError(f"The server takes no WebSocket: {said}.")
        answer: asyncio.Future[bytes] = loop.create_future()
        size = min(most, self.sessions - start)
        link.ask(CreateCall(environment="shop", count=size), answer.set_result)
        created = link.decode(await answer)
        if created.sessions is None:
            raise ErrandsError(f"Sessions could not be opened: {created.error}.")
        shoppers = [
            RandomClicker(session, start + place) for place, session in enumerate(created.sessions)
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
        begun = time.perf_counter()
        if begun >= self._until:
            self._busy -= 1
            if not self._busy and self._done is not None and not self._done.done():
                self._done.set_result(None)
            return
        link, shoppers, last = self._idle.popleft()
        calls = [shopper.call(seen) for shopper, seen in zip(shoppers, last, strict=True)]

        def answered(data: bytes) -> None:
            self.latencies.append(time.perf_counter() - begun)
            answer = link.decode(data)
            answers = [answer] if answer.results is None else answer.results
            for call, one in zip(calls, answers, strict=True):
                if one.error is not None:
                    self.errors.append(str(one.error))
                elif type(call) is StepCall:
                    self.steps += 1
                else:
                    self.resets += 1
            self._idle.append((link, shoppers, answers))
            self._next()

        link.ask(BatchCall(calls=calls) if self.transport == "batch" else calls[0], answered)

    def _lost(self) -> None:
        self.errors.append("connection lost")
        self._next()
