"""A directory, or a set of files, that appears whole or not at all.

The work happens in a hidden sibling; only a finished one is renamed into place. A failure
removes it, and so does a small watcher process if the builder is killed outright: it waits for
the end of a pipe whose other end dies with the builder.
"""

import contextlib
import ctypes
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from errands.errors import CatalogError
from errands.home import real

__all__ = ["atomic_directory", "atomic_files", "atomic_write", "cut_off_torn_line", "to_disk"]

_HERE: Final = -100
_EXCHANGE: Final = 2
"""Of Linux's renameat2: names are relative to where the process is; both are to exist."""

_WATCHER = """
import shutil, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.stdin.buffer.read()
for work in sys.argv[1:]:
    shutil.rmtree(work, ignore_errors=True)
"""


@contextlib.contextmanager
def atomic_directory(out: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give an empty directory to fill; on success it becomes `out`."""
    _check_place(out, replace)
    work = _hidden(out, "building")
    with _watched(work):
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            work.mkdir(mode=0o755)
            yield work
            _settle(work)
            _check_place(out, replace)
            if out.exists():
                _exchange(work, out)  # The old one goes as the work would have.
            else:
                work.rename(out)
        except OSError as failure:
            if failure.errno is None:
                raise
            raise CatalogError(f"{out} cannot be written ({failure.strerror}).") from failure
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def atomic_files(outs: Sequence[Path], *, replace: bool = False) -> Iterator[list[Path]]:
    """Give a path to write for each file; on success they become `outs`, one after the other."""
    places = [real(out) for out in outs]
    for out, place in zip(outs, places, strict=True):
        _check_file(out, replace)
        if places.count(place) > 1:
            raise CatalogError(f"{out} was named for two files; name one for each.")
    made = [_hidden(place, "writing") for place in places]
    works = [work / place.name for work, place in zip(made, places, strict=True)]
    unmade = list(outs)
    with _watched(*made):
        try:
            for work, place in zip(made, places, strict=True):
                place.parent.mkdir(parents=True, exist_ok=True)
                work.mkdir(mode=0o700)
                del unmade[0]
            yield works
            for work, out, place in zip(works, outs, places, strict=True):
                _settle(work.parent)
                _check_file(out, replace)
                work.rename(place)
        except OSError as failure:
            if failure.errno is None:
                raise
            named = unmade[0] if unmade else " or ".join(map(str, outs))
            raise CatalogError(f"{named} cannot be written ({failure.strerror}).") from failure
        finally:
            for work in made:
                shutil.rmtree(work, ignore_errors=True)


def _hidden(out: Path, ending: str) -> Path:
    """Beside a place, a name that is nobody else's. It is made once it is watched."""
    return out.parent / f".{out.name}.{secrets.token_hex(6)}.{ending}"


def atomic_write(path: Path, write: Callable[[Path], object]) -> None:
    """Let one small file be written under another name, and replace `path` when it is whole.

    What is there and is no file (a pipe, a terminal, a device) is written to, and stays. Raises
    `OSError` as it comes: what it means is known to the caller.
    """
    path = real(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder, "work")
            write(work)
            with work.open("rb") as whole, path.open("wb") as sink:
                shutil.copyfileobj(whole, sink)
        return
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


def cut_off_torn_line(handle: int) -> None:
    """Take off what stands after the last end of a line: a writer that was killed leaves it."""
    size = end = os.fstat(handle).st_size
    while end:
        begin = max(0, end - 65_536)
        newline = os.pread(handle, end - begin, begin).rfind(b"\n")
        if newline >= 0:
            end = begin + newline + 1
            break
        end = begin
    if end != size:
        os.ftruncate(handle, end)


def _exchange(one: Path, other: Path) -> None:
    """Give each the other's name. Linux does it at once: at no moment has a name nothing."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        done = False  # Another system.
    else:
        done = not rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    if not done:  # Or another kind of disk.
        aside = one.with_name(one.name + ".old")
        other.rename(aside)
        one.rename(other)
        aside.rename(one)


def _check_file(out: Path, replace: bool) -> None:
    if out.exists() and not out.is_file():
        raise CatalogError(f"{out} is not a file, so it is not replaced; name another.")
    if out.exists() and not replace:
        raise CatalogError(f"{out} exists already; name another file, or pass --force.")


def _check_place(out: Path, replace: bool) -> None:
    if out.exists() and not replace:
        raise CatalogError(f"{out} exists already; name another directory, or pass --force.")
    if out.exists() and not (out / "manifest.json").is_file():
        raise CatalogError(f"{out} is not a catalogue, so it is not replaced; remove it yourself.")


@contextlib.contextmanager
def _watched(*works: Path) -> Iterator[None]:
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHER, *map(str, works)],
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
        to_disk(path)


def to_disk(path: str | Path) -> None:
    """A file, or what a directory lists, as safe as the disk is."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
