"""The original's goals and rewards."""

from typing import Final

from errands_legacy.engine import get_goals
from errands_legacy.rewards import (
    get_attribute_reward,
    get_option_reward,
    get_reward,
    get_type_reward,
)

__all__ = [
    "PRICE_RANGE",
    "get_attribute_reward",
    "get_goals",
    "get_option_reward",
    "get_reward",
    "get_type_reward",
]

PRICE_RANGE: Final = [10.0 * step for step in range(1, 100)]
"""What "price lower than" may say."""
