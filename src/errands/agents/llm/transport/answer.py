"""What goes to a model and what comes back: a request, an answer, and the trouble between."""

from typing import Any

import msgspec

__all__ = ["CallFailure", "ChatAnswer", "ChatRequest", "ToolCall", "shown"]


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it; nothing of it is checked yet."""

    name: str
    arguments: str
    """JSON, or what the model takes for it."""


class ChatRequest(msgspec.Struct, frozen=True):
    """What is asked of a model."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = []
    stop: list[str] = []


class ChatAnswer(msgspec.Struct, frozen=True):
    """What a model said, and how many tokens that took."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    """Whether the limit of tokens ended it."""
    tokens_in: int = 0
    tokens_out: int = 0


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


_LONGEST_SHOWN = 200_000


def shown(answer: ChatAnswer) -> str:
    """An answer as it is kept with a move: whole, unless it is absurdly long."""
    lines = [answer.text] if answer.text else []
    lines += [f"{call.name}({call.arguments})" for call in answer.calls]
    text = "\n".join(lines)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]} [{len(text) - _LONGEST_SHOWN} more characters]"
