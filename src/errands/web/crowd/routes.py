"""Addresses of crowd work, each declared once: as a route, and in the OpenAPI description.

    routes = Routes(auth, "admin")
    routes.page("GET", "/office/people", show, "All accounts")
    routes.api("GET", "/v1/office/people", read, "All accounts", answer=AccountList)

Path parameters are read from the address; schemas come from the records themselves.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from starlette.routing import BaseRoute

from errands.crowd.accounts.accounts import Person, Role
from errands.markup import Markup
from errands.web.core.application import Route
from errands.web.core.forms import FORM_BYTES
from errands.web.core.openapi import Json
from errands.web.crowd.auth import Auth, Endpoint, Handler, OpenHandler
from errands.web.crowd.openapi import operation, paths

__all__ = ["Routes", "WorkCard"]

_TEXT: Final[Json] = {"type": "string"}


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


class Routes:
    """The routes of one part, what the OpenAPI description says of them, and the cards by which
    a worker's own page leads there."""

    def __init__(
        self,
        auth: Auth,
        *roles: Role,
        cards: Callable[[Person, str], Sequence[WorkCard]] = lambda person, token: (),
    ) -> None:
        self._auth = auth
        self._roles = roles
        """Who may come here, if a route does not say otherwise."""
        self.cards = cards
        """For a worker and the token of their link."""
        self.routes: list[BaseRoute] = []
        self._operations: dict[str, dict[str, Json]] = {}
        self._records: set[type] = set()

    def page(
        self,
        method: str,
        path: str,
        handler: Handler,
        summary: str,
        *,
        roles: Sequence[Role] = (),
        most: int = FORM_BYTES,
        **described: Any,
    ) -> None:
        """A page for those with a login and one of the roles; a form leads to another page."""
        endpoint = self._auth.page(handler, *(roles or self._roles), most=most)
        self._add(method, path, endpoint, _page_operation(method, summary, described))

    def worker_page(
        self, method: str, path: str, handler: Handler, summary: str, **described: Any
    ) -> None:
        """A page below a worker's link."""
        endpoint = self._auth.worker_page(handler)
        self._add(method, path, endpoint, _page_operation(method, summary, described))

    def open_page(
        self, method: str, path: str, handler: OpenHandler, summary: str, **described: Any
    ) -> None:
        """A page for anybody."""
        endpoint = self._auth.open_page(handler)
        self._add(method, path, endpoint, _page_operation(method, summary, described))

    def api(
        self,
        method: str,
        path: str,
        handler: Handler,
        summary: str,
        *,
        roles: Sequence[Role] = (),
        most: int = FORM_BYTES,
        body: type | None = None,
        answer: type | None = None,
        **described: Any,
    ) -> None:
        """For programs: JSON in, JSON out; `body` and `answer` are records."""
        self._records.update(record for record in (body, answer) if record is not None)
        endpoint = self._auth.api(handler, *(roles or self._roles), most=most)
        one = _operation(summary, body=body, answer=answer, **described)
        self._add(method, path, endpoint, one)

    def other(
        self, method: str, path: str, endpoint: Endpoint, summary: str = "", **described: Any
    ) -> None:
        """An address with rules of its own; without a summary it is not described."""
        one = _operation(summary, **described) if summary else None
        self._add(method, path, endpoint, one)

    def _add(self, method: str, path: str, endpoint: Endpoint, one: Json | None) -> None:
        self.routes.append(Route(path, endpoint, methods=[method]))
        if one is not None:
            plain = re.sub(r":\w+}", "}", path)
            self._operations.setdefault(plain, {})[method.lower()] = one

    def paths(self) -> Json:
        """Paths and schemas as a part of an application gives them."""
        return paths(self._operations, sorted(self._records, key=lambda record: record.__name__))


def _operation(
    summary: str,
    *,
    form: Sequence[str] | Mapping[str, Json] | None = None,
    or_page: str = "",
    or_same: bool = False,
    **described: Any,
) -> Json:
    """One operation. A form's fields are texts unless a schema is given; `or_page` says when a
    page is answered instead, `or_same` that a repeated request changes nothing."""
    fields: Mapping[str, Json] | None = None
    if form is not None:
        fields = form if isinstance(form, Mapping) else dict.fromkeys(form, _TEXT)
    one: Json = operation(summary, form=fields, **described)
    if or_page:
        page = {"text/html": {"schema": {"type": "string"}}}
        one["responses"]["200"] = {"description": or_page, "content": page}
    if or_same:
        done = one["responses"][described["status"]]
        one["responses"]["200"] = {**done, "description": "As it was: nothing changed"}
    return one


def _page_operation(method: str, summary: str, described: Json) -> Json:
    usual = {"status": "303"} if method == "POST" else {"media": "text/html"}
    if "media" in described:
        usual = {}
    return _operation(summary, **{**usual, **described})
