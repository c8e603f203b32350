"""What the admin sees of written instructions: lists with filters, and who asks to be qualified."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from errands.crowd.instructions.assignments import (
    COLUMNS,
    KIND,
    Status,
    WriterAccount,
    WritingAssignment,
    account_of,
    assignment_of_row,
)
from errands.crowd.instructions.collection import read_settings
from errands.crowd.store.database import ReadDatabase

__all__ = ["PAGE", "Writer", "WritingAssignmentPage", "listed", "waiting", "writers"]

PAGE: Final = 50
"""Writings on one page of a list."""


class WritingAssignmentPage(msgspec.Struct, frozen=True):
    """One page of a list, the newest first."""

    total: int
    page: int
    """From 1."""
    pages: int
    writings: list[WritingAssignment]


class Writer(msgspec.Struct, frozen=True):
    """Somebody who has written, or has begun to."""

    person: int
    name: str
    account: WriterAccount


def listed(
    source: ReadDatabase, *, person: int | None = None, status: Status | None = None, page: int = 1
) -> WritingAssignmentPage:
    """Writings of somebody, of a status, or all."""
    wheres: list[str] = []
    values: list[Any] = []
    if person is not None:
        wheres.append("person = ?")
        values.append(person)
    if status is not None:
        wheres.append("status = ?")
        values.append(status)
    where = f"WHERE {' AND '.join(wheres)}" if wheres else ""
    [(total,)] = source.rows(f"SELECT count(*) FROM writings {where}", values)
    pages = max(1, -(-total // PAGE))
    page = min(max(1, page), pages)
    rows = source.rows(
        f"SELECT {COLUMNS} FROM writings {where} ORDER BY id DESC LIMIT ? OFFSET ?",
        (*values, PAGE, (page - 1) * PAGE),
    )
    return WritingAssignmentPage(int(total), page, pages, [assignment_of_row(row) for row in rows])


def waiting(source: ReadDatabase, most: int = PAGE) -> list[WritingAssignment]:
    """What waits for a review, who waits longest first."""
    rows = source.rows(
        f"SELECT {COLUMNS} FROM writings WHERE status = 'submitted' ORDER BY submitted, id LIMIT ?",
        (most,),
    )
    return [assignment_of_row(row) for row in rows]


def writers(source: ReadDatabase) -> list[Writer]:
    """Everybody who has begun; those who wait for a decision first."""
    counts: dict[int, list[Sequence[Any]]] = {}
    rows = source.rows(
        "SELECT person, status, is_trial, count(*), sum(pay),"
        " sum(CASE WHEN reviewed IS NULL THEN 0 ELSE 1 END)"
        " FROM writings GROUP BY person, status, is_trial"
    )
    for person, *rest in rows:
        counts.setdefault(person, []).append(tuple(rest))
    named = source.rows(
        "SELECT p.id, p.name, coalesce(q.status, ''), coalesce(q.note, '') FROM people p"
        " LEFT JOIN qualifications q ON q.person = p.id AND q.kind = ?"
        " WHERE p.id IN (SELECT person FROM writings) ORDER BY p.id",
        (KIND,),
    )
    trials = read_settings(source).trials
    found = [
        Writer(id, name, account_of(counts[id], trials, status, note))
        for id, name, status, note in named
    ]
    return sorted(found, key=lambda writer: writer.account.standing != "waiting")
