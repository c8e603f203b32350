"""Who may use an application.

With a token, everything but health, readiness and the description asks for it. A browser that
was sent here by a page from elsewhere is rejected, token or not: CORS is off, and a
WebSocket knows no CORS. A server for this machine alone also rejects whoever calls it by a
name that is not this machine's: a stranger's page may have had its own name point here.
"""

import base64
import binascii
import hmac
import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from errands.web.core.http_errors import HttpError, send_error

__all__ = ["AuthMiddleware", "basic_password"]

PROGRAMS: Final = frozenset({"v1", "metrics", "runs", "agentgym"})
"""First parts of the addresses that visitors of the shop have no business with."""
PAGES: Final = "/runs"
"""Below it, people are asked for the token by their browser: any name, the token as password."""
OPEN: Final = frozenset({"/health", "/ready", "/openapi.json", "/office", "/", "/api"})
"""What says who is there and tells nothing else, and pages for those who have no token yet."""
OPEN_FILES: Final = "/home/static/"
"""What those pages look like."""
OWN_KEYS: Final = ("/office/", "/work/", "/frame/", "/mturk/", "/v1/office/", "/v1/work/")
"""Addresses that ask for keys of their own: see `errands.web.crowd.auth`."""
FRAMES: Final = ("/frame/", "/mturk/")
"""What a task in its frame may ask for: it is nobody from nowhere (`Origin: null`), and may know
nothing but its own key."""

OWN_NAMES: Final = frozenset({b"127.0.0.1", b"localhost", b"[::1]"})
"""What this machine calls itself."""
_PORT: Final = re.compile(rb":[0-9]*$")


class AuthMiddleware:
    """An ASGI application that lets some requests through to another one."""

    def __init__(
        self, token: str | None = None, *, public: bool = False, own: bool = False
    ) -> None:
        """With `public`, pages for people are open, and the token is for programs' addresses; with
        `own`, the server is for this machine alone."""
        self._public = public
        self._own = own
        self._token = b"" if token is None else token.encode()
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._app: ASGIApp | None = None

    def wrap(self, app: ASGIApp) -> "AuthMiddleware":
        self._app = app
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._app is not None
        if scope["type"] != "lifespan":
            error = self._check(scope)
            if error is not None:
                await _reject(scope, receive, send, error)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> HttpError | None:
        authorization = origin = host = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                authorization = value
            elif name == b"origin":
                origin = value
            elif name == b"host":
                host = value
        if self._own and _PORT.sub(b"", host.lower()) not in OWN_NAMES:
            return HttpError(403, "foreign_host", "This server is only for this machine.")
        if (
            origin
            and origin.partition(b"://")[2] != host
            and not (origin == b"null" and scope["path"].startswith(FRAMES))
        ):
            return HttpError(403, "foreign_origin", "Pages from elsewhere may not use this server.")
        if self._expected is None or self._is_open(scope["path"]):
            return None
        if hmac.compare_digest(authorization, self._expected):
            return None
        if _is_page(scope) and hmac.compare_digest(basic_password(authorization), self._token):
            return None
        return HttpError(
            401, "unauthorized", "This server wants its token: Authorization: Bearer TOKEN."
        )

    def _is_open(self, path: str) -> bool:
        return (
            path in OPEN
            or path.startswith((OPEN_FILES, *OWN_KEYS))
            or (self._public and path[1:].partition("/")[0] not in PROGRAMS)
        )


def _is_page(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == PAGES or path.startswith(f"{PAGES}/")


def basic_password(authorization: bytes) -> bytes:
    """The password of HTTP's basic authentication; nothing where there is none."""
    kind, _, rest = authorization.partition(b" ")
    if kind.lower() != b"basic":
        return b""
    try:
        return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


async def _reject(scope: Scope, receive: Receive, send: Send, error: HttpError) -> None:
    headers = []
    if error.status == 401:
        scheme = b'Basic realm="errands", charset="UTF-8"' if _is_page(scope) else b"Bearer"
        headers.append((b"www-authenticate", scheme))
    kind = "http.response"
    if scope["type"] == "websocket":
        await receive()
        kind = "websocket.http.response"
    await send_error(send, error, headers, kind=kind)
