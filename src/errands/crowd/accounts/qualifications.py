"""Who may do paid work of a kind after trial examples: granted or refused, by whom and why."""

import time
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from errands.crowd.store.database import Database

__all__ = ["TABLES", "Qualification", "Qualifications"]

TABLES: Final = """
CREATE TABLE qualifications (
  person BIGINT NOT NULL REFERENCES people,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  decider BIGINT NOT NULL REFERENCES people,
  note TEXT NOT NULL,
  PRIMARY KEY (person, kind)
);
"""

QualificationStatus = Literal["granted", "refused"]


class Qualification(msgspec.Struct, frozen=True):
    """The last decision about somebody."""

    person: int
    kind: str
    status: QualificationStatus
    at: float
    decider: int
    note: str


class Qualifications:
    """All decisions; a later one takes the place of an earlier."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def decide(
        self, person: int, kind: str, status: QualificationStatus, decider: int, note: str = ""
    ) -> Qualification:
        made = Qualification(person, kind, status, self._clock(), decider, note)
        self._database.run(
            "INSERT INTO qualifications VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (person, kind) DO"
            " UPDATE SET status = excluded.status, at = excluded.at, decider = excluded.decider,"
            " note = excluded.note",
            msgspec.structs.astuple(made),
        )
        return made

    def of(self, person: int, kind: str) -> Qualification | None:
        rows = self._database.rows(
            "SELECT person, kind, status, at, decider, note FROM qualifications"
            " WHERE person = ? AND kind = ?",
            (person, kind),
        )
        return Qualification(*rows[0]) if rows else None

    def everybody(self, kind: str) -> dict[int, Qualification]:
        """All decisions of a kind, by person."""
        rows = self._database.rows(
            "SELECT person, kind, status, at, decider, note FROM qualifications WHERE kind = ?",
            (kind,),
        )
        return {row[0]: Qualification(*row) for row in rows}
