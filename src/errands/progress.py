"""How a long piece of work says how far it is."""

from collections.abc import Callable

__all__ = ["Progress", "silent"]

Progress = Callable[[str, int, int | None], None]
"""Told the stage, how much of it is done, and how much there is (None: unknown)."""


def silent(stage: str, done: int, total: int | None) -> None:
    """The progress of those who do not want to know."""
