"""What a shop environment is made of: what its episodes share, and one episode.

A `ShopContext` is shared by all sub-environments; a `ShopEpisode` is a goal, a page and, if asked
for, a little history. The single and the vector environment are thin shells around these two.
"""

import operator
from collections import deque
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from errands.envs.config import ShopConfig
from errands.envs.observations import (
    SHOP_FORMATS,
    Observation,
    foreign_format,
    observation_key,
)
from errands.envs.screenshots import PICTURED
from errands.envs.snapshots import (
    Purchased,
    ShopSnapshot,
    Snapshot,
    changed_options,
    plain_snapshot,
    read_snapshot,
    rng_from,
    rng_text,
    short_hash,
    unfit,
)
from errands.errors import GoalError, SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, GoalSet, ListedGoals, ListedPrices, weighted_index
from errands.shop.navigation import DONE, RESULTS, SEARCH, Page, Shop, State
from errands.shop.product import Product
from errands.shop.render.html import html
from errands.shop.render.images import picture_source
from errands.shop.render.text import SEPARATOR, text, text_rich
from errands.shop.rewards.registry import rules_key, rules_named, rules_reference
from errands.shop.rewards.rules import Purchase, Reward
from errands.shop.splits import split_indices, warn_of_overlap
from errands.shop.urls import page_url

__all__ = ["OBSERVATIONS", "Info", "ShopContext", "ShopEpisode", "renderer"]


_GOALS_LOOKED_AT: Final = 64
"""Of a catalogue's own goals, to tell sets apart: its checksum says what they are made of."""

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
        warn_of_overlap(config.split, goals)
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
        """Draw a goal: see docs/explanation/compatibility.md (B2) for what `released` means."""
        goal_draw = self.config.goal_draw
        if goal_draw == "uniform" or (goal_draw == "released" and self.config.split):
            return self.indices[int(rng.integers(len(self.indices)))]
        cumulative = self.goals.cumulative
        if goal_draw == "released":
            # The same draw as `rng.uniform`, at a fraction of its cost.
            return weighted_index(cumulative, lambda low, high: low + (high - low) * rng.random())
        sums = self._split_sums
        low, high = float(sums[0]), float(sums[-1])
        drawn = low + (high - low) * rng.random()
        place = int(np.searchsorted(sums, drawn, "right")) - 1
        return self.indices[min(place, len(self.indices) - 1)]

    @cached_property
    def fingerprint(self) -> str:
        """The data and the options in one line: where it is the same, episodes go on the same."""
        goals = self.goals
        if isinstance(goals, ListedGoals):
            told: list[Any] = list(goals)
            if isinstance(goals.price, ListedPrices):
                told.append(goals.price)
        else:
            told = [goals[i] for i in range(0, len(goals), -(-len(goals) // _GOALS_LOOKED_AT))]
        parts = [
            f"Shop catalog:{self.catalog.manifest.checksum[:12]}",
            f"goals:{len(goals)}:{short_hash(msgspec.json.encode(told))}",
            f"rules:{rules_reference(self.rules)}",
            rules_key(self.rules),
            observation_key(SHOP_FORMATS, self.config.observation),
            changed_options(self.config, ("catalog", "goals", "rules")),
        ]
        return " ".join(filter(None, parts))

    def restored(self, snapshot: Snapshot) -> tuple["ShopEpisode", np.random.Generator]:
        """The episode of a snapshot as it was, and the generator that draws the next ones."""
        saved = read_snapshot(ShopSnapshot, snapshot, self.fingerprint)
        episode = ShopEpisode(self, self.index(saved.goal), saved.session)
        episode.resume(saved)
        return episode, rng_from(saved.rng)

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
        "_bought",
        "_last",
        "_seen",
        "changed",
        "context",
        "goal",
        "index",
        "over",
        "page",
        "result",
        "session",
        "steps",
        "truncated",
        "valid",
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
        self.valid = True
        """Whether the last action was understood and possible."""
        self.changed = True
        """Whether the last action led elsewhere."""
        self._bought: State | None = None
        self._last = ""
        self._actions: deque[str] | None = None
        self._seen: deque[str] | None = None
        config = context.config
        if config.num_prev_obs or config.num_prev_actions:
            # The page that is shown is the last one.
            self._seen = deque(maxlen=config.num_prev_obs + 1)
            self._actions = deque(maxlen=config.num_prev_actions)

    def first(self) -> tuple[str, Info]:
        """What reset returns."""
        seen = self.context.render(self)
        if self._seen is not None:
            self._seen.append(seen)
        return seen, self.info()

    def step(self, action: Any) -> Step:
        """Act; after the end nothing changes any more."""
        if not isinstance(action, str):
            action = str(action)
        context = self.context
        if self.over and (self.truncated or context.locked):
            # Whoever goes on after a purchase may be truncated elsewhere: as in the last step.
            ended = self.page.state.page == DONE
            self.valid = self.changed = False
            return self._last, 0.0, ended, self.truncated, self.info()
        reward = self.turn(action)
        seen = self._observe(action)
        if self.over:
            self._last = seen
        return seen, reward, self.page.state.page == DONE, self.truncated, self.info()

    def turn(self, action: str) -> float:
        """Act, and show nothing: the reward alone, for those who render pages themselves."""
        context = self.context
        before = self.page
        self.page = page = context.shop.turn(before, action)
        # What is not possible leaves the page as it is; a choice made twice makes an equal one.
        self.valid = page is not before
        self.changed = self.valid and page.state != before.state
        self.steps += 1
        if page.state.page == DONE and page is not before:
            self._bought = page.state
            self.result = self.judge(page)
            self.over = True
            return self.result.total
        if context.max_steps is not None and self.steps >= context.max_steps:
            self.over = self.truncated = True
        return 0.0

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
            "valid_action": self.valid,
            "page_changed": self.changed,
        }
        if self.over:
            score = info["score"] = 0.0 if self.result is None else self.result.total
            info["success"] = score >= 1.0
        if self.result is not None:
            info["reward_parts"] = dict(self.result.parts)
        return info

    def snapshot(self, rng: np.random.Generator) -> Snapshot:
        """The episode as plain data, with the state of the generator that draws the next ones."""
        state, bought = self.page.state, self._bought
        saved = ShopSnapshot(
            of=self.context.fingerprint,
            rng=rng_text(rng),
            goal=self.index,
            session=self.session,
            steps=self.steps,
            over=self.over,
            truncated=self.truncated,
            valid_action=self.valid,
            page_changed=self.changed,
            page=state.page,
            query=state.query,
            number=state.number,
            product=state.product,
            options=state.options,
            visited=state.visited,
            purchased=None if bought is None else Purchased(bought.product, bought.options),
            seen=tuple(self._seen or ()),
            actions=tuple(self._actions or ()),
        )
        return plain_snapshot(saved)

    def resume(self, saved: ShopSnapshot) -> None:
        """Go on, on the first page of the same goal, where a snapshot was taken."""
        shop = self.context.shop
        if saved.page == RESULTS:
            results = State(RESULTS, saved.query, saved.number, shop.find(saved.query))
            self.page = shop.look(msgspec.structs.replace(results, visited=saved.visited))
        elif saved.page != SEARCH:
            product = self._product(saved.product, saved.options)
            state = State(
                saved.page,
                saved.query,
                saved.number,
                shop.find(saved.query),
                saved.product,
                saved.options,
                saved.visited,
            )
            self.page = shop.look(state, product)
        if saved.purchased is not None:
            product = self._product(saved.purchased.product, saved.purchased.options)
            self._bought = State(
                DONE, product=saved.purchased.product, options=saved.purchased.options
            )
            self.result = self.judge(shop.look(self._bought, product))
        self.steps = saved.steps
        self.over = saved.over
        self.truncated = saved.truncated
        self.valid = saved.valid_action
        self.changed = saved.page_changed
        if self._seen is not None and self._actions is not None:
            self._seen.extend(saved.seen)
            self._actions.extend(saved.actions)
        self._last = self.observation() if self.over else ""

    def _product(self, number: int, options: tuple[tuple[str, str], ...]) -> Product:
        """A product that a snapshot names, if it is there and has these options."""
        catalog = self.context.catalog
        if not 0 <= number < len(catalog):
            raise unfit(f"product {number}, and there are 0 to {len(catalog) - 1}")
        product = catalog.product(number)
        for name, value in options:
            if value not in product.options.get(name, ()):
                raise unfit(f"the option {name!r}: {value!r}, which {product.asin} does not have")
        return product

    def observation(self) -> str:
        """What the last reset or step showed."""
        return self.context.render(self) if self._seen is None else self._with_past()

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
        self._seen.append(seen)
        return self._with_past()

    def _with_past(self) -> str:
        """The page after as much of the past as the config asks for, the latest last."""
        assert self._seen is not None
        assert self._actions is not None
        shown = [self._seen[-1]]
        for back in range(1, 1 + max(len(self._actions), len(self._seen) - 1)):
            if back <= len(self._actions):
                shown.append(self._actions[-back])
            if back < len(self._seen):
                shown.append(self._seen[-1 - back])
        return SEPARATOR.join(reversed(shown))


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
