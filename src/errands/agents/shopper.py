"""`shopper`: shops like a person would, from what the pages show; where demonstrations come from.

It searches with the words that matter, in its own selection; opens what looks right and is not
too dear; reads on now and then; goes back to look at another product, to further results or to
other words; comes back to the best it has seen; picks the options that were asked for; buys.
Sometimes it errs. Needs `text_rich` observations.
"""

import random
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from errands.agents.agent import AgentFactory
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
from errands.errors import SettingError

__all__ = ["ScriptedShopper", "make"]

_ENOUGH: Final = 0.7
"""The share of the words that a product must cover to be bought without looking further."""
_LOOKS: Final = 4
"""Products that are opened at most before the best of them is taken."""
_SEARCHES: Final = 3


class _Seen(NamedTuple):
    """A product that was looked at: how well it fits, and the way back to it."""

    fit: float
    name: str
    query: str


class ScriptedShopper:
    """Shops for one instruction."""

    observations = ("text_rich",)

    def __init__(self, seed: int, errors: float, max_steps: int | None) -> None:
        self._rng = random.Random(seed)
        self._errors = errors
        self._max_steps = max_steps

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        self._instruction: InstructionParts = read_instruction(info["instruction"])
        self._queries: list[str] = []
        self._opened: set[str] = set()
        self._here = ""
        self._pages = 1
        self._text = ""
        self._unread: list[str] = []
        self._seen: list[_Seen] = []
        self._decided = False
        self._steps = 0

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        self._steps += 1
        available = info["available_actions"]
        clickables: list[str] = available["clickables"]
        if available["has_search_bar"]:
            return self._search()
        if "buy now" in clickables:
            return self._on_item(observation, clickables)
        if "next >" in clickables:
            return self._on_results(observation, clickables)
        # A page below the product: what it says counts, then back.
        self._text += f" {_below_buttons(observation)}"
        return "click[< prev]"

    def _search(self) -> str:
        is_back = self._decided and bool(self._seen)
        query = max(self._seen).query if is_back else self._next_query()
        self._pages = 1
        self._queries.append(query)
        return f"search[{query}]"

    def _next_query(self) -> str:
        said = list(self._instruction.words)
        if not said:
            return self._instruction.text or "gift"
        if self._queries:
            # Other words: fewer, and not those that led nowhere.
            keep = max(2, len(said) - 2 * len(self._queries))
            first = self._rng.randrange(max(1, len(said) - keep + 1))
            said = said[first : first + keep]
        elif self._rng.random() < self._errors and len(said) > 3:
            said.pop(self._rng.randrange(len(said)))
        return " ".join(said).replace("[", " ")

    def _on_results(self, observation: str, clickables: list[str]) -> str:
        shown = offers(observation, clickables)
        if self._decided:
            best = max(self._seen).name
            if best in clickables:
                return self._open(best)
        ranked = sorted(
            (offer for offer in shown if offer.name not in self._opened),
            key=lambda offer: -self._promise(offer) + 0.12 * shown.index(offer),
        )
        if self._rng.random() < self._errors and len(ranked) > 1:
            ranked = ranked[1:]
        if ranked and self._promise(ranked[0]) > 0:
            return self._open(ranked[0].name)
        if self._pages < 2 and "next >" in clickables and shown:
            self._pages += 1
            return "click[next >]"
        if len(self._queries) < _SEARCHES:
            return "click[back to search]"
        if ranked:
            return self._open(ranked[0].name)
        if self._seen:
            self._decided = True
            return "click[back to search]"
        return give_up("Nothing was found that could be bought", self._max_steps)

    def _promise(self, offer: ResultItem) -> float:
        """How good an offer looks from outside."""
        if offer.price > self._instruction.cap:
            return -1.0
        return 0.01 + _share(self._instruction.words, offer.title)

    def _open(self, name: str) -> str:
        self._here = name
        self._opened.add(name)
        self._text = ""
        self._unread = ["features", "description"]
        return f"click[{name}]"

    def _on_item(self, observation: str, clickables: list[str]) -> str:
        if not self._decided:
            fit = _share(self._instruction.words, f"{_below_buttons(observation)} {self._text}")
            if fit < _ENOUGH and self._unread and self._rng.random() >= self._errors:
                # What was asked for is often said further down only.
                return f"click[{self._unread.pop(0)}]"
            price = price_of(observation.partition("Price:")[2])
            if price is not None and price > self._instruction.cap:
                fit -= 0.5
            self._seen.append(_Seen(fit, self._here, self._queries[-1] if self._queries else ""))
            if fit < _ENOUGH and len(self._opened) < _LOOKS:
                return "click[< prev]"
            self._decided = True
            best = max(self._seen)
            if best.name != self._here:
                same = best.query == self._queries[-1]
                return "click[< prev]" if same else "click[back to search]"
        return self._customise(observation, clickables)

    def _customise(self, observation: str, clickables: list[str]) -> str:
        for _, values in groups(observation, clickables):
            if any(value.startswith("*") for value in values):
                continue
            best = max(values, key=lambda value: (self._asked_for(value), len(value)))
            if self._asked_for(best) > 0:
                return f"click[{best}]"
        return "click[buy now]"

    def _asked_for(self, value: str) -> float:
        """How much of an option the instruction says: all of it, or a good share of its words."""
        said = f" {' '.join(words(self._instruction.text))} "
        parts = words(value)
        if parts and f" {' '.join(parts)} " in said:
            return 2.0 + len(parts)
        share = sum(f" {part} " in said for part in parts) / len(parts) if parts else 0.0
        return share if share >= 0.6 else 0.0


def _below_buttons(observation: str) -> str:
    """A page without its head, where the instruction stands."""
    return observation.partition("< Prev [button_]")[2]


def _share(wanted: tuple[str, ...], text: str) -> float:
    """The share of the wanted words that a text has, in any number."""
    if not wanted:
        return 1.0
    there = set(words(text))
    there |= {word.rstrip("s") for word in there}
    return sum(word in there or word.rstrip("s") in there for word in wanted) / len(wanted)


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    config = need_observation(env, "text_rich", "The agent 'shopper' reads")
    errors = float(settings["errors"])
    if not 0 <= errors <= 1:
        raise SettingError(f"errors={errors}: expected 0 to 1.")
    return SimpleFactory(
        "shopper",
        lambda seed: ScriptedShopper(seed, errors, config.max_steps),
        settings={"errors": errors},
    )
