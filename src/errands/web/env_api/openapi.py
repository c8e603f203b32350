"""The OpenAPI description of the environments."""

from typing import Any, Final

import msgspec

from errands.remote.messages import BatchCall, CreateCall, ResetBody, StepBody
from errands.web.core.openapi import Json, operation, paths, reference
from errands.web.env_api.providers import ShopOptions, TurkOptions

__all__ = ["environment_paths"]


class CreateResponse(msgspec.Struct, frozen=True):
    """Sessions that were opened."""

    sessions: list[str]
    idle_seconds: float


class ResetResponse(msgspec.Struct, frozen=True):
    """The start of an episode."""

    observation: str
    info: dict[str, Any]


class StepResponse(msgspec.Struct, frozen=True):
    """What an action led to."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class CloseResponse(msgspec.Struct, frozen=True):
    """A session that is no more."""

    closed: bool


class BatchResponse(msgspec.Struct, frozen=True):
    """The answer to each call of a batch, in their order; a failed one has `error`."""

    results: list[dict[str, Any]]


class ServerInfo(msgspec.Struct, frozen=True):
    """What is served, and within which limits."""

    environments: dict[str, Any]
    limits: dict[str, Any]


_REQUESTS: Final = (CreateCall, ResetBody, StepBody, BatchCall, ShopOptions, TurkOptions)
_RESPONSES: Final = (
    *(CreateResponse, ResetResponse, StepResponse, CloseResponse, BatchResponse, ServerInfo),
)
_OPTIONS: Final[Json] = {
    "type": "object",
    "description": "A shop takes goal and session, a form page task and row.",
    "properties": {
        "goal": {"type": ["integer", "null"]},
        "session": {"type": ["string", "null"], "maxLength": 200},
        "task": {"type": ["string", "null"], "maxLength": 200},
        "row": {"type": ["integer", "null"]},
    },
    "additionalProperties": False,
    "default": {},
}


def environment_paths() -> Json:
    """The environments' paths and schemas."""

    def call(summary: str, answer: type, body: type | None = None) -> Json:
        required = body is not ResetBody
        return operation(summary, answer=answer, body=body, body_required=required, token=True)

    one = "/v1/sessions/{session}"
    described = paths(
        {
            "/v1": {"get": call("What is served", ServerInfo)},
            "/v1/sessions": {"post": call("Open sessions", CreateResponse, CreateCall)},
            f"{one}/reset": {"post": call("Begin an episode", ResetResponse, ResetBody)},
            f"{one}/step": {"post": call("Act", StepResponse, StepBody)},
            one: {"delete": call("Close a session", CloseResponse)},
            "/v1/batch": {"post": call("Many calls at once", BatchResponse, BatchCall)},
        },
        [*_REQUESTS, *_RESPONSES],
    )
    schemas = described["schemas"]
    for name in ("CreateCall", "BatchCall"):
        # Over HTTP the address says what to do.
        schemas[name]["required"].remove("do")
    choices = [reference(ShopOptions), reference(TurkOptions)]
    schemas["CreateCall"]["properties"]["settings"] = {"anyOf": choices, "default": {}}
    for name in schemas.keys() & {"ResetBody", "ResetCall"}:
        schemas[name]["properties"]["options"] = _OPTIONS
    return described
