"""`errands/RealShop-v0`: a real shop's pages as an environment like `errands/Shop-v0`.

Observations, actions and infos are those of the shop, so agents for one play the other. Only a
search and opening an item ask for a page. A purchase ends the episode and is held: nothing is
ever bought.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
import numpy as np
from gymnasium import spaces

from errands.envs.config import ShopConfig
from errands.envs.episode import OBSERVATIONS, Info, ShopContext, ShopEpisode, renderer
from errands.envs.screenshots import no_pictures
from errands.envs.shop import ShopEnv
from errands.envs.spaces import ActionText, AnyText
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import ListedGoals
from errands.shop.navigation import Page, State
from errands.shop.rewards.nouns import tagger
from errands.shop.rewards.registry import rules_named
from errands.shop.rewards.rules import Purchase, Reward, RewardRules
from errands.transfer.fetch.fetcher import Fetch, Gate
from errands.transfer.goals import TAGGER, Errand, plain_errand
from errands.transfer.live_catalog import RealProduct, RealShop, Shelf
from errands.transfer.sites.record import FoundProduct
from errands.transfer.sites.site import Site, site_named

__all__ = ["Held", "RealEpisode", "RealShopEnv"]


class Held(msgspec.Struct, frozen=True):
    """A purchase that was not made: what would have been bought, and with which options."""

    product: FoundProduct
    options: dict[str, str]
    url: str


class RealShopping(ShopContext):
    """The settings of a real shop's environment. Each episode comes to a shop it has not seen."""

    def __init__(
        self,
        errands: Sequence[Errand],
        site: Site,
        gate: Gate,
        config: ShopConfig,
        *,
        details: bool,
        stand_in: bool,
    ) -> None:
        no_pictures(config.observation, f"is not possible; expected {', '.join(OBSERVATIONS)}")
        self.config = config
        self.errands = tuple(errands)
        self.site = site
        self.gate = gate
        self.goals = ListedGoals(
            site.name, [errand.goal for errand in self.errands], lambda product: product.price
        )
        self.indices = range(len(self.errands))
        self.rules = rules_named(config.rules)
        self.max_steps = config.max_steps
        self.true_marks = False
        self.locked = True
        self._details = details
        self._stand_in = stand_in
        self._tagger = tagger(TAGGER)
        self._open()
        self.render = renderer(config.observation)

    def _open(self) -> None:
        shelf = Shelf(
            self.site, self.gate, self._tagger, details=self._details, stand_in=self._stand_in
        )
        self.catalog = cast(Catalog, shelf)
        self.shop: RealShop = RealShop(shelf, search_anywhere=self.config.search_anywhere)
        self.front: Page = self.shop.look(State())

    def begin(self, rng: np.random.Generator, options: Mapping[str, Any] | None) -> "RealEpisode":
        self.gate.begin()
        self._open()
        begun = super().begin(rng, options)
        return RealEpisode(self, begun.index, begun.session)


class RealEpisode(ShopEpisode):
    """One errand in a real shop."""

    __slots__ = ("held",)

    context: RealShopping

    def __init__(self, context: RealShopping, index: int, session: str) -> None:
        super().__init__(context, index, session)
        self.held: Held | None = None

    @property
    def errand(self) -> Errand:
        return self.context.errands[self.index]

    @property
    def score(self) -> float | None:
        """Of the purchase; None as long as nobody has scored it."""
        return None if self.errand.by_hand else super().score

    def judge(self, page: Page) -> Reward:
        """Hold the purchase, and score it where the errand says what is wanted."""
        product = page.product
        if not isinstance(product, RealProduct):
            raise SettingError(f"Nothing can be bought on a {page.state.page} page; open an item.")
        shop = self.context.shop
        found = shop.shelf.found(page.state.product)
        self.held = Held(found, page.options, shop.address(page))
        if self.errand.by_hand:
            # No score yet: 0 is only what Gymnasium must be given.
            return Reward(0.0, {"pending": True})
        return self.context.rules(Purchase(product, page.options, product.price), self.goal)

    def info(self) -> Info:
        """As in the shop; also what was asked for so far, and where the page is on the site."""
        info = super().info()
        log = self.context.gate.log
        info["requests"] = {
            kind: sum(made.kind == kind for made in log) for kind in ("search", "item")
        }
        info["site_url"] = self.context.shop.address(self.page)
        if self.held is not None:
            info["purchase"] = msgspec.to_builtins(self.held)
        return info


class RealShopEnv(ShopEnv):
    """A real shop with one customer, who never pays.

    Action and observation spaces are those of `errands/Shop-v0`. The reward is 0.0, and at the
    purchase that of `rules` where the errand says what is wanted; for one that is scored by hand it
    stays 0.0, and `info["reward_parts"]` is `{"pending": True}`. `info["purchase"]` has what was
    held, `info["requests"]` what was asked for, `info["site_url"]` where the page is on the site.

    ## Arguments
    `errands`: instructions, or `Errand`s. `site`: a name or a `Site`. `fetch`: where pages come
    from, a `Fetch` or a `Gate` around one. The rest is as in the shop; `details` also asks for
    parts of an item that are on pages of their own, and `stand_in` shows items without a page as
    the results tell them.
    """

    def __init__(
        self,
        errands: Sequence[str | Errand],
        site: str | Site,
        fetch: Fetch,
        observation: str = "text_rich",
        rules: str | RewardRules = "released",
        max_steps: int | None = 50,
        search_anywhere: bool = True,
        *,
        details: bool = False,
        stand_in: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi", "html"):
            raise SettingError(f"render_mode={render_mode!r}: expected 'ansi', 'html' or None.")
        self.config = ShopConfig(
            observation=observation,
            rules=rules,
            max_steps=max_steps,
            search_anywhere=search_anywhere,
            goal_draw="uniform",
        )
        known = site_named(site) if isinstance(site, str) else site
        self.context: RealShopping = RealShopping(
            [plain_errand(each) if isinstance(each, str) else each for each in errands],
            known,
            fetch if isinstance(fetch, Gate) else Gate(fetch, known),
            self.config,
            details=details,
            stand_in=stand_in,
        )
        self.render_mode = render_mode
        self.observation_space: spaces.Space[Any] = AnyText()
        self.action_space = ActionText()
        self._pictured = False
        self._camera = None
        self._shot = None
        self._episode: RealEpisode | None = None

    @property
    def episode(self) -> RealEpisode:
        """The episode being played."""
        found = super().episode
        assert isinstance(found, RealEpisode)
        return found
