"""Pages of the OpenAPI description for the office, said briefly.

    paths({"/v1/office/people": {"get": operation("Everybody", answer=Listed)}}, [Listed])

Path parameters are read from the address; schemas come from the records themselves.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

__all__ = ["operation", "paths"]

Json = dict[str, Any]
_NUMBERS: Final = frozenset({"id", "row", "number"})
_REFUSALS: Final = {
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


def paths(said: Mapping[str, Mapping[str, Json]], types: Iterable[Any] = ()) -> Json:
    """Paths and schemas as a part of an application gives them."""
    schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")[1]
    return {
        "schemas": schemas,
        "paths": {
            path: {
                "parameters": _parameters(path),
                **{name: _for_people(path, one) for name, one in methods.items()},
            }
            for path, methods in said.items()
        },
    }


def _for_people(path: str, said: Json) -> Json:
    """Where people look, failures are pages, and strangers are sent to the login."""
    if path.startswith("/v1/"):
        return said
    page = {"text/html": {"schema": {"type": "string"}}}
    refused = {one: {"description": why, "content": page} for one, why in _REFUSALS.items()}
    login = {"303": {"description": "To the login, or to the next page"}}
    return {**said, "responses": {**login, **said["responses"], **refused}}


def operation(
    summary: str,
    *,
    body: type | None = None,
    form: Mapping[str, Json] | None = None,
    multipart: bool = False,
    answer: type | None = None,
    media: str = "application/json",
    status: str = "200",
    query: Mapping[str, Json] | None = None,
) -> Json:
    """One operation. `body` and `answer` are records; `form` names the fields of a form."""
    content: Json = {"schema": {} if answer is None else _reference(answer)}
    if answer is None and media.startswith("text/"):
        content = {"schema": {"type": "string"}}
    done: Json = {"description": "To the next page" if status == "303" else "Done"}
    if status != "303":
        done["content"] = {media: content}
    failed = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    said: Json = {
        "summary": summary,
        "responses": {
            status: done,
            **{one: {"description": why, "content": failed} for one, why in _REFUSALS.items()},
        },
    }
    if query:
        said["parameters"] = [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in query.items()
        ]
    if body is not None:
        said["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(body)}},
        }
    if form is not None:
        kind = "multipart/form-data" if multipart else "application/x-www-form-urlencoded"
        schema = {"type": "object", "properties": dict(form)}
        said["requestBody"] = {"content": {kind: {"schema": schema}}}
    return said


def _parameters(path: str) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 0}
            if name in _NUMBERS
            else {"type": "string", "minLength": 1, "maxLength": 200},
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def _reference(record: type) -> Json:
    return {"$ref": f"#/components/schemas/{record.__name__}"}
