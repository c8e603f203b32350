"""Task folders out of a zip or tar archive that nobody vouches for.

Only regular files `tasks/NAME/template.html` and `tasks/NAME/batch.csv` are taken, at any depth
(a repository's source archive puts everything below one more folder). Their places are made
from the checked parts of the name, never by the archive library, and everything is counted
while it is unpacked, so that neither names, links nor sizes can lead out of the target folder.
"""

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from errands.data.sets import CHUNK
from errands.errors import DataError
from errands.progress import Progress, silent

__all__ = ["SUFFIXES", "TASK_FILES", "ArchiveLimits", "plain_name", "unpack_tasks"]

SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar")
"""How the name of an archive ends."""

TASK_FILES = ("batch.csv", "template.html")
"""The two files that make a folder a task."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an honest archive does not exceed (the real one: 159 tasks, some 125 MB)."""

    members: int = 100_000
    file_bytes: int = 256 << 20
    total_bytes: int = 4 << 30
    """Of all members together, also of those that are not wanted."""


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    size: int
    regular: bool
    folder: bool
    open: Callable[[], IO[bytes] | None]


def unpack_tasks(
    archive: Path, target: Path, *, limits: ArchiveLimits | None = None, progress: Progress = silent
) -> int:
    """Unpack all task files below `target`/NAME and say how many there were."""
    limits = limits or ArchiveLimits()
    count = total = 0
    seen: set[tuple[str, str]] = set()
    try:
        for member in _members(archive, limits.total_bytes):
            count += 1
            total += member.size
            if count > limits.members or total > limits.total_bytes:
                raise DataError(f"{archive} unpacks to more than task folders can hold")
            place = _place(archive, member)
            if place is None:
                continue
            if place in seen:
                raise DataError(f"{archive} holds {'/'.join(place)!r} twice")
            seen.add(place)
            _unpack(archive, member, target.joinpath(*place), limits.file_bytes)
            progress(f"unpacking {archive.name}", total, None)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise DataError(f"{archive} is damaged or not a zip or tar archive: {error}") from None
    except OSError as error:
        raise DataError(f"{archive} cannot be unpacked: {error}") from None
    return len(seen)


def plain_name(name: str) -> bool:
    """Whether `name` can be one folder's name everywhere and hides nothing."""
    return (
        0 < len(name.encode("utf-8", "surrogateescape")) <= 255
        and not name.startswith(".")
        and name.isprintable()
        and not set(name) & set("/\\")
    )


def _place(archive: Path, member: _Member) -> tuple[str, str] | None:
    """Task and file name of a wanted member, None for one to pass over."""
    name = member.name
    parts = name.split("/")
    if name.startswith("/") or "\\" in name or "\0" in name or ".." in parts or name[1:2] == ":":
        raise DataError(f"{archive} is refused: its member {name!r} points out of the folder")
    if len(parts) < 3 or parts[-3] != "tasks" or parts[-1] not in TASK_FILES or member.folder:
        return None
    if not plain_name(parts[-2]):
        return None
    if not member.regular:
        raise DataError(f"{archive} is refused: its member {name!r} is a link or device")
    return parts[-2], parts[-1]


def _unpack(archive: Path, member: _Member, path: Path, most: int) -> None:
    source = member.open()
    if source is None:
        raise DataError(f"{archive} is refused: its member {member.name!r} has no content")
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    # "x": nothing that is already there can be written through.
    with source, path.open("xb") as file:
        while chunk := source.read(CHUNK):
            written += len(chunk)
            # Headers can lie, so the bytes themselves are counted.
            if written > most:
                raise DataError(f"{archive} is refused: {member.name!r} has over {most:,} bytes")
            file.write(chunk)


def _members(archive: Path, most: int) -> Iterator[_Member]:
    # By its first bytes: zipfile's own test looks at the end and so takes a tar with a zip in it.
    with archive.open("rb") as file:
        zipped = file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    return _zip_members(archive) if zipped else _tar_members(archive, most)


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as pack:
        for info in pack.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            yield _Member(
                # The library cuts names at NUL; the original name is what is judged.
                info.orig_filename,
                info.file_size,
                kind in (0, stat.S_IFREG) and not info.is_dir(),
                info.is_dir(),
                lambda info=info: pack.open(info),  # type: ignore[misc]
            )


def _tar_members(archive: Path, most: int) -> Iterator[_Member]:
    with (
        _unpacked(archive) as stream,
        tarfile.open(fileobj=cast(IO[bytes], _Portioned(stream)), mode="r:") as pack,
    ):
        for info in pack:
            yield _Member(
                info.name,
                info.size,
                info.isreg(),
                info.isdir(),
                lambda info=info: pack.extractfile(info),  # type: ignore[misc]
            )
        # The library takes a damaged header for the end, and never reads up to the checksum
        # that ends a compressed stream: both are looked at here.
        stream.seek(pack.offset)
        end = stream.read(tarfile.BLOCKSIZE)
        if len(end) < tarfile.BLOCKSIZE or any(end):
            raise tarfile.ReadError("it breaks off before its end mark")
        while most > 0 and (rest := stream.read(CHUNK)):
            most -= len(rest)


class _Portioned:
    """A stream that gives no more at once than files are unpacked by: tarfile reads the headers
    that tell long names whole, and they may claim any size."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= CHUNK:
            raise tarfile.ReadError(f"a header has more than {CHUNK:,} bytes")
        return self._stream.read(size)


def _unpacked(archive: Path) -> IO[bytes]:
    """The plain tar stream of a compressed or plain archive."""
    with archive.open("rb") as file:
        magic = file.read(6)
    if magic.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(archive))
    if magic.startswith(b"BZh"):
        return cast(IO[bytes], bz2.open(archive))
    if magic == b"\xfd7zXZ\0":
        return cast(IO[bytes], lzma.open(archive))
    return archive.open("rb")
