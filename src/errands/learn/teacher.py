"""The teacher: what to do next for somebody who may look around first, and knows the goal.

The choice oracle goes straight to the best purchase, which shows nobody how to find it. This
teacher looks as a person has to: it opens the products that the money allows, one after the
other, reads on where one may be the best so far, searches with other words if that would find
better, and only then goes back to the best of those that were opened, picks the options that are
wanted, and buys. Which is the best, which options are wanted and what other words would find, the
environment's own rules tell. It advises from wherever a learner has come to (Ross et al. 2011),
so it is for training goals alone.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from errands.agents.oracles.best_purchase import ChosenOptions, PurchaseOption, best_purchase
from errands.agents.oracles.choice_oracle import choices
from errands.agents.page_reading import read_instruction, words
from errands.envs.episode import ShopContext, ShopEpisode
from errands.learn.data.view import PURCHASE, ChoiceView, SeenProduct, known_text
from errands.shop.navigation import BACK, NEXT, PER_PAGE, PREVIOUS

__all__ = ["LookingTeacher", "ProductWorth", "worth_for"]

_PAGES: Final = 3
"""Pages of results that are looked at."""
_SEARCHES: Final = 3
"""Different queries, at most."""
_MORE: Final = 5
"""Products that are opened after each further search."""
_TO_BUY: Final = 8
"""Steps: back to the results and to the right page of them, the product, its options, the
purchase."""
_BETTER: Final = 0.1
"""So much more must other words promise to be searched for."""
_LISTED: Final = 20
"""Of what a query would find, only so many count."""
_READ: Final = "features"
"""The page below a product that is read: of the two it tells more of what is asked for."""
_PROMISING: Final = 0.1
"""A product is read about if it covers at most such a share of the instruction's words less than
the best of those that were opened."""


class ProductWorth(NamedTuple):
    """What a product can earn for a goal, and with which options."""

    reward: float
    options: ChosenOptions


def worth_for(context: ShopContext, goal: int, number: int) -> ProductWorth:
    """By the environment's own rules."""
    product, offered = choices(context.shop, number)
    offer = PurchaseOption(product, context.goals.price(product), offered)
    best = best_purchase([offer], context.goals[goal], context.rules)
    if best is None:
        return ProductWorth(0.0, ())
    return ProductWorth(round(best.reward.total, 6), best.options)


class LookingTeacher:
    """Advises on the episodes of one environment."""

    def __init__(
        self,
        context: ShopContext,
        looks: int = 10,
        queries: Callable[[str], Sequence[str]] = lambda instruction: (),
    ) -> None:
        """`looks` is how many products are opened before the best of them is bought, or other
        words are searched for, if the steps of an episode allow it; `queries` are what can be
        searched for, if that is the learner's choice."""
        self._context = context
        self._catalog = context.catalog
        self._looks = looks
        self._queries = lru_cache(1 << 14)(queries)
        self._worth = lru_cache(1 << 18)(partial(worth_for, context))
        self._best_hit = lru_cache(1 << 10)(self._best_hit_of)
        self._promise = lru_cache(1 << 14)(self._promise_of)

    def wanted(self, goals: Sequence[int]) -> list[tuple[str, str]]:
        """The instructions of goals, each beside what pages say of the product it is about."""
        context = self._context
        pairs = []
        for index in goals:
            goal = context.goals[index]
            product = self._catalog[goal.asin]
            values = (value for group in product.options.values() for value in group)
            text = " ".join((product.title, *values, product.description, *product.bullets))
            pairs.append((read_instruction(goal.instruction_text).text, text))
        return pairs

    def worths(self, episode: ShopEpisode, view: ChoiceView) -> dict[str, float]:
        """What the products that were seen so far could earn, by their names."""
        return {one.name: self._worth_of(episode, one) for one in view.seen}

    def best_found(self, episode: ShopEpisode) -> float:
        """What the best of an episode's last search could earn."""
        return self._best_hit(episode.index, episode.page.state.hits)

    def click(self, episode: ShopEpisode, view: ChoiceView) -> str:
        """The name of what to do on a page: what to click, or what to search for."""
        if view.kind == "search":
            return self._on_search(episode, view)
        if view.kind == "results":
            return self._on_results(episode, view)
        if view.kind == "item":
            return self._on_item(episode, view)
        return PREVIOUS if PREVIOUS in view.names else view.names[0]

    def _on_search(self, episode: ShopEpisode, view: ChoiceView) -> str:
        if not view.queries:
            return view.names[0]
        other = self._other_words(episode, view)
        if other and self._is_done(view):
            return other
        best = self._best_opened(episode, view)
        return best.query if best is not None and best.query in view.names else view.names[0]

    def _on_results(self, episode: ShopEpisode, view: ChoiceView) -> str:
        state = episode.page.state
        if not self._is_done(view):
            cap = read_instruction(episode.goal.instruction_text).cap
            for one in view.seen:
                if one.name in view.names and not one.opened and one.price <= cap:
                    return one.name
            if state.number < _PAGES and state.number * PER_PAGE < len(state.hits):
                return NEXT
        if self._other_words(episode, view):
            return BACK
        card = self._catalog.card
        places = {card(number).asin.lower(): place for place, number in enumerate(state.hits)}
        best = self._best_opened(episode, view)
        if best is None:
            return next((name for name in places if name in view.names), BACK)
        if best.name not in places:
            return BACK
        page = places[best.name] // PER_PAGE + 1
        if page == state.number:
            return best.name
        return NEXT if page > state.number else PREVIOUS

    def _on_item(self, episode: ShopEpisode, view: ChoiceView) -> str:
        """Options and purchase, once everything was looked at: whoever comes back has decided."""
        here = next((one for one in view.seen if one.opened and one.name == view.here), None)
        state = episode.page.state
        worth, options = self._worth(episode.index, state.product)
        if here is not None and here.opened == 1 and not here.chosen:
            if _READ in view.names and _is_promising(view, here) and not self._must_buy(view):
                return _READ
            best = self._best_opened(episode, view)
            is_better_elsewhere = best is not None and worth < self._worth_of(episode, best)
            looks_on = not self._is_done(view) or self._other_words(episode, view)
            if looks_on or is_better_elsewhere:
                return PREVIOUS
        chosen = dict(state.options)
        for name, value in options:
            if chosen.get(name) != value and value in view.names:
                return value
        return PURCHASE

    def _is_done(self, view: ChoiceView) -> bool:
        """Whether enough products were opened for what was searched so far."""
        searches = len(set(view.queries))
        enough = self._looks + _MORE * (searches - 1)
        return self._must_buy(view) or sum(one.opened > 0 for one in view.seen) >= enough

    def _must_buy(self, view: ChoiceView) -> bool:
        """Whether the steps that are left are needed for the purchase."""
        most = self._context.max_steps
        return most is not None and most - view.steps < _TO_BUY

    def _other_words(self, episode: ShopEpisode, view: ChoiceView) -> str:
        """What to search for next, if that promises more than what was opened; else nothing."""
        used = set(view.queries)
        if len(used) >= _SEARCHES or self._must_buy(view):
            return ""
        best = self._best_opened(episode, view)
        least = (0.0 if best is None else self._worth_of(episode, best)) + _BETTER
        promises = {
            query: self._promise(episode.index, query)
            for query in self._queries(episode.goal.instruction_text)
            if query not in used
        }
        query = max(promises, key=lambda one: promises[one], default="")
        return query if query and promises[query] >= least else ""

    def _best_opened(self, episode: ShopEpisode, view: ChoiceView) -> SeenProduct | None:
        """Of equal ones the first that was opened."""
        opened = [one for one in view.seen if one.opened]
        return max(opened, key=lambda one: self._worth_of(episode, one), default=None)

    def _worth_of(self, episode: ShopEpisode, one: SeenProduct) -> float:
        return self._worth(episode.index, self._catalog.number_of_name(one.name)).reward

    def _promise_of(self, goal: int, query: str) -> float:
        """The best of the first products that a query finds and the money allows."""
        cap = self._context.goals[goal].price_upper
        product = self._catalog.product
        hits = self._context.shop.find(query.lower())[:_LISTED]
        return max(
            (self._worth(goal, one).reward for one in hits if min(product(one).prices) <= cap),
            default=0.0,
        )

    def _best_hit_of(self, goal: int, hits: tuple[int, ...]) -> float:
        return max((self._worth(goal, number).reward for number in hits), default=0.0)


def _is_promising(view: ChoiceView, here: SeenProduct) -> bool:
    """Whether it is worth reading more of a product, by what was seen so far."""
    if any(name == _READ for name, _ in here.details):
        return False
    asked = read_instruction(view.instruction).words
    best = max(_share(asked, one) for one in view.seen if one.opened)
    return _share(asked, here) >= best - _PROMISING


def _share(asked: Sequence[str], one: SeenProduct) -> float:
    """The share of an instruction's words that is said of a product."""
    said = set(words(known_text(one)))
    return sum(word in said for word in asked) / max(len(asked), 1)
