"""What the tests of trainings share: stopping one, and comparing what two have learnt."""

import itertools
from collections.abc import Callable
from pathlib import Path

import torch


def stopper(updates: int) -> Callable[[], bool]:
    """Stops a training after one more than so many updates."""
    count = itertools.count(1)
    return lambda: next(count) > updates


def same_weights(one: Path, other: Path) -> bool:
    pair = [torch.load(folder / "weights.pt", weights_only=True) for folder in (one, other)]
    return pair[0].keys() == pair[1].keys() and all(
        torch.equal(weight, pair[1][name]) for name, weight in pair[0].items()
    )
