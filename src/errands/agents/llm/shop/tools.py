"""One errand in the shop as named tools, for trainers that bring their own model and loop.

`ShopTools` is what TRL calls an environment: `reset(goal=...)` opens a conversation, the other
public methods are tools with typed arguments, what is not possible is a `ValueError` that the
model reads, and `reward` says how the errand went. It needs no trainer. Prompt, tools and pages
are those of the agent `llm` with `calls=tools` and `style=act`, so that what was trained here can
be evaluated by `errands run` in the same words.

    tools = ShopTools(ShopEnv(goals="human", split="disjoint-train", max_steps=15).context)
    conversation = opening_messages()
    conversation[-1]["content"] += tools.reset(goal=7)
    page = tools.search("red running shoes")
"""

import json
from typing import Final, Literal

from errands.agents.llm.prompts import load
from errands.agents.llm.settings import ShopSettings
from errands.agents.llm.shop.agent import INVALID, opening
from errands.agents.llm.shop.grammar import NoAction, ShopAction, invalid, read
from errands.agents.llm.shop.page import ShopView, look
from errands.agents.llm.transport.messages import ChatAnswer, Message, ToolCall, clean, system, user
from errands.envs.episode import ShopContext, ShopEpisode
from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, GoalError
from errands.shop.navigation import DONE

__all__ = ["ShopTools", "ToolError", "opening_messages"]

_PROMPT: Final = "shop-act-tools"


class ToolError(ErrandsError, ValueError):
    """A tool was called when or as it cannot be; the message is for the model."""


def opening_messages(*, shots: Literal[0, 1] = 1) -> list[Message]:
    """What every conversation begins with: the rules (with a worked example, unless `shots` is 0),
    and a message of the user's to which the text of `reset` is added."""
    rules = opening(load(_PROMPT, "shop"), ShopSettings(style="act", calls="tools", shots=shots))
    return [system(rules), user("")]


class ShopTools:
    """A customer's errand, which a model does by calling `search` and `click`.

    Each call is one action of `errands/Shop-v0`, and one step of `max_steps`, also where it was
    not possible. Nothing that a method returns tells of the hidden goal more than the pages do.
    Private methods and properties are no tools.
    """

    def __init__(self, shop: ShopContext | None = None, *, top: int = 0) -> None:
        """Many errands may share one `shop` (`ShopEnv(...).context`); without one it is the demo
        shop with the human goals of `disjoint-train` and 15 steps. `top`: so many products on a
        results page and no turning of it; 0: all."""
        self._shop = shop or ShopEnv(goals="human", split="disjoint-train", max_steps=15).context
        self._top = top
        self._start = load(_PROMPT, "shop")
        self._episode: ShopEpisode | None = None
        self._actions: list[str] = []

    def reset(self, goal: int, **row: object) -> str:
        """Begin another errand.

        Args:
            goal: Which one: an index in the whole goal list, of the shop's split.
            row: What else a row of a data set may hold; it is not looked at.

        Returns:
            The instruction and the first page.
        """
        shop = self._shop
        index = shop.index(goal)
        if index not in shop.indices:
            raise GoalError(
                f"Goal {index} is not of the split {shop.config.split!r}; expected one of its"
                f" {len(shop.indices)} goals (`errands.shop.splits.split_indices` lists them)."
            )
        self._episode = ShopEpisode(shop, index, str(index))
        self._actions = []
        start = self._start.fill("start", instruction=self._episode.goal.instruction_text)
        return clean(f"{start}\n\n{self._view(self._episode).text}")

    def search(self, query: str) -> str:
        """Look for products.

        Args:
            query: what to look for
        """
        return self._call("search", "query", query)

    def click(self, name: str) -> str:
        """Press what stands in brackets.

        Args:
            name: a product's code, option or button
        """
        return self._call("click", "name", name)

    @property
    def reward(self) -> float:
        """What the purchase was worth, 0 to 1; 0 as long as nothing is bought."""
        episode = self._episode
        return 0.0 if episode is None or episode.score is None else episode.score

    @property
    def bought(self) -> bool:
        return self._episode is not None and self._episode.result is not None

    @property
    def over(self) -> bool:
        """Whether something was bought, or no steps are left."""
        return self._episode is not None and self._episode.over

    @property
    def actions(self) -> tuple[str, ...]:
        """What was done since `reset`, as `errands/Shop-v0` understands it."""
        return tuple(self._actions)

    def _call(self, tool: str, argument: str, value: object) -> str:
        episode = self._episode
        if episode is None:
            raise ToolError("There is no errand yet; call reset(goal=...) first.")
        if episode.over:
            reason = "something was bought" if self.bought else "no steps are left"
            raise ToolError(f"The errand is over, {reason}: no tool can be called any more.")
        action, problem = self._decide(episode, tool, argument, value)
        before = episode.page
        self._actions.append(action)
        episode.step(action)
        if problem is None and episode.page is before:
            problem = f"The shop does not understand {clean(action[:80])!r}."
        if problem and not episode.over:
            raise ToolError(f"{INVALID} {problem}")
        if problem:
            raise ToolError(f"{INVALID} {problem} No steps are left: the errand is over.")
        page = episode.page
        if page.state.page == DONE:
            assert page.product is not None
            return f"You bought {clean(page.product.asin)}. The errand is over."
        shown = self._view(episode).text
        return clean(
            f"{shown}\n\nNo steps are left: the errand is over." if episode.over else shown
        )

    def _decide(
        self, episode: ShopEpisode, tool: str, argument: str, value: object
    ) -> tuple[str, str | None]:
        """The action for the shop, and what is wrong with it."""
        written = json.dumps({argument: value}, default=repr)
        try:
            action = read(ChatAnswer(calls=(ToolCall(tool, written),)), thinks=False)
        except NoAction as problem:
            return invalid(written), f"{str(problem)[:1].upper()}{str(problem)[1:]}"
        if tool == "search":
            return self._searched(episode, action)
        view = self._view(episode)
        if action.words.lower() not in view.clickables:
            what = clean(action.words[:80])
            return invalid(str(action)), f"There is nothing called {what!r} to click on this page."
        return str(action), None

    def _searched(self, episode: ShopEpisode, action: ShopAction) -> tuple[str, str | None]:
        if not (self._shop.shop.search_anywhere or episode.page.has_search_bar):
            return invalid(str(action)), "This page has no search bar."
        return str(action), None

    def _view(self, episode: ShopEpisode) -> ShopView:
        chosen = episode.page.options.values()
        return look(episode.text_rich(), episode.info(), chosen=chosen, top=self._top)
