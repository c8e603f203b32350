"""One episode in the shop as named tools, for frameworks that bring their own model and loop.

`ShopTools` is what TRL calls an environment: `reset(goal=...)` opens a conversation, the other
public methods are tools with typed arguments, what is not possible is a `ValueError` that the
model reads, and `get_reward()` says how it went. It needs no trainer. Prompt, tools and pages are
those of the agent `llm` with `calls=tools` and `style=act`, so that what was trained here can be
evaluated by `errands run` in the same words.

    tools = ShopTools(ShopEnv(goals="human", split="disjoint-train", max_steps=15).context)
    conversation = opening_messages()
    conversation[-1]["content"] += tools.reset(goal=7)
    page = tools.search("red running shoes")
    same = ShopTools.at(**tools.state, shop=tools.shop)
"""

import functools
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Final, Literal, Self

from errands.agents.llm.prompts import Prompt, load
from errands.agents.llm.settings import ShopSettings
from errands.agents.llm.shop.agent import INVALID, OK, opening
from errands.agents.llm.shop.grammar import (
    ARGUMENTS,
    SHOP_TOOLS,
    THINK_TOOL,
    NoAction,
    ShopAction,
    invalid,
    read,
)
from errands.agents.llm.shop.page import ShopView, look, look_at
from errands.agents.llm.tools import EpisodeTools, ToolError, ToolSpec, plain
from errands.agents.llm.transport.messages import ChatAnswer, Message, ToolCall, clean, system, user
from errands.envs.episode import ShopContext, ShopEpisode
from errands.envs.shop import ShopEnv
from errands.errors import GoalError
from errands.shop.navigation import DONE

__all__ = ["ShopTools", "ThinkingShopTools", "opening_messages", "prompt_of"]

_PROMPT: Final = "shop-act-tools"


def opening_messages(
    *, shots: Literal[0, 1] = 1, settings: ShopSettings | None = None
) -> list[Message]:
    """What every conversation begins with: the rules (with a worked example, unless `shots` is 0),
    and a message of the user's to which the text of `reset` is added. `settings` are those of the
    agent `llm` that the conversation is to look like."""
    settings = settings or ShopSettings(style="act", calls="tools", shots=shots)
    return [system(opening(prompt_of(settings), settings)), user("")]


def prompt_of(settings: ShopSettings) -> Prompt:
    """The words of conversations with tools."""
    return load(f"shop-{settings.style}-tools", "shop", settings.prompt)


@functools.cache
def _demo_shop() -> ShopContext:
    return ShopEnv(goals="human", split="disjoint-train", max_steps=15).context


class ShopTools(EpisodeTools):
    """A customer's instruction, which a model carries out by calling `search` and `click`.

    Each call is one action of `errands/Shop-v0`, and one step of `max_steps`, also where it was
    not possible. Nothing that a method returns tells of the hidden goal more than the pages do.
    """

    specs: ClassVar[tuple[ToolSpec, ...]] = SHOP_TOOLS

    def __init__(
        self, shop: ShopContext | None = None, *, top: int = 0, prompt: Prompt | None = None
    ) -> None:
        """Many episodes may share one `shop` (`ShopEnv(...).context`); without one it is the demo
        shop with the human goals of `disjoint-train` and 15 steps. `top`: so many products on a
        results page and no turning of it; 0: all. `prompt`: other words than ours."""
        super().__init__()
        self._shop = shop or _demo_shop()
        self._top = top
        self._words = prompt
        self._episode: ShopEpisode | None = None
        self._actions: list[str] = []

    @classmethod
    def at(
        cls,
        goal: int,
        calls: Iterable[Any] = (),
        *,
        shop: ShopContext | None = None,
        top: int = 0,
        prompt: Prompt | None = None,
    ) -> Self:
        """An episode where these calls have led it: `ShopTools.at(**tools.state, shop=shop)`."""
        tools = cls(shop, top=top, prompt=prompt)
        tools._begin(goal)
        tools._replay(calls)
        return tools

    def reset(self, goal: int, **row: object) -> str:
        """Begin another episode.

        Args:
            goal: Which one: an index in the whole goal list, of the shop's split.
            row: What else a row of a data set may hold; it is not looked at.

        Returns:
            The instruction and the first page.
        """
        episode = self._begin(goal)
        words = self._words or _prompt()
        start = words.fill("start", instruction=episode.goal.instruction_text)
        return clean(f"{start}\n\n{self._text(episode)}")

    def search(self, query: str) -> str:
        """Look for products.

        Args:
            query: what to look for
        """
        return self._answer(self._act("search", query))

    def click(self, name: str) -> str:
        """Press what stands in brackets.

        Args:
            name: a product's code, option or button
        """
        return self._answer(self._act("click", name))

    @property
    def shop(self) -> ShopContext:
        """What all episodes of this shop share."""
        return self._shop

    @property
    def instruction(self) -> str:
        """What the customer asks for."""
        return self._begun.goal.instruction_text

    @property
    def index(self) -> int:
        """The goal's, in the whole goal list."""
        return self._begun.index

    @property
    def reward(self) -> float:
        """What the purchase was worth, 0 to 1; 0 as long as nothing is bought."""
        episode = self._episode
        return 0.0 if episode is None or episode.score is None else episode.score

    @property
    def reward_parts(self) -> dict[str, Any]:
        episode = self._episode
        return {} if episode is None or episode.result is None else dict(episode.result.parts)

    @property
    def bought(self) -> bool:
        return self._episode is not None and self._episode.result is not None

    @property
    def done(self) -> bool:
        """Whether something was bought, or no steps are left."""
        return self._episode is not None and self._episode.over

    @property
    def truncated(self) -> bool:
        return self._episode is not None and self._episode.truncated

    @property
    def over(self) -> bool:
        """`done`, under its older name."""
        return self.done

    @property
    def actions(self) -> tuple[str, ...]:
        """What was done since `reset`, as `errands/Shop-v0` understands it."""
        return tuple(self._actions)

    @property
    def state(self) -> dict[str, Any]:
        return {"goal": self.index, **super().state}

    @property
    def _begun(self) -> ShopEpisode:
        if self._episode is None:
            raise ToolError("There is no episode yet; call reset(goal=...) first.")
        return self._episode

    def _begin(self, goal: int) -> ShopEpisode:
        shop = self._shop
        index = shop.index(goal)
        if index not in shop.indices:
            raise GoalError(
                f"Goal {index} is not of the split {shop.config.split!r}; expected one of its"
                f" {len(shop.indices)} goals (`errands.shop.splits.split_indices` lists them)."
            )
        self._episode = ShopEpisode(shop, index, str(index))
        self._actions = []
        self._calls = []
        return self._episode

    def _do(self, name: str, arguments: Mapping[str, Any]) -> object:
        if name in ("search", "click") and arguments.keys() == {ARGUMENTS[name]}:
            return self._act(name, arguments[ARGUMENTS[name]])
        return super()._do(name, arguments)

    def _act(self, tool: str, value: object) -> ShopEpisode:
        """Take the step that a call is; a `ToolError` where it was not possible."""
        episode = self._begun
        if episode.over:
            reason = "something was bought" if self.bought else "no steps are left"
            raise ToolError(f"The errand is over, {reason}: no tool can be called any more.")
        value = plain(value)
        action, problem = self._decide(episode, tool, value)
        before = episode.page
        self._note(tool, {ARGUMENTS[tool]: value})
        self._actions.append(action)
        episode.turn(action)
        if problem is None and episode.page is before:
            problem = f"The shop does not understand {clean(action[:80])!r}."
        if problem and not episode.over:
            raise ToolError(f"{INVALID} {problem}")
        if problem:
            raise ToolError(f"{INVALID} {problem} No steps are left: the errand is over.")
        return episode

    def _answer(self, episode: ShopEpisode) -> str:
        """What the model is told after a step."""
        page = episode.page
        if page.state.page == DONE:
            assert page.product is not None
            return f"You bought {clean(page.product.asin)}. The errand is over."
        shown = self._text(episode)
        return clean(
            f"{shown}\n\nNo steps are left: the errand is over." if episode.over else shown
        )

    def _decide(self, episode: ShopEpisode, tool: str, value: object) -> tuple[str, str | None]:
        """The action for the shop, and what is wrong with it."""
        written = json.dumps({ARGUMENTS[tool]: value})
        try:
            action = read(ChatAnswer(calls=(ToolCall(tool, written),)), thinks=False)
        except NoAction as problem:
            return invalid(written), f"{str(problem)[:1].upper()}{str(problem)[1:]}"
        if tool == "search":
            return self._searched(episode, action)
        if action.words.lower() not in self._clickables(episode):
            what = clean(action.words[:80])
            return invalid(str(action)), f"There is nothing called {what!r} to click on this page."
        return str(action), None

    def _searched(self, episode: ShopEpisode, action: ShopAction) -> tuple[str, str | None]:
        if not (self._shop.shop.search_anywhere or episode.page.has_search_bar):
            return invalid(str(action)), "This page has no search bar."
        return str(action), None

    def _clickables(self, episode: ShopEpisode) -> Collection[str]:
        if self._top:
            return self._view(episode).clickables
        return [name for name in episode.page.clicks if name != "search"]

    def _text(self, episode: ShopEpisode) -> str:
        """The page as the model reads it."""
        if not self._top:
            chosen = episode.page.options.values()
            shown = look_at(episode.page, episode.goal.instruction_text, chosen)
            if shown is not None:
                return shown
        return self._view(episode).text

    def _view(self, episode: ShopEpisode) -> ShopView:
        chosen = episode.page.options.values()
        return look(episode.text_rich(), episode.info(), chosen=chosen, top=self._top)


@functools.cache
def _prompt() -> Prompt:
    return load(_PROMPT, "shop")


class ThinkingShopTools(ShopTools):
    """The same with a third tool, for models that note down thoughts between their actions: what
    was learnt with `style=react`. A thought changes nothing, and is no step."""

    specs: ClassVar[tuple[ToolSpec, ...]] = (*SHOP_TOOLS, THINK_TOOL)

    def think(self, thought: str) -> str:
        """Note down a thought.

        Args:
            thought: what you think
        """
        if self.done:
            raise ToolError("The errand is over: no tool can be called any more.")
        self._thoughts += 1
        if self._thoughts > ShopSettings().thoughts:
            raise ToolError(f"{INVALID} You have thought enough: search or click.")
        return OK

    def _begin(self, goal: int) -> ShopEpisode:
        self._thoughts = 0
        return super()._begin(goal)

    def _act(self, tool: str, value: object) -> ShopEpisode:
        self._thoughts = 0
        return super()._act(tool, value)
