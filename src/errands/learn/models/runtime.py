"""Torch at work: on which device, with how many threads, from which seed, and what it saves.

Trainings are repeatable to the last bit on a processor; on a GPU only as far as its own arithmetic
is. Checkpoints are the same for both.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from errands.errors import DataError, SettingError

__all__ = ["device_of", "find_device", "read_tensors", "seeded_torch", "to_device"]

Tensors = TypeVar("Tensors")


@contextlib.contextmanager
def seeded_torch(seed: int, threads: int | None = None) -> Iterator[None]:
    """Inside, torch draws from the seed (initial weights, dropout), on GPUs too, and computes with
    so many threads; outside nothing has changed."""
    threads_before = torch.get_num_threads()
    try:
        if threads is not None:
            torch.set_num_threads(threads)
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(seed)
            yield
    finally:
        if threads is not None:
            torch.set_num_threads(threads_before)


def find_device(name: str) -> torch.device:
    """A device by name: cpu, cuda, cuda:1, mps; `auto` is a GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device).add(1)
    except (RuntimeError, AssertionError, NotImplementedError) as failure:
        reason = str(failure).strip().partition("\n")[0]
        raise SettingError(
            f"There is no device {name!r} to train on ({reason[:120]}); expected cpu, cuda, cuda:N,"
            " mps or auto."
        ) from None
    if device.type == "meta":
        raise SettingError("The device 'meta' computes nothing; expected cpu, cuda, mps or auto.")
    return device


def device_of(model: nn.Module) -> torch.device:
    """Where a model is."""
    return next(model.parameters()).device


def to_device(value: Tensors, device: torch.device) -> Tensors:
    """The same with all its tensors on a device: tuples of tensors, nested or not."""
    result: Any = value
    if isinstance(result, Tensor):
        result = result.to(device)
    elif isinstance(result, tuple):
        parts = [to_device(part, device) for part in result]
        result = type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result  # type: ignore[no-any-return]


def read_tensors(path: Path) -> Any:
    """What torch has saved, as long as it is tensors and plain values."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    except Exception as failure:
        # Whatever a file that is no checkpoint makes of an unpickler that takes tensors only.
        raise DataError(
            f"{path} is damaged, or no checkpoint ({type(failure).__name__})."
        ) from None
