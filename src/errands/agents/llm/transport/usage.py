"""What several calls cost together."""

from collections.abc import Sequence

from errands.agents.agent import Usage

__all__ = ["total"]


def total(parts: Sequence[Usage]) -> Usage:
    return Usage(
        calls=sum(part.calls for part in parts),
        tokens_in=sum(part.tokens_in for part in parts),
        tokens_out=sum(part.tokens_out for part in parts),
        cost=sum(part.cost for part in parts),
        cached=sum(part.cached for part in parts),
    )
