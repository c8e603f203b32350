"""The OpenAPI description, whose schemas come from the same records that requests are read with."""

from collections.abc import Iterable
from typing import Any

import msgspec

from errands import __version__
from errands.remote.messages import BatchCall, CreateCall, ResetBody, StepBody
from errands.web.env_api.offers import ShopOptions, TurkOptions

__all__ = ["describe", "environment_paths"]

Json = dict[str, Any]


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong."""

    code: str
    message: str
    retry_after: int | None = None


class Failure(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: Trouble


class Created(msgspec.Struct, frozen=True):
    """Sessions that were opened."""

    sessions: list[str]
    idle_seconds: float


class Begun(msgspec.Struct, frozen=True):
    """The start of an episode."""

    observation: str
    info: dict[str, Any]


class Stepped(msgspec.Struct, frozen=True):
    """What an action led to."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Closed(msgspec.Struct, frozen=True):
    """A session that is no more."""

    closed: bool


class Results(msgspec.Struct, frozen=True):
    """The answer to each call of a batch, in their order; a failed one has `error`."""

    results: list[dict[str, Any]]


class About(msgspec.Struct, frozen=True):
    """What is served, and within which limits."""

    environments: dict[str, Any]
    limits: dict[str, Any]


class Status(msgspec.Struct, frozen=True):
    """How the server is."""

    status: str


_ASKED = (CreateCall, ResetBody, StepBody, BatchCall, ShopOptions, TurkOptions)
_ANSWERED = (Failure, Created, Begun, Stepped, Closed, Results, About)
_REFUSALS = {
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


def describe(parts: Iterable[Json]) -> Json:
    """The whole description; parts have `paths` and `schemas`."""
    parts = list(parts)
    paths: Json = {
        "/health": {"get": _operation("Whether the process lives", "Status", guarded=False)},
        "/ready": {"get": _operation("Whether it takes requests", "Status", guarded=False)},
        "/metrics": {"get": _plain("Figures for Prometheus")},
        "/openapi.json": {"get": _operation("This description", None, guarded=False)},
    }
    schemas = _schemas([Status, Failure])
    for part in parts:
        paths |= part["paths"]
        schemas |= part["schemas"]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Errands", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def environment_paths() -> Json:
    """The environments' paths and schemas."""
    session = {
        "name": "session",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    }
    one = "/v1/sessions/{session}"
    return {
        "schemas": _schemas([*_ASKED, *_ANSWERED]),
        "paths": {
            "/v1": {"get": _operation("What is served", "About")},
            "/v1/sessions": {"post": _operation("Open sessions", "Created", "CreateCall")},
            f"{one}/reset": {
                "parameters": [session],
                "post": _operation("Begin an episode", "Begun", "ResetBody"),
            },
            f"{one}/step": {
                "parameters": [session],
                "post": _operation("Act", "Stepped", "StepBody"),
            },
            one: {"parameters": [session], "delete": _operation("Close a session", "Closed")},
            "/v1/batch": {"post": _operation("Many calls at once", "Results", "BatchCall")},
        },
    }


def _operation(
    summary: str, answer: str | None, body: str | None = None, *, guarded: bool = True
) -> Json:
    schema = {"type": "object"} if answer is None else _reference(answer)
    operation: Json = {
        "summary": summary,
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": schema}}},
            **_refusals(*_REFUSALS),
        },
    }
    if guarded:
        operation["security"] = [{"token": []}, {}]
    if body is not None:
        operation["requestBody"] = {
            "required": body != "ResetBody",
            "content": {"application/json": {"schema": _reference(body)}},
        }
    return operation


def _plain(summary: str) -> Json:
    return {
        "summary": summary,
        "security": [{"token": []}, {}],
        "responses": {
            "200": {"description": "Text", "content": {"text/plain": {"schema": {}}}},
            **_refusals("401", "403"),
        },
    }


def _refusals(*statuses: str) -> Json:
    content = {"application/json": {"schema": _reference("Failure")}}
    return {status: {"description": _REFUSALS[status], "content": content} for status in statuses}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas(types: Iterable[Any]) -> Json:
    made: Json = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")[
        1
    ]
    for name in ("CreateCall", "BatchCall"):
        if name in made:
            # Over HTTP the address says what to do.
            made[name]["required"].remove("do")
    if "CreateCall" in made:
        choices = [_reference("ShopOptions"), _reference("TurkOptions")]
        made["CreateCall"]["properties"]["settings"] = {"anyOf": choices, "default": {}}
    for name in made.keys() & {"ResetBody", "ResetCall"}:
        made[name]["properties"]["options"] = _OPTIONS
    return made


_OPTIONS: Json = {
    "type": "object",
    "description": "A shop takes goal and session, paperwork task and row.",
    "properties": {
        "goal": {"type": ["integer", "null"]},
        "session": {"type": ["string", "null"], "maxLength": 200},
        "task": {"type": ["string", "null"], "maxLength": 200},
        "row": {"type": ["integer", "null"]},
    },
    "additionalProperties": False,
    "default": {},
}
