"""A real server on a free port, in a thread of the tests, and a plain HTTP client for it."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from errands.web.core.application import AppPart
from errands.web.core.auth import AuthMiddleware
from errands.web.core.limits import ServerLimits, listen
from errands.web.core.server import Server
from errands.web.env_api.endpoints import environments
from errands.web.env_api.providers import EnvProvider, ShopProvider, TurkProvider
from errands.web.env_api.service import Service
from errands.web.server import worker_pools


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Served:
    """A running server: where it is, and what is behind it."""

    def __init__(self, service: Service, port: int, token: str | None) -> None:
        self.service = service
        self.port = port
        self.token = token
        self.url = f"http://127.0.0.1:{port}"

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        method: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Status and body of one request; a body that is no bytes is sent as JSON."""
        status, _, answer = self.raw(path, body, method=method, headers=headers)
        return status, json.loads(answer)

    def raw(
        self,
        path: str,
        body: Any = None,
        *,
        method: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        held = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = dict(headers or {})
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method or ("GET" if held is None else "POST"), path, held, sent)
            answer = connection.getresponse()
            return (
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )

    def create(self, environment: str = "shop", **settings: Any) -> str:
        status, answer = self.ask(
            "/v1/sessions", {"environment": environment, "settings": settings}
        )
        assert status == 200, answer
        session: str = answer["sessions"][0]
        return session

    def reset(self, session: str, **body: Any) -> Any:
        status, answer = self.ask(f"/v1/sessions/{session}/reset", body)
        assert status == 200, answer
        return answer

    def step(self, session: str, action: Any) -> tuple[int, Any]:
        return self.ask(f"/v1/sessions/{session}/step", {"action": action})

    def metric(self, name: str) -> float:
        text = self.raw("/metrics")[2].decode()
        return next(
            float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} ")
        )


@contextlib.contextmanager
def served(
    catalog: Any,
    *,
    goals: Any = "synthetic",
    token: str | None = None,
    clock: Any = None,
    **limits: Any,
) -> Iterator[Served]:
    """Run a server as `errands serve` does, but for the process."""
    bounds = ServerLimits(**limits)
    providers: dict[str, EnvProvider] = {
        "shop": ShopProvider(catalog, goals, bounds),
        "turk": TurkProvider("demo"),
    }
    pools = worker_pools(str(catalog.path), str(goals), "demo", bounds)
    service = Service(providers, bounds, clock or time.monotonic, pools)
    with running([environments(service)], bounds, token) as port:
        yield Served(service, port, token)


@contextlib.contextmanager
def running(
    parts: Sequence[AppPart], bounds: ServerLimits, token: str | None = None
) -> Iterator[int]:
    """Serve parts of an application; the port."""
    started = threading.Event()
    server = Server(parts, AuthMiddleware(token), bounds, started.set)
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert started.wait(60)
        try:
            yield port
        finally:
            server.handle_exit(15, None)
            thread.join(30)
            assert not thread.is_alive()
