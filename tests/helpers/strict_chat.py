"""A chat endpoint on loopback as strict as those of today: it knows one reasoning model, and
answers 400 with the usual words to every field or value that such a model does not take.

What it answers is decided by a script, as with `Endpoint`; beside texts and tool calls a script may
return one of the marks below. The model reasons before it answers, which counts against its limit.
"""

import json
import re
from typing import Any, Final

from chat_endpoint import Endpoint

MODEL: Final = "gpt-5-mini"
KEY: Final = "sk-test-key"
REASONING: Final = 640
"""Tokens that the model reasons with before each answer."""

FILTER: Final = "FILTER THE ANSWER"
PROMPT_FILTER: Final = "FILTER THE PROMPT"
LENGTH: Final = "REASON WITHOUT AN END"
EMPTY: Final = "SAY NOTHING"

_FIELDS: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "max_completion_tokens", "reasoning_effort",
     "stream", "stream_options", "seed", "response_format", "metadata", "store", "n", "user"}
)  # fmt: skip
_UNSUPPORTED: Final = ("stop", "top_p", "presence_penalty", "frequency_penalty", "logprobs")
_MESSAGE: Final = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}


def refusal(text: str) -> dict[str, Any]:
    """An answer that is a refusal."""
    return {"content": None, "refusal": text}


def calls(*called: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """An answer of tool calls."""
    return {
        "content": None,
        "tool_calls": [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(called)
        ],
    }


class Refused(Exception):
    """A request that the endpoint does not take."""

    def __init__(self, message: str, param: str | None, code: str | None, status: int = 400):
        super().__init__(message)
        self.status = status
        self.body = {
            "error": {
                "message": message,
                "type": "invalid_request_error",
                "param": param,
                "code": code,
            }
        }


class StrictEndpoint(Endpoint):
    """The endpoint; `refused` are the messages of its errors, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[str] = []

    def answer(self, handler: Any, request: dict[str, Any], reply: Any) -> None:
        try:
            if handler.headers.get("Authorization") != f"Bearer {KEY}":
                raise Refused("Incorrect API key provided.", None, "invalid_api_key", 401)
            _check(request)
            if reply == PROMPT_FILTER:
                raise Refused(
                    "The response was filtered due to the prompt triggering the content policy.",
                    "prompt",
                    "content_filter",
                )
            body = json.dumps(self._completed(request, reply)).encode()
            self.send(handler, 200, {"Content-Type": "application/json"}, body)
        except Refused as problem:
            self.refused.append(str(problem))
            body = json.dumps(problem.body).encode()
            self.send(handler, problem.status, {"Content-Type": "application/json"}, body)

    def _completed(self, request: dict[str, Any], reply: Any) -> dict[str, Any]:
        limit = request.get("max_completion_tokens") or 1_000_000
        finish, message = "stop", reply if isinstance(reply, dict) else {"content": reply}
        reasoning = min(REASONING, limit)
        if reply == FILTER:
            finish, message = "content_filter", {"content": ""}
        elif reply == EMPTY:
            message = {"content": ""}
        elif reply == LENGTH or limit <= REASONING:
            finish, message, reasoning = "length", {"content": ""}, limit
        elif message.get("tool_calls"):
            finish = "tool_calls"
        words = len(json.dumps(message)) // 4
        out = reasoning + (0 if finish in ("length", "content_filter") else words)
        completed = self.completion({"refusal": None, **message}, finish)
        completed["usage"] = {
            "prompt_tokens": len(json.dumps(request["messages"])) // 4,
            "completion_tokens": out,
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }
        return completed


def _check(request: dict[str, Any]) -> None:
    if request.get("model") != MODEL:
        raise Refused(
            f"The model '{request.get('model')}' does not exist.", None, "model_not_found", 404
        )
    if "max_tokens" in request:
        raise Refused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
            " 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )
    if request.get("temperature", 1) != 1:
        raise Refused(
            f"Unsupported value: 'temperature' does not support {request['temperature']} with this"
            " model. Only the default (1) value is supported.",
            "temperature",
            "unsupported_value",
        )
    for name in _UNSUPPORTED:
        if name in request:
            raise Refused(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                name,
                "unsupported_parameter",
            )
    for name in request:
        if name not in _FIELDS | {"temperature"}:
            raise Refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    _check_messages(request["messages"])
    for number, tool in enumerate(request.get("tools", ())):
        function = tool.get("function", {})
        right = tool.keys() == {"type", "function"} and function.keys() <= {
            *("name", "description", "parameters", "strict")
        }
        if not right or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function.get("name", "")):
            raise Refused(f"Invalid 'tools[{number}]'.", f"tools[{number}]", "invalid_value")
        assert function["parameters"]["type"] == "object"


def _check_messages(messages: list[dict[str, Any]]) -> None:
    if not messages:
        raise Refused("Invalid 'messages': empty array.", "messages", "empty_array")
    awaited: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        if role not in _MESSAGE:
            raise Refused(f"Invalid value: '{role}'.", f"{where}.role", "invalid_value")
        for name in message.keys() - _MESSAGE[role]:
            raise Refused(f"Unknown parameter: '{where}.{name}'.", where, "unknown_parameter")
        if awaited and role != "tool":
            raise Refused(
                "An assistant message with 'tool_calls' must be followed by tool messages"
                " responding to each 'tool_call_id'.",
                where,
                None,
            )
        if role == "tool":
            if message.get("tool_call_id") not in awaited:
                raise Refused(
                    "messages with role 'tool' must be a response to a preceeding message with"
                    " 'tool_calls'.",
                    where,
                    None,
                )
            awaited.remove(message["tool_call_id"])
        awaited += [call["id"] for call in message.get("tool_calls", ())]
        content = message.get("content")
        if not isinstance(content, str | list) and not message.get("tool_calls"):
            raise Refused(
                f"Invalid value for 'content': expected a string, got {type(content).__name__}.",
                f"{where}.content",
                None,
            )
    if awaited:
        raise Refused("Tool calls without answers.", "messages", None)
