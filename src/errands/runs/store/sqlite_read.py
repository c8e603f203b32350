"""Looking into an SQLite file that somebody else may be writing, without leaving a trace."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

__all__ = ["fingerprint", "looked_into"]

_WAIT: Final = 5.0
_TRIES: Final = 5


def looked_into(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection that cannot write, and whether it takes the file for one that nobody writes:
    without a log beside it, it is complete and is read as it is, so that looking leaves no files
    behind. Who reads such a one makes sure that its `fingerprint` stays the same."""
    for tried in range(_TRIES):
        still = not os.path.exists(f"{path}-wal")
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro{'&immutable=1' if still else ''}",
            uri=True,
            timeout=_WAIT,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA schema_version").fetchone()
            return connection, still
        except sqlite3.OperationalError:
            # The last writer tidies its log away in this moment.
            connection.close()
            if tried == _TRIES - 1:
                raise
            time.sleep(0.02 * 2**tried)
        except BaseException:
            connection.close()
            raise
    raise AssertionError("unreachable")


def fingerprint(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """Changes with the file; None where there is none."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_ino, there.st_size, there.st_mtime_ns
