"""The accepted instructions as WebShop's `items_human_ins.json`, which catalogues are built with.

Who wrote one is told by a made-up name that is the same in every export of a site; names and
links of people, and their comments, stay inside. The text is lower-case, as in the original.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from errands.atomic import atomic_files
from errands.crowd.instructions.assignments import WritingAssignment
from errands.crowd.store.database import ReadDatabase, select

__all__ = ["WritingSummary", "human_file", "human_records", "summary", "write_human_file"]


class WritingSummary(msgspec.Struct, frozen=True):
    """What has been collected."""

    statuses: dict[str, int]
    """How many writings of each status there are."""
    trials: int
    """How many of all that was handed in are trials."""
    products: int
    """Products with an accepted instruction."""
    writers: int
    """People with an accepted instruction."""
    pay: float
    """Dollars for all that was accepted."""


def human_records(source: ReadDatabase) -> dict[str, list[dict[str, Any]]]:
    """Product id to its accepted instructions, in the order in which they were begun."""
    salt = "".join(
        json.loads(value)
        for (value,) in source.rows("SELECT value FROM collecting WHERE name = 'salt'")
    )
    records: dict[str, list[dict[str, Any]]] = {}
    accepted = "writings WHERE status = 'accepted' ORDER BY id"
    for writing in select(source.rows, WritingAssignment, accepted):
        records.setdefault(writing.asin, []).append(_record(writing, salt))
    return records


def human_file(source: ReadDatabase) -> bytes:
    """The file, a product a line; bare brackets where there is nothing."""
    lines = [
        msgspec.json.encode(asin) + b":" + msgspec.json.encode(instructions)
        for asin, instructions in human_records(source).items()
    ]
    return b"{\n" + b",\n".join(lines) + b"\n}\n" if lines else b"{}"


def write_human_file(source: ReadDatabase, out: Path, *, replace: bool = False) -> int:
    """Write the file, whole or not at all; how many bytes it has."""
    with atomic_files([out], replace=replace) as [work]:
        return work.write_bytes(human_file(source))


def summary(source: ReadDatabase) -> WritingSummary:
    """What has been collected."""
    counts = source.rows("SELECT status, count(*) FROM writings GROUP BY status")
    [(trials,)] = source.rows(
        "SELECT count(*) FROM writings WHERE is_trial = 1 AND submitted IS NOT NULL"
    )
    [(products, writers, pay)] = source.rows(
        "SELECT count(DISTINCT asin), count(DISTINCT person), coalesce(sum(pay), 0)"
        " FROM writings WHERE status = 'accepted'"
    )
    return WritingSummary(
        {str(status): int(count) for status, count in counts},
        int(trials),
        int(products),
        int(writers),
        float(pay),
    )


def _record(writing: WritingAssignment, salt: str) -> dict[str, Any]:
    seen = writing.shown
    offered = [f"{name}: {value}" for name, values in seen.options.items() for value in values]
    return {
        "asin": writing.asin,
        "instruction": writing.instruction.lower(),
        "attributes": seen.attributes,
        "options": offered or [""],
        "instruction_attributes": writing.attributes,
        "instruction_options": [
            writing.options[name] for name in seen.options if name in writing.options
        ],
        "assignment_id": _pseudonym(salt, "assignment", writing.id),
        "worker_id": _pseudonym(salt, "worker", writing.person),
    }


def _pseudonym(salt: str, kind: str, number: int) -> str:
    return hashlib.sha256(f"{salt}/{kind}/{number}".encode()).hexdigest()[:14].upper()
