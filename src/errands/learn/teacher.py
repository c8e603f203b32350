"""The teacher: what to do next for somebody who may look around first, and knows the goal.

The choice oracle goes straight to the best purchase, which shows nobody how to find it. This
teacher looks as a person has to: it opens the products that the money allows, one after the
other, and only then goes back to the best of those that were opened, picks the options that are
wanted, and buys. Which is the best, and which options are wanted, the environment's own rules
tell. It advises from wherever a learner has come to (Ross et al. 2011), so it is for training
goals alone.
"""

from functools import lru_cache
from typing import Final

from errands.agents.oracles.best_purchase import PurchaseOption, best_purchase
from errands.agents.oracles.choice_oracle import choices
from errands.agents.page_reading import read_instruction
from errands.envs.episode import ShopContext, ShopEpisode
from errands.learn.data.view import PURCHASE, ChoiceView, SeenProduct
from errands.shop.navigation import BACK, NEXT, PER_PAGE, PREVIOUS

__all__ = ["LookingTeacher"]

_PAGES: Final = 3
"""Pages of results that are looked at."""


class LookingTeacher:
    """Advises on the episodes of one environment."""

    def __init__(self, context: ShopContext, looks: int = 10) -> None:
        """`looks` is how many products are opened before the best of them is bought."""
        self._context = context
        self._looks = looks
        self._worth = lru_cache(1 << 18)(self._best_of)

    def click(self, episode: ShopEpisode, view: ChoiceView) -> str:
        """The name of what to click on a page that is not the search page."""
        if view.kind == "results":
            return self._on_results(episode, view)
        if view.kind == "item":
            return self._on_item(episode, view)
        return PREVIOUS if PREVIOUS in view.names else view.names[0]

    def _on_results(self, episode: ShopEpisode, view: ChoiceView) -> str:
        state = episode.page.state
        card = self._context.shop.source.card
        numbers = {card(number).asin.lower(): number for number in state.hits}
        opened = {one.name: one for one in view.seen if one.opened}
        if len(opened) < self._looks:
            cap = read_instruction(episode.goal.instruction_text).cap
            for one in view.seen:
                if one.name in view.names and not one.opened and one.price <= cap:
                    return one.name
            if state.number < _PAGES and state.number * PER_PAGE < len(state.hits):
                return NEXT
        places = {name: place for place, name in enumerate(numbers)}
        known = [name for name in opened if name in numbers] or [
            name for name in numbers if name in view.names
        ]
        if not known:
            return PREVIOUS if PREVIOUS in view.names else BACK
        best = max(
            known, key=lambda name: (self._worth(episode.index, numbers[name])[0], -places[name])
        )
        page = places[best] // PER_PAGE + 1
        if page == state.number:
            return best
        return NEXT if page > state.number else PREVIOUS

    def _on_item(self, episode: ShopEpisode, view: ChoiceView) -> str:
        """Options and purchase, once everything was looked at: whoever comes back has decided."""
        opened = {one.name: one for one in view.seen if one.opened}
        here = opened.get(view.here)
        state = episode.page.state
        worth, options = self._worth(episode.index, state.product)
        is_new = here is not None and here.opened == 1 and not here.chosen
        if is_new and (len(opened) < self._looks or worth < self._best_seen(episode, opened)):
            return PREVIOUS
        chosen = dict(state.options)
        for name, value in options:
            if chosen.get(name) != value and value in view.names:
                return value
        return PURCHASE

    def _best_seen(self, episode: ShopEpisode, opened: dict[str, SeenProduct]) -> float:
        card = self._context.shop.source.card
        return max(
            (
                self._worth(episode.index, number)[0]
                for number in episode.page.state.hits
                if card(number).asin.lower() in opened
            ),
            default=0.0,
        )

    def _best_of(self, goal: int, number: int) -> tuple[float, tuple[tuple[str, str], ...]]:
        """What a product can earn, and with which options."""
        context = self._context
        product, offered = choices(context.shop, number)
        offer = PurchaseOption(product, context.goals.price(product), offered)
        best = best_purchase([offer], context.goals[goal], context.rules)
        return (0.0, ()) if best is None else (round(best.reward.total, 6), best.options)
