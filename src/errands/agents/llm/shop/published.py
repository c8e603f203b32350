"""A language model that shops in the layout of the runs published with ReAct and Act (2022).

One message of a worked errand and the model's own so far, which ends in "Action:"; one line as an
answer; a thought is a step and answered "OK."; three products and no turning of the results page;
after an option is clicked the model is told that, not the page. The window loses its oldest text
first, in the end the instruction, too. docs/guides/language-models.md lists what is the same
and what is not.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from errands.agents.llm.shop.agent import INVALID, OK, ShopAgent, ShopTurn
from errands.agents.llm.shop.grammar import ShopAction, invalid, read
from errands.agents.llm.shop.page import ShopView, look_published
from errands.agents.llm.transport.client import Exchange
from errands.agents.llm.transport.messages import ChatAnswer, Message, user

__all__ = ["PublishedShopAgent"]


class PublishedShopAgent(ShopAgent):
    """The player of one episode, prompted as in 2022."""

    stop: ClassVar[list[str]] = ["\n"]

    def _look(self, observation: str, info: Mapping[str, Any]) -> ShopView:
        return look_published(
            observation, info, chosen=self._chosen.values(), top=self._settings.top
        )

    def _read(self, answer: ChatAnswer) -> ShopAction:
        """The first line is the answer, also of a model that does not stop there."""
        lines = [line for line in answer.text.splitlines() if line.strip()]
        return read(msgspec.structs.replace(answer, text=lines[0] if lines else ""), thinks=True)

    def _decide(self, action: ShopAction, view: ShopView, exchange: Exchange) -> str:
        name = action.words.lower()
        option = action.kind == "click" and name in view.choices
        possible = view.has_search_bar if action.kind == "search" else name in view.clickables
        if action.kind == "think":
            exchange.thought()
            answer = OK
        elif option and possible:
            self._chosen[view.choices[name]] = name
            answer = f"You have clicked {action.words}."
        else:
            answer = INVALID
        self._is_answered = answer != INVALID or not possible
        self._turns.append(ShopTurn(action, answer))
        # A thought changes nothing, and the environment knows none; it is a step all the same.
        return str(action) if possible or action.kind == "think" else invalid(str(action))

    def _messages(self) -> list[Message]:
        text = f"{self._first}\n\nAction:"
        for turn in self._turns:
            text += f" {turn.action}\nObservation: {turn.observation}\n\nAction:"
        if self._settings.window:
            room = self._settings.window - len(self._opening) - 1
            text = text[-max(room, 1) :]
        return [user(f"{self._opening}\n{text}" if self._opening else text.lstrip("\n"))]
