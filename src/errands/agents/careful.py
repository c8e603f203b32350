"""A careful shopper: takes the first result that the money allows, picks options, buys.

It sees only the pages, as any agent does: simple enough to follow page by page. Needs `text`
observations.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from errands.agents.agent import AgentFactory
from errands.agents.factory import SimpleFactory, need_observation

__all__ = ["CarefulShopper", "make"]

_WORD = re.compile(r"[a-z0-9]+(?:[.'-][a-z0-9]+)*")
_CAP = re.compile(r",? and price lower than ([\d.]+) dollars?\s*$")
_PRICE = re.compile(r"\$([\d.]+)")
_DULL = frozenset(
    "a an and any are as at be but by can find for from have i i'd i'm in into is it like"
    " looking me my need of on one or please show some something that the these they this to"
    " want with would you which need".split()
)
_BUTTONS = frozenset({"back to search", "< prev", "next >", "description", "features", "reviews",
                      "attributes", "buy now"})  # fmt: skip


class _Offer(NamedTuple):
    asin: str
    title: str
    price: float


class CarefulShopper:
    """Searches for the instruction, opens a result, chooses matching options, buys."""

    observations = ("text",)

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        instruction = info["instruction"].lower()
        cap = _CAP.search(instruction)
        self._cap = float(cap[1]) if cap else float("inf")
        self._query = _CAP.sub("", instruction)
        self._words = [word for word in _WORD.findall(self._query) if word not in _DULL]
        self._chosen: set[str] = set()
        self.reason = ""
        """Why the last action was taken, for people who watch."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        available = info["available_actions"]
        clickables: list[str] = available["clickables"]
        if available["has_search_bar"]:
            self.reason = "search for the instruction's own words"
            return f"search[{' '.join(self._words) or self._query}]"
        if "buy now" in clickables:
            return self._customise(observation, clickables)
        offers = _offers(observation, clickables)
        if not offers:
            self.reason = "nothing was found: back, to try other words"
            self._words = self._words[: max(1, len(self._words) // 2)]
            return "click[back to search]"
        best = next((offer for offer in offers if offer.price <= self._cap), offers[0])
        rank = offers.index(best) + 1
        self.reason = f"result {rank} of the page is the first that the money allows"
        if best.price > self._cap:
            self.reason = "everything here is too dear; the first result is still the likeliest"
        return f"click[{best.asin}]"

    def _customise(self, observation: str, clickables: list[str]) -> str:
        """Choose one value in each option group that the instruction speaks of, then buy."""
        for values in _groups(observation, clickables):
            if self._chosen & set(values):
                continue
            best = max(values, key=lambda value: (_mentioned(value, self._query), len(value)))
            if _mentioned(best, self._query):
                self._chosen.add(best)
                self.reason = f"the instruction mentions {best!r}"
                return f"click[{best}]"
        self.reason = "nothing more to choose"
        return "click[buy now]"


def _mentioned(value: str, instruction: str) -> float:
    """How much of an option value the instruction says: all of it, or a share of its words."""
    if re.search(rf"(?<![a-z0-9]){re.escape(value)}(?![a-z0-9])", instruction):
        return 2.0
    words = [word for word in _WORD.findall(value) if word not in _DULL]
    said = set(_WORD.findall(instruction))
    share = sum(word in said for word in words) / len(words) if words else 0.0
    return share if share >= 0.5 else 0.0


def _offers(observation: str, clickables: list[str]) -> list[_Offer]:
    """The products on a results page."""
    nodes = observation.split(" [SEP] ")
    links = {name for name in clickables if name not in _BUTTONS}
    offers = []
    for at, node in enumerate(nodes):
        if node.lower() in links and at + 2 < len(nodes):
            price = _PRICE.search(nodes[at + 2])
            offers.append(_Offer(node.lower(), nodes[at + 1], float(price[1]) if price else 0.0))
    return offers


def _groups(observation: str, clickables: list[str]) -> list[list[str]]:
    """The option values of an item page, group by group: a heading is not clickable."""
    values = {name for name in clickables if name not in _BUTTONS}
    groups: list[list[str]] = []
    fresh = True
    for node in observation.split(" [SEP] "):
        if node not in values:
            fresh = True
            continue
        if fresh:
            groups.append([])
        fresh = False
        groups[-1].append(node)
    return groups


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    need_observation(env, "text", "The agent 'careful' reads")
    return SimpleFactory("careful", lambda seed: CarefulShopper())
