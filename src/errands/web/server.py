"""Running the application: one process, one event loop, and an orderly end.

Asked to stop (SIGTERM, Ctrl-C), the server is no longer ready and opens no sessions; what is in
flight is finished, within `drain_seconds`; then connections are closed.
"""

import asyncio
import gc
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

from errands.errors import ErrandsError, SettingError
from errands.shop.catalog import Catalog
from errands.web.limits import Limits, raise_open_files

__all__ = ["INSTALL", "serve_environments"]

INSTALL = 'pip install "errands[serve]"'


def serve_environments(
    *,
    catalog: str,
    goals: str,
    tasks: str,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    on_start: Callable[[str], None],
) -> None:
    """Serve until asked to stop; `on_start` is told the address."""
    try:
        import uvicorn

        from errands.web.app import application
        from errands.web.environments import environments
    except ImportError as missing:
        raise ErrandsError(
            f"Serving needs packages that are not installed ({missing.name}); run {INSTALL}."
        ) from None
    from errands.web.gate import Gate
    from errands.web.offers import DeskOffer, Offer, ShopOffer
    from errands.web.service import Service

    raise_open_files()
    listening = _listen(host, port)
    with listening:
        opened = Catalog.open(catalog)
        # The first search of a process is slow; nobody should have to wait for it.
        opened.search("warm up")
        offers: dict[str, Offer] = {
            "shop": ShopOffer(opened, goals, limits),
            "turk": DeskOffer(tasks),
        }
        service = Service(offers, limits)
        config = uvicorn.Config(
            application([environments(service)], Gate(token)),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=120,
            timeout_graceful_shutdown=max(1, round(limits.drain_seconds)),
            limit_concurrency=limits.connections,
            ws_max_size=limits.body_bytes,
            ws_per_message_deflate=False,
            backlog=4096,
        )

        class Draining(uvicorn.Server):
            """Finishes what is in flight before it closes connections."""

            _drain: asyncio.Task[None] | None = None

            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets)
                self._loop = asyncio.get_running_loop()
                gc.freeze()
                on_start(_address(host, listening.getsockname()[1]))

            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                if service.is_draining() or not self.started:
                    self.should_exit = True
                    return
                service.drain()
                self._loop.call_soon_threadsafe(self._begin_drain)

            def _begin_drain(self) -> None:
                self._drain = self._loop.create_task(self._finish())

            async def _finish(self) -> None:
                try:
                    async with asyncio.timeout(limits.drain_seconds):
                        while service.metrics.in_flight or service.metrics.aside:
                            await asyncio.sleep(0.01)
                except TimeoutError:
                    pass
                self.should_exit = True

        Draining(config).run([listening])


def _listen(host: str, port: int) -> socket.socket:
    """Take the port at once, so that a port in use is one sentence."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except (OSError, OverflowError) as failure:
        raise SettingError(
            f"{host}:{port} cannot be listened on ({failure}); choose another --host or --port."
        ) from None
    return listening


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
