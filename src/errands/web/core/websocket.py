"""A WebSocket close to the wire: a message in, its answer out.

uvicorn shakes hands and asks the application; an endpoint that accepts takes the connection over
(`take_over`). From then on no task, queue or event lies between socket and endpoint: a message is
answered while it is read, or by a task where that takes long. The next message is looked at when
the last one is answered and the answer has room, so nothing piles up here, and who sends faster
than it reads is held up by TCP. Answers leave together, once everybody who was heard is answered:
to wake the other side for each of them takes half as long as a step of the shop.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol

from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

try:
    from websockets.speedups import apply_mask
except ImportError:  # Its compiled part is optional.
    from websockets.utils import apply_mask

from errands.web.core.bodies import MESSAGES

__all__ = ["SocketProtocol", "SocketTalk", "UpgradeProtocol", "take_over"]

_EXTENSION: Final = "errands.take_over"
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_LAST: Final = 0x80
"""Of the first byte: no more frames belong to the message."""
_FIRST: Final = frozenset(
    {
        *(_CONTINUED, _TEXT, _BINARY),
        *(_LAST | kind for kind in (_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG)),
    }
)
"""First bytes that mean something: what controls a connection is one frame, extensions there are
none."""
_NO_HANDSHAKE: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 44\r\n"
    b"connection: close\r\n\r\n"
    b"This request cannot begin a WebSocket here.\n"
)
_WRONG, _NOT_UTF8, _TOO_LARGE, _GOING_AWAY, _RESTART = 1002, 1007, 1009, 1001, 1012
_SLOW: Final = 1008
_TURN: Final = 0.01
"""Seconds after which one connection lets the others have their turn."""
_BEAT: Final = 20.0
"""Seconds between two looks at whether anybody is there."""
_MOST_SILENT: Final = 7
"""Beats without a word after which nobody is: a trainer may be deep in thought for a while."""
_TOGETHER: Final = 64
"""Answers that leave together at most, so that the first of them does not wait for long."""
_ARRIVAL: Final = 20.0
"""Seconds in which a message has to arrive once it has begun, as a request's body has."""
_LINGER: Final = 1.0
"""Seconds in which the other side may read why the connection is closed."""


class SocketTalk(Protocol):
    """What answers the messages of one connection."""

    def reply(self, message: str | bytes) -> bytes | Awaitable[bytes]:
        """The answer, at once or later; a text is answered by a text, which is UTF-8. Whatever is
        wrong is an answer, too: nothing is raised."""
        ...

    def is_over(self) -> bool:
        """Whether nothing more is to be answered."""
        ...

    def end(self) -> None:
        """The connection is gone."""
        ...


def take_over(scope: Scope, conversation: SocketTalk) -> None:
    """Hand a connection that was just accepted to a conversation."""
    scope["extensions"][_EXTENSION](conversation)


class UpgradeProtocol(WebSocketsSansIOProtocol):
    """The handshake, as uvicorn does it."""

    _early: bytes | None = None
    """What comes after the request, for whoever takes over."""
    on_lost: Callable[[], None] | None = None
    """Told when the connection is gone."""

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        self._early = b""
        if self.response.status_code == 101:
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[_EXTENSION] = self._take_over

    def data_received(self, data: bytes) -> None:
        if self._early is not None:
            self._early += data
            return
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # Nothing else would ever close the connection.
            self.transport.write(_NO_HANDSHAKE)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.close_sent:
            # A refusal in words ends the handshake, too; uvicorn would log each as a defect.
            self.handshake_complete = True

    def _take_over(self, conversation: SocketTalk) -> None:
        transport, self.transport = self.transport, _NO_TRANSPORT
        most = self.config.ws_max_size
        taken = SocketProtocol(conversation, transport, self.connections, most, self.on_lost)
        self.connections.discard(self)
        transport.set_protocol(taken)
        if self._early:
            taken.data_received(self._early)


class _NoTransport(asyncio.Transport):
    """What is left to uvicorn, which closes it when the application returns."""

    def close(self) -> None:
        pass


_NO_TRANSPORT: Final = _NoTransport()


class _Outbox(threading.local):
    """Answers of one event loop that leave when it has heard everybody."""

    def __init__(self) -> None:
        self._answers: list[tuple[asyncio.Transport, bytes]] = []

    def put(self, transport: asyncio.Transport, answer: bytes) -> None:
        if not self._answers:
            asyncio.get_running_loop().call_soon(self.empty)
        self._answers.append((transport, answer))
        if len(self._answers) == _TOGETHER:
            self.empty()

    def empty(self) -> None:
        answers, self._answers = self._answers, []
        for transport, answer in answers:
            if not transport.is_closing():
                transport.write(answer)


_OUTBOX: Final = _Outbox()


class _BrokenFrame(Exception):
    """Nothing that follows can be read; its argument is the code to close with."""


class _PartOfMessage:
    """A message that has begun and not ended, among all such: they share memory."""

    __slots__ = ("_give_up", "_timer", "size")

    def __init__(self, give_up: Callable[[], None]) -> None:
        self.size = 0
        self._give_up = give_up
        self._timer = asyncio.get_running_loop().call_later(_ARRIVAL, give_up)

    def give_up(self, why: str, when: float) -> None:
        self._give_up()

    def has(self, size: int) -> None:
        """So much of it is there now."""
        MESSAGES.grow(self, size - self.size)

    def end(self) -> None:
        self._timer.cancel()
        MESSAGES.leave(self)


class SocketProtocol(asyncio.Protocol):
    """One connection after its handshake."""

    __slots__ = (
        "_arriving",
        "_at",
        "_buffer",
        "_connections",
        "_conversation",
        "_is_busy",
        "_is_closing",
        "_is_deaf",
        "_is_full",
        "_is_paused",
        "_loop",
        "_most",
        "_on_lost",
        "_parts",
        "_parts_size",
        "_silent",
        "_timer",
        "_transport",
    )

    def __init__(
        self,
        conversation: SocketTalk,
        transport: asyncio.Transport,
        connections: set[Any],
        most: int,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        """`connections` are all of the server; `most` is how many bytes a message may have;
        `on_lost` is told when the connection is gone."""
        self._on_lost = on_lost
        self._conversation = conversation
        self._transport = transport
        self._connections = connections
        self._most = most
        self._arriving: _PartOfMessage | None = None
        self._buffer = bytearray()
        self._at = 0
        """So much of the buffer is read."""
        self._parts: list[bytes] = []
        """Of a message in several frames: its first byte, then what has come."""
        self._parts_size = 0
        self._is_busy = False
        """An answer is being waited for, or it is the others' turn."""
        self._is_full = False
        """The answers before have not left yet."""
        self._is_paused = False
        self._is_closing = False
        self._is_deaf = False
        """What comes cannot be read any more."""
        self._silent = 0
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_BEAT, self._beat)
        connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._silent = 0
        if self._is_deaf:
            return
        self._buffer += data
        if self._is_busy or self._is_full:
            self._transport.pause_reading()
            self._is_paused = True
        else:
            self._read()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        if not self._is_busy:
            self._read()

    def connection_lost(self, failure: Exception | None) -> None:
        self._is_closing, self._is_paused = True, False
        self._forget()
        self._timer.cancel()
        self._connections.discard(self)
        self._conversation.end()
        if self._on_lost is not None:
            self._on_lost()

    def shutdown(self) -> None:
        """The server ends."""
        self._say_goodbye(_RESTART)
        self._transport.close()

    def _read(self) -> None:
        """Answer what has arrived, as long as nothing has to be waited for."""
        until = 0.0
        try:
            while not (self._is_busy or self._is_full):
                frame = self._frame()
                if frame is None:
                    break
                self._take(*frame)
                if self._at < len(self._buffer):
                    now = time.perf_counter()
                    until = until or now + _TURN
                    if now > until:
                        self._is_busy = True
                        self._loop.call_soon(self._go_on)
        except _BrokenFrame as broken:
            self._end_with(broken.args[0])
        del self._buffer[: self._at]
        self._at = 0
        self._count_what_arrives()
        if self._is_paused and not (self._is_busy or self._is_full):
            self._is_paused = False
            self._transport.resume_reading()

    def _count_what_arrives(self) -> None:
        """Of a message that has not ended, and that only the other side keeps from it."""
        if self._is_busy or self._is_full:
            return
        if not (self._buffer or self._parts):
            self._has_arrived()
            return
        if self._arriving is None:
            self._arriving = _PartOfMessage(partial(self._end_with, _SLOW))
        self._arriving.has(len(self._buffer) + self._parts_size)

    def _has_arrived(self) -> None:
        if self._arriving is not None:
            self._arriving.end()
            self._arriving = None

    def _end_with(self, code: int) -> None:
        """Listen to nothing more, and say why."""
        self._forget()
        self._is_deaf = True
        self._refuse(code)

    def _forget(self) -> None:
        self._buffer.clear()
        self._parts, self._parts_size = [], 0
        self._has_arrived()

    def _go_on(self) -> None:
        self._is_busy = False
        if not self._is_full:
            self._read()

    def _frame(self) -> tuple[int, bytes] | None:
        """The next frame: its first byte and its payload; None where it is not there yet."""
        data, at = self._buffer, self._at
        if len(data) < at + 2:
            return None
        first, size = data[at], data[at + 1] - 0x80
        # What clients send is masked, and what controls a connection is short.
        if first not in _FIRST or size < 0 or (first >= _LAST | _CLOSE and size > 125):
            raise _BrokenFrame(_WRONG)
        start = at + 2
        if size >= 126:
            start += 2 if size == 126 else 8
            if len(data) < start:
                return None
            size = int.from_bytes(data[at + 2 : start])
        if size > self._most:
            raise _BrokenFrame(_TOO_LARGE)
        end = start + 4 + size
        if len(data) < end:
            return None
        self._at = end
        return first, apply_mask(data[start + 4 : end], data[start : start + 4])

    def _take(self, first: int, payload: bytes) -> None:
        kind = first & 0x0F
        if kind >= _CLOSE:
            self._control(kind, payload)
        elif self._is_closing:
            return
        elif first & _LAST and kind != _CONTINUED and not self._parts:
            self._answer(kind, payload)
        else:
            self._gather(first, kind, payload)

    def _control(self, kind: int, payload: bytes) -> None:
        if kind == _PING and not self._is_closing:
            self._write(_framed(_PONG, payload))
        elif kind == _CLOSE:
            if len(payload) == 1:
                raise _BrokenFrame(_WRONG)
            self._say_goodbye(payload[:2])
            self._transport.close()

    def _gather(self, first: int, kind: int, payload: bytes) -> None:
        """A frame of a message that has several."""
        if (kind == _CONTINUED) is not bool(self._parts):
            raise _BrokenFrame(_WRONG)
        self._parts += [payload] if self._parts else [bytes((kind,)), payload]
        self._parts_size += len(payload)
        if self._parts_size > self._most or len(self._parts) > self._most // 64:
            raise _BrokenFrame(_TOO_LARGE)
        if first & _LAST:
            (kind,), *parts = self._parts
            self._parts, self._parts_size = [], 0
            self._answer(kind, b"".join(parts))

    def _answer(self, kind: int, payload: bytes) -> None:
        self._has_arrived()
        try:
            message = payload if kind == _BINARY else str(payload, "utf-8")
        except UnicodeDecodeError:
            raise _BrokenFrame(_NOT_UTF8) from None
        reply = self._conversation.reply(message)
        if type(reply) is bytes:
            self._send(kind, reply)
        else:
            self._is_busy = True
            self._loop.create_task(self._wait(kind, reply))  # type: ignore[arg-type]

    async def _wait(self, kind: int, reply: Awaitable[bytes]) -> None:
        answer = await reply
        if not self._is_closing:
            self._send(kind, answer)
        self._go_on()

    def _send(self, kind: int, payload: bytes) -> None:
        answer = _framed(kind, payload)
        if self._at < len(self._buffer):
            # More was asked already: the transport says whether there is room for more answers.
            self._write(answer)
        else:
            _OUTBOX.put(self._transport, answer)
        if self._conversation.is_over():
            self._refuse(_GOING_AWAY)

    def _write(self, data: bytes) -> None:
        """Write at once, after what is to leave before."""
        _OUTBOX.empty()
        self._transport.write(data)

    def _refuse(self, code: int) -> None:
        """Say why there is nothing more, and wait a little until that is read."""
        self._say_goodbye(code)
        self._loop.call_later(_LINGER, self._transport.close)

    def _say_goodbye(self, code: int | bytes) -> None:
        if not self._is_closing:
            self._is_closing = True
            told = code if isinstance(code, bytes) else code.to_bytes(2)
            self._write(_framed(_CLOSE, told))

    def _beat(self) -> None:
        """Ask who says nothing whether it is there, and give up who is not."""
        if self._silent >= _MOST_SILENT:
            self._transport.abort()
            return
        if self._silent:
            self._write(_framed(_PING, b""))
        self._silent += not self._is_busy
        self._timer = self._loop.call_later(_BEAT, self._beat)


def _framed(kind: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes((_LAST | kind, size)) + payload
    if size < 1 << 16:
        return bytes((_LAST | kind, 126, size >> 8, size & 0xFF)) + payload
    return bytes((_LAST | kind, 127)) + size.to_bytes(8) + payload
