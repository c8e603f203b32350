"""How the calls of a model lie in a packed episode: what was sent before is not written again.

A conversation is sent anew with every call, so that messages as sent would grow with the square of
an episode's length. Within an episode a message that came before is a reference to it, and one that
differs is written as what differs from the last of its role: the beginning and the end that both
share, a stretch that has moved, and the words between. Whoever reads a store gets messages whole.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from errands.agents.model_call import ModelCall
from errands.runs.episode import Step

__all__ = ["packed_calls", "shared_start", "whole_calls"]

Message = dict[str, Any]
Messages = tuple[Message, ...]

_SAME: Final = "="
"""The number of a message that came before."""
_LIKE: Final = "~"
"""In place of a content: a message's number, and how this content differs from its."""
_ITSELF: Final = "|"
"""A message that happens to have one of these keys."""
_KEYS: Final = frozenset({_SAME, _LIKE, _ITSELF})
_ANCHOR: Final = 64
"""Characters by which a stretch that has moved is found again."""
_MOST_MADE: Final = 100_000_000
"""Characters that differences of one episode may make: a store may be somebody else's."""


def packed_calls(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps with calls as they are written."""
    memory = _Packing()
    return _mapped(steps, memory.pack)


def whole_calls(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps with calls as they were; ValueError where something in them leads nowhere."""
    memory = _Unpacking()
    return _mapped(steps, memory.unpack)


def _mapped(steps: Sequence[Step], each: Any) -> tuple[Step, ...]:
    return tuple(
        msgspec.structs.replace(step, calls=tuple(_call(call, each) for call in step.calls))
        if step.calls
        else step
        for step in steps
    )


def _call(call: ModelCall, each: Any) -> ModelCall:
    return msgspec.structs.replace(call, messages=each(call.messages), tools=each(call.tools))


class _Packing:
    """What was written so far."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last: dict[str, tuple[int, str]] = {}
        """For each role, the number and the text of its last message."""
        self._made = 0

    def pack(self, messages: Iterable[Message]) -> Messages:
        return tuple(map(self._one, messages))

    def _one(self, message: Message) -> Message:
        key = json.dumps(message, sort_keys=True)
        number = self._numbers.get(key)
        if number is not None:
            return {_SAME: number}
        number = self._numbers[key] = len(self._numbers)
        content = message.get("content")
        if not isinstance(content, str):
            return {_ITSELF: message} if _KEYS & message.keys() else message
        role = str(message.get("role"))
        base = self._last.get(role)
        self._last[role] = number, content
        if _KEYS & message.keys():
            return {_ITSELF: message}
        if base is None or len(content) < 4 * _ANCHOR:
            return message
        differs = _difference(base[1], content)
        if len(differs[-1]) > len(content) // 2 or self._made + len(content) > _MOST_MADE:
            return message
        self._made += len(content)
        rest = {name: value for name, value in message.items() if name != "content"}
        return {**rest, _LIKE: [base[0], *differs]}


class _Unpacking:
    """What was read so far."""

    def __init__(self) -> None:
        self._seen: list[Message] = []
        self._made = 0

    def unpack(self, messages: Iterable[Message]) -> Messages:
        return tuple(map(self._one, messages))

    def _one(self, message: Message) -> Message:
        if _SAME in message:
            return self._message(message[_SAME])
        if _ITSELF in message:
            message = message[_ITSELF]
        elif _LIKE in message:
            message = self._made_whole(message)
        if not isinstance(message, dict):
            raise ValueError("a message is none")
        self._seen.append(message)
        return message

    def _message(self, number: Any) -> Message:
        if not isinstance(number, int) or not 0 <= number < len(self._seen):
            raise ValueError("a message refers to none that came before")
        return self._seen[number]

    def _made_whole(self, message: Message) -> Message:
        match message[_LIKE]:
            case [
                number, int(first), int(start), int(length), int(last), str(between)
            ] if min(first, start, length, last) >= 0:  # fmt: skip
                base = self._message(number).get("content")
            case _:
                base = None
        if not isinstance(base, str):
            raise ValueError("a message differs from none that came before")
        content = base[:first] + base[start : start + length] + between + base[len(base) - last :]
        self._made += len(content)
        if self._made > _MOST_MADE:
            raise ValueError("its messages are too long")
        # In the order in which messages are made, whatever order they were written in.
        rest = {name: value for name, value in message.items() if name != _LIKE}
        return {"role": rest.pop("role", None), "content": content, **rest}


def _difference(base: str, text: str) -> tuple[int, int, int, int, str]:
    """How to make a text from another: so much of its beginning, a stretch (start, length), words
    of one's own, so much of its end."""
    first = shared_start(base, text)
    room = min(len(base), len(text)) - first
    last = shared_start(base[::-1][:room], text[::-1][:room])
    between = text[first : len(text) - last]
    start = base.find(between[:_ANCHOR]) if len(between) >= _ANCHOR else -1
    length = shared_start(base[start:], between) if start >= 0 else 0
    return first, max(start, 0), length, last, between[length:]


def shared_start(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
