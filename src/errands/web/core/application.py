"""One ASGI application made of parts, and what they share: health, metrics, errors, access.

    application([environments(service)], AuthMiddleware(token))

An `AppPart` brings its routes, its page of the OpenAPI description, and what it needs to run. The
environments are one part; others (the site) join by being listed.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.routing import Route as StarletteRoute
from starlette.types import Scope

from errands.remote.messages import encode_json
from errands.web.core.auth import AuthMiddleware
from errands.web.core.http_errors import HttpError, internal, shutting_down
from errands.web.core.openapi import Json, describe
from errands.web.core.places import Place, with_places

__all__ = ["AppPart", "Route", "application", "without_slash"]


class Route(StarletteRoute):
    """A route that does not match where a number has more digits than Python reads."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        try:
            return super().matches(scope)
        except ValueError:
            return Match.NONE, {}


@dataclass(frozen=True)
class AppPart:
    """Something that an application is made of."""

    routes: Sequence[BaseRoute]
    place: Place | None = None
    """What people call it, and where it begins; None for what they do not go to."""
    paths: Callable[[], Json] = lambda: {"paths": {}, "schemas": {}}
    """Its paths and schemas for the OpenAPI description."""
    lifespan: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext
    """Entered when the application starts, left when it stops."""
    metrics: Callable[[], str] = lambda: ""
    """Its counters, in Prometheus's text format."""
    ready: Callable[[], bool] = lambda: True
    drain: Callable[[], None] = lambda: None
    """Told when the server is about to stop."""
    busy: Callable[[], bool] = lambda: False
    """Whether something is in flight that the server should wait for."""


def application(parts: Sequence[AppPart], auth: AuthMiddleware) -> AuthMiddleware:
    """The application, behind its access rules."""
    description = encode_json(describe([part.paths() for part in parts]))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for part in parts:
                await stack.enter_async_context(part.lifespan())
            yield

    async def health(request: Request) -> Response:
        return _json(200, {"status": "ok"})

    async def ready(request: Request) -> Response:
        if all(part.ready() for part in parts):
            return _json(200, {"status": "ready"})
        return _json(503, shutting_down().answer())

    async def metrics(request: Request) -> Response:
        text = "".join(part.metrics() for part in parts)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def openapi(request: Request) -> Response:
        return Response(description, media_type="application/json")

    app = Starlette(
        routes=[
            *(route for part in parts for route in part.routes),
            Route("/health", health, methods=["GET"]),
            Route("/ready", ready, methods=["GET"]),
            Route("/metrics", metrics, methods=["GET"]),
            Route("/openapi.json", openapi, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _http_error, Exception: _our_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return auth.wrap(with_places(app, [part.place for part in parts if part.place]))


async def without_slash(request: Request) -> Response:
    """To the address without the slash at its end."""
    url = request.url
    address = url.path.rstrip("/") + (f"?{url.query}" if url.query else "")
    return RedirectResponse(address, 307, {"Cache-Control": "no-store"})


def _json(status: int, answer: Any, headers: Any = None) -> Response:
    return Response(encode_json(answer), status, headers, media_type="application/json")


_MESSAGES = {
    404: ("not_found", "There is no such address; /openapi.json lists what there is."),
    405: ("method_not_allowed", "That address takes another method; see /openapi.json."),
}


async def _http_error(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    code, message = _MESSAGES.get(failure.status_code, ("bad_request", str(failure.detail)))
    answer = HttpError(failure.status_code, code, message).answer()
    return _json(failure.status_code, answer, failure.headers)


async def _our_error(request: Request, failure: Exception) -> Response:
    return _json(500, internal().answer())
