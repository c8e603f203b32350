"""Messages of a chat, as an endpoint takes them."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = [
    "Message",
    "answered",
    "assistant",
    "called",
    "clean",
    "offered",
    "system",
    "tool",
    "user",
]

Message = dict[str, Any]


def clean(text: str) -> str:
    """Without halves of characters, which pages may hold and JSON over a wire may not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def system(text: str) -> Message:
    return {"role": "system", "content": clean(text)}


def user(text: str, picture: str | None = None) -> Message:
    """A user's words, with a picture (a `data:` address) or without."""
    if picture is None:
        return {"role": "user", "content": clean(text)}
    shown = {"type": "image_url", "image_url": {"url": picture}}
    return {"role": "user", "content": [{"type": "text", "text": clean(text)}, shown]}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": clean(text)}


def offered(name: str, about: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """A tool as a model is offered it; its arguments are texts, each with what it is for."""
    properties = {
        argument: {"type": "string", "description": what} for argument, what in arguments.items()
    }
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": about, "parameters": parameters}
    return {"type": "function", "function": function}


def called(name: str, arguments: Mapping[str, Any] | str, number: int, text: str = "") -> Message:
    """The model's call of a tool."""
    written = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": clean(written)},
    }
    return {"role": "assistant", "content": clean(text), "tool_calls": [call]}


def tool(text: str, number: int) -> Message:
    """What a tool gave back."""
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": clean(text)}


def answered(text: str, longest: int = 2_000) -> Message:
    """A model's own answer, put before it again: cut where it is long."""
    return assistant(text if len(text) <= longest else f"{text[:longest]} [...]")
