"""How many tokens a text will be, roughly: no tokenizer fits all models, and none is needed.

A third of the bytes is a little more than most models need for HTML, and more than they need for
prose: an estimate on the safe side.
"""

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["BYTES_PER_TOKEN", "estimate", "message_tokens", "picture_tokens"]

BYTES_PER_TOKEN: Final = 3
_PER_MESSAGE: Final = 5
_PIXELS_PER_TOKEN: Final = 750


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
