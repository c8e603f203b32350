"""How a training went, read off its checkpoint: settings, figures, and the curves of its log.

    read_training(Path("il")) -> Training

The files are only read as data, so a report needs nothing of what trained the model. A log can
be cut off by a crash, or be somebody else's: lines that say nothing are counted and left out.
"""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import DataError, SettingError

__all__ = ["ABOUT", "Curve", "Training", "labelled", "read_training", "training_of"]

ABOUT: Final = "about.json"
LOG: Final = "log.jsonl"
MOST_POINTS: Final = 300
"""Of a curve; more cannot be told apart on a page."""
_LARGEST: Final = 1e100
"""Figures beyond are none: no scale could hold them."""
_MOST_BYTES: Final = 256_000_000


class Curve(msgspec.Struct, frozen=True):
    """A figure as a training went on."""

    name: str
    points: tuple[tuple[float, float], ...]
    """Step and value, steps ascending."""

    @property
    def last(self) -> float:
        return self.points[-1][1]


class Training(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a training."""

    label: str
    folder: str
    kind: str = ""
    """`choice` or `search`."""
    trained: str = ""
    """How: `imitation` or `reinforcement`."""
    is_done: bool = False
    step: int = 0
    """The last one that was logged."""
    settings: dict[str, Any] = {}
    figures: dict[str, float] = {}
    versions: dict[str, str] = {}
    words: int = 0
    checksum: str = ""
    curves: tuple[Curve, ...] = ()
    remarks: tuple[str, ...] = ()

    def curve(self, name: str) -> Curve | None:
        return next((one for one in self.curves if one.name == name), None)

    def shares(self) -> dict[str, float]:
        """Where the time went, as the last line of the log has it."""
        return {
            one.name.removeprefix("time_"): one.last
            for one in self.curves
            if one.name.startswith("time_")
        }


class _CheckpointInfo(msgspec.Struct):
    """What is read of `about.json`."""

    kind: str
    trained: str
    config: dict[str, Any] = {}
    words: list[str] = []
    checksum: str = ""
    is_done: bool = False
    figures: dict[str, float] = {}
    versions: dict[str, str] = {}


def read_training(folder: Path, label: str = "") -> Training:
    """The training whose checkpoint is in a folder."""
    about = _about(folder)
    log, remarks = folder / LOG, []
    # The best checkpoint of a training has no log of its own.
    if not log.is_file() and folder.name == "best":
        log = folder.parent / LOG
    curves: tuple[Curve, ...] = ()
    if log.is_file():
        curves, unread = _curves(_read(log))
        if unread:
            lines = "line" if unread == 1 else "lines"
            remarks.append(f"{unread:,} {lines} of {LOG} could not be read and are left out.")
    if not curves:
        remarks.append(f"There are no curves: {LOG} is missing or empty.")
    if not about.is_done:
        remarks.append("The training was not finished when this was read.")
    return Training(
        label=label or folder.name or str(folder),
        folder=str(folder),
        kind=about.kind,
        trained=about.trained,
        is_done=about.is_done,
        step=int(max((curve.points[-1][0] for curve in curves), default=0)),
        settings=about.config,
        figures={name: value for name, value in about.figures.items() if math.isfinite(value)},
        versions=about.versions,
        words=len(about.words),
        checksum=about.checksum,
        curves=curves,
        remarks=tuple(remarks),
    )


def training_of(settings: dict[str, Any], started: str = "") -> Training | None:
    """The training of the checkpoint that an agent played with; None where it had none.

    Where the checkpoint is gone a sentence stands in for it, and where it was written again
    after the run had `started`, a warning.
    """
    place = settings.get("checkpoint")
    if not isinstance(place, str) or not place:
        return None
    folder = Path(place)
    try:
        training = read_training(folder)
        written = datetime.fromtimestamp((folder / ABOUT).stat().st_mtime, UTC)
    except (DataError, OSError, ValueError):
        return Training(
            label=folder.name or place,
            folder=place,
            remarks=(f"The checkpoint {place} is gone, or cannot be read from here.",),
        )
    try:
        began = datetime.fromisoformat(started)
    except ValueError:
        return training
    if began.tzinfo is None:
        began = began.replace(tzinfo=UTC)
    if written > began:
        later = "The checkpoint was written after the run had begun: it may not be what played."
        training = msgspec.structs.replace(training, remarks=(later, *training.remarks))
    return training


def labelled(folders: Sequence[Path]) -> list[str]:
    """Short names that tell trainings apart."""
    if not folders:
        raise SettingError("A report needs at least one checkpoint; give the directory of one.")
    names = [folder.name or str(folder) for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder)
        for name, folder in zip(names, folders, strict=True)
    ]


def _about(folder: Path) -> _CheckpointInfo:
    path = folder / ABOUT
    if not path.is_file():
        raise DataError(f"{folder} is no checkpoint: it has no {ABOUT}; `errands train` makes one.")
    try:
        return msgspec.json.decode(_read(path), type=_CheckpointInfo)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        raise DataError(f"{path} is damaged ({failure}).") from None


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path} is larger than {_MOST_BYTES // 1_000_000} MB.")
        return path.read_bytes()
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None


def _curves(log: bytes) -> tuple[tuple[Curve, ...], int]:
    """The curves of a log, and how many of its lines are of no use."""
    values: dict[str, dict[float, float]] = {}
    unread = 0
    for line in log.decode("utf-8", "replace").splitlines():
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            step = float(entry.pop("step"))
            if not abs(step) < _LARGEST:
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            unread += 1
            continue
        for name, value in entry.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                try:
                    number = float(value)
                except OverflowError:
                    continue
                if abs(number) < _LARGEST:
                    values.setdefault(str(name), {})[step] = number
    return tuple(Curve(name, _thin(sorted(at.items()))) for name, at in values.items()), unread


def _thin(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Few enough to draw: every so many-th, and the last."""
    stride = -(-len(points) // MOST_POINTS)
    thinned = points[::stride]
    if thinned[-1] != points[-1]:
        thinned.append(points[-1])
    return tuple(thinned)
