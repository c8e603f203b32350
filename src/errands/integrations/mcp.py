"""MCP: `errands mcp`, the episodes of a protocol of each domain as tools, over stdio or HTTP.

The protocol keeps no sessions, so an episode is known by a handle: a tool that begins one returns
it, and the others take it. How an episode went is told by a tool of its own once it is over.
Serves with the releases 1 and 2 of the package, whose low-level servers leave names, descriptions
and schemas of tools as they are.
"""

import json
import secrets
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from errands import __version__
from errands.agents.llm.tools import EpisodeTools, ToolError, ToolSpec, call_tool
from errands.agents.llm.transport.messages import clean
from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes
from errands.integrations.frameworks import require

_RELEASE: Final = int(require("mcp").partition(".")[0])

import anyio  # noqa: E402
from mcp import types  # noqa: E402
from mcp.server.lowlevel import Server  # noqa: E402
from mcp.server.stdio import stdio_server  # noqa: E402

__all__ = ["EpisodeHandles", "HandleLimits", "mcp_server", "run_http", "run_stdio"]

_START: Final = {
    "shop": ("start_shopping", "Begin an errand: you are given what a customer wants to buy."),
    "turk": ("start_form", "Begin a task: you are given a web page with a form to fill in."),
}
_RESULT: Final = "result"
_STARTED: Final = {
    "type": "object",
    "properties": {
        "handle": {"type": "string"},
        "protocol": {"type": "string"},
        "episode": {"type": "integer"},
        "page": {"type": "string"},
    },
    "required": ["handle", "protocol", "episode", "page"],
}
_ENDED: Final = {
    "type": "object",
    "properties": {
        "protocol": {"type": "string"},
        "done": {"type": "boolean"},
        "steps": {"type": "integer"},
        "reward": {"type": "number"},
        "success": {"type": "boolean"},
        "reward_parts": {"type": "object"},
    },
    "required": ["protocol", "done", "steps"],
}
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


class HandleLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many episodes a server keeps, and for how long."""

    handles: int = 1000
    """Beyond so many, the oldest that is over is forgotten; where none is, none can begin."""
    idle_seconds: float = 3600.0
    """An episode that nobody asked for so long is forgotten."""


class _Handle(msgspec.Struct):
    episodes: ToolEpisodes
    tools: EpisodeTools
    used: float


class EpisodeHandles:
    """All episodes that are being played, and the tools that play them; without any network."""

    def __init__(
        self,
        episodes: Sequence[ToolEpisodes],
        *,
        one_client: bool = False,
        limits: HandleLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`one_client`: whoever calls may leave out the handle, and means the last."""
        self.starts = _starts(episodes)
        """The protocol behind each tool that begins an episode."""
        self._next = dict.fromkeys(self.starts, 0)
        self._one_client = one_client
        self._limits = limits or HandleLimits()
        self._clock = clock
        self._open: OrderedDict[str, _Handle] = OrderedDict()
        self._last = ""
        played = {spec.name: self._with_handle(spec) for one in episodes for spec in one.specs}
        begun = [self._start_spec(name) for name in self.starts]
        ended = ToolSpec.of(_RESULT, "How an episode went, once it is over.", {})
        self.specs = (*begun, *played.values(), self._with_handle(ended))
        """Every tool that a client is offered."""

    def __len__(self) -> int:
        return len(self._open)

    def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """What a tool answers, in words and, where it has that, as JSON; a `ToolError` is for the
        model to read."""
        spec = next((spec for spec in self.specs if spec.name == name), None)
        if spec is None:
            known = ", ".join(spec.name for spec in self.specs)
            raise ToolError(f"There is no tool {clean(name[:60])!r}; there are {known}.")
        given = spec.read(arguments)
        if name in self.starts:
            return self._start(name, given.get("episode"))
        handle = self._find(given.pop("handle", self._last))
        if name == _RESULT:
            result = _told(handle)
            return json.dumps(result), result
        return call_tool(handle.tools, name, given), None

    def _start(self, name: str, number: Any) -> tuple[str, dict[str, Any]]:
        episodes = self.starts[name]
        if number is None:
            number = self._next[name]
        if type(number) is not int or not 0 <= number < len(episodes):
            raise ToolError(
                f"There is no episode {clean(repr(number)[:60])}; expected 0 to"
                f" {len(episodes) - 1}."
            )
        self._make_room()
        tools, messages = episodes.conversation(number)
        self._next[name] = (number + 1) % len(episodes)
        self._last = key = secrets.token_urlsafe(9)
        self._open[key] = _Handle(episodes, tools, self._clock())
        page = "\n\n".join(str(message["content"]) for message in messages)
        started = {"handle": key, "protocol": episodes.key, "episode": number, "page": page}
        return f"Handle: {key}\n\n{page}", started

    def _find(self, key: Any) -> _Handle:
        self._forget_idle()
        handle = self._open.get(key) if isinstance(key, str) else None
        if handle is None:
            begin = " or ".join(self.starts)
            raise ToolError(
                f"There is no episode under the handle {clean(repr(key)[:60])}; begin one with"
                f" {begin}."
                if key
                else f"No episode has begun yet; begin one with {begin}."
            )
        handle.used = self._clock()
        self._open.move_to_end(key)
        return handle

    def _make_room(self) -> None:
        self._forget_idle()
        if len(self._open) < self._limits.handles:
            return
        over = next((key for key, handle in self._open.items() if handle.tools.done), None)
        if over is None:
            raise ToolError(
                f"{len(self._open)} episodes are being played, and there may be no more; end one,"
                " or try again later."
            )
        del self._open[over]

    def _forget_idle(self) -> None:
        """Handles lie in the order of their last use."""
        latest = self._clock() - self._limits.idle_seconds
        while self._open and next(iter(self._open.values())).used <= latest:
            self._open.popitem(last=False)

    def _start_spec(self, name: str) -> ToolSpec:
        episodes = self.starts[name]
        about = f"integer: which one, 0 to {len(episodes) - 1}; leave it out for the next"
        description = f"{_START[episodes.domain][1]} Returns a handle that the other tools take."
        return ToolSpec.of(name, description, {"episode": about}, optional=("episode",))

    def _with_handle(self, spec: ToolSpec) -> ToolSpec:
        """A tool that also takes the handle of an episode."""
        about = f"what {' or '.join(self.starts)} returned"
        if self._one_client:
            about += "; leave it out for the last"
        shape = spec.parameters
        handle = {"handle": {"type": "string", "description": about}}
        required = ([] if self._one_client else ["handle"]) + shape["required"]
        properties = {**handle, **shape["properties"]}
        parameters = {**shape, "properties": properties, "required": required}
        return ToolSpec(spec.name, spec.description, parameters)


def _starts(episodes: Sequence[ToolEpisodes]) -> dict[str, ToolEpisodes]:
    """The protocol behind each tool that begins an episode."""
    starts: dict[str, ToolEpisodes] = {}
    for one in episodes:
        name = _START[one.domain][0]
        if name in starts:
            raise SettingError(
                f"{starts[name].protocol.id!r} and {one.protocol.id!r} are protocols of one domain;"
                " a server takes one of each, so run another for the second."
            )
        starts[name] = one
    names = [spec.name for one in episodes for spec in one.specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingError(
            f"Both protocols have a tool {twice!r}, which would mean two things; run a server for"
            " each."
        )
    return starts


def _told(handle: _Handle) -> dict[str, Any]:
    """How an episode went; nothing of its reward before it is over."""
    result = handle.episodes.result(handle.tools)
    kept = result if handle.tools.done else ("protocol", "done", "steps")
    return {name: result[name] for name in kept}


def mcp_server(handles: EpisodeHandles) -> Server:
    """The tools as a server of the MCP package, of release 1 or 2."""
    instructions = (
        "Web pages to work on, one episode after another. Begin with"
        f" {' or '.join(handles.starts)}; the answer has the rules, the first page and a handle,"
        f" which every other tool takes. When an episode is over, {_RESULT} says how it went."
    )
    tools = [_described(handles, spec) for spec in handles.specs]

    def answer(name: str, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        try:
            text, structured = handles.call(name, arguments or {})
        except ToolError as problem:
            return _answered(str(problem), None, is_error=True)
        return _answered(text, structured)

    options: dict[str, Any] = {"version": __version__, "instructions": instructions}
    if _RELEASE >= 2:

        async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=tools)

        async def run_tool(context: Any, params: Any) -> types.CallToolResult:
            return answer(params.name, params.arguments)

        return Server("errands", **options, on_list_tools=list_tools, on_call_tool=run_tool)

    async def list_all() -> list[types.Tool]:
        return tools

    async def run_named(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        return answer(name, arguments)

    server = Server("errands", **options)
    server.list_tools()(list_all)
    server.call_tool(validate_input=False)(run_named)
    return server


def _described(handles: EpisodeHandles, spec: ToolSpec) -> types.Tool:
    """A tool as MCP describes it; no tool does anything outside of its episode."""
    ends = spec.name == _RESULT
    hints = {
        "readOnlyHint": ends,
        "destructiveHint": False,
        "idempotentHint": ends,
        "openWorldHint": False,
    }
    shape = {"name": spec.name, "description": spec.description, "inputSchema": spec.parameters}
    output = _ENDED if ends else _STARTED if spec.name in handles.starts else None
    return types.Tool.model_validate({**shape, "outputSchema": output, "annotations": hints})


def _answered(
    text: str, structured: dict[str, Any] | None, *, is_error: bool = False
) -> types.CallToolResult:
    content = [{"type": "text", "text": text}]
    return types.CallToolResult.model_validate(
        {"content": content, "structuredContent": structured, "isError": is_error}
    )


def run_stdio(server: Server) -> None:
    """Serve one client over standard input and output until it hangs up."""

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def run_http(server: Server, listening: socket.socket) -> None:
    """Serve streamable HTTP at /mcp until SIGINT or SIGTERM, to programs on this machine: what a
    web page of another origin sends there is refused."""
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.responses import PlainTextResponse

    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{host}:*" for host in _LOOPBACK],
        allowed_origins=[f"http://{host}:*" for host in _LOOPBACK],
    )
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=security
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].rstrip("/") == "/mcp":
            await manager.handle_request(scope, receive, send)
        else:
            await PlainTextResponse("MCP is served at /mcp.\n", 404)(scope, receive, send)

    config = uvicorn.Config(app, lifespan="off", ws="none", log_level="warning")

    async def run() -> None:
        async with manager.run():
            await uvicorn.Server(config).serve(sockets=[listening])

    anyio.run(run)
