"""The event loop under the application: one process, and an orderly end.

Asked to stop (SIGTERM, Ctrl-C), the server is no longer ready and opens no sessions; what is in
flight is finished, within `drain_seconds`; then connections are closed.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from errands.web.core.application import AppPart, application
from errands.web.core.auth import AuthMiddleware
from errands.web.core.home import home_parts
from errands.web.core.limits import ServerLimits, settle_garbage
from errands.web.core.websocket import UpgradeProtocol

__all__ = ["Server"]

_HEAD: Final = 2**16
"""Bytes of a request's line and headers."""


class _BoundedHead(HttpToolsProtocol):
    """HTTP whose headers cannot fill the memory."""

    _head: int | None = 0
    """Bytes received of headers that have not ended; None while a body is read."""

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += len(data)
            if self._head > _HEAD + self.config.ws_max_size:
                self.send_400_response("The headers are too large.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._head = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head = None
        super().on_headers_complete()


class Server(uvicorn.Server):
    """Serves an application of parts on a socket that is bound already."""

    def __init__(
        self,
        parts: Sequence[AppPart],
        auth: AuthMiddleware,
        limits: ServerLimits,
        on_start: Callable[[], None] | None = None,
    ) -> None:
        stopping = threading.Event()
        own = AppPart((), ready=lambda: not stopping.is_set(), drain=stopping.set)
        self._parts = [own, *home_parts(parts), *parts]
        super().__init__(
            uvicorn.Config(
                application(self._parts, auth),
                http=_BoundedHead,
                ws=UpgradeProtocol,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=120,
                timeout_graceful_shutdown=1,
                limit_concurrency=limits.connections,
                ws_max_size=limits.body_bytes,
                ws_per_message_deflate=False,
                # Who takes a connection over looks after it.
                ws_ping_interval=None,
                backlog=4096,
            )
        )
        logging.getLogger("uvicorn.error").addFilter(_is_ours)
        self._drain_seconds = limits.drain_seconds
        self._stopping = stopping
        self._on_start = on_start
        self._drain: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        settle_garbage()
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
        try:
            async with asyncio.timeout(self._drain_seconds):
                while any(part.busy() for part in self._parts):
                    await asyncio.sleep(0.01)
        except TimeoutError:
            pass
        self.should_exit = True


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a line belongs in the log: what clients get wrong does not, nor what the end of the
    server cuts off."""
    if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
        return False
    return not str(record.msg).startswith(
        ("Invalid ", "Unsupported upgrade", "Exceeded concurrency")
    )
