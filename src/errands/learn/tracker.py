"""Where a training's figures go: a file beside the checkpoint, and any tracker like wandb."""

import importlib
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Protocol, Self

from errands.errors import DataError, SettingError

__all__ = ["FileTracker", "Tracker", "Trackers", "open_trackers"]


class Tracker(Protocol):
    """Takes figures as training goes on."""

    def log(self, step: int, figures: dict[str, float]) -> None: ...
    def close(self) -> None: ...


class FileTracker:
    """A line of JSON for each entry; what a resumed training logs again replaces what it had."""

    def __init__(self, path: Path, from_step: int = 0) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = []
            if path.exists():
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
                # Half a line of a training that was killed has no step, and goes.
                kept = [line for line in lines if from_step and 0 <= _step(line) <= from_step]
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
            self._file = path.open("a", encoding="utf-8", buffering=1)
        except OSError as failure:
            raise DataError(f"{path} cannot be written ({failure.strerror}).") from None

    def log(self, step: int, figures: dict[str, float]) -> None:
        self._file.write(json.dumps({"step": step, **figures}) + "\n")

    def close(self) -> None:
        self._file.close()


def _step(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return -1


class _Module:
    """A module with `init`, `log` and `finish`, as wandb and trackio have them.

    What it has to say goes to standard error: standard output is for results.
    """

    def __init__(self, name: str, project: str, run: str, config: dict[str, Any]) -> None:
        try:
            self._module: Any = importlib.import_module(name)
        except ImportError:
            raise SettingError(
                f"The tracker {name!r} is not installed; run pip install {name}."
            ) from None
        for part in ("init", "log", "finish"):
            if not hasattr(self._module, part):
                raise SettingError(
                    f"{name!r} is no tracker: it has no {part}(); expected wandb, trackio or alike."
                )
        with redirect_stdout(sys.stderr):
            self._module.init(project=project, name=run, config=config)

    def log(self, step: int, figures: dict[str, float]) -> None:
        with redirect_stdout(sys.stderr):
            self._module.log(figures, step=step)

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self._module.finish()


class Trackers:
    """Several at once."""

    def __init__(self, trackers: list[Tracker]) -> None:
        self._trackers = trackers

    def log(self, step: int, figures: dict[str, float]) -> None:
        for tracker in self._trackers:
            tracker.log(step, figures)

    def close(self) -> None:
        for tracker in self._trackers:
            tracker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_trackers(
    folder: Path, module: str | None, run: str, config: dict[str, Any], from_step: int = 0
) -> Trackers:
    """The file `log.jsonl`, and a tracker by its module's name."""
    # First what can be a mistake: a log is not to be touched for it.
    others: list[Tracker] = [] if module is None else [_Module(module, "errands", run, config)]
    return Trackers([FileTracker(folder / "log.jsonl", from_step), *others])
