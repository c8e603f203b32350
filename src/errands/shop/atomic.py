"""A directory that appears whole or not at all.

The work happens in a hidden sibling; only a finished one is renamed into place. A failure
removes it, and so does a small watcher process if the builder is killed outright: it waits for
the end of a pipe whose other end dies with the builder.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from errands.errors import CatalogError

__all__ = ["atomic_directory"]

_WATCHER = """
import shutil, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.stdin.buffer.read()
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


@contextlib.contextmanager
def atomic_directory(out: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give an empty directory to fill; on success it becomes `out`."""
    _check_place(out, replace)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".building", dir=out.parent))
    except OSError as failure:
        raise CatalogError(f"{out} cannot be written ({failure.strerror}).") from None
    with _watched(work):
        try:
            work.chmod(0o755)
            yield work
            _settle(work)
            _check_place(out, replace)
            if out.exists():
                old = work.with_name(work.name + ".old")
                out.rename(old)
                work.rename(out)
                shutil.rmtree(old, ignore_errors=True)
            else:
                work.rename(out)
        except OSError as failure:
            if failure.errno is None:
                raise
            raise CatalogError(f"{out} cannot be written ({failure.strerror}).") from failure
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _check_place(out: Path, replace: bool) -> None:
    if out.exists() and not replace:
        raise CatalogError(f"{out} exists already; name another directory, or pass --force.")
    if out.exists() and not (out / "manifest.json").is_file():
        raise CatalogError(f"{out} is not a catalogue, so it is not replaced; remove it yourself.")


@contextlib.contextmanager
def _watched(work: Path) -> Iterator[None]:
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHER, str(work)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield
    finally:
        # Killed, not told: a process forked meanwhile may hold the pipe open.
        watcher.kill()
        assert watcher.stdin is not None
        watcher.stdin.close()
        watcher.wait()


def _settle(work: Path) -> None:
    """Have the files on disk before the rename makes them visible."""
    for path in [*work.rglob("*"), work]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
