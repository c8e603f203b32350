"""`errands/RealShop-v0`: a real shop's pages as an environment like `errands/Shop-v0`.

Observations, actions and infos are those of the shop, so agents for one play the other. Only a
search and opening an item request a page. A purchase ends the episode and is recorded for scoring:
nothing is ever bought.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from errands.envs.config import ShopConfig
from errands.envs.episode import OBSERVATIONS, Info, ShopContext, ShopEpisode
from errands.envs.screenshots import no_pictures
from errands.envs.shop import ShopEnv
from errands.errors import SettingError
from errands.shop.goals import ListedGoals
from errands.shop.navigation import Page, State
from errands.shop.rewards.nouns import tagger
from errands.shop.rewards.rules import Reward
from errands.transfer.fetch.fetcher import (
    REQUEST_KINDS,
    Fetch,
    FetchedPage,
    PageRequest,
    RequestPolicy,
)
from errands.transfer.goals import TAGGER, TransferGoal, instruction_goal
from errands.transfer.live_catalog import LiveCatalog, LiveShop
from errands.transfer.sites.record import SiteCard, SiteProduct, SiteResults, site_results
from errands.transfer.sites.site import PageKind, RequestKind, SiteReader, find_site

__all__ = ["DEFAULTS", "LiveEpisode", "LivePurchase", "LiveShopEnv", "PagePreview", "preview"]

DEFAULTS: Final = ShopConfig(observation="text_rich", max_steps=50)
"""The options of a real shop's environment, where nobody says otherwise."""


class LivePurchase(msgspec.Struct, frozen=True):
    """A purchase that was not made: what would have been bought, and with which options."""

    product: SiteProduct
    options: dict[str, str]
    url: str


class LiveContext(ShopContext):
    """A real shop and what is wanted there. Each episode comes to a shop it has not seen."""

    def __init__(
        self,
        goals: Sequence[TransferGoal],
        site: SiteReader,
        policy: RequestPolicy,
        config: ShopConfig,
        *,
        details: bool,
        stand_in: bool,
    ) -> None:
        no_pictures(config.observation, f"is not possible; expected {', '.join(OBSERVATIONS)}")
        self.wanted = tuple(goals)
        self.site = site
        self.policy = policy
        self._details = details
        self._stand_in = stand_in
        self._tagger = tagger(TAGGER)
        self.live_catalog = self._unseen()
        listed = ListedGoals(
            site.name, [goal.goal for goal in self.wanted], lambda product: product.price
        )
        super().__init__(config, LiveShop(self.live_catalog, config), listed)

    def _unseen(self) -> LiveCatalog:
        return LiveCatalog(
            self.site, self.policy, self._tagger, details=self._details, stand_in=self._stand_in
        )

    def begin(self, rng: np.random.Generator, options: Mapping[str, Any] | None) -> "LiveEpisode":
        self.policy.begin()
        self.live_catalog = self._unseen()
        self.shop = LiveShop(self.live_catalog, self.config)
        self.front = self.shop.look(State())
        drawn = super().begin(rng, options)
        return LiveEpisode(self, drawn.index, drawn.session)


class LiveEpisode(ShopEpisode):
    """One goal in a real shop."""

    __slots__ = ("live", "purchase", "wanted")

    def __init__(self, context: LiveContext, index: int, session: str) -> None:
        super().__init__(context, index, session)
        self.live = context
        self.wanted = context.wanted[index]
        self.purchase: LivePurchase | None = None

    @property
    def score(self) -> float | None:
        """Of the purchase; None as long as nobody has scored it."""
        return None if self.wanted.by_hand else super().score

    @property
    def site_url(self) -> str:
        """Where the page is on the site."""
        return self.live.live_catalog.page_url(self.page)

    def judge(self, page: Page) -> Reward:
        """Record the purchase, and score it where the goal says what is wanted."""
        if page.product is not None:
            product = self.live.live_catalog.site_product(page.state.product)
            self.purchase = LivePurchase(
                product, page.options, self.live.live_catalog.page_url(page)
            )
            if self.wanted.by_hand:
                # No score yet: 0 is only what Gymnasium must be given.
                return Reward(0.0, {"pending": True})
        return super().judge(page)

    def info(self) -> Info:
        """As in the shop; also what was requested so far, and where the page is on the site."""
        info = super().info()
        kinds = [record.kind for record in self.live.policy.log]
        info["requests"] = {kind: kinds.count(kind) for kind in REQUEST_KINDS}
        info["site_url"] = self.site_url
        if self.purchase is not None:
            info["purchase"] = msgspec.to_builtins(self.purchase)
            if self.wanted.by_hand:  # 0 would be a score.
                del info["score"], info["success"]
        return info


class LiveShopEnv(ShopEnv):
    """A real shop with one customer, who never pays.

    Action and observation spaces are those of `errands/Shop-v0`. The reward is 0.0, and at the
    purchase that of `rules` where the goal says what is wanted; for one that is scored by hand it
    stays 0.0, and `info["reward_parts"]` is `{"pending": True}`. `info["purchase"]` has what would
    have been bought, `info["requests"]` counts requests, `info["site_url"]` is the page's address
    on the site.

    ## Arguments
    `goals`: instructions, or `TransferGoal`s. `site`: a `SiteReader`, the name of one, or
    `module:attribute`. `fetch`: where pages come from, a `Fetch` or a `RequestPolicy` around one.
    The rest are options of `ShopConfig`, or a `config`; `details` also requests parts of an item
    that are on pages of their own, and `stand_in` shows items without a page as the results do.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "html"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        goals: Sequence[str | TransferGoal],
        site: str | SiteReader,
        fetch: Fetch,
        *,
        config: ShopConfig | None = None,
        details: bool = False,
        stand_in: bool = False,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        for name in ("catalog", "split", "goal_draw"):
            if name in options:
                raise SettingError(f"{name}={options[name]!r}: a real shop has no such option.")
        reader = find_site(site)
        self.live = LiveContext(
            [instruction_goal(goal) if isinstance(goal, str) else goal for goal in goals],
            reader,
            fetch if isinstance(fetch, RequestPolicy) else RequestPolicy(fetch, reader),
            replace(config or DEFAULTS, goal_draw="uniform", split=None, **options),
            details=details,
            stand_in=stand_in,
        )
        """The real shop: its site, its request policy and what was seen of it."""
        super().__init__(context=self.live, render_mode=render_mode)

    @property
    def episode(self) -> LiveEpisode:
        """The episode being played."""
        episode = super().episode
        assert isinstance(episode, LiveEpisode)
        return episode


class PagePreview(NamedTuple):
    """A page of ours: what an agent sees of a real page, and what it can click there."""

    text: str
    clickables: list[str]


class _OnePageSite(SiteReader):
    """A site that is one page: every search finds it."""

    name = "one page"
    hosts: tuple[str, ...] = ()

    def __init__(self, site: SiteReader, kind: PageKind) -> None:
        self._site = site
        self._kind = kind

    def admits(self, kind: RequestKind, url: str) -> bool:
        return True

    def search_url(self, query: str, page: int) -> str:
        return f"saved:{page}"

    def item_url(self, id: str) -> str:
        return f"saved:{id}"

    def kind(self, html: str) -> PageKind:
        return self._kind

    def read_results(self, html: str, url: str = "") -> SiteResults:
        if self._kind == "search":
            return self._site.read_results(html)
        card = SiteCard(id=self._site.read_item(html).id or "item")
        return site_results([card], has_next=False)

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        return self._site.read_item(html)


def preview(site: SiteReader, html: str, kind: PageKind, instruction: str) -> PagePreview:
    """The page of ours that a real page of results, or an item, becomes."""

    def fetch(request: PageRequest) -> FetchedPage:
        return FetchedPage(request.url, 200, html)

    env = LiveShopEnv([instruction], _OnePageSite(site, kind), fetch)
    env.reset()
    text, *_, info = env.step("search[page]")
    if kind != "search":
        link = info["available_actions"]["clickables"][-1]
        text, *_, info = env.step(f"click[{link}]")
    return PagePreview(text, info["available_actions"]["clickables"])
