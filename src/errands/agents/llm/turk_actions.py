"""The form's actions as a model is offered them, and its answers read back."""

import json
from collections.abc import Sequence
from typing import Any, Final

from errands.agents.llm.answer import Answer
from errands.agents.llm.messages import Message, assistant, called, tool
from errands.turk.action import Action
from errands.turk.grammar import GrammarError, format_action, parse_answer

__all__ = ["OFFERED", "action_list", "demonstrated", "read", "tools"]

OFFERED: Final = {
    "modify_text": "Write a text into a text field or text area.",
    "modify_checkbox": "Tick check boxes: their values, separated by |.",
    "modify_radio": "Choose a radio button by its value.",
    "modify_select": "Choose an option of a drop-down by its value.",
    "modify_range": "Set a slider to a number.",
}
_MOST_READ: Final = 200_000


def action_list() -> str:
    """The actions, a line each."""
    return "\n".join(f"{name}(name, value): {about}" for name, about in OFFERED.items())


def tools() -> list[dict[str, Any]]:
    """The actions as tools."""
    parameters = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the field's name"},
            "value": {"type": "string", "description": "what to fill in"},
        },
        "required": ["name", "value"],
    }
    return [
        {
            "type": "function",
            "function": {"name": name, "description": about, "parameters": parameters},
        }
        for name, about in OFFERED.items()
    ]


def read(answer: Answer) -> list[Action]:
    """The actions in an answer, without `submit`, which is the agent's own; or a `GrammarError`."""
    if answer.calls:
        # In the grammar's own JSON: a broken argument is explained as any other answer is.
        written = "\n".join(
            json.dumps({"name": call.name, "arguments": call.arguments or "{}"})
            for call in answer.calls
        )
    else:
        written = answer.text.rpartition("</think>")[2]
    if len(written) > _MOST_READ:
        raise GrammarError(f"The answer is longer than {_MOST_READ:,} characters.")
    actions = [action for action in parse_answer(written) if action.name != "submit"]
    if not actions:
        raise GrammarError("The answer fills in nothing; the page is submitted by itself.")
    return actions


def demonstrated(actions: Sequence[Action], *, as_tools: bool, first: int) -> list[Message]:
    """What a model would have answered; calls are numbered from `first`."""
    if not as_tools:
        return [assistant("\n".join(format_action(action) for action in actions))]
    calls = [called(a.name, a.arguments, first + n) for n, a in enumerate(actions)]
    merged = {**calls[0], "tool_calls": [call["tool_calls"][0] for call in calls]}
    return [merged, *(tool("Done.", first + n) for n in range(len(actions)))]
