"""A shop that has no goals yet: visitors search and look around, and nothing can be bought.

Every page of the website belongs to a session, and every session to a goal; here it is one that
asks for nothing, so that a shop can be looked at before goals are written.
"""

from typing import Final

from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import NO_CAP, Goal, GoalSet, ListedGoals

__all__ = ["BROWSING", "goals_to_serve"]

BROWSING: Final = Goal(
    asin="",
    category="",
    query="",
    name="",
    product_category="",
    instruction_text="This shop has no goals yet: search it and look around.",
    attributes=(),
    price_upper=NO_CAP,
    goal_options={},
    weight=1.0,
)
"""The goal of whoever only looks around."""


def goals_to_serve(catalog: Catalog, goals: str | GoalSet) -> GoalSet:
    """The goals that are asked for; of a catalogue without any, one that asks for nothing."""
    there = catalog.manifest.goals
    if isinstance(goals, str) and goals in there and not any(there.values()):
        return ListedGoals("none", [BROWSING], lambda product: product.prices[0])
    return catalog.goals(goals)
