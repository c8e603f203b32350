"""What goes to a chat model and what comes back: messages, requests, answers, and their tokens.

Tokens are estimated, as no tokenizer fits all models, and none is needed: a third of the bytes is
a little more than most models need for HTML, and more than they need for prose.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from errands.agents.model_call import Outcome, ToolCall

__all__ = [
    "BYTES_PER_TOKEN",
    "CallFailure",
    "ChatAnswer",
    "ChatRequest",
    "Message",
    "ToolCall",
    "answered",
    "assistant",
    "called",
    "clean",
    "cut",
    "estimate",
    "kept",
    "message_tokens",
    "nothing",
    "offered",
    "picture_tokens",
    "shown",
    "system",
    "tool",
    "user",
]

Message = dict[str, Any]

BYTES_PER_TOKEN: Final = 3
_PER_MESSAGE: Final = 5
_PIXELS_PER_TOKEN: Final = 750
_LONGEST_SHOWN: Final = 200_000


class ChatRequest(msgspec.Struct, frozen=True):
    """What is asked of a model."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = []
    stop: list[str] = []


class ChatAnswer(msgspec.Struct, frozen=True):
    """What a model said, and how many tokens that took."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = ""
    """Why it ended, in the endpoint's word."""
    refused: bool = False
    """Whether the endpoint marked the text as a refusal."""
    reasoning: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0

    @property
    def cut(self) -> bool:
        """Whether the limit of tokens ended it."""
        return self.finish == "length"


class CallFailure(Exception):
    """A try that failed."""

    def __init__(
        self,
        reason: str,
        *,
        again: bool,
        after: float | None = None,
        spent: ChatAnswer | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        """What happened, to go into a sentence after the endpoint's name."""
        self.again = again
        """Whether another try may help."""
        self.after = after
        """Seconds to wait, where the endpoint said so."""
        self.spent = spent
        """What was paid for, where the endpoint said so."""


def nothing(answer: ChatAnswer) -> Outcome:
    """What to call an answer that holds no action."""
    if answer.refused or answer.finish == "refusal":
        return "refused"
    if answer.finish == "content_filter":
        return "filtered"
    if answer.cut:
        return "cut"
    return "unreadable" if answer.calls or answer.text.strip() else "empty"


def kept(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Messages as a run keeps them: pictures as fingerprints, all else as it was sent."""
    return tuple(
        {**message, "content": [_kept_part(part) for part in content]}
        if isinstance(content := message.get("content"), list)
        else message
        for message in messages
    )


def _kept_part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return part
    address = str(part["image_url"]["url"]).encode()
    return {
        "type": "image",
        "sha256": hashlib.sha256(address).hexdigest(),
        "bytes": len(address.partition(b",")[2]) * 3 // 4,
    }


def shown(answer: ChatAnswer) -> str:
    """An answer as it is kept with a move: whole, unless it is absurdly long."""
    lines = [answer.text] if answer.text else []
    lines += [f"{call.name}({call.arguments})" for call in answer.calls]
    return cut("\n".join(lines))


def cut(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """A text as it is kept: whole, unless it is absurdly long."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]} [{len(text) - longest} more characters]"


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


def estimate(text: str) -> int:
    """Tokens of a text."""
    length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-length // BYTES_PER_TOKEN)


def picture_tokens(width: int, height: int) -> int:
    """Tokens of a picture."""
    return -(-width * height // _PIXELS_PER_TOKEN)


def message_tokens(messages: Sequence[dict[str, Any]]) -> int:
    """Tokens of a request's messages; a picture counts as one of 600 x 380."""
    total = 0
    for message in messages:
        total += _PER_MESSAGE
        content = message.get("content")
        for part in [{"text": content}] if isinstance(content, str) else content or ():
            total += estimate(part["text"]) if "text" in part else picture_tokens(600, 380)
        for call in message.get("tool_calls") or ():
            total += estimate(call["function"]["name"] + call["function"]["arguments"])
    return total
