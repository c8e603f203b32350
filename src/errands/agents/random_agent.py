"""`random`: the floor of every comparison, in both domains.

In the shop it searches for other people's instructions and clicks on anything. On form pages it
gives every visible field a valid value, one a step, and submits.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from errands.agents.agent import AgentError, AgentFactory
from errands.agents.factory import SimpleFactory, shop_of
from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import format_action
from errands.turk.pages.field import TEXTS, Field

__all__ = ["RandomFormAgent", "RandomShopper", "make", "random_action", "visible_fields"]

MOST_QUERIES = 20_000

_WORDS: Final = (
    "yes no maybe good bad true false the a person something because it is not very more less"
    " happy small large red one two three today never always people thing time".split()
)


class RandomShopper:
    """Searches for a query drawn from `queries`, else clicks uniformly on what is there."""

    def __init__(self, queries: Sequence[str], seed: int = 0) -> None:
        self._queries = queries
        self._random = random.Random(seed).random

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        """Nothing is carried from one episode to the next."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        available = info["available_actions"]
        if available["has_search_bar"]:
            return f"search[{self._pick(self._queries)}]"
        clickables = available["clickables"]
        return f"click[{self._pick(clickables)}]" if clickables else "wait"

    def _pick(self, choices: Sequence[str]) -> str:
        return choices[int(self._random() * len(choices))]


def random_action(field: Field, rng: random.Random) -> Action | None:
    """A valid answer for a field, drawn without looking at anything but its kind and options."""
    value: str | None = None
    if field.type in ("radio", "select") and field.options:
        value = rng.choice(field.options)
    elif field.type == "checkbox":
        value = "|".join(option for option in field.options if rng.random() < 0.5)
    elif field.type == "range":
        value = str(rng.randint(0, 100))
    elif field.type == "number":
        value = str(rng.randint(0, 10))
    elif field.type == "date":
        value = f"{rng.randint(2000, 2025)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    elif field.type in TEXTS:
        value = " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 8)))
    if not value:
        return None
    name = "text" if field.type in TEXTS else field.type
    return Action(f"modify_{name}", {"name": field.name, "value": value})


class RandomFormAgent:
    """Fills in a form without reading it."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self._seen: set[str] = set()

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        for field in visible_fields(info):
            if field.name not in self._seen:
                self._seen.add(field.name)
                action = random_action(field, self._random)
                if action is not None:
                    return format_action(action)
        return "submit()"


def visible_fields(info: Mapping[str, Any]) -> list[Field]:
    """The fields that a page shows now, as the environment lists them."""
    if "fields" not in info:
        raise AgentError("This agent needs the list of fields: use fields='given'.")
    return [
        Field(held["name"], held["type"], True, tuple(held["options"]))
        for held in info["fields"]
        if held["visible"]
    ]


def make(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    if domain == "turk":
        return SimpleFactory("random", RandomFormAgent)
    queries = _queries(shop_of(env))
    return SimpleFactory("random", lambda seed: RandomShopper(queries, seed))


def _queries(env: ShopEnv) -> list[str]:
    """What to search for: instructions of the catalogue's synthetic goals, if it has any."""
    goals, source = env.context.goals, env.context.shop.source
    if isinstance(source, Catalog) and source.manifest.goals.get("synthetic"):
        goals = source.goals("synthetic")
    return [goals[index].instruction_text for index in range(min(len(goals), MOST_QUERIES))]
