"""The four uses of an attribute, by which the paper kept a phrase (A.2), and dropping it."""

from collections.abc import Mapping
from typing import Final

__all__ = ["DROP", "PLACES", "USES"]

USES: Final = ("good for", "has", "which is", "is a")
"""A hat that is good for dry hair, has a wide brim, which is machine washable, is a sun hat."""

DROP: Final = "drop"

PLACES: Final[Mapping[str, str]] = {"good for": "for", "has": "with", "which is": "before"}
"""Where an instruction names it. What a product is, its query says already: nobody asks for it."""
