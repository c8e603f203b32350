"""`choice-oracle`: how well one could choose, given a query (the paper's appendix C.3).

It is shown the hidden goal. For its query it looks at all results, up to 50, and all options of
each, finds the purchase that the environment's own rules reward best, and then goes there by
the pages, as any shopper would: search, next pages, item, options, buy. Of equally good
purchases it takes the better ranked, with fewer options; it considers only those for which the
steps suffice. Where nothing can be bought it lets its steps run out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from errands.agents.agent import Agent, AgentError, AgentFactory, Move
from errands.agents.factory import SimpleFactory, give_up, shop_of
from errands.agents.oracles.best_purchase import BestPurchase, PurchaseOption, best_purchase
from errands.agents.oracles.query_source import QuerySource, query_source
from errands.agents.rule import search_action
from errands.envs.episode import ShopEpisode
from errands.errors import SettingError
from errands.shop.navigation import ITEM, RESULT_LIMIT, Page, Shop, State, parse_action
from errands.shop.product import Product
from errands.shop.rewards.rules import Purchase, missing_attributes, released, released_type

__all__ = ["ChoiceOracle", "PurchasePlan", "best_plan", "choices", "is_perfect", "make"]


_LOOKED_THROUGH: Final = 20_000
"""Goals among which one must be in a file of queries."""
_BUT_OPTIONS: Final = ("r_type", "r_att", "r_price")
"""The parts of a reward that no option changes."""


class PurchasePlan(NamedTuple):
    """The way to the best purchase."""

    actions: tuple[str, ...]
    best: BestPurchase


class _Result(NamedTuple):
    way: tuple[str, ...]
    """The actions from the first results page to the item."""
    number: int


class ChoiceOracle:
    """Chooses with open eyes, among what its query finds."""

    def __init__(self, source: QuerySource) -> None:
        self._source = source
        self._actions: Iterator[str] | None = None

    def look(self, env: Any) -> None:
        episode = shop_of(env).episode
        self._max_steps = episode.context.max_steps
        query = self._source.query(episode.goal.instruction_text)
        plan = best_plan(episode, query)
        self._thought = f"{query!r} leads to nothing that can be bought"
        if plan is not None:
            place, _, options, reward = plan.best
            self._thought = (
                f"result {place + 1} of {query!r} with {dict(options)} is worth {reward.total:.3f}"
            )
        self._actions = iter(plan.actions if plan is not None else ())

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        if self._actions is None:
            raise AgentError("The choice oracle plays only where it is shown the environment.")

    def act(self, observation: Any, info: Mapping[str, Any]) -> Move:
        assert self._actions is not None
        thought, self._thought = self._thought, ""
        action = next(self._actions, None)
        return Move(action or give_up("Nothing can be bought", self._max_steps), thought)


def best_plan(episode: ShopEpisode, query: str) -> PurchasePlan | None:
    """The actions that buy the best of what a query finds; None where nothing can be bought."""
    search = search_action(query)
    if search is None:
        return None
    context = episode.context
    results = [
        (result, offer)
        for result in _results(context.shop, context.shop.turn(context.front, search))
        if (offer := _offer(episode, result)) is not None
    ]
    best = best_purchase((offer for _, offer in results), episode.goal, context.rules)
    if best is None:
        return None
    options = (f"click[{value}]" for _, value in best.options)
    return PurchasePlan((search, *results[best.place][0].way, *options, "click[buy now]"), best)


def _results(shop: Shop, page: Page) -> Iterator[_Result]:
    """Every product that a search found and that can be opened, best first."""
    turns: tuple[str, ...] = ()
    for _ in range(0, RESULT_LIMIT, 10):
        for name, number in page.clicks.items():
            if isinstance(number, int) and _can_be_said(name):
                yield _Result((*turns, f"click[{name}]"), number)
        turns = (*turns, "click[next >]")
        page = shop.turn(page, turns[-1])


def _offer(episode: ShopEpisode, result: _Result) -> PurchaseOption | None:
    context = episode.context
    most = None
    if context.max_steps is not None:
        # The search and the purchase take a step each.
        most = context.max_steps - len(result.way) - 2
        if most < 0:
            return None
    product, offered = choices(context.shop, result.number)
    return PurchaseOption(product, context.goals.price(product), offered, most)


def choices(shop: Shop, number: int) -> tuple[Any, dict[str, Sequence[str]]]:
    """A product, and the option values that clicking really chooses, by name.

    Not all that are shown: of two equal values under two names only the last can be chosen, a
    value called like a button is the button, and one with an opening bracket cannot be said.
    """
    page = shop.look(State(ITEM, product=number))
    offered: dict[str, Any] = {}
    for value, name in page.clicks.items():
        if isinstance(name, str):
            chosen = shop.turn(page, f"click[{value}]").state.options
            if chosen == ((name, value),):
                offered.setdefault(name, []).append(value)
    return page.product, offered


def is_perfect(episode: ShopEpisode, number: int, product: Product) -> bool:
    """Whether a product can earn a reward of 1, with the options that fit best."""
    context, goal = episode.context, episode.goal
    price = context.goals.price(product)
    # Most products are told by the parts that take least to find out.
    if context.rules is released and (
        price > goal.price_upper
        or released_type(product, goal).value < 1.0
        or missing_attributes(product, goal)
    ):
        return False
    plain = context.rules(Purchase(product, {}, price), goal)
    # Options change one part alone, so few products need a look at theirs.
    if plain.total >= 1.0 or min(plain.parts.get(part, 0.0) for part in _BUT_OPTIONS) < 1.0:
        return plain.total >= 1.0
    offer = PurchaseOption(product, price, choices(context.shop, number)[1])
    best = best_purchase([offer], goal, context.rules)
    return best is not None and best.reward.total >= 1.0


def _can_be_said(name: str) -> bool:
    return parse_action(f"click[{name}]") == ("click", name)


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    source, checksum = query_source(
        settings["query"], settings["queries"], settings["missing"], settings["checksum"]
    )

    goals = shop_of(env).context.goals
    first = (goals[index].instruction_text for index in range(min(len(goals), _LOOKED_THROUGH)))
    if settings["queries"] and not source.knows_any(first):
        raise SettingError(
            f"{settings['queries']} has a query for none of the goals that are played; expected one"
            " of this catalogue's instructions (`errands train queries --data CATALOG`)."
        )

    def agent(seed: int) -> Agent:
        return ChoiceOracle(source)

    return SimpleFactory("choice-oracle", agent, {**settings, "checksum": checksum})
