"""What the tools of both domains share: their description, their errors, an episode as a value.

A framework that brings its own model and loop gets an episode as an object whose public methods
are the tools (`ShopTools`, `TurkTools`). Their names, words and JSON schemas are written down once,
as `ToolSpec`s; whatever a model did wrong is a `ToolError`, which adapters turn into what their
framework shows to a model. `tools.state` is JSON: what is played, and the calls so far;
`ShopTools.at(**state)` plays it again.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from errands.agents.llm.transport.messages import clean
from errands.errors import ErrandsError

__all__ = [
    "LONGEST_TEXT",
    "EpisodeTools",
    "ToolError",
    "ToolSpec",
    "call_tool",
    "plain",
    "read_call",
]

_KINDS: Final = ("string", "number", "integer")
LONGEST_TEXT: Final = 100_000
"""Characters of an argument; one more is kept, so that what was too long still is."""
_LONGEST_NUMBER: Final = 1_000
"""Bits of a whole number."""


class ToolError(ErrandsError, ValueError):
    """A tool was called when or as it cannot be; the message is for the model."""


class ToolSpec(msgspec.Struct, frozen=True, eq=False):
    """A tool as a model is offered it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON schema of its arguments."""

    @classmethod
    def of(
        cls,
        name: str,
        description: str,
        arguments: Mapping[str, str],
        optional: Sequence[str] = (),
    ) -> "ToolSpec":
        """A tool whose arguments are texts, each with what it is for; with `number: ` or
        `integer: ` in front of the words, it is one of these."""
        properties = {argument: _property(words) for argument, words in arguments.items()}
        required = [argument for argument in properties if argument not in optional]
        return cls(
            name,
            description,
            {"type": "object", "properties": properties, "required": required},
        )

    def function(self) -> dict[str, Any]:
        """The tool as a chat endpoint takes it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    def read(self, arguments: Any) -> dict[str, Any]:
        """The arguments of a call, an object or JSON text; a `ToolError` where one is missing, or
        more than the tool has."""
        given = _arguments(self.name, arguments)
        properties = self.parameters["properties"]
        expected = ", ".join(properties) or "none"
        for argument in given:
            if argument not in properties:
                raise ToolError(
                    f"{self.name} has no argument {clean(str(argument)[:60])!r};"
                    f" expected {expected}."
                )
        for argument in self.parameters["required"]:
            if argument not in given:
                raise ToolError(
                    f"{self.name} needs the argument {argument!r}; expected {expected}."
                )
        return given


def _property(words: str) -> dict[str, str]:
    kind, colon, rest = words.partition(": ")
    if colon and kind in _KINDS:
        return {"type": kind, "description": rest}
    return {"type": "string", "description": words}


class EpisodeTools:
    """One episode that a model plays by calling tools. Public methods but `reset` and `get_reward`
    are the tools; properties and class methods are not."""

    specs: ClassVar[tuple[ToolSpec, ...]] = ()
    """The tools that a model is offered, in this order."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._failed = False

    def get_reward(self) -> float | None:
        """What the episode is worth so far: `reward`; None where it broke off by a failure that
        is not the model's, such as a browser's, and says nothing about it."""
        return None if self._failed else self.reward

    @property
    def reward(self) -> float:
        """What the episode was worth, 0 to 1; 0 until it is over."""
        return 0.0

    @property
    def reward_parts(self) -> dict[str, Any]:
        """What the reward is made of; empty until there is one."""
        return {}

    @property
    def success(self) -> bool:
        """Whether the whole reward was earned."""
        return self.reward >= 1.0

    @property
    def done(self) -> bool:
        """Whether the episode is over: no tool can be called any more."""
        return False

    @property
    def truncated(self) -> bool:
        """Whether it is over because no steps are left."""
        return False

    @property
    def steps(self) -> int:
        """Calls so far, impossible ones among them."""
        return len(self._calls)

    @property
    def index(self) -> int:
        """The number of what is played: of the goal, or of the task's row."""
        raise ToolError("There is no episode yet; call reset first.")

    @property
    def calls(self) -> tuple[dict[str, Any], ...]:
        """The calls so far, as `{"name": ..., "arguments": {...}}`."""
        # Copies: who edits a state does not edit the episode that it is of.
        return tuple({**call, "arguments": dict(call["arguments"])} for call in self._calls)

    @property
    def state(self) -> dict[str, Any]:
        """The episode as a JSON value, from which the class method `at` plays it again."""
        return {"calls": list(self.calls)}

    def _release(self) -> None:
        """Give back what the episode holds; not public, as that would make it a tool."""

    def _note(self, name: str, arguments: Mapping[str, Any]) -> None:
        self._calls.append({"name": name, "arguments": dict(arguments)})

    def _replay(self, calls: Any) -> None:
        """Do calls again; those that were impossible then are impossible again."""
        if not isinstance(calls, Iterable):
            raise ToolError(f"The calls of a state are a list, no {type(calls).__name__}.")
        for call in calls:
            name, arguments = read_call(call)
            if self.done:
                raise ToolError(
                    f"The state has calls after its end: {self.steps} of them end the episode."
                )
            before = self.steps
            try:
                self._do(name, arguments)
            except ToolError:
                if self.steps == before:
                    raise

    def _do(self, name: str, arguments: Mapping[str, Any]) -> object:
        """Carry out a call, without showing what it led to where that can be spared."""
        return call_tool(self, name, arguments)


def call_tool(tools: EpisodeTools, name: str, arguments: Mapping[str, Any] | str) -> str:
    """Call a tool by its name, with arguments as an object or as JSON text.

    What the model named wrongly (an unknown tool, a missing or surplus argument) is a `ToolError`
    and no step; what the episode refuses (also a value of another type) is one and a step.
    """
    spec = next((spec for spec in tools.specs if spec.name == name), None)
    if spec is None:
        known = ", ".join(spec.name for spec in tools.specs)
        raise ToolError(f"There is no tool {clean(str(name)[:60])!r}; there are {known}.")
    answer: str = getattr(tools, name)(**spec.read(arguments))
    return answer


def plain(value: object) -> str | int | float | bool | None:
    """A value as every JSON can hold it; None for what is no text, number or truth value.

    Done and noted is the same value: otherwise a state would play another episode.
    """
    if isinstance(value, str):
        return clean(value[: LONGEST_TEXT + 1])
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= _LONGEST_NUMBER:
        return int(value)
    return None


def read_call(call: Any) -> tuple[str, dict[str, Any]]:
    """A call of a state: `{"name": ..., "arguments": {...}}`, or the pair of the two."""
    if isinstance(call, Mapping):
        call = (call.get("name"), call.get("arguments", {}))
    if not (isinstance(call, Sequence) and len(call) == 2 and isinstance(call[0], str)):
        raise ToolError(
            f"{clean(repr(call)[:80])} is no call; expected"
            ' {"name": "search", "arguments": {"query": "red shoes"}}.'
        )
    return call[0], _arguments(call[0], call[1])


def _arguments(name: str, arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise ToolError(f"The arguments of {clean(name[:60])} are not JSON.") from None
    if not isinstance(arguments, Mapping):
        raise ToolError(f"The arguments of {clean(name[:60])} are no object with names.")
    return dict(arguments)
