"""Episodes as conversations for supervised fine-tuning: messages, tools, reward, and what to learn.

Whoever played (a model, a person, a script), an episode's actions are carried out again and
written in the words of the agent `llm` (of the shop with the settings that are given, else with
tools and all of the history; of form pages those of `TurkTools`), so that what was learnt can be
evaluated in the same words. Messages and tools are as chat templates of `transformers` take them:
the arguments of a call are an object. `train` says of each message
whether it is to be learnt: the player's own actions, as far as they were possible.

With the style `sent`, a model's own requests are written instead, a line for each, as sent.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from errands.agents.llm.prompts import load
from errands.agents.llm.settings import ShopSettings, read_chat
from errands.agents.llm.shop.agent import (
    INVALID,
    OK,
    ShopTurn,
    check_window,
    offered_tools,
    opening,
    requested,
    said,
)
from errands.agents.llm.shop.grammar import NoAction, ShopAction
from errands.agents.llm.shop.grammar import read as read_answer
from errands.agents.llm.shop.page import ShopView, look
from errands.agents.llm.tools import EpisodeTools, ToolError, call_tool
from errands.agents.llm.transport.messages import (
    ChatAnswer,
    Message,
    answered,
    called,
    tool,
    user,
)
from errands.agents.llm.turk.tools import TurkPointerTools, TurkTools, form_messages
from errands.agents.model_call import ModelCall
from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError
from errands.plugins import nearest
from errands.runs.episode import Episode, RunInfo, Step
from errands.runs.episode_source import EpisodeSource
from errands.runs.store.base import StoreError
from errands.shop.navigation import parse_action
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import GrammarError, parse_answer

__all__ = ["STYLES", "ChatWriter"]

STYLES: Final = ("act", "react", "sent")
"""How conversations are written: actions alone, thoughts between them, or as they were sent."""

_BUTTON: Final = re.compile(r"^\[{1,2}(.+?)\]{1,2}$", re.MULTILINE)
_POINTER: Final = frozenset({"click", "type", "press_key", "drag", "select_text", "scroll"})

Turns = tuple[list[Message], list[bool]]
"""Messages, and of each whether it is to be learnt."""


class ChatWriter:
    """Writes episodes of a run as lines. `source` opens what the run was played in; it is asked
    for only where something is played again."""

    def __init__(
        self,
        info: RunInfo,
        style: str,
        source: Callable[[], EpisodeSource],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """`settings` are those of the agent `llm` that the conversations are to look like: `shots`,
        `top`, `window`, `calls`, `prompt`."""
        if style not in STYLES:
            raise StoreError(
                f"There is no style {style!r};{nearest(style, STYLES)} expected"
                f" {', '.join(STYLES)}."
            )
        if style == "react" and info.domain == "turk":
            raise StoreError(
                "style=react is for the shop: conversations about form pages have no thoughts;"
                " take style=act."
            )
        if settings and (info.domain == "turk" or style == "sent"):
            raise StoreError(
                f"The setting {next(iter(settings))!r} is for the shop's conversations of the"
                " styles act and react."
            )
        self._shop = _ShopWriter(read_chat(settings or {}, style)) if style != "sent" else None
        self._info = info
        self._style = style
        self._source = source

    def lines(self, episode: Episode) -> Iterator[dict[str, Any]]:
        """The lines of one episode that has a reward."""
        if self._style == "sent":
            yield from self._sent(episode)
            return
        try:
            if self._shop is not None and self._info.domain == "shop":
                for messages, train in self._shop.write(self._source(), episode):
                    yield self._line(episode, messages, train, self._shop.tools)
            else:
                messages, train, tools = _form_turns(self._source(), episode)
                yield self._line(episode, messages, train, tools)
        except ErrandsError as failure:
            raise StoreError(
                f"Episode {episode.summary.number} cannot be written as a conversation: {failure}"
            ) from None

    def _line(
        self, episode: Episode, messages: list[Message], train: list[bool], tools: Any, **more: Any
    ) -> dict[str, Any]:
        summary = episode.summary
        return {
            "messages": _for_templates(messages),
            "tools": list(tools),
            "train": train,
            "reward": summary.reward,
            "success": summary.success,
            "style": self._style,
            "run": self._info.id,
            "protocol": self._info.protocol_key,
            "agent": self._info.agent,
            "number": summary.number,
            "key": summary.key,
            **more,
        }

    def _sent(self, episode: Episode) -> Iterator[dict[str, Any]]:
        number = episode.summary.number
        if not any(step.calls for step in episode.steps):
            raise StoreError(
                f"Episode {number} has no messages of a model: take --style act or react, which"
                " write what anybody did."
            )
        for place, step in enumerate(episode.steps):
            for count, call in enumerate(step.calls):
                if not call.messages:
                    raise StoreError(
                        f"The messages of episode {number} were not kept: play with"
                        " --observations full, or take --style act."
                    )
                if _pictured(call):
                    raise StoreError(
                        f"Episode {number} was asked with pictures, of which only fingerprints are"
                        " kept: take --style act."
                    )
                train = [False] * len(call.messages) + [call.outcome in ("action", "thought")]
                messages = [*call.messages, _said(call)]
                yield self._line(
                    episode, messages, train, call.tools, step=place, call=count,
                    outcome=call.outcome,
                )  # fmt: skip


def _pictured(call: ModelCall) -> bool:
    return any(
        isinstance(message.get("content"), list)
        and any(part.get("type") == "image" for part in message["content"])
        for message in call.messages
    )


def _said(call: ModelCall) -> Message:
    """A model's answer as a message."""
    message: Message = {"role": "assistant", "content": call.answer}
    if call.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": one.name, "arguments": one.arguments},
            }
            for number, one in enumerate(call.calls)
        ]
    return message


def _for_templates(messages: list[Message]) -> list[Message]:
    """Messages as chat templates expect them: the arguments of calls are objects, and a result
    names its tool."""
    names: dict[str, str] = {}
    made = []
    for message in messages:
        if message.get("tool_calls"):
            calls = [_with_arguments(call) for call in message["tool_calls"]]
            names |= {call["id"]: call["function"]["name"] for call in calls}
            message = {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            message = {**message, "name": names.get(message["tool_call_id"], "")}
        made.append(message)
    return made


def _with_arguments(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        # Kept as the model wrote it.
        arguments = function["arguments"]
    return {**call, "function": {**function, "arguments": arguments}}


class _ShopWriter:
    """Plays an episode of the shop again, and writes it as the agent `llm` would have been asked.

    A request that goes on from the one before it is the same line; where the window has left
    something out, or with `calls=text`, whose requests tell everything anew, it begins another.
    """

    def __init__(self, settings: ShopSettings) -> None:
        self._settings = settings
        self._thinks = settings.style == "react"
        kind = f"shop-{settings.style}{'-tools' if settings.calls == 'tools' else ''}"
        self._prompt = load(kind, "shop", settings.prompt)
        self._opening = opening(self._prompt, settings)
        check_window(self._prompt, settings)

    @property
    def tools(self) -> list[dict[str, Any]]:
        return offered_tools(thinks=self._thinks) if self._settings.calls == "tools" else []

    def write(self, source: EpisodeSource, episode: Episode) -> Iterator[Turns]:
        env: Any = source.env()
        assert isinstance(env, ShopEnv)
        env.reset(options=source.options(episode.summary.number))
        self._start = self._prompt.fill("start", instruction=env.episode.goal.instruction_text)
        view = self._look(env)
        self._first = view.text
        lines = [self._asked([])]
        turns: list[ShopTurn] = []
        reward: float | None = None
        for step in episode.steps:
            made = [ShopTurn(thought, OK) for thought in (_thoughts(step) if self._thinks else ())]
            action = _as_shown(step.action, view.text)
            if action.words.lower() in view.hidden:
                raise StoreError(
                    f"it clicks on {action.words}, which top={self._settings.top} does not show;"
                    " give its player the same limit, or take --set top=0."
                )
            _, reward, _, _, info = env.step(step.action)
            view = self._look(env)
            if not (step.calls and step.calls[-1].outcome == "thought"):
                made.append(ShopTurn(action, view.text if info["valid_action"] else INVALID))
            for turn in made:
                self._say(lines, turn, len(turns))
                turns.append(turn)
                asked = self._asked(turns)
                if _goes_on(lines[-1][0], asked[0]):
                    lines[-1][0].extend(asked[0][len(lines[-1][0]) :])
                    lines[-1][1].extend([False] * (len(lines[-1][0]) - len(lines[-1][1])))
                else:
                    lines.append(asked)
        _check_reward(episode, reward)
        lines = [_until_last_action(*line) for line in lines]
        yield from (line for line in lines if any(line[1]))

    def _asked(self, turns: list[ShopTurn]) -> Turns:
        """A request, of which nothing is to be learnt."""
        messages = requested(self._settings, self._opening, self._start, self._first, turns)
        return messages, [False] * len(messages)

    def _say(self, lines: list[Turns], turn: ShopTurn, number: int) -> None:
        """What was said to the last request."""
        is_tools = self._settings.calls == "tools"
        messages, train = lines[-1]
        messages.append(said(turn, number)[0] if is_tools else answered(str(turn.action)))
        train.append(turn.observation != INVALID)

    def _look(self, env: ShopEnv) -> ShopView:
        episode = env.episode
        chosen = episode.page.options.values()
        return look(episode.text_rich(), episode.info(), chosen=chosen, top=self._settings.top)


def _goes_on(earlier: list[Message], later: list[Message]) -> bool:
    return later[: len(earlier)] == earlier


def _as_shown(action: str, page: str) -> ShopAction:
    """An action in the letters of the page: the shop takes any case, and scripts write lower."""
    kind, words = parse_action(action)
    if words is None or kind not in ("search", "click"):
        return ShopAction("invalid", action)
    if kind == "click":
        names = {name.lower(): name for name in _BUTTON.findall(page)}
        words = names.get(words.lower(), words)
    return ShopAction(kind, words)


def _thoughts(step: Step) -> Iterator[ShopAction]:
    """What was thought before an action: a model's thoughts, else what the player noted."""
    for call in step.calls:
        if call.outcome != "thought":
            continue
        try:
            yield read_answer(ChatAnswer(call.answer, call.calls), thinks=True)
        except NoAction:
            continue
    if not step.calls and step.thought.strip():
        yield ShopAction("think", " ".join(step.thought.split()))


def _form_turns(
    source: EpisodeSource, episode: Episode
) -> tuple[list[Message], list[bool], list[dict[str, Any]]]:
    env: Any = source.env()
    try:
        steps = [_form_actions(step.action) for step in episode.steps]
        pointer = any(one.name in _POINTER for actions in steps for one in actions or ())
        forms = replace(env.config, max_steps=None)
        kind = TurkPointerTools if pointer else TurkTools
        tools = kind(forms, pages=env.pages)
        options = source.options(episode.summary.number)
        messages = form_messages(pointer=pointer)
        first = tools.reset(task=options["task"], row=options["row"])
        messages[-1] = user(messages[-1]["content"] + first)
        train = [False] * len(messages)
        for step, actions in zip(episode.steps, steps, strict=True):
            made = _form_messages(tools, step, actions, len(messages))
            messages += made[0]
            train += made[1]
    finally:
        env.close()
    if episode.summary.status == "done":
        _check_reward(episode, tools.reward)
    return *_until_last_action(messages, train), [spec.function() for spec in tools.specs]


def _form_actions(action: str) -> list[Action] | None:
    """The actions of a step; None where it has none that can be read."""
    try:
        return list(parse_answer(action))
    except GrammarError:
        return None


def _form_messages(
    tools: EpisodeTools, step: Step, actions: list[Action] | None, number: int
) -> Turns:
    """What was said in a step, with the calls that its actions are."""
    if actions is None:
        return [answered(step.action), user(step.message or INVALID)], [False, False]
    messages: list[Message] = []
    train: list[bool] = []
    for place, action in enumerate(actions):
        call = _form_call(action)
        if call is None or tools.done:
            continue
        name, arguments = call
        at = 100 * number + place
        try:
            result, valid = call_tool(tools, name, arguments), True
        except ToolError as problem:
            result, valid = str(problem), False
        messages += [called(name, arguments, at), tool(result, at)]
        train += [valid, False]
    return messages, train


def _form_call(action: Action) -> tuple[str, dict[str, Any]] | None:
    """An action as a call of a tool; None for those that only look."""
    given = {name: value for name, value in action.arguments.items() if value is not None}
    if action.name.startswith("modify_"):
        return "fill", {"name": given["name"], "value": str(given["value"])}
    match action.name:
        case "submit":
            return "submit", {}
        case "get_html":
            return "read", given
        case "click":
            return ("click" if "selector" in given else "click_at"), given
        case "type":
            return "type_text", given
        case "scroll":
            return "scroll", {"y": given["y"]}
        case "press_key" | "drag" | "select_text":
            return action.name, given
    return None


def _until_last_action(messages: list[Message], train: list[bool]) -> Turns:
    """Without what the last action was answered with: nobody says anything after it."""
    if messages[-1]["role"] == "assistant":
        return messages, train
    if messages[-2]["role"] == "assistant":
        return messages[:-1], train[:-1]
    return messages, train


def _check_reward(episode: Episode, reward: float | None) -> None:
    kept = episode.summary.reward
    if reward is None or abs(reward - (kept or 0.0)) > 1e-9:
        raise StoreError(f"played again, its reward is {reward}, not {kept}.")
