"""`teacher`: shops with the hidden reward at hand, and says why; language models learn from it.

It searches with the words that matter and opens what the money allows, in the order of the
results, until the best of the products that are shown; there it picks the options that are wanted,
and buys. Where to stop and which options are wanted the environment's own rules tell, so it plays
training goals alone. Its reasons are another matter: they are made of what the pages have shown
(prices, words of the instruction that a page has and lacks, option values), so that they can be
learnt by somebody who sees no more than these.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

from errands.agents.agent import AgentError, AgentFactory, Move
from errands.agents.factory import SimpleFactory, give_up, need_observation
from errands.agents.page_reading import (
    InstructionParts,
    ResultItem,
    groups,
    offers,
    price_of,
    read_instruction,
    words,
)
from errands.envs.episode import ShopContext, ShopEpisode
from errands.errors import SettingError
from errands.learn.teacher import worth_for
from errands.shop.navigation import PER_PAGE
from errands.shop.splits import split_indices

__all__ = ["ExplainingTeacher", "make"]

_PLACES: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip


class _Worths:
    """What products are worth, for all episodes of one shop."""

    def __init__(self, context: ShopContext) -> None:
        self.training = frozenset(split_indices("disjoint-train", context.goals))
        """The goals that nothing is tested on."""
        self.of = lru_cache(1 << 16)(partial(worth_for, context))


class ExplainingTeacher:
    """Shops for one training goal."""

    observations = ("text_rich",)

    def __init__(self, worths: _Worths, top: int, max_steps: int | None) -> None:
        """`top` is how many products of the results are considered."""
        self._worths = worths
        self._top = top
        self._max_steps = max_steps
        self._env: Any = None

    def look(self, env: Any) -> None:
        self._env = env.unwrapped
        if self._episode.index not in self._worths.training:
            raise AgentError(
                f"The teacher knows the goals it plays, and goal {self._episode.index} is not one"
                " for training; play the protocol shop-learn-train, or --split disjoint-train."
            )

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        if self._env is None:
            raise AgentError("The teacher plays only where it is shown the environment.")
        self._wanted: InstructionParts = read_instruction(info["instruction"])
        self._opened: list[str] = []
        self._best = ""
        self._chooses = False
        """Whether it was said which options are chosen."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str | Move:
        available = info["available_actions"]
        if available["has_search_bar"]:
            return self._search()
        clickables: list[str] = available["clickables"]
        if "buy now" in clickables:
            return self._on_item(observation, clickables)
        return self._on_results(offers(observation, clickables)[: self._top])

    @property
    def _episode(self) -> ShopEpisode:
        episode: ShopEpisode = self._env.episode
        return episode

    def _search(self) -> Move:
        query = " ".join(self._wanted.words) or self._wanted.text or "gift"
        return Move(f"search[{query.replace('[', ' ')}]", f"I look for {query}{self._limit()}.")

    def _limit(self) -> str:
        cap = self._wanted.cap
        return "" if cap == float("inf") else f", at most ${cap:.2f}"

    def _on_results(self, shown: Sequence[ResultItem]) -> str | Move:
        if not shown:
            return give_up("Nothing was found that could be bought", self._max_steps)
        payable = [offer for offer in shown if offer.price <= self._wanted.cap]
        self._best = self._best or self._best_of(payable or shown[:1])
        rest = [offer for offer in payable or shown[:1] if offer.name not in self._opened]
        if not rest:
            return give_up("Everything that was found has been opened", self._max_steps)
        chosen = rest[0]
        said = [self._said(place, offer) for place, offer in enumerate(shown)]
        told = " ".join(said[: shown.index(chosen) + 1])
        self._opened.append(chosen.name)
        return Move(f"click[{chosen.name}]", f"{told} I open it.")

    def _best_of(self, considered: Sequence[ResultItem]) -> str:
        """The product that earns most, the first of equal ones."""
        state = self._episode.page.state
        card = self._episode.context.shop.source.card
        first = (state.number - 1) * PER_PAGE
        numbers = {card(one).asin.lower(): one for one in state.hits[first : first + PER_PAGE]}
        worth = {
            offer.name: self._worths.of(self._episode.index, numbers[offer.name]).reward
            for offer in considered
        }
        return max(worth, key=lambda name: worth[name])

    def _said(self, place: int, offer: ResultItem) -> str:
        """What there is to say of an offer from outside."""
        if offer.name in self._opened:
            return f"The {_PLACES[place]} is seen."
        costs = f"The {_PLACES[place]} costs ${offer.price:g}"
        cap = self._wanted.cap
        if cap == float("inf"):
            return f"{costs}."
        return f"{costs}, {'within' if offer.price <= cap else 'more than'} ${cap:g}."

    def _on_item(self, observation: str, clickables: Sequence[str]) -> str | Move:
        fit = self._fit(observation)
        if self._opened[-1] != self._best:
            return Move("click[< prev]", f"{fit} I look at the next.")
        shown = groups(observation, clickables)
        wanted = dict(self._worths.of(self._episode.index, self._product()).options)
        chosen = {value[1:] for _, values in shown for value in values if value[:1] == "*"}
        missing = [value for value in wanted.values() if value not in chosen]
        action = f"click[{missing[0]}]" if missing else "click[buy now]"
        if self._chooses:
            return action
        self._chooses = True
        choice = f"I choose {' and '.join(missing)}, then buy." if missing else "I buy it."
        return Move(action, f"{fit} {choice}")

    def _product(self) -> int:
        number: int = self._episode.page.state.product
        return number

    def _fit(self, observation: str) -> str:
        """Which words of the instruction a product's page has, and which it lacks."""
        _, _, page = observation.partition("Instruction:")
        told = page.lstrip().partition("\n")[2]
        there = set(words(told))
        there |= {word.rstrip("s") for word in there}
        has = [word for word in self._wanted.words if {word, word.rstrip("s")} & there]
        lacks = [word for word in self._wanted.words if word not in has]
        price = price_of(told.partition("Price:")[2])
        cap = self._wanted.cap
        if price is not None and price > cap:
            return f"It costs ${price:g}, more than ${cap:g}."
        if not lacks:
            return f"It has {' '.join(has)}."
        return f"It has {' '.join(has) or 'nothing of it'}, not {' '.join(lacks)}."


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    config = need_observation(env, "text_rich", "The agent 'teacher' reads")
    top = settings["top"]
    if not 1 <= top <= PER_PAGE:
        raise SettingError(f"top={top}: expected 1 to {PER_PAGE}.")
    worths = _Worths(env.context)
    return SimpleFactory(
        "teacher", lambda seed: ExplainingTeacher(worths, top, config.max_steps), {"top": top}
    )
