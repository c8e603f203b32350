"""Whether the kinds that goals ask for are found: searching the shop for each must show products of
it, and where there are not too many of them, those that are asked for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from errands.progress import Progress, silent
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import RESULT_LIMIT

__all__ = ["FoundKinds", "found_kinds"]

MOST_KINDS: Final = 2_000
"""Kinds that are searched for, those of most products first."""


class FoundKinds(msgspec.Struct, frozen=True, kw_only=True):
    """What searching for the kinds of a shop's goals shows."""

    kinds: int = 0
    lost: tuple[str, ...] = ()
    """Kinds of which a search shows no product, those of most products first."""
    targets: int = 0
    """Products that goals ask for, of kinds that the results have room for."""
    targets_found: int = 0


def found_kinds(
    catalog: Catalog, asked: Iterable[Mapping[str, Any]], progress: Progress = silent
) -> FoundKinds:
    """Searches for the kinds of some records that have instructions."""
    products: dict[str, set[str]] = defaultdict(set)
    for record in asked:
        products[record["query"]].add(record["asin"])
    usual = sorted(products, key=lambda kind: (-len(products[kind]), kind))[:MOST_KINDS]
    lost: list[str] = []
    targets = found = 0
    for done, kind in enumerate(usual):
        progress("searching for kinds", done, len(usual))
        shown = {hit.asin for hit in catalog.search(kind, RESULT_LIMIT)}
        here = products[kind] & shown
        if not here:
            lost.append(kind)
        if len(products[kind]) <= RESULT_LIMIT:
            targets += len(products[kind])
            found += len(here)
    return FoundKinds(kinds=len(usual), lost=tuple(lost), targets=targets, targets_found=found)
