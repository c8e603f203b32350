"""What identifies a file's content: its size and its checksums, measured in one pass."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CHUNK", "Fingerprint", "Progress", "fingerprint", "silent"]

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how many bytes of it are done, and how many there are if known."""

CHUNK = 1 << 20


def silent(what: str, done: int, total: int | None) -> None:
    """The progress callback of those who do not want one."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Size and checksums of one file."""

    bytes: int
    sha256: str
    git_blob: str

    def __str__(self) -> str:
        return f"{self.bytes:,} bytes, sha256 {self.sha256}"


def fingerprint(path: Path, *, progress: Progress = silent, what: str | None = None) -> Fingerprint:
    """Read `path` once and measure it; `what` is the name under which progress is reported."""
    label = f"checking {what or path.name}"
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        sha256 = hashlib.sha256()
        # Git's object id; SHA-1 identifies here, it secures nothing.
        blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        done = 0
        while chunk := file.read(CHUNK):
            sha256.update(chunk)
            blob.update(chunk)
            done += len(chunk)
            progress(label, done, size)
    return Fingerprint(done, sha256.hexdigest(), blob.hexdigest())
