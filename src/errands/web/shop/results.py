"""Sessions of the website for programs: one that begins with a goal of your choice, and what came
of it.

    POST /api/sessions {"goal": 4}          -> {"session", "key", "url", "goal"}
    GET  /api/sessions/{session}/result     -> {"done", "reward", ...}

The result is told to who shows the session's key: as `Authorization: Bearer KEY`, or in the cookie
that `/?goal=4` gives a browser. A key is a signature of the session's name, so none is stored.
"""

import base64
import hashlib
import hmac
import logging
from typing import Annotated, Any, Final

import msgspec
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from errands.crowd.store.database import StorageError
from errands.remote.messages import encode_json
from errands.shop.navigation import SEARCH
from errands.shop.urls import Address, build
from errands.web.core.application import Route
from errands.web.core.auth import cookie
from errands.web.core.bodies import read_body
from errands.web.core.http_errors import (
    HttpError,
    decode_request,
    existing,
    respond,
    send_error,
)
from errands.web.core.openapi import Json, operation, paths
from errands.web.shop.visitors import Visitor, Visitors

__all__ = ["SessionKeys", "result_paths", "result_routes"]

_log = logging.getLogger(__name__)
_BODY: Final = 2**10
_BODY_SECONDS: Final = 20.0
_COOKIE: Final = "errands-key"
_ERRORS: Final = {
    "400": "The request makes no sense",
    "403": "The key is missing or wrong, or the request comes from a page elsewhere",
    "404": "There is no such goal",
    "405": "Another method",
    "408": "The body did not arrive in time",
    "413": "The body is too large",
    "503": "Too many sessions are unfinished, or the server cannot log what happens",
}


class SessionStart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a new session shops for; without a goal, one is sampled."""

    goal: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None


class NewSession(msgspec.Struct, frozen=True):
    """A session that was begun: its search page, and the key to its result."""

    session: str
    key: str
    url: str
    goal: int


class SessionResult(msgspec.Struct, frozen=True):
    """What came of a session; until the purchase, nothing but that it is not over."""

    session: str
    goal: int
    steps: int
    """Pages gone to, the purchase included."""
    done: bool
    reward: float
    reward_parts: dict[str, float | bool]
    success: bool


class SessionKeys:
    """The keys of sessions, made with a secret of the store."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def key(self, session: str) -> str:
        signature = hmac.digest(self._secret, session.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(signature[:24]).decode()

    def cookie(self, session: str) -> tuple[bytes, bytes]:
        """The header that has a browser show the key where the result is, and nowhere else."""
        value = (
            f"{_COOKIE}={self.key(session)}; Path={_result_path(session)}; HttpOnly;"
            " SameSite=Strict"
        )
        return b"set-cookie", value.encode()

    def check(self, session: str, scope: Scope) -> None:
        """Refuse who does not show the session's key."""
        own = self.key(session).encode()
        if not any(hmac.compare_digest(own, shown) for shown in _shown_keys(scope)):
            raise HttpError(
                403,
                "wrong_key",
                "The session's key is missing or wrong; send the one that POST /api/sessions gave,"
                " as Authorization: Bearer KEY.",
            )


def result_routes(visitors: Visitors, keys: SessionKeys) -> list[BaseRoute]:
    """The addresses, which come before those of the pages."""

    async def begin(scope: Scope, receive: Receive) -> Any:
        body = await read_body(scope, receive, _BODY, _BODY_SECONDS)
        visitor = visitors.start(decode_request(_start, body or b"{}").goal)
        url = build(Address(SEARCH, visitor.name))
        return NewSession(visitor.name, keys.key(visitor.name), url, visitor.goal_index)

    async def result(scope: Scope, receive: Receive) -> Any:
        name = scope["path_params"]["session"]
        keys.check(name, scope)
        return _result(existing(visitors.find(name), "There is no such session."))

    return [
        Route("/api/sessions", _JsonEndpoint("POST", begin)),
        Route("/api/sessions/{session}/result", _JsonEndpoint("GET", result)),
    ]


_start: Final = msgspec.json.Decoder(SessionStart)


class _JsonEndpoint:
    """An address with one method, answering in JSON."""

    def __init__(self, method: str, answer: Any) -> None:
        self._method = method
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"cache-control", b"no-store")]
        try:
            if scope["method"] != self._method:
                headers.append((b"allow", self._method.encode()))
                raise HttpError(
                    405, "method_not_allowed", f"This address is asked with {self._method}."
                )
            answer = encode_json(await self._answer(scope, receive))
        except HttpError as error:
            await send_error(send, error, headers)
        except StorageError:
            _log.exception("the log cannot be written")
            unlogged = HttpError(503, "unavailable", "The session could not be logged; try again.")
            await send_error(send, unlogged, headers)
        else:
            await respond(send, 200, answer, headers)


def _result(visitor: Visitor) -> SessionResult:
    bought = visitor.bought
    return SessionResult(
        session=visitor.name,
        goal=visitor.goal_index,
        steps=visitor.steps - 1,
        done=bought is not None,
        reward=0.0 if bought is None else bought.reward,
        reward_parts={} if bought is None else bought.parts,
        success=bought is not None and bought.reward >= 1.0,
    )


def _result_path(session: str) -> str:
    return f"/api/sessions/{session}/result"


def _shown_keys(scope: Scope) -> list[bytes]:
    shown = []
    for name, value in scope["headers"]:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            shown.append(value[7:].strip())
    shown.append(cookie(scope, _COOKIE).encode())
    return shown


def result_paths() -> Json:
    """Paths and schemas for the OpenAPI description."""

    def call(summary: str, answer: type, body: type | None = None) -> Json:
        return operation(summary, answer=answer, body=body, body_required=False, errors=_ERRORS)

    return paths(
        {
            "/api/sessions": {"post": call("Begin a session", NewSession, SessionStart)},
            "/api/sessions/{session}/result": {"get": call("What came of it", SessionResult)},
        },
        [SessionStart, NewSession, SessionResult],
        parameters={"session": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}},
    )
