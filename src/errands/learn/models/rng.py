"""Torch's chance, kept private: dropout and initial weights draw from its global generator."""

import contextlib
from collections.abc import Iterator

import torch

__all__ = ["private_chance"]


@contextlib.contextmanager
def private_chance(seed: int) -> Iterator[None]:
    """Draws inside follow the seed, on GPUs too; outside nothing has changed."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
