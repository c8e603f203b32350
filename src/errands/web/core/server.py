"""The event loop under the application: one process, and an orderly end.

Asked to stop (SIGTERM, Ctrl-C), the server is no longer ready and opens no sessions; what is in
flight is finished, and connections are closed, all within `drain_seconds`: at once where nothing is
being done, after some three seconds where somebody does not let it come to rest.
"""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from errands.web.core.application import AppPart, application
from errands.web.core.auth import AuthMiddleware
from errands.web.core.bodies import BODIES
from errands.web.core.clients import TrustedProxies, client_group, with_clients
from errands.web.core.connections import Connections
from errands.web.core.home import home_parts
from errands.web.core.limits import (
    ServerLimits,
    return_memory,
    settle_garbage,
    settle_memory,
)
from errands.web.core.websocket import UpgradeProtocol

__all__ = ["Server"]

_HEAD: Final = 2**16
"""Bytes of a request's line and headers; and of what a body has beside its contents at once, as
the headers that may follow it are."""
_PIECE: Final = 512
"""Bytes that are read at once: there are not many requests in them."""
_BODY_PIECE: Final = 2**16
"""Where it is known that there is none in them."""

_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\ncontent-length: 67\r\n"
    b"retry-after: 1\r\nconnection: close\r\n\r\n"
    b"The server has as many connections as it takes on; try again soon.\n"
)
_CALM: Final = 1.0
"""Seconds in which a server that was asked to stop waits for a moment without work; then it takes
no more requests, and gives bodies as long to arrive."""
_TIDY: Final = 10.0
"""Seconds after which memory that is free is given back."""
_LEAVING: Final = 2.0
"""Seconds of the server's end in which connections are closed and the rest is put away."""


class HttpConnection(HttpToolsProtocol):
    """HTTP by which nobody fills the server: a head has bounds in size and time, a table knows what
    the connection waits for, and of requests that come all at once a few are read, and others when
    these are answered. (A request of 26 bytes, once read, takes several kilobytes.)"""

    def __init__(self, *, table: Connections, proxies: TrustedProxies, **server: Any) -> None:
        super().__init__(**server)
        self._table = table
        self._proxies = proxies
        self._is_counted = False
        self._in_head = True
        """A request's head has begun and not ended, or none has come yet."""
        self._in_body = False
        self._unread = b""
        self._at = 0
        """So much of what has come is read."""
        self._body_left = 0
        """Bytes that are still to come of a body whose length was said."""
        self._beside = 0
        """Bytes that have come since anything of the body did."""
        self._answering: RequestResponseCycle | None = None
        self._upgraded: UpgradeProtocol | None = None
        self.group = ""
        self.since = 0.0
        self.head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self.group = client_group(address)
        self._is_counted = True
        if not self._table.enter(self, is_proxy=self._proxies.trusts(address)):
            transport.write(_FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answering is not None:
            # What is behind it is no reason to go on writing.
            self._answering.disconnected = True
        super().connection_lost(exc)
        # What refers to itself, as this does, is not gone at once.
        self._unread = b""
        self._table.busy(self)
        self._table.flowing(self)
        if self._is_counted:
            self._table.leave(self.group)

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        upgraded = self.transport.get_protocol()
        assert isinstance(upgraded, UpgradeProtocol)
        self._upgraded = upgraded
        upgraded.on_lost = partial(self._table.leave, self.group)
        self._is_counted = False

    def data_received(self, data: bytes) -> None:
        self._unread, self._at = self._unread[self._at :] + data, 0
        self._read()

    def _read(self) -> None:
        """Read what has come, up to a request that is not answered yet."""
        while self._at < len(self._unread) and not self.transport.is_closing():
            if self._is_answering():
                self.flow.pause_reading()
                return
            size = max(_PIECE, min(self._body_left, _BODY_PIECE))
            piece = self._unread[self._at : self._at + size]
            self._at += len(piece)
            self._feed(piece)
            if self._upgraded is not None:
                self._upgraded.data_received(self._unread[self._at :])
                break
        self._unread, self._at = b"", 0

    def _go_on(self) -> None:
        self._read()
        if not (self.transport.is_closing() or self._is_answering()):
            self.flow.resume_reading()

    def _is_answering(self) -> bool:
        """Whether a request is read as a whole, and its answer is not complete."""
        one = self._answering
        return one is not None and not (one.more_body or one.response_complete)

    def _feed(self, piece: bytes) -> None:
        had_begun = self._in_head
        super().data_received(piece)
        if self.transport.is_closing():
            return
        if self._in_body:
            self._beside += len(piece)
            if self._beside > _HEAD:
                self.send_400_response("What follows the body is too large.")
        if not self._in_head:
            return
        if not had_begun:
            self._table.await_head(self)
        self._table.grow_head(self, len(piece))
        if had_begun and self.head_size > _HEAD:
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body, self._beside = False, True, 0
        self._body_left = next(
            (int(value) for name, value in self.headers if name == b"content-length"), 0
        )
        self._table.busy(self)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_left -= len(body)
        self._beside = 0
        super().on_body(body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_message_complete(self) -> None:
        self._in_body = False
        self._body_left = 0
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self._table.idle(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if not self.cycle.response_complete:
            # Others have been read and are answered first. One that needs more of its body says so.
            self.flow.pause_reading()
            return
        if self._in_head or self._in_body:
            # What is left of the request is not read for ever.
            self._table.await_head(self)
        else:
            self._table.idle(self)
        if self._unread:
            # Before anything else comes.
            self.flow.pause_reading()
            self.loop.call_soon(self._go_on)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._table.stuck(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._table.flowing(self)

    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def give_up(self) -> None:
        self.transport.abort()


class Server(uvicorn.Server):
    """Serves an application of parts on a socket that is bound already."""

    def __init__(
        self,
        parts: Sequence[AppPart],
        auth: AuthMiddleware,
        limits: ServerLimits,
        on_start: Callable[[], None] | None = None,
        *,
        proxies: TrustedProxies | None = None,
    ) -> None:
        stopping = threading.Event()
        own = AppPart((), ready=lambda: not stopping.is_set(), drain=stopping.set)
        self._parts = [own, *home_parts(parts), *parts]
        proxies = proxies or TrustedProxies()
        self.connections = Connections(
            limits.connections, limits.connections_per_client, time.monotonic
        )
        http = partial(HttpConnection, table=self.connections, proxies=proxies)
        super().__init__(
            uvicorn.Config(
                with_clients(application(self._parts, auth), proxies),
                http=http,  # type: ignore[arg-type]
                ws=UpgradeProtocol,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=120,
                timeout_graceful_shutdown=1,
                ws_max_size=limits.body_bytes,
                ws_per_message_deflate=False,
                # Who takes a connection over looks after it.
                ws_ping_interval=None,
                backlog=limits.backlog,
            )
        )
        logging.getLogger("uvicorn.error").addFilter(_is_ours)
        self._limits = limits
        self._stopping = stopping
        self._on_start = on_start
        self._drain: asyncio.Task[None] | None = None
        self._upkeep: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        limits = self._limits
        settle_garbage()
        settle_memory()
        self._upkeep = [
            self._loop.create_task(task)
            for task in (
                self.connections.keep_sweeping(limits.head_seconds, limits.send_seconds),
                _keep_returning_memory(),
            )
        ]
        if self._on_start is not None:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.started or self._stopping.is_set():
            self.should_exit = True
        else:
            self._loop.call_soon_threadsafe(self.stop)

    def stop(self) -> None:
        """Finish what is in flight, then end."""
        for part in self._parts:
            part.drain()
        self._drain = self._loop.create_task(self._finish())

    async def _finish(self) -> None:
        until = self._loop.time() + max(0.0, self._limits.drain_seconds - _LEAVING)
        calm = min(self._loop.time() + _CALM, until)
        while self._is_busy() and self._loop.time() < calm:
            await asyncio.sleep(0.01)
        if self._is_busy():
            # Whoever goes on asking would keep it busy to the last moment, and so would bodies that
            # do not come.
            self._close_doors()
        while self._is_busy() and self._loop.time() < until:
            BODIES.hurry(min(calm + _CALM, until))
            await asyncio.sleep(0.01)
        self.should_exit = True

    def _is_busy(self) -> bool:
        return any(part.busy() for part in self._parts)

    def _close_doors(self) -> None:
        """Take no more connections and no more requests; those that are there are finished."""
        for listening in self.servers:
            listening.close()
        for connection in list(self.server_state.connections):
            if isinstance(connection, HttpConnection):
                connection.shutdown()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._upkeep:
            task.cancel()
        await super().shutdown(sockets)


async def _keep_returning_memory() -> None:
    """For ever."""
    while True:
        await asyncio.sleep(_TIDY)
        await asyncio.to_thread(return_memory)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a line belongs in the log: what clients get wrong does not, nor what the end of the
    server cuts off."""
    if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
        return False
    return not str(record.msg).startswith(("Invalid ", "Unsupported upgrade", "Cancel "))
