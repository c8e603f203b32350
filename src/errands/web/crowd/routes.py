"""Addresses of crowd work, each declared once, beside what answers it.

    class AccountRoutes(Routes):
        roles = ("admin",)

        @page("GET", "/office/people", "All accounts")
        async def accounts(self, request: CrowdRequest) -> Response: ...

        @api("POST", "/v1/office/people", "Invite people", status=201)
        async def api_invite(self, request: CrowdRequest, people: NewPeople) -> Invitations: ...

They become routes, and operations of the OpenAPI description. Path parameters are read from the
address; what a program sends and is answered, from the annotations of the method.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, get_type_hints

import msgspec
from starlette.responses import Response
from starlette.routing import BaseRoute

from errands.crowd.accounts.accounts import Person, Role
from errands.markup import Markup
from errands.web.core import openapi
from errands.web.core.application import Route
from errands.web.core.forms import FORM_BYTES
from errands.web.core.openapi import Json
from errands.web.crowd.auth import Auth, CrowdRequest, Endpoint, Handler, json_response

__all__ = ["Routes", "WorkCard", "api", "open_page", "operation", "page", "paths", "worker_page"]

_TEXT: Final[Json] = {"type": "string"}
_PAGE: Final[Json] = {"text/html": {"schema": _TEXT}}
_NUMBER: Final[Json] = {"type": "integer", "minimum": 0}
_ERRORS: Final = {
    "400": "The request makes no sense",
    "401": "Nobody is known by that token or password",
    "403": "Not for them, or not from here",
    "404": "There is no such thing",
    "408": "The body took too long",
    "409": "That has been done already, or cannot be done any more",
    "413": "Too large",
    "429": "Too many wrong passwords",
    "503": "Could not be noted, so it was not done",
}
_Method = TypeVar("_Method", bound=Callable[..., Any])


class WorkCard(NamedTuple):
    """Work of one kind, as a worker's own page shows it."""

    title: str
    text: Markup
    address: str = ""
    """Where the work begins; empty: there is nothing to do now."""
    label: str = "Start"
    done: int = 0
    """How much of it the worker has done."""
    earned: float = 0.0
    """In dollars."""


class RouteSpec(NamedTuple):
    """How a method is reached, and what the OpenAPI description says of it."""

    kind: str
    method: str
    path: str
    summary: str
    roles: Sequence[Role]
    """Who may come here, if that is not the same for the whole class."""
    most: int
    """Bytes of a body."""
    described: Json


def _declare(
    kind: str,
    method: str,
    path: str,
    summary: str = "",
    *,
    roles: Sequence[Role] = (),
    most: int = FORM_BYTES,
    **described: Any,
) -> Callable[[_Method], _Method]:
    spec = RouteSpec(kind, method, path, summary, roles, most, described)

    def declared(handler: _Method) -> _Method:
        handler.__dict__.setdefault("routes", []).append(spec)
        return handler

    return declared


page = partial(_declare, "page")
"""A page for those with a login and one of the roles; a form leads to another page."""
worker_page = partial(_declare, "worker")
"""A page below a worker's link."""
open_page = partial(_declare, "open")
"""A page for anybody; without a summary it is not described."""
api = partial(_declare, "api")
"""For programs: JSON in, JSON out. The method takes the record that is sent, if it has a second
parameter, and returns the answer, or a whole response."""


class Routes:
    """The addresses of one part of crowd work, and the cards by which a worker's own page leads
    there."""

    roles: ClassVar[Sequence[Role]] = ()
    """Who may come here, where a method does not say otherwise."""

    def __init__(self, auth: Auth) -> None:
        self._auth = auth

    def cards(self, person: Person, token: str) -> Sequence[WorkCard]:
        """For a worker and the token of their link."""
        return ()

    def routes(self) -> list[BaseRoute]:
        return [
            Route(spec.path, self.endpoint(spec, handler), methods=[spec.method])
            for spec, handler in self._declared()
        ]

    def paths(self) -> Json:
        """Paths and schemas as a part of an application gives them."""
        operations: dict[str, dict[str, Json]] = {}
        records: set[type] = set()
        for spec, handler in self._declared():
            if spec.summary:
                plain = re.sub(r":\w+}", "}", spec.path)
                sent = _records(handler) if spec.kind == "api" else {}
                records.update(sent.values())
                operations.setdefault(plain, {})[spec.method.lower()] = _described(spec, sent)
        return paths(operations, sorted(records, key=lambda record: record.__name__))

    def endpoint(self, spec: RouteSpec, handler: Callable[..., Any]) -> Endpoint:
        if spec.kind == "worker":
            return self._auth.worker_page(handler, most=spec.most)
        if spec.kind == "open":
            return self._auth.open_page(handler, most=spec.most)
        roles = spec.roles or self.roles
        if spec.kind == "page":
            return self._auth.page(handler, *roles, most=spec.most)
        status = int(spec.described.get("status", 200))
        return self._auth.api(_with_records(handler, status), *roles, most=spec.most)

    def _declared(self) -> Iterator[tuple[RouteSpec, Callable[..., Any]]]:
        for name, member in vars(type(self)).items():
            for spec in getattr(member, "__dict__", {}).get("routes", ()):
                yield spec, getattr(self, name)


def _records(handler: Callable[..., Any]) -> dict[str, type]:
    """The records that a method takes (`body`) and returns (`answer`), as its annotations say."""
    hints = get_type_hints(handler)
    kinds = [("answer", hints.pop("return")), *(("body", kind) for kind in hints.values())]
    return {
        name: kind
        for name, kind in kinds
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    }


def _with_records(handler: Callable[..., Awaitable[Any]], status: int) -> Handler:
    body = _records(handler).get("body")
    decoder: Any = None if body is None else msgspec.json.Decoder(body)
    is_optional = bool(getattr(handler, "__defaults__", ()))

    async def answer(request: CrowdRequest) -> Response:
        if decoder is None or (is_optional and not request.body):
            result = await handler(request)
        else:
            result = await handler(request, request.read(decoder))
        return result if isinstance(result, Response) else json_response(result, status)

    return answer


operation = partial(openapi.operation, errors=_ERRORS)


def paths(operations: Mapping[str, Mapping[str, Json]], types: Iterable[Any] = ()) -> Json:
    """Paths and schemas as a part of an application gives them."""
    described = {
        path: {method: _for_people(path, one) for method, one in methods.items()}
        for path, methods in operations.items()
    }
    numbers = dict.fromkeys(("id", "row", "number"), _NUMBER)
    return openapi.paths(described, types, parameters=numbers)


def _for_people(path: str, described: Json) -> Json:
    """Where people look, errors are pages, and strangers are sent to the login."""
    if path.startswith("/v1/"):
        return described
    errors = {status: {"description": why, "content": _PAGE} for status, why in _ERRORS.items()}
    login = {"303": {"description": "To the login, or to the next page"}}
    return {**described, "responses": {**login, **described["responses"], **errors}}


def _described(spec: RouteSpec, records: Mapping[str, type]) -> Json:
    """One operation. A form's fields are texts unless a schema is given; `or_page` says when a
    page is answered instead, `or_same` that a repeated request changes nothing."""
    described: Json = {**records, **spec.described}
    or_page, or_same = described.pop("or_page", ""), described.pop("or_same", False)
    form = described.pop("form", None)
    if form is not None and not isinstance(form, Mapping):
        form = dict.fromkeys(form, _TEXT)
    if spec.kind != "api" and "media" not in described:
        described = {
            **({"status": 303} if spec.method == "POST" else {"media": "text/html"}),
            **described,
        }
    status = str(described.pop("status", 200))
    one: Json = operation(spec.summary, form=form, status=status, **described)
    if or_page:
        one["responses"]["200"] = {"description": or_page, "content": _PAGE}
    if or_same:
        done = one["responses"][status]
        one["responses"]["200"] = {**done, "description": "As it was: nothing changed"}
    return one
