"""`rule`: the paper's heuristic. Search the instruction, take the first result, buy it.

The whole instruction is searched for, price phrase included, and no options are chosen. Where
nothing is found, there is nothing to buy: it goes back to the search page and lets its steps run
out, which scores 0; without a step limit it stops with an error instead. It sees only what can
be clicked, so any observation will do.
"""

from collections.abc import Mapping
from typing import Any

from errands.agents.agent import AgentFactory
from errands.agents.factory import SimpleFactory, give_up, shop_of

__all__ = ["RuleShopper", "make", "search_action"]

_NOT_A_PRODUCT = frozenset({"back to search", "< prev", "next >"})


class RuleShopper:
    """Buys the first result."""

    def __init__(self, max_steps: int | None = None) -> None:
        self._max_steps = max_steps

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self._search = search_action(info["instruction"])
        self._searched = self._clicked = False

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        available = info["available_actions"]
        clickables: list[str] = available["clickables"]
        if available["has_search_bar"]:
            if self._searched or self._search is None:
                return give_up("Nothing was found for the instruction", self._max_steps)
            self._searched = True
            return self._search
        if "buy now" in clickables:
            return "click[buy now]"
        products = [name for name in clickables if name not in _NOT_A_PRODUCT]
        if not products:
            return "click[back to search]"
        if self._clicked:
            return give_up("The first result cannot be opened", self._max_steps)
        self._clicked = True
        return f"click[{products[0]}]"


def search_action(query: str) -> str | None:
    """The action that searches for a text; None where there is nothing in it to search for.

    An opening bracket or a line break inside would end the action early. Neither is ever part
    of a word, so a space in its place finds the same products.

    >>> search_action("a [red] hat")
    'search[a  red] hat]'
    """
    words = " ".join(query.lower().replace("[", " ").splitlines()).strip()
    return f"search[{words}]" if words else None


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    max_steps = shop_of(env).context.max_steps
    return SimpleFactory("rule", lambda seed: RuleShopper(max_steps))
