"""Where models compute: on the processor, or on a GPU.

Trainings are repeatable to the last bit on a processor; on a GPU only as far as its own arithmetic
is. Checkpoints are the same for both.
"""

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from errands.errors import SettingError

__all__ = ["device_of", "find_device", "moved"]

Held = TypeVar("Held")


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


def moved(held: Held, device: torch.device) -> Held:
    """The same with all its tensors on a device: tuples of tensors, nested or not."""
    found: Any = held
    if isinstance(found, Tensor):
        found = found.to(device)
    elif isinstance(found, tuple):
        parts = [moved(part, device) for part in found]
        found = type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return found  # type: ignore[no-any-return]
