"""One runner at a time in a run directory."""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Final

from errands.runs.store.base import Lock, StoreError

__all__ = ["RunLock", "is_held"]

_NAME: Final = "runner.lock"
_ORPHANS: Final = 20.0
"""Seconds that the workers of a killed runner may take to end."""
_GLANCE: Final = 0.3
"""Seconds for which somebody who only asks `is_held` could seem to be a runner, and many more."""
_PAUSE: Final = 0.05


class RunLock(Lock):
    """Held from here to `release`, or to the end of the process, however it ends.

    Forked workers share it, so a run stays locked until the last of them is gone; other programs
    that a runner starts do not, unless they are handed its `descriptors`. The directory is made
    where there is none, and removed again if nothing else came into it.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory).absolute()
        self._handle: int | None = None
        try:
            self._made = not self.directory.exists()
            while self._handle is None:
                self.directory.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self.directory / _NAME, os.O_RDWR | os.O_CREAT, 0o666)
                self._take(self._handle)
                if os.fstat(self._handle).st_nlink == 0:
                    # The holder before us has just tidied its file away.
                    os.close(self._handle)
                    self._handle = None
        except OSError as failure:
            raise StoreError(
                f"{self.directory} cannot be locked for a run ({failure.strerror}); expected a"
                " directory on a local disk that may be written."
            ) from None

    def _take(self, handle: int) -> None:
        waited = 0.0
        while not _taken(handle):
            holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
            if waited < (_GLANCE if _lives(holder) else _ORPHANS):
                # A runner that was killed, whose workers are about to follow it; or just a glance.
                time.sleep(_PAUSE)
                waited += _PAUSE
                continue
            os.close(handle)
            raise StoreError(
                f"another runner (process {holder}) is at work in {self.directory}; wait for it,"
                " or name another directory."
            ) from None
        # The number is for people: on a full disk the lock holds without it.
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)

    @property
    def descriptors(self) -> tuple[int, ...]:
        return () if self._handle is None else (self._handle,)

    def release(self) -> None:
        if self._handle is None:
            return
        with contextlib.suppress(OSError):
            if self._made and os.listdir(self.directory) == [_NAME]:
                os.unlink(self.directory / _NAME)
                os.rmdir(self.directory)
        # Closed, not unlocked: workers that still write keep it.
        os.close(self._handle)
        self._handle = None


def is_held(directory: str | os.PathLike[str]) -> bool:
    """Whether a runner is at work in a directory; asking makes no file and stops no runner."""
    try:
        handle = os.open(Path(directory) / _NAME, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lives(process: str) -> bool:
    """Whether a process of this number is there."""
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
