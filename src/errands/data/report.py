"""What a fetch did, file by file."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from errands.data.sets import Check

__all__ = ["Action", "FetchReport", "FileReport"]

Action = Literal["present", "downloaded", "copied"]


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
class FetchReport:
    """A data set that is now complete on this machine."""

    name: str
    folder: Path
    files: tuple[FileReport, ...]
    received: int = 0
    """Bytes that were transferred over the network."""

    @property
    def nothing_to_do(self) -> bool:
        """Whether all files were there and good already."""
        return all(file.status == "present" for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {**asdict(self), "folder": str(self.folder)}
