"""`errands serve --openenv`: a server of its own, as OpenEnv brings its application."""

import socket
from collections.abc import Sequence

from errands.cli.output import remarks, results

__all__ = ["serve_openenv"]

_MESSAGE_BYTES = 2**20


def serve_openenv(
    protocols: Sequence[str],
    host: str,
    port: int,
    *,
    sessions: int,
    idle: float,
    token: str | None,
    allowed_host: Sequence[str] = (),
    trusted_proxy: Sequence[str] = (),
) -> None:
    """Serve protocols until asked to stop."""
    from errands.integrations.openenv import app  # Says what is missing, where it is.
    from errands.web.core.hosts import allowed_hosts
    from errands.web.core.limits import listen, raise_open_files

    hosts = allowed_hosts(host, allowed_host)
    raise_open_files()
    with listen(host, port) as listening:
        import uvicorn

        from errands.web.core.auth import AuthMiddleware
        from errands.web.core.clients import trusted_proxies, with_clients

        proxies = trusted_proxies(trusted_proxy)
        application = app(*protocols, sessions=sessions, idle=idle, most_bytes=_MESSAGE_BYTES)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}"

        class OpenEnvServer(uvicorn.Server):
            """Says its address once it answers."""

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                results.print(f"Serving {' and '.join(protocols)} for OpenEnv on {address}")
                results.file.flush()
                remarks.print(
                    f'Try: MCPToolClient(base_url="{address}"), or openenv validate --url {address}'
                )

        config = uvicorn.Config(
            with_clients(AuthMiddleware(token, hosts=hosts).wrap(application), proxies),
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
            ws="websockets-sansio",
            ws_max_size=_MESSAGE_BYTES,
            ws_per_message_deflate=False,
            # A trainer may be deep in thought for a while.
            ws_ping_timeout=120,
        )
        OpenEnvServer(config).run([listening])
