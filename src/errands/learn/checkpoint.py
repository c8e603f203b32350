"""A checkpoint: a directory from which a model is used, and its training goes on.

`about.json` says what it is: its kind, settings, words and what it was trained on. `weights.pt`
are the weights, `progress.pt` all that training needs to go on as if it had never stopped. Each
file appears whole or not at all, and `progress.pt` last.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from errands.errors import DataError

__all__ = [
    "About",
    "fit",
    "load_weights",
    "read_about",
    "read_progress",
    "read_tensors",
    "save",
    "stamp",
    "write_whole",
]

VERSION: Final = 1
"""Raised whenever a checkpoint means something else; others are refused."""
ABOUT: Final = "about.json"
WEIGHTS: Final = "weights.pt"
PROGRESS: Final = "progress.pt"


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint is."""

    kind: str
    """`choice` or `search`."""
    trained: str
    """How: `imitation` or `reinforcement`."""
    config: dict[str, Any]
    words: tuple[str, ...] = ()
    checksum: str = ""
    """Of the catalogue it was trained on."""
    lesson: str = ""
    """The fingerprint of the demonstrations it was trained on."""
    is_done: bool = False
    """Whether the training has come to its end."""
    figures: dict[str, float] = {}
    versions: dict[str, str] = {}
    version: int = VERSION


def save(
    folder: Path, about: About, weights: dict[str, Any], progress: dict[str, Any] | None
) -> None:
    """Write a checkpoint over an earlier one of the same training; without `progress` it can be
    used and not be resumed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / ABOUT, lambda path: path.write_bytes(msgspec.json.encode(about)))
        # Weights are inside of progress, too: what is resumed is of one moment.
        write_whole(folder / WEIGHTS, lambda path: torch.save(weights, path))
        if progress is not None:
            whole = {**progress, "weights": weights}
            write_whole(folder / PROGRESS, lambda path: torch.save(whole, path))
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None


def read_about(folder: Path, kind: str) -> About:
    """What a checkpoint is, if it is one of that kind."""
    try:
        about = msgspec.json.decode((folder / ABOUT).read_bytes(), type=About)
    except OSError:
        raise DataError(
            f"{folder} is no checkpoint: it has no {ABOUT}; `errands train` makes one."
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        raise DataError(f"{folder / ABOUT} is damaged ({failure}).") from None
    if about.version != VERSION:
        raise DataError(
            f"{folder} has version {about.version}, this program reads {VERSION}; train it anew."
        )
    if about.kind != kind:
        raise DataError(f"{folder} is a {about.kind} model; expected a {kind} model.")
    return about


def stamp(folder: Path) -> tuple[int, int]:
    """Changes whenever weights are written; zeros where there are none."""
    try:
        found = (folder / WEIGHTS).stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def load_weights(folder: Path, model: torch.nn.Module) -> None:
    """Weights into a model of the same architecture."""
    weights = read_tensors(folder / WEIGHTS)
    fit(model, weights, folder)


def fit(model: torch.nn.Module, weights: Any, folder: Path) -> None:
    try:
        model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError):
        raise DataError(
            f"{folder} holds weights of another architecture than its {ABOUT} says; train it anew."
        ) from None


def read_progress(folder: Path) -> dict[str, Any] | None:
    """What an interrupted training left; None where there is nothing."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; expected a directory, which may yet be missing.")
    if not (folder / PROGRESS).exists():
        return None
    progress: dict[str, Any] = read_tensors(folder / PROGRESS)
    return progress


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


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let a file be written under another name, and give it its own when it is whole."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    work = Path(name)
    try:
        write(work)
        work.chmod(0o644)
        work.replace(path)
    except BaseException:
        work.unlink(missing_ok=True)
        raise
