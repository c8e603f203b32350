"""The original's reward functions over its dictionaries: `errands.shop.rewards` does the work."""

from collections.abc import Iterable, Mapping
from typing import Any

from errands.shop.goals import Goal
from errands.shop.rewards.rules import (
    Purchase,
    matched_options,
    missing_attributes,
    released,
    released_type,
)
from errands_legacy.records import goal_of, product_of

__all__ = ["get_attribute_reward", "get_option_reward", "get_reward", "get_type_reward"]

Record = Mapping[str, Any]


def get_reward(
    purchased_product: Record, goal: Record, price: float, options: Mapping[str, str], **kwargs: Any
) -> Any:
    """The reward of a purchase; with `verbose=True` a pair of it and its parts."""
    reward = released(Purchase(product_of(purchased_product), options, price), goal_of(goal))
    return (reward.total, dict(reward.parts)) if kwargs.get("verbose") else reward.total


def get_type_reward(purchased_product: Record, goal: Record) -> dict[str, float | bool]:
    """Whether it is that kind of product, and what decided it."""
    found = released_type(product_of(purchased_product), goal_of(goal))
    return {
        "r_type": found.value,
        "query_match": found.query_match,
        "category_match": found.category_match,
        "title_score": found.title_score,
    }


def get_attribute_reward(purchased_product: Record, goal: Record) -> tuple[float, int]:
    """The share of the wanted attributes that were found, and how many."""
    wanted = goal_of(goal)
    matched = len(wanted.attributes) - len(
        missing_attributes(product_of(purchased_product), wanted)
    )
    return matched / len(wanted.attributes), matched


def get_option_reward(
    purchased_options: Iterable[str], goal_options: Iterable[Any]
) -> tuple[float | None, int]:
    """The share of the wanted options that were chosen (None if none is wanted), and how many.

    Wanted are values, or the pairs of names and values of a synthetic goal.
    """
    wanted = list(goal_options)
    pairs = bool(wanted) and not isinstance(wanted[0], str)
    goal = Goal("", "", "", "", "", "", (), 0.0, dict(wanted) if pairs else tuple(wanted), 1.0)
    matched = sum(matched_options(purchased_options, goal))
    return (matched / len(wanted) if wanted else None), matched
