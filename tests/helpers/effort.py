"""How much an exhaustive test does: a sample in `make test`, all of it in `make test-slow`."""

import os

__all__ = ["SLOW", "effort"]

SLOW = bool(os.environ.get("ERRANDS_SLOW"))


def effort(sample: int, whole: int) -> int:
    """So many examples, kills or actions."""
    return whole if SLOW else sample
