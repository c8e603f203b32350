"""What was asked of a model and what came back, call by call: kept with the step it led to.

Every answer has one outcome. Those of `NOTHING` are answers without an action: they say something
about a model, its endpoint or its settings, and a run that is mostly made of them has no score.
"""

from typing import Any, Final, Literal

import msgspec

__all__ = ["MAX_EMPTY", "NOTHING", "ONE", "OUTCOMES", "ModelCall", "Outcome", "ToolCall"]

Outcome = Literal[
    "action", "invalid", "thought", "refused", "filtered", "cut", "empty", "unreadable"
]

OUTCOMES: Final[dict[Outcome, str]] = {
    "action": "actions",
    "invalid": "invalid actions",
    "thought": "thoughts",
    "refused": "refusals",
    "filtered": "stopped by a content filter",
    "cut": "cut off at the token limit",
    "empty": "empty",
    "unreadable": "unreadable",
}
"""Every outcome, and what its answers are called. `invalid`: it could be read, but not be done
there. `cut`: the limit of tokens came before an action. `empty`: nothing was said, for no reason
that was given."""

ONE: Final[dict[Outcome, str]] = {
    "action": "action",
    "invalid": "invalid action",
    "thought": "thought",
    "refused": "refused",
    "filtered": "content filter",
    "cut": "cut off",
    "empty": "empty",
    "unreadable": "unreadable",
}
"""What one such answer is called, where there is little room."""

NOTHING: Final[tuple[Outcome, ...]] = ("refused", "filtered", "cut", "empty", "unreadable")
"""Outcomes of answers that came to nothing."""
MAX_EMPTY: Final = 0.5
"""The share of such answers that a run may have if nobody says otherwise."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it; nothing of it is checked yet."""

    name: str
    arguments: str
    """JSON, or what the model takes for it."""


class ModelCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request to a model as it was sent, and what came of it."""

    messages: tuple[dict[str, Any], ...] = ()
    """As sent; in place of a picture its SHA-256 and size. Empty where no pages are kept."""
    tools: tuple[dict[str, Any], ...] = ()
    answer: str = ""
    """The text of the answer, or of the refusal."""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    """What the endpoint tells of the reasoning before the answer, where it does."""
    finish: str = ""
    """Why the answer ended, in the endpoint's word: `stop`, `tool_calls`, `length`, ..."""
    outcome: Outcome = "action"
    tries: int = 1
    """How often it was sent until an answer came."""
    cached: bool = False
    """Whether the answer is from a cache; it has cost nothing then."""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    """Those of `tokens_out` that went into reasoning, where the endpoint says so."""
    cost: float = 0.0
    """In US dollars."""
