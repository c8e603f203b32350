"""Answers on disk, so that a run can be repeated without asking the model again.

One SQLite file, safe with many processes at once: the first answer to a request is the one that
is kept, and everybody goes on with that one.
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from errands.agents.agent import ModelError
from errands.agents.llm.transport.messages import ChatAnswer
from errands.errors import SettingError
from errands.home import expanded

__all__ = ["Cache", "fingerprint"]

_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB) WITHOUT ROWID"


def fingerprint(request: Mapping[str, Any], sample: int) -> str:
    """What an answer is kept under: the whole request, and which sample of it."""
    text = json.dumps([dict(request), sample], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """A file of answers."""

    def __init__(self, path: str) -> None:
        self._path = expanded(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                self._path, timeout=60, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as failure:
            raise self._unusable(failure) from None
        try:
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(_TABLE)
        except sqlite3.Error as failure:
            self._file.close()
            raise self._unusable(failure) from None

    def _unusable(self, failure: Exception) -> SettingError:
        return SettingError(
            f"cache={str(self._path)!r} cannot be used ({failure}): expected a file that a cache"
            " made, or a path where one can be made."
        )

    def get(self, key: str) -> ChatAnswer | None:
        """The answer kept under a key."""
        try:
            row = self._file.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            return None if row is None else msgspec.json.decode(row[0], type=ChatAnswer)
        except (sqlite3.Error, msgspec.DecodeError, RecursionError) as failure:
            raise ModelError(f"The cache {self._path} cannot be read: {failure}.") from None

    def keep(self, key: str, answer: ChatAnswer) -> ChatAnswer:
        """Keep an answer unless there is one; the one that is kept."""
        try:
            self._file.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, msgspec.json.encode(answer))
            )
        except sqlite3.Error as failure:
            raise ModelError(f"The cache {self._path} cannot be written: {failure}.") from None
        return self.get(key) or answer

    def close(self) -> None:
        self._file.close()
