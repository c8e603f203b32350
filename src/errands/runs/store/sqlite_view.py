"""An SQLite run that is only looked at, also while a runner writes it.

Every answer has a connection of its own that cannot write. A file without a log beside it is
complete and is read as it is, so that looking leaves no files behind; one with a log is being
written, or was when its writer was killed.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from errands.database import ReadOnlyFile, fingerprint
from errands.runs.store.base import Query, StoreError
from errands.runs.store.lock import is_held
from errands.runs.store.sqlite import SqliteStore, checked_info, explained
from errands.runs.store.view import RunView

__all__ = ["SqliteView"]


class SqliteView(RunView, SqliteStore):
    """A store that is only read. Threads may share it; a fork, too, for nothing is held open."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if not self.path.is_file():
            raise StoreError(f"There is no run at {self.path}.")
        with explained(self.path), contextlib.closing(ReadOnlyFile(self.path)) as file:
            self.info = checked_info(self.path, file.connection)

    def is_written(self) -> bool:
        return is_held(self.path.parent)

    def waiting(self) -> bool:
        mark = f"{self.path.name}.kept-"
        with os.scandir(self.path.parent) as entries:
            return any(entry.name.startswith(mark) and entry.stat().st_size for entry in entries)

    def stamp(self) -> object:
        return fingerprint(self.path), fingerprint(f"{self.path}-wal")

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Query]:
        with explained(self.path):
            with contextlib.closing(ReadOnlyFile(self.path)) as file:
                file.connection.execute("BEGIN")
                yield file.connection.execute
            if file.has_changed():
                raise StoreError(f"{self.path} changed while it was read; read it once more.")
