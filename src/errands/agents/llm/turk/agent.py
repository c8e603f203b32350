"""A language model that fills in forms: field by field, or a whole page in one answer.

After each action the page is looked at again, so that fields which an answer brings into sight
are asked for, too. When nothing is left to ask, the agent submits.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from errands.agents.agent import AgentError, Move
from errands.agents.llm.prompts import Prompt
from errands.agents.llm.settings import TurkSettings
from errands.agents.llm.transport.client import Conversation, Exchange
from errands.agents.llm.transport.messages import (
    BYTES_PER_TOKEN,
    ChatRequest,
    Message,
    estimate,
    message_tokens,
    system,
    user,
)
from errands.agents.llm.turk.actions import action_list, demonstrated, read, tools
from errands.agents.llm.turk.demonstrations import Demonstration
from errands.agents.llm.turk.page import BlankField, FormView, Question, ask, see, with_picture
from errands.browser.screenshots import decode
from errands.errors import SettingError
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import GrammarError, format_action

__all__ = ["TurkAgent", "TurkPrompter"]

SUBMIT: Final = "submit()"
NO_ANSWER: Final = "no_answer()"
"""What the environment is told when a model gave no action: it knows no such thing, and says so."""
_LEAST_ROOM: Final = 300
"""Tokens of a page that a budget must have room for."""


Served = Callable[[Mapping[str, Any]], str]
"""From what an environment tells of an episode to its page's HTML as the original sent it."""


class TurkPrompter:
    """What all episodes share: the prompt, the demonstrations, and the room that is left."""

    def __init__(
        self,
        settings: TurkSettings,
        prompt: Prompt,
        examples: Sequence[Demonstration],
        *,
        shows: str,
        max_tokens: int,
        served: Served | None = None,
    ) -> None:
        self.settings = settings
        self.prompt = prompt
        self.relevant_only = shows == "relevant"
        self.encoding = settings.encoding
        if settings.encoding == "auto":
            self.encoding = "relevant" if self.relevant_only else "full"
        self.served = served
        self.whole = settings.ask == "whole"
        self.examples = tuple(f"{one.task}/{one.row}" for one in examples)
        self.opening = [system(prompt.fill("system", actions=action_list()))]
        share = settings.budget * BYTES_PER_TOKEN // 2 // max(len(examples), 1)
        for number, example in enumerate(examples):
            blanks = example.form.blanks if self.whole else [example.blank]
            question = self.question(example.form, blanks, share)
            self.opening += [
                user(question.text, example.form.picture),
                *demonstrated(
                    example.actions, as_tools=settings.calls == "tools", first=1_000 * (number + 1)
                ),
            ]
        frame = estimate(prompt.parts["page"]) + 50
        self.room = settings.budget - max_tokens - message_tokens(self.opening) - frame
        if self.room < _LEAST_ROOM:
            raise SettingError(
                f"budget={settings.budget} leaves {max(self.room, 0)} tokens for a page, after the"
                f" prompt, {len(examples)} demonstrations and an answer of {max_tokens}: raise it,"
                " or take fewer demos or a smaller max_tokens."
            )

    def question(
        self, form: FormView, blanks: Sequence[BlankField], room: int, message: str = ""
    ) -> Question:
        """What to ask about some fields."""
        if self.settings.field_info == "name":
            blanks = [BlankField(blank.name) for blank in blanks]
        return ask(
            *(self.prompt, form, blanks),
            whole=self.whole,
            encoding=self.encoding,
            room=room,
            message=message,
        )

    def characters(self, form: FormView, blanks: Sequence[BlankField]) -> int:
        """How much HTML may go with a question."""
        listed = sum(estimate(blank.line()) for blank in blanks)
        left = self.room - form.picture_tokens - listed
        return max(left, _LEAST_ROOM // 2) * BYTES_PER_TOKEN


class TurkAgent:
    """The worker of one episode."""

    def __init__(self, conversation: Conversation, prompter: TurkPrompter) -> None:
        self._conversation = conversation
        self._prompter = prompter
        self._picture: Callable[[str | None], bytes] | None = None

    def watch(self, picture: Callable[[str | None], bytes]) -> None:
        self._picture = picture

    async def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self._asked: dict[str, int] = {}
        """How often each field was asked for."""
        self._now: tuple[str, ...] = ()
        """The field that the last action was for."""
        self._waiting: list[Action] = []
        self._failed: dict[str, str] = {}

    async def act(self, observation: Any, info: Mapping[str, Any]) -> Move:
        self._take_note(str(info.get("message") or ""))
        if self._waiting:
            return Move(self._next())
        prompter = self._prompter
        form = see(
            observation, info, relevant=prompter.relevant_only, shrink=prompter.settings.shrink
        )
        if prompter.served is not None:
            form = form._replace(html=prompter.served(info))
        exchange = Exchange(self._conversation)
        while blanks := self._to_ask(form):
            for blank in blanks:
                self._asked[blank.name] = self._asked.get(blank.name, 0) + 1
            message = " ".join(self._failed.pop(b.name) for b in blanks if b.name in self._failed)
            actions = await self._ask(exchange, form, blanks, message)
            if actions is None:
                return exchange.move(NO_ANSWER)
            if actions:
                return exchange.move(self._begun(actions))
            # Left as it is: the page is the same, and the next field's turn has come.
        return exchange.move(SUBMIT)

    def _begun(self, actions: list[Action]) -> str:
        """The first of several actions, each a step of its own, so that one that fails spoils no
        other; for one field, what there is."""
        if self._prompter.whole:
            self._waiting = actions
            return self._next()
        self._now = tuple({str(action.arguments.get("name")) for action in actions})
        return "\n".join(format_action(action) for action in actions)

    def _take_note(self, message: str) -> None:
        """A failed action is put to the model again, as often as repairs are allowed."""
        for name in self._now if message else ():
            self._failed[name] = message
        self._now = ()

    def _next(self) -> str:
        action = self._waiting.pop(0)
        name = action.arguments.get("name")
        self._now = (str(name),) if name is not None else ()
        return format_action(action)

    def _to_ask(self, form: FormView) -> list[BlankField]:
        limit = 1 + self._prompter.settings.repairs
        again = [
            blank
            for blank in form.blanks
            if blank.name in self._failed and self._asked.get(blank.name, 0) < limit
        ]
        fresh = [blank for blank in form.blanks if blank.name not in self._asked]
        blanks = again + fresh
        return blanks if self._prompter.whole else blanks[:1]

    async def _pictured(self, form: FormView, blanks: Sequence[BlankField]) -> FormView:
        """The page with a picture: scrolled to the field, or for a whole page as it stands."""
        if self._picture is None:
            raise AgentError(
                "vision=true needs an environment that takes pictures: play with errands.run."
            )
        name = None if self._prompter.whole else blanks[0].name
        picture, shrink = self._picture, self._prompter.settings.shrink
        # Elsewhere, as the other episodes' answers are waited for here.
        return await asyncio.to_thread(
            lambda: with_picture(form, decode(picture(name))[..., :3], shrink),
        )

    async def _ask(
        self, exchange: Exchange, form: FormView, blanks: list[BlankField], message: str
    ) -> list[Action] | None:
        """The model's actions; None where it gave none that can be read."""
        prompter = self._prompter
        if prompter.settings.vision:
            form = await self._pictured(form, blanks)
        question = prompter.question(form, blanks, prompter.characters(form, blanks), message)
        if question.note:
            exchange.said.append(question.note)
        messages: list[Message] = [*prompter.opening, user(question.text, form.picture)]
        offered = tools() if prompter.settings.calls == "tools" else []
        aside: list[Message] = []
        for _ in range(1 + prompter.settings.repairs):
            answer = await exchange.ask(ChatRequest([*messages, *aside], offered))
            try:
                return _for_field(read(answer), None if prompter.whole else blanks[0].name)
            except GrammarError as problem:
                exchange.failed(answer)
                reason = str(problem)
                if answer.cut:
                    reason = f"The answer was cut off, as it was too long. {reason}"
                aside = exchange.repair(prompter.prompt, reason)
        return None


def _for_field(actions: list[Action], name: str | None) -> list[Action]:
    """Those for the field that was asked for: clicking a box a second time would clear it."""
    if name is None or not actions:
        return actions
    chosen = [action for action in actions if action.arguments.get("name", name) == name]
    if not chosen:
        other = str(actions[0].arguments.get("name"))[:60]
        raise GrammarError(f"The answer is for {other!r}, but the field is {name!r}.")
    return chosen
