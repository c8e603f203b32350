"""A checkpoint: a directory from which a model is used, and its training goes on.

`about.json` says what it is: its kind, settings, words and what it was trained on. `weights.pt`
are the weights, `progress.pt` all that training needs to go on as if it had never stopped, and
`goals.fingerprints` tell on which goals it must not be tested. Each file appears whole or not at
all, and `progress.pt` last.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from errands import __version__
from errands.atomic import atomic_write
from errands.errors import DataError, SettingError
from errands.learn.models.choice import with_edition
from errands.learn.models.runtime import read_tensors
from errands.shop.fingerprints import FILE as GOALS
from errands.shop.fingerprints import GoalFingerprints, write_fingerprints

__all__ = [
    "CheckpointInfo",
    "check_start",
    "differing",
    "digest",
    "load_state",
    "load_weights",
    "read_info",
    "read_progress",
    "save",
    "stamp",
    "versions",
]

VERSION: Final = 1
"""Raised whenever a checkpoint means something else; others are refused."""
ABOUT: Final = "about.json"
WEIGHTS: Final = "weights.pt"
PROGRESS: Final = "progress.pt"
_KEPT: Final = frozenset({
    ABOUT, WEIGHTS, PROGRESS, GOALS,
    "log.jsonl", "runner.lock", "best", "pretrained", "pictures.npz", "associations.json",
})  # fmt: skip
"""All that trainings keep in their folder."""


class CheckpointInfo(msgspec.Struct, frozen=True, kw_only=True, rename={"fingerprint": "lesson"}):
    """What a checkpoint is: the content of `about.json`."""

    kind: str
    """`choice` or `search`."""
    trained: str
    """How: `imitation` or `reinforcement`."""
    config: dict[str, Any]
    words: tuple[str, ...] = ()
    checksum: str = ""
    """Of the catalogue it was trained on."""
    fingerprint: str = ""
    """Of the demonstrations it was trained on."""
    is_done: bool = False
    """Whether the training has come to its end."""
    figures: dict[str, float] = {}
    versions: dict[str, str] = {}
    version: int = VERSION


def save(
    folder: Path,
    info: CheckpointInfo,
    weights: dict[str, Any],
    progress: dict[str, Any] | None,
    goals: GoalFingerprints | None = None,
) -> None:
    """Write a checkpoint over an earlier one of the same training; without `progress` it can be
    used and not be resumed. `goals` are what it has learnt from, if that is known."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if goals is not None:
            write_fingerprints(folder, goals)
        else:
            (folder / GOALS).unlink(missing_ok=True)
        atomic_write(folder / ABOUT, lambda path: path.write_bytes(msgspec.json.encode(info)))
        # Weights are inside of progress, too: what is resumed is of one moment.
        atomic_write(folder / WEIGHTS, lambda path: torch.save(weights, path))
        if progress is not None:
            whole = {**progress, "weights": weights}
            atomic_write(folder / PROGRESS, lambda path: torch.save(whole, path))
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None


def read_info(folder: Path, kind: str) -> CheckpointInfo:
    """What a checkpoint is, if it is one of that kind."""
    try:
        info = msgspec.json.decode((folder / ABOUT).read_bytes(), type=CheckpointInfo)
    except OSError:
        raise DataError(
            f"{folder} is no checkpoint: it has no {ABOUT}; `errands train` makes one."
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        raise DataError(f"{folder / ABOUT} is damaged ({failure}).") from None
    if info.version != VERSION:
        raise DataError(
            f"{folder} has version {info.version}, this program reads {VERSION}; train it anew."
        )
    if info.kind != kind:
        raise DataError(f"{folder} is a {info.kind} model; expected a {kind} model.")
    choice = info.config.get("choice")
    if isinstance(choice, dict):
        info = msgspec.structs.replace(info, config={**info.config, "choice": with_edition(choice)})
    return info


def stamp(folder: Path) -> tuple[int, int]:
    """Changes whenever weights are written; zeros where there are none."""
    try:
        status = (folder / WEIGHTS).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def load_weights(folder: Path, model: torch.nn.Module) -> None:
    """Weights into a model of the same architecture."""
    weights = read_tensors(folder / WEIGHTS)
    load_state(model, weights, folder)


def load_state(model: torch.nn.Module, weights: Any, folder: Path) -> None:
    """The same for weights that were read already; `folder` is where."""
    try:
        model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError):
        raise DataError(
            f"{folder} holds weights of another architecture than its {ABOUT} says; train it anew."
        ) from None


def read_progress(folder: Path, resume: bool, algorithm: str) -> dict[str, Any] | None:
    """What a training by an algorithm has left, which is to be resumed; None where there is
    nothing."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; expected a directory, which may yet be missing.")
    if not (folder / PROGRESS).exists():
        names = [path.name for path in folder.iterdir()] if folder.exists() else []
        if any(name not in _KEPT and not name.startswith(".") for name in names):
            raise SettingError(f"{folder} has other things in it; name a new folder.")
        if ABOUT in names and not resume:
            raise SettingError(f"{folder} has a model already; name another folder.")
        return None
    progress: dict[str, Any] = read_tensors(folder / PROGRESS)
    if not resume:
        raise SettingError(f"{folder} has a checkpoint already; add --resume, or name another.")
    begun_by = progress.get("algorithm") or _algorithm_of(progress, algorithm)
    if begun_by != algorithm:
        raise SettingError(
            f"{folder} was trained by `errands train {begun_by}`; resume it with that, or name"
            " another."
        )
    return progress


def _algorithm_of(progress: Mapping[str, Any], algorithm: str) -> str:
    """Which one has left this, before they wrote it down."""
    for part, name in (("played", "dagger"), ("critic", "ppo"), ("shoppers", "rl")):
        if part in progress:
            return name
    return "choice" if algorithm in ("dagger", "ppo", "rl") else algorithm


def check_start(folder: Path, progress: Mapping[str, Any], start: Path | None) -> None:
    """Refuse to resume what was begun from another model."""
    begun = progress.get("start", "")
    if start is not None and begun and begun != digest(start):
        raise SettingError(
            f"{folder} was not begun from {start} as it is now; resume it without --from, or name"
            " another folder."
        )


def digest(folder: Path | None) -> str:
    """Tells the weights of checkpoints apart; empty for none."""
    if folder is None:
        return ""
    try:
        return hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    except OSError as failure:
        raise DataError(f"{folder / WEIGHTS} cannot be read ({failure.strerror}).") from None


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Which settings are others now, and what they were: ` (rate 0.002 before, 0.1 now)`."""
    pairs = [
        f"{name} {before.get(name, 'none')} before, {now.get(name, 'none')} now"
        for name in {**before, **now}
        if before.get(name) != now.get(name) and not isinstance(now.get(name), Mapping)
    ]
    return f" ({'; '.join(pairs)})" if pairs else ""


def versions() -> dict[str, str]:
    """Of the programs that a checkpoint is written by."""
    return {"errands": __version__, "torch": str(torch.__version__)}
