"""Whether a catalogue's files are those that it was built with.

A file is compared by its checksum, which takes a second for some hundred megabytes; so what was
compared is remembered in Errands' home, and a file that has not been touched since is not read
again. A run compares before its first episode: what it played on is then what its checksum says.
"""

import contextlib
import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from errands.atomic import atomic_write
from errands.errors import DamageError, SettingError
from errands.home import home, real
from errands.shop.catalog.manifest import SourceFile, read_manifest

__all__ = [
    "VERIFY", "Verify", "check_verify", "damage", "file_checksum", "file_state", "verify_files",
]  # fmt: skip

Verify = Literal["full", "quick", "off"]
"""How much is compared before a catalogue is used: every file, those that changed since they were
last compared on this machine, or none."""
VERIFY: Final[tuple[str, ...]] = get_args(Verify)

_SETTLED: Final = 2_000_000_000
"""Nanoseconds after which a file that is written again has another time: some disks count in two
seconds. What was written later than that is not remembered."""

FileState = tuple[int, int, int, int, int]
"""Device, inode, size, and times of a file: while they are the same, so are its bytes."""


class VerifiedFiles(msgspec.Struct, frozen=True):
    """What is remembered of a catalogue: the files that were as its manifest says."""

    manifest: str
    """The checksum of the manifest."""
    files: dict[str, FileState]


def check_verify(verify: str) -> None:
    """Refuse what is no way to verify."""
    if verify not in VERIFY:
        raise SettingError(f"verify={verify!r}: expected {', '.join(VERIFY)}.")


def verify_files(folder: Path, verify: Verify = "full") -> None:
    """Compare a catalogue's files with its manifest; a DamageError names those that differ."""
    check_verify(verify)
    if verify == "off":
        return
    files = read_manifest(folder).files
    place = _memory(folder)
    manifest = file_checksum(folder / "manifest.json")
    known = _remembered(place, manifest) if verify == "quick" else {}
    states = {name: state for name in files if (state := file_state(folder / name)) is not None}
    suspects = {
        name: file
        for name, file in files.items()
        if name not in states or known.get(name) != states[name]
    }
    if not suspects:
        return
    problems = _differences(folder, suspects)
    if problems:
        raise DamageError(
            f"{folder} is damaged ({'; '.join(problems)}): what is played on it would count for"
            " nothing. Build it again, or restore these files from a copy."
        )
    before = time.time_ns() - _SETTLED
    settled = {name: state for name, state in states.items() if max(state[3:]) < before}
    if settled != known:
        _remember(place, VerifiedFiles(manifest, settled))


def damage(folder: Path) -> list[str]:
    """One sentence for each file that is not as it was built; empty if all is well."""
    return _differences(folder, read_manifest(folder).files)


def file_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _differences(folder: Path, files: dict[str, SourceFile]) -> list[str]:
    """What is wrong with files, by name; several are read at once, the longest first."""

    def problem(name: str) -> str:
        expected = files[name]
        state = file_state(folder / name)
        if state is None:
            return f"{name} is missing"
        if state[2] != expected.bytes:
            return f"{name} has {state[2]} bytes, not {expected.bytes}"
        try:
            same = file_checksum(folder / name) == expected.sha256
        except OSError as failure:
            return f"{name} cannot be read: {failure.strerror}"
        return "" if same else f"{name} has another checksum than when it was built"

    ordered = sorted(files, key=lambda name: -files[name].bytes)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        found = dict(zip(ordered, pool.map(problem, ordered), strict=True))
    return [found[name] for name in files if found[name]]


def file_state(path: Path) -> FileState | None:
    """A file's state; None where there is none, whatever its name."""
    try:
        there = path.stat()
    except (OSError, ValueError):
        return None
    if not path.is_file():
        return None
    return (
        *(there.st_dev, there.st_ino, there.st_size),
        *(there.st_mtime_ns, there.st_ctime_ns),
    )


def _memory(folder: Path) -> Path:
    """Where it is remembered what was compared of a catalogue."""
    name = hashlib.sha256(os.fsencode(real(folder))).hexdigest()[:32]
    return home() / "verified" / f"{name}.json"


def _remembered(place: Path, manifest: str) -> dict[str, FileState]:
    with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError):
        kept = msgspec.json.decode(place.read_bytes(), type=VerifiedFiles)
        if kept.manifest == manifest:
            return kept.files
    return {}


def _remember(place: Path, verified: VerifiedFiles) -> None:
    """Nothing depends on it: where it cannot be written, files are compared again next time."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(place, lambda path: path.write_bytes(msgspec.json.encode(verified)))
