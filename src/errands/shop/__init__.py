"""WebShop: a catalogue of products, a shop to walk through, goals, and the reward of a purchase.

A catalogue is opened by its name or directory, and shared by all who open it:

    from errands.shop import Catalog

    catalog = Catalog.open("demo")
    catalog.search("red shoes", 5)
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "Card",
    "Catalog",
    "Goal",
    "GoalSet",
    "Hit",
    "Page",
    "Product",
    "ProductSource",
    "Purchase",
    "Reward",
    "RewardRules",
    "Shop",
    "State",
    "build_catalog",
    "fresh_goals",
    "generate_catalog",
    "rules_named",
]

if TYPE_CHECKING:
    from errands.shop.build.builder import build_catalog, generate_catalog
    from errands.shop.catalog.catalog import Catalog, Hit
    from errands.shop.fresh.draw import fresh_goals
    from errands.shop.goals import Goal, GoalSet
    from errands.shop.navigation import Page, Shop, State
    from errands.shop.product import Card, Product, ProductSource
    from errands.shop.rewards.registry import rules_named
    from errands.shop.rewards.rules import Purchase, Reward, RewardRules
else:
    __getattr__ = lazy_exports(__name__)
