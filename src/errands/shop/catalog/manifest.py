"""The manifest of a catalogue: what it is, how it was made, and the checksums of its files."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from errands.errors import CatalogError, DamageError
from errands.shop.damage import UNREADABLE

__all__ = ["FORMAT", "Manifest", "SourceFile", "read_manifest"]

FORMAT = 4
"""Version of the directory's layout; a catalogue of another version is built anew."""


class SourceFile(msgspec.Struct, frozen=True):
    """A file that a catalogue was built from."""

    name: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What a catalogue is, and the checksums that prove it."""

    format: int
    errands: str
    """The version that built it."""
    made: dict[str, Any]
    """How: the sources, or the generator and its seed."""
    sources: tuple[SourceFile, ...]
    seed: int
    """Of the generator that drew range prices and price caps."""
    tagger: str
    products: int
    goals: dict[str, int]
    dropped: dict[str, int]
    """Records left out, by reason."""
    contents: dict[str, str]
    """Checksums of what compressed records hold, by the name that their files share."""
    files: dict[str, SourceFile]
    seal: str = ""
    """A checksum of all the rest; empty in catalogues from before there was one."""

    def sealed(self) -> "Manifest":
        """The same, with its seal."""
        bare = msgspec.structs.replace(self, seal="")
        told = msgspec.json.encode(bare, order="deterministic")
        return msgspec.structs.replace(self, seal=hashlib.sha256(told).hexdigest())

    @property
    def difficulty(self) -> str | None:
        """Of a generated catalogue (one without a word on it is easy); None for any other."""
        return self.made.get("difficulty", "easy") if self.made.get("by") == "generate" else None

    @property
    def checksum(self) -> str:
        """One checksum for all that is in it, however records are compressed; the index is made of
        the products alone, and no part of it."""
        plain = {
            name: file.sha256
            for name, file in self.files.items()
            if name.partition(".")[0] not in self.contents and not name.startswith("index/")
        }
        lines = [f"{name} {sha256}" for name, sha256 in sorted({**plain, **self.contents}.items())]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    try:
        raw = msgspec.json.decode((folder / "manifest.json").read_bytes())
        if raw.get("format") == FORMAT:
            manifest = msgspec.convert(raw, Manifest)
            if manifest.seal and manifest != manifest.sealed():
                raise ValueError("it has another checksum than when it was built")
            return manifest
    except OSError:
        raise CatalogError(
            f"{folder} is not a catalogue (it has no manifest.json); expected a directory made by"
            " `errands catalog build` or `errands catalog generate`."
        ) from None
    except (*UNREADABLE, AttributeError) as failure:
        raise DamageError(
            f"{folder}/manifest.json is damaged ({failure}); build the catalogue again."
        ) from None
    raise CatalogError(
        f"{folder} has catalogue format {raw.get('format')!r}, this version reads {FORMAT};"
        " build the catalogue again with `errands catalog build`."
    )
