"""The shop: products, search, goals, rewards and pages, as data and pure functions."""

from errands.shop.catalog.catalog import Catalog, Hit
from errands.shop.goals import Goal, GoalSet
from errands.shop.product import Product
from errands.shop.rewards.rules import Reward

__all__ = ["Catalog", "Goal", "GoalSet", "Hit", "Product", "Reward"]
