"""What a shop environment is made of: what its episodes share, and one episode.

A `ShopContext` is shared by all sub-environments; a `ShopEpisode` is a goal, a page and, if asked
for, a little history. The single and the vector environment are thin shells around these two.
"""

import operator
from collections import deque
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from errands.envs.config import ShopConfig
from errands.envs.observations import SHOP_FORMATS, Observation, foreign_format
from errands.envs.screenshots import PICTURED
from errands.errors import GoalError, SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, GoalSet, weighted_index
from errands.shop.navigation import DONE, Page, Shop, State
from errands.shop.render.html import html
from errands.shop.render.images import picture_source
from errands.shop.render.text import SEPARATOR, text, text_rich
from errands.shop.rewards.registry import rules_named
from errands.shop.rewards.rules import Purchase, Reward
from errands.shop.splits import split_indices
from errands.shop.urls import page_url

__all__ = ["OBSERVATIONS", "Info", "ShopContext", "ShopEpisode", "renderer"]


Info = dict[str, Any]
Step = tuple[str, float, bool, bool, Info]


class ShopContext:
    """An open shop and its goals under one config."""

    def __init__(
        self, config: ShopConfig, shop: Shop | None = None, goals: GoalSet | None = None
    ) -> None:
        """`shop` and `goals` stand in place of those of the catalogue that the config names."""
        if shop is None or goals is None:
            catalog = Catalog.open(config.catalog)
            goals = catalog.goals(config.goals)
            shop = Shop(
                catalog,
                search_anywhere=config.search_anywhere,
                show_attrs=config.show_attrs,
                special_queries=config.special_queries,
                locked_when_done=config.after_purchase == "locked",
            )
        self.config = config
        self.goals = goals
        self.indices = split_indices(config.split, goals)
        self.rules = rules_named(config.rules)
        self.max_steps = config.max_steps
        self.true_marks = config.marks == "true"
        self.locked = config.after_purchase == "locked"
        self.shop = shop
        self.front = shop.look(State())
        self.render = renderer(config.observation)

    @property
    def catalog(self) -> Catalog:
        """The catalogue that the shop sells from."""
        if not isinstance(self.shop.source, Catalog):
            raise SettingError("This shop sells from no catalogue: it is a real one.")
        return self.shop.source

    def begin(self, rng: np.random.Generator, options: Mapping[str, Any] | None) -> "ShopEpisode":
        """Start an episode: on the goal that `options` names, or on one that is drawn."""
        options = options or {}
        unknown = [name for name in options if name not in ("goal", "session")]
        if unknown:
            raise SettingError(
                f"reset has no option {unknown[0]!r}; expected 'goal' (an index) or 'session'."
            )
        wanted = options.get("goal")
        index = self.draw(rng) if wanted is None else self.index(wanted)
        return ShopEpisode(self, index, str(options.get("session", index)))

    def index(self, wanted: Any) -> int:
        """A goal index as given by a caller, checked; negative ones count from the end."""
        try:
            index = operator.index(wanted)
        except TypeError:
            raise GoalError(f"Goal {wanted!r} is not an index; expected a whole number.") from None
        count = len(self.goals)
        if not -count <= index < count:
            raise GoalError(f"There is no goal {index}; expected 0 to {count - 1}.")
        return index % count

    def draw(self, rng: np.random.Generator) -> int:
        """Draw a goal: see docs/compatibility.md (B2) for what `released` means."""
        goal_draw = self.config.goal_draw
        if goal_draw == "uniform" or (goal_draw == "released" and self.config.split):
            return self.indices[int(rng.integers(len(self.indices)))]
        cumulative = self.goals.cumulative
        if goal_draw == "released":
            # The same draw as `rng.uniform`, at a fraction of its cost.
            return weighted_index(cumulative, lambda low, high: low + (high - low) * rng.random())
        sums = self._split_sums
        drawn = rng.uniform(sums[0], sums[-1])
        place = int(np.searchsorted(sums, drawn, "right")) - 1
        return self.indices[min(place, len(self.indices) - 1)]

    @cached_property
    def _split_sums(self) -> NDArray[np.float64]:
        """The running sum of the weights of the split's goals."""
        cumulative = np.asarray(self.goals.cumulative)
        if isinstance(self.indices, range):
            return cumulative[self.indices.start : self.indices.stop + 1]
        return np.concatenate([[0.0], np.cumsum(np.diff(cumulative)[list(self.indices)])])


class ShopEpisode:
    """One goal being shopped for."""

    __slots__ = (
        "_actions",
        "_last",
        "_seen",
        "context",
        "goal",
        "index",
        "over",
        "page",
        "result",
        "session",
        "steps",
        "truncated",
    )

    def __init__(self, context: ShopContext, index: int, session: str) -> None:
        self.context = context
        self.index = index
        self.goal: Goal = context.goals[index]
        self.session = session
        self.page: Page = context.front
        self.result: Reward | None = None
        self.steps = 0
        self.over = False
        self.truncated = False
        self._last = ""
        self._actions: deque[str] | None = None
        self._seen: deque[str] | None = None

    def first(self) -> tuple[str, Info]:
        """What reset returns."""
        seen = self.context.render(self)
        config = self.context.config
        if config.num_prev_obs or config.num_prev_actions:
            self._seen = deque([seen], max(config.num_prev_obs, 1))
            self._actions = deque(maxlen=max(config.num_prev_actions, 1))
        return seen, self.info()

    def step(self, action: Any) -> Step:
        """Act; after the end nothing changes any more."""
        if not isinstance(action, str):
            action = str(action)
        context = self.context
        if self.over and (self.truncated or context.locked):
            # Whoever goes on after a purchase may be truncated elsewhere: as in the last step.
            ended = self.page.state.page == DONE
            return self._last, 0.0, ended, self.truncated, self.info()
        before = self.page
        self.page = page = context.shop.turn(before, action)
        self.steps += 1
        reward = 0.0
        terminated = page.state.page == DONE
        if terminated and page is not before:
            self.result = self.judge(page)
            reward = self.result.total
            self.over = True
        elif context.max_steps is not None and self.steps >= context.max_steps:
            self.over = self.truncated = True
        seen = self._observe(action)
        if self.over:
            self._last = seen
        return seen, reward, terminated, self.truncated, self.info()

    def judge(self, page: Page) -> Reward:
        """The reward of buying what an item page (or the page after the purchase) shows."""
        product = page.product
        if product is None:
            raise SettingError(f"Nothing can be bought on a {page.state.page} page; open an item.")
        purchase = Purchase(product, page.options, self.context.goals.price(product))
        return self.context.rules(purchase, self.goal)

    def info(self) -> Info:
        page = self.page
        info: Info = {
            "goal": self.index,
            "instruction": self.goal.instruction_text,
            "available_actions": {
                "has_search_bar": page.has_search_bar,
                "clickables": list(page.clicks),
            },
        }
        if self.result is not None:
            info["reward_parts"] = dict(self.result.parts)
        return info

    @property
    def score(self) -> float | None:
        return None if self.result is None else self.result.total

    def text(self) -> str:
        return text(self.page, self.goal.instruction_text, self.score)

    def text_rich(self) -> str:
        return text_rich(
            self.page,
            self.goal.instruction_text,
            self.score,
            session=self.session,
            true_marks=self.context.true_marks,
        )

    def html(self) -> str:
        # The default session: an address must not tell which goal is being played.
        source = self.context.shop.source
        return html(
            self.page,
            self.goal.instruction_text,
            self.score,
            picture=picture_source,
            image_of=lambda asin: source[asin].image,
        )

    def url(self) -> str:
        return page_url(self.page, self.session)

    def _observe(self, action: str) -> str:
        seen = self.context.render(self)
        if self._seen is None or self._actions is None:
            return seen
        self._actions.append(action)
        past: list[str] = []
        config = self.context.config
        for back in range(1, 1 + max(config.num_prev_obs, config.num_prev_actions)):
            if back <= min(len(self._actions), config.num_prev_actions):
                past.append(self._actions[-back])
            if back <= min(len(self._seen), config.num_prev_obs):
                past.append(self._seen[-back])
        self._seen.append(seen)
        return SEPARATOR.join([*reversed(past), seen])


OBSERVATIONS: Final = tuple(name for name in SHOP_FORMATS.own if name not in PICTURED)
"""Our formats that need no browser."""


def renderer(observation: Observation) -> Callable[[ShopEpisode], str]:
    """What shows an episode's page in a format; pictures are taken of its HTML."""
    foreign = foreign_format(SHOP_FORMATS, observation)
    if foreign is not None:
        return lambda episode: foreign(episode.page, episode.goal.instruction_text, episode.score)
    name = "html" if observation in PICTURED else str(observation)
    render: Callable[[ShopEpisode], str] = getattr(ShopEpisode, name)
    return render
