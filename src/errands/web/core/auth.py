"""Who may use an application.

With a token, everything but health, readiness and the description asks for it. A browser that
was sent here by a page from elsewhere is rejected, token or not: CORS is off, and a
WebSocket knows no CORS. So is whoever calls the server by a name that is not its own: a stranger's
page may have had its own name point here (`errands.web.core.hosts`).
"""

import base64
import binascii
import hmac
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from errands.web.core.hosts import AllowedHosts
from errands.web.core.http_errors import HttpError, bad_request, send_error

__all__ = ["AuthMiddleware", "basic_password", "cookie"]

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


class AuthMiddleware:
    """An ASGI application that lets some requests through to another one."""

    def __init__(
        self,
        token: str | None = None,
        *,
        public: bool = False,
        hosts: AllowedHosts | None = None,
    ) -> None:
        """With `public`, pages for people are open, and the token is for programs' addresses;
        without `hosts`, the server is called by this machine's own names only."""
        self._public = public
        self._hosts = hosts or AllowedHosts()
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
        hosts = 0
        for name, value in scope["headers"]:
            if name == b"authorization":
                authorization = value
            elif name == b"origin":
                origin = value
            elif name == b"host":
                host = value
                hosts += 1
        if hosts != 1:
            # Old programs name none, browsers always do.
            if hosts or scope.get("http_version") != "1.0":
                return bad_request("A request names its host once.")
        elif not self._hosts.allows(host):
            return _foreign_host(host)
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


def _foreign_host(host: bytes) -> HttpError:
    name = host[:100].decode("latin-1")
    return HttpError(
        421,
        "foreign_host",
        f"This server does not go by the name {name!r}; where it should, start it with"
        " --allowed-host NAME.",
    )


def basic_password(authorization: bytes) -> bytes:
    """The password of HTTP's basic authentication; nothing where there is none."""
    kind, _, rest = authorization.partition(b" ")
    if kind.lower() != b"basic":
        return b""
    try:
        return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def cookie(scope: Scope, name: str) -> str:
    """The value of a cookie, the last where there are several; nothing where there is none.

    Those of this package are keys of plain letters, so a value is taken as it stands: Python's own
    reader (before 3.11.10) takes apart what is quoted in it in time that grows with the square of
    its length, and anybody can send a long one.
    """
    wanted, found = name.encode(), b""
    for header, value in scope["headers"]:
        if header == b"cookie":
            for one in value.split(b";"):
                key, _, content = one.partition(b"=")
                if key.strip() == wanted:
                    found = content.strip()
    return str(found, "latin-1")


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
