"""A language model that shops: act-only or ReAct-style prompting, in text or with tools.

The rules of the history are those published for ReAct: a thought is answered "OK." and is no step
of the environment, an action that is not possible is answered "Invalid action!", and the prompt
is a window of so many characters that loses its oldest history first. Unlike there, the
instruction is never lost.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from errands.agents.agent import Move
from errands.agents.llm.prompts import Prompt
from errands.agents.llm.settings import ShopSettings
from errands.agents.llm.shop.grammar import (
    ARGUMENTS,
    SHOP_TOOLS,
    THINK_TOOL,
    NoAction,
    ShopAction,
    invalid,
    read,
)
from errands.agents.llm.shop.page import ShopView, look
from errands.agents.llm.transport.client import Conversation, Exchange
from errands.agents.llm.transport.messages import (
    ChatAnswer,
    ChatRequest,
    Message,
    answered,
    called,
    shown,
    system,
    tool,
    user,
)
from errands.errors import SettingError

__all__ = [
    "INVALID",
    "LEAST_HISTORY",
    "OK",
    "TOOLS",
    "ShopAgent",
    "ShopTurn",
    "check_window",
    "offered_tools",
    "opening",
    "requested",
    "said",
]

LEAST_HISTORY: Final = 1_000
"""Characters of history that a window must have room for."""
_LEFT_OUT: Final = "[earlier steps are left out]"
INVALID: Final = "Invalid action!"
OK: Final = "OK."


class ShopTurn(msgspec.Struct):
    """An action, and what it was answered with."""

    action: ShopAction
    observation: str


TOOLS: Final = [spec.function() for spec in SHOP_TOOLS]


def opening(prompt: Prompt, settings: ShopSettings) -> str:
    """What the conversation begins with: the rules and, if asked for, the example."""
    parts = ["system", "example"] if settings.shots else ["system"]
    return "\n\n".join(prompt.parts[part] for part in parts if part in prompt.parts)


def offered_tools(*, thinks: bool) -> list[dict[str, Any]]:
    """The tools that a model is offered."""
    return [*TOOLS, THINK_TOOL.function()] if thinks else TOOLS


def said(turn: ShopTurn, number: int) -> list[Message]:
    """A turn of a conversation with tools: the call and its result, or words that were none."""
    action = turn.action
    if action.kind not in ARGUMENTS:
        return [answered(action.words), user(turn.observation)]
    arguments = {ARGUMENTS[action.kind]: action.words}
    return [called(action.kind, arguments, number), tool(turn.observation, number)]


def requested(
    settings: ShopSettings, opening: str, start: str, first: str, turns: Sequence[ShopTurn]
) -> list[Message]:
    """The messages of a request after these turns: `opening` are the rules, `start` tells the
    instruction, `first` is the first page. Fine-tuning sets are made of them, too."""
    if settings.calls == "tools":
        return _tool_messages(settings, opening, start, first, turns)
    history = f"Observation:\n{first}\n\n"
    for turn in turns:
        answer = turn.observation
        gap = " " if answer in (OK, INVALID) else "\n"
        history += f"Action: {turn.action}\n\nObservation:{gap}{answer}\n\n"
    history += "Action:"
    room = _room(settings, opening, start)
    if room is not None and len(history) > room:
        cut = max(room - len(_LEFT_OUT) - 1, 1)
        history = f"{_LEFT_OUT}\n{history[-cut:]}"
    return [system(opening), user(f"{start}\n\n{history}")]


def _tool_messages(
    settings: ShopSettings, opening: str, start: str, first: str, turns: Sequence[ShopTurn]
) -> list[Message]:
    """The same history as calls; what does not fit is left out call by call."""
    room = _room(settings, opening, start)
    left = float("inf") if room is None else room - len(_LEFT_OUT)
    kept = 0
    for turn in reversed(turns):
        left -= len(str(turn.action)) + len(turn.observation)
        if left < 0 and kept:
            break
        kept += 1
    whole = kept == len(turns) and (left >= len(first) or not kept)
    messages = [system(opening), user(f"{start}\n\n{first if whole else _LEFT_OUT}")]
    begin = len(turns) - kept
    for number, turn in enumerate(turns[begin:], begin):
        messages += said(turn, number)
    return messages


def _room(settings: ShopSettings, opening: str, start: str) -> int | None:
    """Characters that history may have."""
    if not settings.window:
        return None
    fixed = len(opening) + len(start) + 4
    return max(settings.window - fixed, LEAST_HISTORY // 2)


def check_window(prompt: Prompt, settings: ShopSettings) -> None:
    """A prompt that leaves no room for history is the user's to mend."""
    length = len(opening(prompt, settings))
    if settings.window and settings.window < length + LEAST_HISTORY:
        raise SettingError(
            f"window={settings.window} leaves too little room: the prompt takes {length}"
            f" characters, and history needs {LEAST_HISTORY} more; raise window, or take shots=0."
        )


class ShopAgent:
    """The player of one episode."""

    stop: ClassVar[list[str]] = ["\nObservation:"]
    """Where an answer in text ends."""

    def __init__(
        self,
        conversation: Conversation,
        prompt: Prompt,
        settings: ShopSettings,
        *,
        search_anywhere: bool,
    ) -> None:
        self._conversation = conversation
        self._prompt = prompt
        self._settings = settings
        self._search_anywhere = search_anywhere
        self._thinks = settings.style == "react"
        self._opening = opening(prompt, settings)

    async def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        if "start" in self._prompt.parts:
            self._start = self._prompt.fill("start", instruction=str(info["instruction"]))
        self._first = ""
        self._turns: list[ShopTurn] = []
        self._chosen: dict[int, str] = {}
        self._is_answered = False
        """Whether history says already what the last action was answered with."""

    async def act(self, observation: Any, info: Mapping[str, Any]) -> Move:
        view = self._see(str(observation), info)
        exchange = Exchange(self._conversation)
        thoughts = repairs = 0
        aside: list[Message] = []
        while True:
            request = ChatRequest(
                [*self._messages(), *aside],
                [] if self._settings.calls == "text" else offered_tools(thinks=self._thinks),
                self.stop if self._settings.calls == "text" else [],
            )
            answer = await exchange.ask(request)
            try:
                action = self._read(answer)
            except NoAction as problem:
                exchange.failed(answer)
                if repairs >= self._settings.repairs:
                    return exchange.move(self._give_up(answer))
                repairs += 1
                aside = exchange.repair(self._prompt, str(problem))
                continue
            aside = []
            if action.kind == "think" and thoughts < self._settings.thoughts:
                thoughts += 1
                exchange.thought()
                self._turns.append(ShopTurn(action, OK))
                continue
            return exchange.move(self._decide(action, view, exchange))

    def _look(self, observation: str, info: Mapping[str, Any]) -> ShopView:
        return look(observation, info, chosen=self._chosen.values(), top=self._settings.top)

    def _read(self, answer: ChatAnswer) -> ShopAction:
        return read(answer, thinks=self._thinks)

    def _see(self, observation: str, info: Mapping[str, Any]) -> ShopView:
        """Take in the page: it answers the last action, or opens the episode."""
        available = info["available_actions"]["clickables"]
        if "search" in available or "next >" in available:
            # Away from the item, and its options are chosen no more.
            self._chosen.clear()
        view = self._look(observation, info)
        if not self._turns or not self._first:
            self._first = view.text
        elif not self._is_answered:
            self._turns[-1].observation = view.text
        return view

    def _decide(self, action: ShopAction, view: ShopView, exchange: Exchange) -> str:
        """The action for the environment, and what history will say of it."""
        name = action.words.lower()
        if action.kind == "search":
            possible = view.has_search_bar or self._search_anywhere
        else:
            possible = action.kind == "click" and name in view.clickables
        self._is_answered = not possible
        self._turns.append(ShopTurn(action, INVALID))
        if possible and action.kind == "click" and name in view.choices:
            self._chosen[view.choices[name]] = name
        if action.kind == "think" or name in view.hidden:
            return invalid(str(action))
        return str(action)

    def _give_up(self, answer: ChatAnswer) -> str:
        """An answer that is no action goes to the environment as one it does not know."""
        text = invalid(shown(answer))
        self._is_answered = True
        self._turns.append(ShopTurn(ShopAction("invalid", text[8:-1]), INVALID))
        return text

    def _messages(self) -> list[Message]:
        return requested(self._settings, self._opening, self._start, self._first, self._turns)
