"""The original's colour words, and its table of colours and sizes."""

from errands_legacy.sizes import SIZE_PATTERNS, SIZE_SET, normalize_color_size

from errands.shop.rewards.rules import COLORS as COLOR_SET
from errands.shop.rewards.rules import normalize_color

__all__ = [
    "COLOR_SET",
    "SIZE_PATTERNS",
    "SIZE_SET",
    "normalize_color",
    "normalize_color_size",
]
