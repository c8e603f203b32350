"""How much an exhaustive test does: a sample in `make test`, all of it in `make test-slow`."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["SLOW", "effort", "only_slow", "sampled"]

SLOW = bool(os.environ.get("ERRANDS_SLOW"))

only_slow = pytest.mark.skipif(not SLOW, reason="in make test-slow")
"""A test whose like is in `make test`, and that is too long to be there itself."""


def effort(sample: int, whole: int) -> int:
    """So many examples, kills or actions."""
    return whole if SLOW else sample


def sampled(parameters: Iterable[Any], *kept: Any) -> list[Any]:
    """All of these parameters, but in `make test` only those that are named."""
    every = list(parameters)
    assert kept, "something must be left"
    assert all(one in every for one in kept), f"{kept} are not all among {every}"
    return every if SLOW else [one for one in every if one in kept]
