"""One runner at a time in a run directory."""

import fcntl
import os
from pathlib import Path
from typing import Self

from errands.runs.store import StoreError

__all__ = ["RunLock"]


class RunLock:
    """Held from here to `release`, or to the end of the process, however it ends.

    Forked workers share it, so a run stays locked until the last of them is gone; other programs
    that a runner starts do not, unless they are handed `fileno()`.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory).absolute()
        try:
            self._handle: int | None = os.open(
                self.directory / "runner.lock", os.O_RDWR | os.O_CREAT, 0o666
            )
        except OSError as failure:
            raise StoreError(
                f"{self.directory} cannot be locked for a run ({failure.strerror})."
            ) from None
        try:
            self._take(self._handle)
        except BaseException:
            self.release()
            raise

    def _take(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise StoreError(
                f"another runner (process {holder}) is at work in {self.directory}; wait for it,"
                " or name another directory."
            ) from None
        except OSError as failure:
            raise StoreError(
                f"{self.directory} cannot be locked for a run ({failure.strerror});"
                " it must lie on a local disk."
            ) from None
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        except OSError:
            # The number is for people; on a full disk the lock holds all the same.
            pass

    def fileno(self) -> int:
        """For `pass_fds` of a worker that is started, not forked."""
        if self._handle is None:
            raise StoreError(f"The lock of {self.directory} was released.")
        return self._handle

    def release(self) -> None:
        # Closed, not unlocked: workers that still write keep it.
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
