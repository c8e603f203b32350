"""The OpenAPI description of a server, from the records that requests are read with.

    paths({"/v1/runs/{id}": {"get": operation("One run", answer=RunDetail)}}, [RunDetail])

Parts of an application describe their own addresses with `operation` and `paths`; path parameters
are read from the address, schemas come from the records.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from errands import __version__

__all__ = ["Json", "describe", "operation", "paths", "reference"]

Json = dict[str, Any]
_ID: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_ERRORS: Final = {
    "400": "The request makes no sense",
    "401": "The token is missing or wrong",
    "403": "The request comes from a page elsewhere",
    "404": "There is no such session",
    "408": "The body did not arrive in time",
    "409": "The session has no episode, or it is over",
    "413": "Something is larger than allowed",
    "429": "There are as many sessions as may be",
    "503": "The server is busy or shutting down",
}


class ErrorDetail(msgspec.Struct, frozen=True):
    """What went wrong."""

    code: str
    message: str
    retry_after: int | None = None


class ErrorResponse(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: ErrorDetail


class StatusResponse(msgspec.Struct, frozen=True):
    """How the server is."""

    status: str


def describe(parts: Iterable[Json]) -> Json:
    """The whole description; parts have `paths` and `schemas`, as `paths` makes them."""
    own = paths(
        {
            "/health": {"get": operation("Whether the process lives", answer=StatusResponse)},
            "/ready": {"get": operation("Whether it takes requests", answer=StatusResponse)},
            "/metrics": {
                "get": operation(
                    "Figures for Prometheus",
                    media="text/plain",
                    errors={status: _ERRORS[status] for status in ("401", "403")},
                    token=True,
                )
            },
            "/openapi.json": {"get": operation("This description", schema={"type": "object"})},
        },
        [StatusResponse, ErrorResponse],
    )
    described = [own, *parts]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Errands", "version": __version__},
        "paths": {path: one for part in described for path, one in part["paths"].items()},
        "components": {
            "schemas": {name: one for part in described for name, one in part["schemas"].items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def paths(
    operations: Mapping[str, Mapping[str, Json]],
    types: Iterable[Any] = (),
    *,
    parameters: Mapping[str, Json] | None = None,
) -> Json:
    """Operations by address and method, with the schemas of their records; `parameters` are the
    schemas of what stands in the addresses (by default a text)."""
    known = parameters or {}
    described: Json = {}
    for path, methods in operations.items():
        described[path] = dict(methods)
        if names := re.findall(r"{(\w+)}", path):
            described[path]["parameters"] = [
                {"name": name, "in": "path", "required": True, "schema": known.get(name, _ID)}
                for name in names
            ]
    schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")[1]
    return {"schemas": schemas, "paths": described}


def operation(
    summary: str,
    *,
    answer: type | None = None,
    schema: Json | None = None,
    media: str = "application/json",
    status: str = "200",
    query: Mapping[str, Json] | None = None,
    body: type | None = None,
    body_required: bool = True,
    form: Mapping[str, Json] | None = None,
    multipart: bool = False,
    errors: Mapping[str, str] = _ERRORS,
    error_media: str = "application/json",
    token: bool = False,
) -> Json:
    """One operation. `body` and `answer` are records (or the answer has a `schema`), `form` names
    the fields of a form; `errors` says what each status means; with `token`, it is asked for."""
    if answer is not None:
        schema = reference(answer)
    elif schema is None:
        schema = {"type": "string"} if media.startswith(("text/", "image/")) else {}
    done: Json = {"description": "To the next page"}
    if status != "303":
        done = {"description": "Done", "content": {media: {"schema": schema}}}
    is_json = error_media == "application/json"
    failed = reference(ErrorResponse) if is_json else {"type": "string"}
    responses = {status: done}
    for code, description in errors.items():
        responses[code] = {"description": description, "content": {error_media: {"schema": failed}}}
    described: Json = {"summary": summary, "responses": responses}
    if token:
        described["security"] = [{"token": []}, {}]
    if query:
        described["parameters"] = [
            {"name": name, "in": "query", "required": False, "schema": one}
            for name, one in query.items()
        ]
    if body is not None:
        content = {"application/json": {"schema": reference(body)}}
        described["requestBody"] = {"required": body_required, "content": content}
    if form is not None:
        kind = "multipart/form-data" if multipart else "application/x-www-form-urlencoded"
        fields = {"type": "object", "properties": dict(form)}
        described["requestBody"] = {"content": {kind: {"schema": fields}}}
    return described


def reference(record: type) -> Json:
    """Where the schema of a record stands."""
    return {"$ref": f"#/components/schemas/{record.__name__}"}
