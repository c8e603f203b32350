"""The form's actions as a model is offered them, and its answers read back."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from errands.agents.llm.transport.messages import (
    ChatAnswer,
    Message,
    assistant,
    called,
    offered,
    tool,
)
from errands.turk.actions.action import ACTIONS, Action
from errands.turk.actions.grammar import GrammarError, format_action, parse_answer

__all__ = ["LEAVE", "OFFERED", "action_list", "demonstrated", "read", "tools"]

LEAVE: Final = "leave"
"""No action of the page: the model's way to say that there is nothing to do."""
OFFERED: Final = {
    "modify_text": "Write a text into a text field or text area.",
    "modify_checkbox": "Tick check boxes: their values, separated by |.",
    "modify_radio": "Choose a radio button by its value.",
    "modify_select": "Choose an option of a drop-down by its value.",
    "modify_range": "Set a slider to a number.",
    LEAVE: "Leave the field as it is, where nothing needs to be filled in.",
}
_LEAVE_LINE: Final = re.compile(r"[\s`]*(?:self\.actions\.|actions\.)?leave\([^()]{0,200}\)[\s`;]*")
_MOST_READ: Final = 200_000


def action_list() -> str:
    """The actions, a line each."""
    return "\n".join(
        f"{name}({'name' if name == LEAVE else 'name, value'}): {about}"
        for name, about in OFFERED.items()
    )


def tools() -> list[dict[str, Any]]:
    """The actions as tools."""
    field = {"name": "the field's name"}
    both = {**field, "value": "what to fill in"}
    return [
        offered(name, about, field if name == LEAVE else both) for name, about in OFFERED.items()
    ]


def read(answer: ChatAnswer) -> list[Action]:
    """The actions in an answer, none where it leaves all as it is; or a `GrammarError`.

    `submit` is the agent's own, and passed over.
    """
    if answer.calls:
        others = [call for call in answer.calls if call.name != LEAVE]
        if not others:
            return []
        # In the grammar's own JSON: a broken argument is explained as any other answer is.
        written = "\n".join(
            json.dumps({"name": call.name, "arguments": call.arguments or "{}"}) for call in others
        )
        leaves = False
    else:
        written, leaves = _without_leaves(answer.text.rpartition("</think>")[2])
    if len(written) > _MOST_READ:
        raise GrammarError(f"The answer is longer than {_MOST_READ:,} characters.")
    try:
        actions = [action for action in parse_answer(written) if action.name != "submit"]
    except GrammarError:
        if leaves and not any(f"{name}(" in written for name in ACTIONS):
            return []
        raise
    if not actions and not leaves:
        raise GrammarError("The answer fills in nothing; the page is submitted by itself.")
    return actions


def _without_leaves(text: str) -> tuple[str, bool]:
    """The lines that do something, and whether others leave a field as it is."""
    lines = text.splitlines()
    kept = [line for line in lines if not _LEAVE_LINE.fullmatch(line)]
    return "\n".join(kept), len(kept) < len(lines)


def demonstrated(actions: Sequence[Action], *, as_tools: bool, first: int) -> list[Message]:
    """What a model would have answered; calls are numbered from `first`."""
    if not as_tools:
        return [assistant("\n".join(format_action(action) for action in actions))]
    calls = [called(a.name, a.arguments, first + n) for n, a in enumerate(actions)]
    merged = {**calls[0], "tool_calls": [call["tool_calls"][0] for call in calls]}
    return [merged, *(tool("Done.", first + n) for n in range(len(actions)))]
