"""A model's answer to a page of the shop: a closed grammar, of which nothing is executed.

An action is a line `search[words]`, `click[name]` or `think[words]`: that of the last `Action:`
line, else the last line, else the only line that is one. A tool call says the same in JSON.
"""

import json
import re
from typing import Final

import msgspec

from errands.agents.llm.tools import ToolSpec
from errands.agents.llm.transport.messages import ChatAnswer

__all__ = ["ARGUMENTS", "SHOP_TOOLS", "THINK_TOOL", "NoAction", "ShopAction", "invalid", "read"]

LONGEST: Final = 2_000
ARGUMENTS: Final = {"search": "query", "click": "name", "think": "thought"}
"""What can be done, and what a tool call names its one argument."""
SHOP_TOOLS: Final = (
    ToolSpec.of("search", "Look for products.", {"query": "what to look for"}),
    ToolSpec.of(
        "click", "Press what stands in brackets.", {"name": "a product's code, option or button"}
    ),
)
"""What models are offered, here and by every integration."""
THINK_TOOL: Final = ToolSpec.of("think", "Note down a thought.", {"thought": "what you think"})
"""What they are offered beside these with `style=react`."""
_LABEL: Final = re.compile(
    r"\s*+[*_>#\-\s]{0,8}+action\s*+\d{0,3}+[*_]{0,2}+\s*+:[*_\s]{0,4}+", re.I
)
_ACTION: Final = re.compile(r"(search|click|think)\s?\[(.*)\]", re.I)
_OPEN_THOUGHT: Final = re.compile(r"think\s?\[(.*)", re.I)
_BRACKETS: Final = re.compile(r"[\[\]]")
_QUOTES: Final = "\"'`“”‘’"
_FRAME: Final = " \t>*-•`"


class ShopAction(msgspec.Struct, frozen=True):
    """What a model wants: `kind` is search, click or think."""

    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.kind}[{self.words}]"


class NoAction(Exception):
    """An answer without an action; the message tells the model what was wrong."""


def read(answer: ChatAnswer, *, thinks: bool) -> ShopAction:
    """The action in an answer; `thinks`: whether think is one."""
    found = _called(answer) if answer.calls else _written(answer.text, answer.cut)
    if found.kind == "think" and not thinks:
        raise NoAction("there is no action think.")
    if found.kind == "search":
        # The shop would not understand them; in a query they are no more than spaces.
        found = ShopAction("search", _BRACKETS.sub(" ", found.words).strip())
    if not found.words.strip():
        raise NoAction(f"{found.kind} needs something in its brackets.")
    if len(found.words) > LONGEST:
        raise NoAction(f"what is in the brackets is longer than {LONGEST} characters.")
    return found


def invalid(answer: str) -> str:
    """An action that the environment will not know, for an answer that has none."""
    words = re.sub(r"[\[\]\s]+", " ", answer[:2_000]).strip()
    return f"invalid[{words[:80] or 'empty'}]"


def _written(text: str, cut: bool) -> ShopAction:
    text = text.rpartition("</think>")[2]
    lines = [line for line in text.splitlines() if line.strip(_FRAME)]
    end = next((n for n, line in enumerate(lines) if n and line.startswith("Observation")), None)
    lines = lines[:end]
    if not lines:
        raise NoAction("the answer is empty.")
    labelled = [line[label.end() :] for line in lines if (label := _LABEL.match(line))]
    if labelled:
        found = _line(labelled[-1])
    else:
        found = _line(lines[-1])
        if found is None:
            others = [action for line in lines[:-1] if (action := _line(line)) is not None]
            found = others[0] if len(others) == 1 else None
    if found is not None:
        return found
    if cut:
        raise NoAction("the answer was cut off before an action, as it was too long.")
    raise NoAction("its last line is not an action.")


def _line(line: str) -> ShopAction | None:
    line = line.strip(_FRAME)
    found = _ACTION.fullmatch(line.rstrip(".,;"))
    if found:
        return ShopAction(found[1].lower(), _bare(found[2]))
    # A thought that lost its closing bracket is still a thought.
    if thought := _OPEN_THOUGHT.fullmatch(line):
        return ShopAction("think", thought[1].strip())
    return None


def _bare(words: str) -> str:
    words = words.strip()
    # A button's own brackets, copied along.
    while len(words) > 1 and words[0] == "[" and words[-1] == "]":
        words = words[1:-1].strip()
    if len(words) > 1 and words[0] in _QUOTES and words[-1] in _QUOTES:
        return words[1:-1].strip()
    return words


def _called(answer: ChatAnswer) -> ShopAction:
    """The first call counts: a page has changed before the second could."""
    call = answer.calls[0]
    name = call.name.strip().lower()
    if name not in ARGUMENTS:
        raise NoAction(f"there is no tool {call.name[:60]!r}.")
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        raise NoAction(f"the arguments of {name} are not JSON.") from None
    words = arguments.get(ARGUMENTS[name]) if isinstance(arguments, dict) else None
    if not isinstance(words, str | int | float) or isinstance(words, bool):
        raise NoAction(f"{name} needs {ARGUMENTS[name]!r}, a text.")
    return ShopAction(name, " ".join(_bare(str(words)).split()))
