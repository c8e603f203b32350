"""What is said of a catalogue whose bytes are not those that it was built with.

Files that are mapped are not read when a catalogue is opened, so damage shows where something is
looked up: an offset that leads nowhere, a record that cannot be decoded. Whoever reads mapped data
catches `UNREADABLE` there and raises `damaged`.
"""

from pathlib import Path
from typing import Final

import msgspec
import zstandard

from errands.errors import DamageError

__all__ = ["UNREADABLE", "damaged"]

UNREADABLE: Final = (
    *(OSError, EOFError, ValueError, ArithmeticError, MemoryError, RecursionError),
    *(msgspec.MsgspecError, zstandard.ZstdError),
)
"""What comes of damaged bytes. Not among it: an index out of range, which may be the caller's."""


def damaged(folder: Path, why: object) -> DamageError:
    """The one sentence for all of it; `why` names the file, where it is known."""
    reason = str(why).rstrip(".") or type(why).__name__
    return DamageError(
        f"{folder} is damaged ({reason}); `errands catalog verify {folder}` says which files are,"
        " building it again mends them."
    )
