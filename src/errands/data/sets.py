"""The data sets and everything that is known of their files, as frozen data.

A file may exist in more than one genuine version; a version is known by its size and, where
somebody has measured it, by its SHA-256 or its git blob id. What is not known is left out
rather than guessed, and `KnownFile.judge` says how far a file could be checked.
"""

import difflib
import hashlib
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from errands.errors import DataError
from errands.progress import Progress, silent

__all__ = [
    "CHUNK",
    "DATASETS",
    "Action",
    "Check",
    "Dataset",
    "FileReport",
    "Fingerprint",
    "KnownFile",
    "Version",
    "find_dataset",
    "fingerprint",
    "known_tasks",
]

CHUNK = 1 << 20
"""Bytes that are read at a time."""

Action = Literal["present", "downloaded", "copied"]
"""How a file came to be in its place."""

Check = Literal["sha256", "git-blob", "size", "unknown", "differs"]
"""How a file was recognised: by a checksum, only by its size, not at all because nothing is
known of it, or (accepted with `verify=False`) as another file than the known ones."""

_TOLERANCE = 0.1
"""How far the size of a file may be from a size that is only known roughly."""


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


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file that is now in place."""

    name: str
    """Its path below the folder of the data set."""
    bytes: int
    sha256: str
    status: Action
    check: Check


@dataclass(frozen=True, slots=True)
class Version:
    """One genuine version of a file."""

    bytes: int
    sha256: str | None = None
    git_blob: str | None = None
    note: str = ""

    def __str__(self) -> str:
        facts = [f"{self.bytes:,} bytes"]
        if self.sha256:
            facts.append(f"sha256 {self.sha256}")
        elif self.git_blob:
            facts.append(f"git blob {self.git_blob}")
        else:
            facts.append("checksum not known")
        return ", ".join(facts) + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a data set, with all its genuine versions."""

    name: str
    option: str
    """The option of `errands catalog build` that takes this file."""
    versions: tuple[Version, ...] = ()
    about: int | None = None
    """The rough size in bytes, where no version is known exactly."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The exact sizes a genuine file can have; empty when none is known."""
        return tuple(version.bytes for version in self.versions)

    @property
    def limit(self) -> int:
        """More bytes than this cannot be this file."""
        return max(self.sizes, default=0) or round((self.about or 0) * (1 + _TOLERANCE))

    @property
    def has_checksum(self) -> bool:
        """Whether every version can be told by a checksum."""
        return bool(self.versions) and all(v.sha256 or v.git_blob for v in self.versions)

    def judge(self, measured: Fingerprint) -> Check | None:
        """How a file was recognised, or None when it is none of the known versions."""
        for version in self.versions:
            if version.bytes != measured.bytes:
                continue
            if version.sha256 is None and version.git_blob is None:
                return "size"
            if version.sha256 == measured.sha256:
                return "sha256"
            if version.git_blob == measured.git_blob:
                return "git-blob"
        if self.versions:
            return None
        if self.about and abs(measured.bytes - self.about) > _TOLERANCE * self.about:
            return None
        return "unknown"

    def describe(self) -> tuple[str, ...]:
        """What is known of the file, one line for each version."""
        if self.versions:
            return tuple(str(version) for version in self.versions)
        return (f"about {self.about or 0:,} bytes, exact size and checksum not known",)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: either named files, or (`tasks` > 0) a tree of task folders."""

    name: str
    summary: str
    files: tuple[KnownFile, ...] = ()
    tasks: int = 0
    """How many task folders the complete set has."""
    archives: tuple[str, ...] = ()
    """The names under which a server may hold the task folders, packed."""
    elsewhere: tuple[str, ...] = ()
    """Where people have found the files, one sentence each."""


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


DATASETS: tuple[Dataset, ...] = msgspec.toml.decode(
    _resource("datasets.toml"), type=dict[str, tuple[Dataset, ...]]
)["dataset"]


def find_dataset(name: str) -> Dataset:
    """The data set called `name`; an unknown name is answered with the nearest one."""
    names = [dataset.name for dataset in DATASETS]
    if name in names:
        return DATASETS[names.index(name)]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise DataError(f"there is no data set {name!r}: {hint}There are {', '.join(names)}.")


def known_tasks() -> dict[str, str]:
    """SHA-256 by path (`tasks/NAME/batch.csv`) of the TurkingBench files that were measured.

    The list is in the form of `sha256sum`, so that `sha256sum -c` can check a folder with it.
    It covers 108 of the 159 tasks, as they are at commit f1a3854 of JHU-CLSP/turking-bench.
    """
    return {line[66:]: line[:64] for line in _resource("turkingbench.sha256").splitlines()}
