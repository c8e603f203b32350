"""A protocol: everything two results must share to be compared, as data with an id and a version."""

from typing import Any, Literal

import msgspec

__all__ = ["Protocol"]


class Protocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is played, by which rules, how often."""

    id: str
    version: int
    title: str
    half: Literal["shop", "turk"]
    data: str
    """The catalogue or the folder of tasks, by name or path."""
    checksum: str = ""
    """What the data must add up to; empty: any, and the sum is kept with the result."""
    goals: str = "synthetic"
    """Shop: which goals."""
    split: str = ""
    """A named split; empty for everything."""
    episodes: int | None = None
    """How many, from the split's beginning; None for all."""
    per_task: int | None = None
    """Paperwork: at most so many instances of each task, drawn by the seed."""
    shuffle_workers: int = 0
    """Shop: the legacy order, in which each of so many workers shuffled the goals by itself."""
    seed: int = 0
    observation: str = "text"
    rules: str = "released"
    max_steps: int | None = 100
    settings: dict[str, Any] = {}
    """More arguments of the environment."""
    warning: str = ""
    """What is wrong with it, for protocols kept to reproduce old numbers."""
    source: str = ""
    """Whose it is."""
