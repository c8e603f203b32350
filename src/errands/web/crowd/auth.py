"""Who sends a request, whether they may, whether they mean it, and how they are refused.

Three ways in: a worker's link, whose token is in the address; a login, whose key is in a cookie;
and for programs an `Authorization` header with a token, or with the admin's password. A form of
somebody with a cookie carries a second key, which a page from elsewhere cannot know.
"""

import asyncio
import contextlib
import hashlib
import hmac
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from errands.crowd.accounts.accounts import Accounts, Person, Role
from errands.crowd.errors import Conflict, NotAllowed, NotFound
from errands.crowd.store.database import StorageError
from errands.errors import ErrandsError
from errands.remote.messages import encode_json
from errands.web.core.auth import basic_password, cookie
from errands.web.core.bodies import read_body
from errands.web.core.clients import client_of
from errands.web.core.forms import FORM_BYTES, Form, read_form
from errands.web.core.http_errors import HttpError, bad_request, decode_request, internal, not_found
from errands.web.crowd.document import HEADERS, error_page, worker_links

__all__ = ["COOKIE", "Auth", "CrowdRequest", "json_response", "redirect"]

COOKIE: Final = "errands_login"
CHECK: Final = "check"
"""The form field with the key that a page from elsewhere cannot know."""
_WRONG: Final = 10
"""Wrong passwords of one address, in that time."""
_WRONG_IN_ALL: Final = 100
"""Of all addresses that have not known the password."""
_WRONG_SECONDS: Final = 60.0
_MISTAKES: Final = 100
"""Of one address that has known the password; more in that time are guesses, too."""
_ADDRESSES: Final = 1000
"""That are remembered at most: from which the password came, and from which it did not."""
_log = logging.getLogger(__name__)

_STORABLE: Final = 2**62
"""Numbers above are in no database."""

T = TypeVar("T")
N = TypeVar("N", int, None)


class CrowdRequest(NamedTuple):
    """A request, by somebody who may make it."""

    http: Request
    person: Person
    form: Form = Form()
    check: str = ""
    """Goes into every form of a page as the field `check`; empty where none is needed."""
    body: bytes = b""

    @property
    def token(self) -> str:
        """Of the worker's link."""
        return str(self.http.path_params["token"])

    def number(self, name: str) -> int:
        """A number from the address; one that cannot be stored leads nowhere."""
        number: int = self.http.path_params[name]
        if not 0 <= number < _STORABLE:
            raise not_found("There is no such page.")
        return number

    def query_number(self, name: str, default: N, most: int = _STORABLE) -> int | N:
        """A number from the query; the default where there is none."""
        text = self.http.query_params.get(name)
        if not text:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
            raise bad_request(f"{name} is a number up to {most}.")
        return int(text)

    def read(self, decoder: msgspec.json.Decoder[T]) -> T:
        """The JSON body, as a record."""
        record: T = decode_request(decoder, self.body)
        return record

    def form_record(self, kind: type[T]) -> T:
        """The form, as the record that programs send; a box that is not ticked sends nothing."""
        values = {}
        for one in msgspec.structs.fields(kind):  # type: ignore[arg-type]
            if one.type is bool or self.form.texts(one.name):
                values[one.name] = self.form.text(one.name, "0").strip()
        try:
            return msgspec.convert(values, kind, strict=False)
        except msgspec.ValidationError as failure:
            raise bad_request(f"The form is not as expected: {failure}.") from None


Handler = Callable[[CrowdRequest], Awaitable[Response]]
OpenHandler = Callable[[Request, Form], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Auth:
    """Lets people and programs in: stands before every address of crowd work."""

    def __init__(self, accounts: Accounts, clock: Callable[[], float] = time.monotonic) -> None:
        self.accounts = accounts
        self._clock = clock
        self._wrong: deque[float] = deque()
        """When a wrong password came from an address that has not known it."""
        self._strangers: dict[str, deque[float]] = {}
        """The same, for each of these addresses."""
        self._trusted: dict[str, deque[float]] = {}
        """Addresses from which the password came, and when they sent a wrong one since."""
        self.in_flight = 0

    def page(self, handler: Handler, *roles: Role, most: int = FORM_BYTES) -> Endpoint:
        """A page for those with a login and one of the roles."""

        async def answer(request: Request) -> Response:
            key = cookie(request.scope, COOKIE)
            person = self.accounts.by_login(key) if key else None
            if person is None:
                if request.method != "POST":
                    return redirect("/office/login")
                raise HttpError(401, "logged_out", "Your login has expired; log in again.")
            _admit(person, roles)
            check = _form_key(key)
            form = await _form(request, most)
            if request.method == "POST" and not _is_same(form.text(CHECK), check):
                raise HttpError(403, "forged", "That form did not come from a page of this site.")
            return await handler(CrowdRequest(request, person, form, check))

        return self._answered(answer)

    def worker_page(self, handler: Handler, *, most: int = FORM_BYTES) -> Endpoint:
        """A page below a worker's link: the address has the `token`."""

        async def answer(request: Request) -> Response:
            person = self.accounts.by_token(request.path_params["token"])
            if person is None or person.role != "worker":
                raise not_found("This link leads nowhere; ask for a new one.")
            return await handler(CrowdRequest(request, person, await _form(request, most)))

        return self._answered(answer)

    def open_page(self, handler: OpenHandler, *, most: int = FORM_BYTES) -> Endpoint:
        """A page for anybody."""

        async def answer(request: Request) -> Response:
            return await handler(request, await _form(request, most))

        return self._answered(answer)

    def api(self, handler: Handler, *roles: Role, most: int = FORM_BYTES) -> Endpoint:
        """For programs: JSON in, JSON out."""

        async def endpoint(request: Request) -> Response:
            try:
                self.in_flight += 1
                person = await self._program(request)
                _admit(person, roles)
                body = b""
                if request.method not in ("GET", "HEAD"):
                    body = await read_body(request.scope, request.receive, most, 60.0)
                return await handler(CrowdRequest(request, person, body=body))
            except Exception as failure:
                refusal = _refusal(failure)
                headers = {"Cache-Control": "no-store"}
                if refusal.status == 401:
                    headers["WWW-Authenticate"] = "Bearer"
                return json_response(refusal.answer(), refusal.status, headers)
            finally:
                self.in_flight -= 1

        return endpoint

    async def admin(self, password: str, request: Request) -> Person | None:
        """The admin, if that is the password; who guesses has few tries a minute."""
        now = self._clock()
        client = client_of(request.scope)
        mistakes = self._trusted.get(client)
        if mistakes is not None and _recent(mistakes, now) < _MISTAKES:
            # Others' guesses keep nobody out who knows it.
            known = self.accounts.proven_admin(password)
            if known is not None:
                return known
            mistakes.append(now)
        own = _remembered(self._strangers, client)
        if _recent(own, now) >= _WRONG or _recent(self._wrong, now) >= _WRONG_IN_ALL:
            raise HttpError(
                429,
                "too_many_guesses",
                "Too many wrong passwords; try again in a minute.",
                retry_after=60,
            )
        # Counted before it is known, so that guesses at the same time are no way around.
        self._wrong.append(now)
        own.append(now)
        person = await asyncio.to_thread(self.accounts.admin, password)
        if person is not None:
            self._wrong.remove(now)
            own.remove(now)
            _remembered(self._trusted, client)
        return person

    async def _program(self, request: Request) -> Person:
        header = request.headers.get("authorization", "")
        kind, _, token = header.partition(" ")
        person = None
        if kind.lower() == "bearer":
            person = self.accounts.by_token(token.strip())
        elif kind.lower() == "basic":
            password = basic_password(header.encode("latin-1")).decode("utf-8", "replace")
            person = await self.admin(password, request)
        if person is None:
            raise HttpError(
                401,
                "unauthorized",
                "This needs the token of a link (Authorization: Bearer TOKEN), or the admin's"
                " password (basic authentication).",
            )
        return person

    def _answered(self, answer: Endpoint) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            self.in_flight += 1
            try:
                return await answer(request)
            except Exception as failure:
                refusal = _refusal(failure)
                headers = dict(HEADERS)
                if refusal.status in (408, 413):
                    headers["Connection"] = "close"
                content = error_page(refusal, self._ways(request))
                return Response(content, refusal.status, headers, media_type="text/html")
            finally:
                self.in_flight -= 1

        return endpoint

    def _ways(self, request: Request) -> list[tuple[str, str]]:
        """Where somebody who was refused can go on."""
        if request.url.path.startswith("/office/"):
            return [("/office", "Overview")]
        token = request.path_params.get("token", "")
        with contextlib.suppress(StorageError):
            person = self.accounts.by_token(token) if token else None
            if person is not None and person.role == "worker":
                return worker_links(token)
        return []


def redirect(address: str) -> Response:
    """Go on there."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store"})


def json_response(
    answer: Any, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    more = {"Cache-Control": "no-store"} if headers is None else headers
    return Response(encode_json(answer), status, more, media_type="application/json")


def _admit(person: Person, roles: tuple[Role, ...]) -> None:
    if person.role not in roles:
        raise HttpError(403, "forbidden", f"This is for the {' and the '.join(roles)} only.")


async def _form(request: Request, most: int = FORM_BYTES) -> Form:
    return await read_form(request, most) if request.method == "POST" else Form()


def _form_key(key: str) -> str:
    return hashlib.sha256(f"form {key}".encode()).hexdigest()[:32]


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _remembered(times: dict[str, deque[float]], client: str) -> deque[float]:
    """The times of an address; those of the address that came longest ago are forgotten."""
    own = times.pop(client, None)
    times[client] = deque() if own is None else own
    while len(times) > _ADDRESSES:
        del times[next(iter(times))]
    return times[client]


def _recent(times: deque[float], now: float) -> int:
    """How many of the times are not long ago; the others are forgotten."""
    while times and now - times[0] > _WRONG_SECONDS:
        times.popleft()
    return len(times)


def _refusal(failure: Exception) -> HttpError:
    if isinstance(failure, HttpError):
        return failure
    if isinstance(failure, StorageError):
        _log.error("the site's data cannot be used", exc_info=failure)
        return HttpError(503, "unavailable", "That could not be noted, so it was not done.")
    if isinstance(failure, NotFound):
        return not_found(str(failure))
    if isinstance(failure, NotAllowed):
        return HttpError(403, "forbidden", str(failure))
    if isinstance(failure, Conflict):
        return HttpError(409, failure.code, str(failure))
    if isinstance(failure, ErrandsError):
        return bad_request(str(failure))
    # A defect of ours: the log says which, and the others go on.
    _log.error("a page could not be made", exc_info=failure)
    return internal()
