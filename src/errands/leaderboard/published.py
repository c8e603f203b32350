"""Published figures, shown beside what was replayed and marked as what they are."""

import functools
import tomllib
from importlib import resources

import msgspec

from errands.agents.llm.turk.conditions import published_table

__all__ = ["PublishedRow", "published_rows"]


class PublishedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of a paper's, in percent."""

    protocol: str
    """The id of the protocol that it is the nearest to."""
    name: str
    score: float
    success: float | None = None
    privileged: bool = False
    source: str


@functools.cache
def published_rows() -> tuple[PublishedRow, ...]:
    """All of them, best first within a protocol."""
    source = resources.files("errands.leaderboard").joinpath("published.toml")
    rows = msgspec.convert(
        tomllib.loads(source.read_text("utf-8"))["rows"], tuple[PublishedRow, ...]
    )
    table = published_table()
    forms = (
        PublishedRow(
            protocol=table.protocol,
            name=row.model if row.agent != "llm" else f"{row.model}, {row.name}",
            score=row.score,
            privileged=row.agent == "oracle",
            source=table.source,
        )
        for row in table.rows
        if not row.name.endswith("-original")
    )
    return tuple(sorted((*rows, *forms), key=lambda row: (row.protocol, -row.score)))
