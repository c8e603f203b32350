"""Where a training's figures go: a file beside the checkpoint, and any tracker like wandb."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from errands.atomic import atomic_write
from errands.errors import DataError, SettingError
from errands.runs.store.lock import RunLock

__all__ = ["Log", "open_log"]

Log = Callable[[int, dict[str, float]], None]
"""Takes a step and its figures."""


@contextmanager
def open_log(
    folder: Path, module: str | None, run: str, config: dict[str, Any], from_step: int = 0
) -> Iterator[Log]:
    """Have a training's folder for oneself, and write lines of JSON to the file `log.jsonl` there,
    and to a tracker by its module's name.

    What a training that is resumed `from_step` logs again replaces what it had. What a tracker has
    to say goes to standard error: standard output is for results.
    """
    # First what can be a mistake: a log is not to be touched for it.
    tracker = None if module is None else _find_tracker(module)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None
    with (
        RunLock(folder),
        _tracked(tracker, run, config),
        closing(_open_file(folder / "log.jsonl", from_step)) as file,
    ):

        def log(step: int, figures: dict[str, float]) -> None:
            file.write(json.dumps({"step": step, **figures}) + "\n")
            if tracker is not None:
                with redirect_stdout(sys.stderr):
                    tracker.log(figures, step=step)

        yield log


@contextmanager
def _tracked(tracker: Any, run: str, config: dict[str, Any]) -> Iterator[None]:
    """A tracker's run, which ends however a training does."""
    if tracker is None:
        yield
        return
    with redirect_stdout(sys.stderr):
        tracker.init(project="errands", name=run, config=config)
    try:
        yield
    finally:
        with redirect_stdout(sys.stderr):
            tracker.finish()


def _find_tracker(name: str) -> Any:
    """A module with `init`, `log` and `finish`, as wandb and trackio have them."""
    try:
        module = importlib.import_module(name)
    except (ImportError, ValueError, TypeError):
        raise SettingError(
            f"The tracker {name!r} is not installed; run pip install {name}."
        ) from None
    for part in ("init", "log", "finish"):
        if not hasattr(module, part):
            raise SettingError(
                f"{name!r} is no tracker: it has no {part}(); expected wandb, trackio or alike."
            )
    return module


def _open_file(path: Path, from_step: int) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        earlier = []
        if path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            # Half a line of a training that was killed has no step, and goes.
            earlier = [line for line in lines if from_step and 0 <= _step(line) <= from_step]
        kept = "".join(f"{line}\n" for line in earlier).encode()
        # In one go: who is killed now has all lines, or those that count.
        atomic_write(path, lambda work: work.write_bytes(kept))
        return path.open("a", encoding="utf-8", buffering=1)
    except OSError as failure:
        raise DataError(f"{path} cannot be written ({failure.strerror}).") from None


def _step(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return -1
