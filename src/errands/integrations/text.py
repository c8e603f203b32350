"""Episodes for frameworks whose models write plain text: calls are read out of what they write.

A call is written as most chat templates train it, `<tool_call>{"name": ..., "arguments":
{...}}</tool_call>`, or as bare JSON; in the shop also as `search[...]` and `click[...]`. The last
one counts, thoughts before `</think>` do not. Nothing is executed; an answer without a call is told
what was expected and counts as a turn, so that an episode ends whatever a model writes.
"""

import functools
import json
import re
from typing import Any, Final, NamedTuple

from errands.agents.llm.shop.grammar import ARGUMENTS, NoAction, read
from errands.agents.llm.tools import EpisodeTools, ToolError, ToolSpec, call_tool
from errands.agents.llm.transport.messages import ChatAnswer, Message
from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes

__all__ = ["TextEpisode", "TextTurn", "read_written_call", "text_messages"]

_MOST_TURNS: Final = 100
"""Of an episode whose protocol has no limit of steps."""
_LONGEST: Final = 200_000
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_HOW: Final = """\
Write each call as JSON between tags, one call a turn, for example:
<tool_call>{example}</tool_call>

The tools:
{tools}"""


def text_messages(episodes: ToolEpisodes) -> list[Message]:
    """What a conversation begins with: the rules, how calls are written, and a message of the
    user's to which the first page is added."""
    system, user = episodes.messages()
    return [{**system, "content": f"{system['content']}\n\n{_how(episodes.specs)}"}, user]


@functools.cache
def _how(specs: tuple[ToolSpec, ...]) -> str:
    listed = "\n".join(json.dumps(spec.function()["function"]) for spec in specs)
    return _HOW.format(example=_example(specs[0]), tools=listed)


def _example(spec: ToolSpec) -> str:
    arguments = dict.fromkeys(spec.parameters["required"], "...")
    return json.dumps({"name": spec.name, "arguments": arguments})


def read_written_call(text: str, *, brackets: bool) -> tuple[str, Any]:
    """The call in what a model wrote, and its arguments, of which nothing is checked yet;
    `brackets`: whether `search[...]` is one, too."""
    if not isinstance(text, str):
        raise ToolError(f"The answer is no text but {type(text).__name__}.")
    if len(text) > _LONGEST:
        raise ToolError(f"The answer is longer than {_LONGEST:,} characters.")
    said = text.rpartition("</think>")[2]
    if _OPEN in said:
        inner = said.rpartition(_OPEN)[2].partition(_CLOSE)[0]
        return _json_call(inner.strip())
    if said.strip().startswith("{"):
        return _json_call(said.strip())
    if brackets:
        try:
            action = read(ChatAnswer(text=said), thinks=False)
        except NoAction:
            pass
        else:
            return action.kind, {ARGUMENTS[action.kind]: action.words}
    raise ToolError(f"There is no call in the answer; expected {_OPEN}{{...}}{_CLOSE}.")


def _json_call(written: str) -> tuple[str, Any]:
    try:
        call = json.loads(re.sub(r"^```(?:json)?|```$", "", written).strip())
    except (ValueError, RecursionError):
        raise ToolError("The call is not JSON.") from None
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise ToolError('A call is an object with "name" and "arguments".')
    return call["name"], call.get("arguments", call.get("parameters", {}))


class TextTurn(NamedTuple):
    """What a model's answer led to."""

    observation: str
    reward: float
    """0 before the end, and at the end what the episode was worth."""
    done: bool
    truncated: bool
    """Whether it ended because no turns are left."""
    valid: bool
    """Whether the answer was a call, and possible."""


class TextEpisode:
    """One episode that is played by writing."""

    def __init__(self, episodes: ToolEpisodes, number: int) -> None:
        self.episodes = episodes
        self.number = number
        self.tools: EpisodeTools
        self.tools, self.first = episodes.begin(number)
        self.turns = 0
        self.most_turns = episodes.protocol.max_steps or _MOST_TURNS

    @property
    def messages(self) -> list[Message]:
        """What the model is shown first."""
        system, user = text_messages(self.episodes)
        return [system, {**user, "content": user["content"] + self.first}]

    @property
    def over(self) -> bool:
        return self.tools.done or self.turns >= self.most_turns

    def answer(self, text: str) -> TextTurn:
        """Take a turn."""
        if self.over:
            raise SettingError("The episode is over; begin another one.")
        self.turns += 1
        valid = True
        try:
            name, arguments = read_written_call(text, brackets=self.episodes.domain == "shop")
            observation = call_tool(self.tools, name, arguments)
        except ToolError as problem:
            valid, observation = False, str(problem)
        ended = self.tools.done or self.turns >= self.most_turns
        reward = self.tools.reward if ended else 0.0
        truncated = ended and (self.tools.truncated or not self.tools.done)
        return TextTurn(observation, reward, ended, truncated, valid)

    def result(self) -> dict[str, Any]:
        """How it went, with the protocol's key."""
        return {**self.episodes.result(self.tools), "turns": self.turns}
