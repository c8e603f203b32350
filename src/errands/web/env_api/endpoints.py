"""The endpoints of the environments: HTTP and WebSocket, as plain ASGI.

HTTP is for a curl and for simple clients; a WebSocket saves the headers and is what
`errands.remote.environments` uses. A step of the shop is answered while it is read there
(`errands.web.core.websocket`).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from errands.remote.messages import (
    BatchCall,
    CloseCall,
    CreateCall,
    GoalsCall,
    Message,
    NumberedMessage,
    ResetBody,
    ResetCall,
    StepBody,
    StepCall,
    TasksCall,
    encode_json,
    encode_msgpack,
)
from errands.web.core.application import AppPart, without_slash
from errands.web.core.bodies import read_body
from errands.web.core.clients import client_of
from errands.web.core.http_errors import (
    HttpError,
    bad_request,
    decode_request,
    respond,
    send_error,
    shutting_down,
)
from errands.web.core.openapi import Json, operation, paths, reference
from errands.web.core.websocket import take_over
from errands.web.env_api.page import HEADERS, PLACE, api_page
from errands.web.env_api.providers import ShopOptions, TurkOptions
from errands.web.env_api.service import Answer, Service

__all__ = ["environments", "query_fields"]


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


class GoalsResponse(msgspec.Struct, frozen=True):
    """Indices of the goals of a split, ascending, from `offset` on; `count` is how many the whole
    split has."""

    goals: str
    split: str | None
    count: int
    offset: int
    indices: list[int]


class TaskRows(msgspec.Struct, frozen=True):
    """A task, and how many rows it has."""

    task: str
    rows: int


class TasksResponse(msgspec.Struct, frozen=True):
    """The tasks of a split."""

    split: str
    count: int
    tasks: list[TaskRows]


class ServerInfo(msgspec.Struct, frozen=True):
    """What is served, and within which limits."""

    environments: dict[str, Any]
    limits: dict[str, Any]


_REQUESTS: Final = (CreateCall, ResetBody, StepBody, BatchCall, ShopOptions, TurkOptions)
_RESPONSES: Final = (
    *(CreateResponse, ResetResponse, StepResponse, CloseResponse, BatchResponse, ServerInfo),
    *(GoalsResponse, TasksResponse),
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

T = TypeVar("T")
Understand = Callable[[Scope, bytes], Message]
_start: Final = msgspec.json.Decoder(ResetBody)
_act: Final = msgspec.json.Decoder(StepBody)
_message: Final = msgspec.json.Decoder(Message)
_packed_message: Final = msgspec.msgpack.Decoder(Message)
_numbered: Final = msgspec.json.Decoder(NumberedMessage)
_packed_numbered: Final = msgspec.msgpack.Decoder(NumberedMessage)

_PLACE: Final = "/v1/environments"


def environments(service: Service) -> AppPart:
    """The part of the application that serves environments."""
    path = "/v1/sessions/{session}"

    async def page(request: Request) -> Response:
        content = api_page(str(request.base_url).rstrip("/"), environment_paths()["paths"])
        return Response(content, headers=HEADERS, media_type="text/html")

    async def about(request: Request) -> Response:
        return Response(encode_json(service.about()), media_type="application/json")

    # They are tried one after another: the busiest first.
    routes = [
        Route(f"{path}/step", _Endpoint(service, _stepped), methods=["POST"]),
        Route("/v1", about, methods=["GET"]),
        Route("/v1/sessions", _Endpoint(service, _read(CreateCall)), methods=["POST"]),
        Route(f"{path}/reset", _Endpoint(service, _started), methods=["POST"]),
        Route(path, _Endpoint(service, _closed), methods=["DELETE"]),
        Route("/v1/batch", _Endpoint(service, _read(BatchCall)), methods=["POST"]),
        Route(f"{_PLACE}/shop/goals", _Endpoint(service, _queried(GoalsCall)), methods=["GET"]),
        Route(f"{_PLACE}/turk/tasks", _Endpoint(service, _queried(TasksCall)), methods=["GET"]),
        WebSocketRoute("/v1/socket", _Socket(service)),
        Route(PLACE.address, page, methods=["GET"]),
        Route(f"{PLACE.address}/", without_slash, methods=["GET"]),
    ]

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        await service.start()
        sweeper = asyncio.create_task(service.sweep())
        try:
            yield
        finally:
            sweeper.cancel()
            service.shut()

    return AppPart(
        routes=tuple(routes),
        place=PLACE,
        paths=environment_paths,
        lifespan=lifespan,
        metrics=service.metrics.text,
        ready=lambda: not service.is_draining(),
        drain=service.drain,
        busy=lambda: bool(service.metrics.in_flight or service.metrics.slow_calls),
    )


def _read(kind: type[CreateCall | BatchCall]) -> Understand:
    decoder: Any = msgspec.json.Decoder(kind)
    return lambda scope, body: decode_request(decoder, body)


def _queried(kind: type[GoalsCall | TasksCall]) -> Understand:
    return lambda scope, body: query_fields(scope, kind)


def query_fields(scope: Scope, kind: type[T]) -> T:
    """A record whose fields stand in the address, behind the question mark."""
    query: bytes = scope["query_string"]
    try:
        given = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            errors="strict",
            max_num_fields=10,
        )
        return msgspec.convert(dict(given), kind, strict=False)
    except ValueError as failure:
        raise bad_request(f"The address does not say what is wanted: {failure}.") from None


def _stepped(scope: Scope, body: bytes) -> Message:
    return StepCall(
        session=scope["path_params"]["session"], action=decode_request(_act, body).action
    )


def _started(scope: Scope, body: bytes) -> Message:
    start = decode_request(_start, body or b"{}")
    return ResetCall(
        session=scope["path_params"]["session"], seed=start.seed, options=start.options
    )


def _closed(scope: Scope, body: bytes) -> Message:
    return CloseCall(session=scope["path_params"]["session"])


class _Endpoint:
    """One call over HTTP; `understand` makes it from the address and the body."""

    def __init__(self, service: Service, understand: Understand) -> None:
        self._service = service
        self._understand = understand

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._service
        metrics = service.metrics
        metrics.in_flight += 1
        try:
            if metrics.in_flight > service.limits.in_flight:
                raise HttpError(
                    503, "busy", "Too many requests are in flight; try again.", retry_after=1
                )
            limits = service.limits
            body = await read_body(scope, receive, limits.body_bytes, limits.body_seconds)
            call = self._understand(scope, body)
        except HttpError as error:
            service.count_error(error)
            await send_error(send, error)
        else:
            try:
                answer = await service.answer(call, client_of(scope))
            except HttpError as error:
                await send_error(send, error)
            else:
                await respond(send, 200, encode_json(answer))
        finally:
            metrics.in_flight -= 1


class _Socket:
    """Calls over a WebSocket."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        if self._service.is_draining():
            await send_error(send, shutting_down(), kind="websocket.http.response")
            return
        await send({"type": "websocket.accept"})
        take_over(scope, _Conversation(self._service, client_of(scope)))


class _Conversation:
    """The calls of one WebSocket: JSON in texts, msgpack in bytes."""

    __slots__ = ("_client", "_service")

    def __init__(self, service: Service, client: str) -> None:
        self._service = service
        self._client = client
        service.metrics.sockets += 1

    def reply(self, message: str | bytes) -> bytes | Awaitable[bytes]:
        is_text = isinstance(message, str)
        id: int | str | None = None
        answer: Answer | None
        try:
            try:
                call = decode_request(_message if is_text else _packed_message, message)
            except HttpError as error:
                # Who makes many calls at once knows the answer by its id only.
                id = _id_of(message)
                raise self._service.count_error(error) from None
            id = call.id
            answer = self._service.answer_now(call)
        except HttpError as error:
            answer = error.answer()
        if answer is None:
            return self._reply_later(call, is_text)
        return _encoded(answer, id, is_text)

    async def _reply_later(self, call: Message, is_text: bool) -> bytes:
        metrics = self._service.metrics
        metrics.in_flight += 1
        try:
            answer = await self._service.answer_later(call, self._client)
        except HttpError as error:
            answer = error.answer()
        finally:
            metrics.in_flight -= 1
        return _encoded(answer, call.id, is_text)

    def is_over(self) -> bool:
        return self._service.is_draining()

    def end(self) -> None:
        self._service.metrics.sockets -= 1


def _encoded(answer: Answer, id: int | str | None, is_text: bool) -> bytes:
    if id is not None:
        answer = {"id": id, **answer}
    return encode_json(answer) if is_text else encode_msgpack(answer)


def _id_of(message: str | bytes) -> int | str | None:
    """The id of a message that is wrong otherwise, if it has one."""
    decoder = _numbered if isinstance(message, str) else _packed_numbered
    try:
        numbered: NumberedMessage = decode_request(decoder, message)
    except HttpError:
        return None
    return numbered.id


def environment_paths() -> Json:
    """The environments' paths and schemas."""

    def call(summary: str, answer: type, body: type | None = None) -> Json:
        required = body is not ResetBody
        return operation(summary, answer=answer, body=body, body_required=required, token=True)

    def listing(summary: str, answer: type, query: type) -> Json:
        fields = msgspec.json.schema_components([query])[1][query.__name__]["properties"]
        asked = {name: schema for name, schema in fields.items() if name not in ("do", "id")}
        return operation(summary, answer=answer, query=asked, token=True)

    one = "/v1/sessions/{session}"
    described = paths(
        {
            "/v1": {"get": call("What is served", ServerInfo)},
            "/v1/sessions": {"post": call("Open sessions", CreateResponse, CreateCall)},
            f"{one}/reset": {"post": call("Begin an episode", ResetResponse, ResetBody)},
            f"{one}/step": {"post": call("Act", StepResponse, StepBody)},
            one: {"delete": call("Close a session", CloseResponse)},
            "/v1/batch": {"post": call("Many calls at once", BatchResponse, BatchCall)},
            f"{_PLACE}/shop/goals": {
                "get": listing("Indices of a split's goals", GoalsResponse, GoalsCall)
            },
            f"{_PLACE}/turk/tasks": {
                "get": listing("Tasks of a split, with their rows", TasksResponse, TasksCall)
            },
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
