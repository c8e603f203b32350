"""The shop: products, search, goals, rewards and pages, as data and pure functions."""

from errands.shop.catalog import Catalog, Hit
from errands.shop.goal import Goal, GoalSet
from errands.shop.product import Product
from errands.shop.reward import Reward

__all__ = ["Catalog", "Goal", "GoalSet", "Hit", "Product", "Reward"]
