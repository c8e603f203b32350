"""The OpenAPI description of crowd work, whose pages and API have errors of their own."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final

from errands.web.core import openapi
from errands.web.core.openapi import Json

__all__ = ["operation", "paths"]

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

operation = functools.partial(openapi.operation, errors=_ERRORS)


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
    page = {"text/html": {"schema": {"type": "string"}}}
    errors = {status: {"description": why, "content": page} for status, why in _ERRORS.items()}
    login = {"303": {"description": "To the login, or to the next page"}}
    return {**described, "responses": {**login, **described["responses"], **errors}}
