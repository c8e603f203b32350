"""Mined candidates beside a list that exists: how much of it was found, how the filter would do.

The list is a file like items_ins_v2.json. Its attributes that occur in instructions are those that
can be asked for; the others tell what a product is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from errands.errors import DataError
from errands.mining.assignment import AttributeAssignment
from errands.mining.candidates import Candidates
from errands.mining.proposal import DROP
from errands.shop.build.json_stream import stream_object

__all__ = ["AttributeList", "ListComparison", "compare", "read_listed"]


class AttributeList(msgspec.Struct, frozen=True):
    """Attributes of an existing list."""

    products: dict[str, frozenset[str]]
    """Product to its attributes."""
    asked: frozenset[str]
    """Attributes that occur in instructions."""

    def counted(self) -> Counter[str]:
        """Products of each attribute."""
        return Counter(one for attributes in self.products.values() for one in attributes)


class ListComparison(msgspec.Struct, frozen=True):
    """How candidates stand beside a list."""

    least: int
    """Products that an attribute of the list must have to be `common`."""
    common: int
    common_found: int
    listed: int
    listed_found: int
    asked: int
    asked_found: int
    candidates: int
    dropped: int
    """Candidates that the filter would drop."""
    listed_dropped: int
    """Of the list's, wrongly."""
    asked_dropped: int
    common_kept: int
    """Of the common ones, found and not dropped."""
    uses_compared: int
    """Of the list's, kept by the filter."""
    uses_same: int
    """Of these, those that the filter too would ask for, or too would not."""
    pairs: int
    """Products and attributes that the list puts together."""
    pairs_given: int
    """That giving out the list's attributes puts together."""
    pairs_same: int

    def table(self) -> list[tuple[str, str, str]]:
        """Figure, number, share."""
        left = self.candidates - self.dropped
        listed_kept = self.listed_found - self.listed_dropped
        common = f"attributes of {self.least} products or more"
        rows = (
            (f"{common} that are candidates", self.common_found, self.common),
            ("all listed attributes that are candidates", self.listed_found, self.listed),
            (
                "listed attributes that instructions ask for that are candidates",
                self.asked_found,
                self.asked,
            ),
            ("candidates that are listed", self.listed_found, self.candidates),
            ("candidates that the filter would drop", self.dropped, self.candidates),
            (
                "listed candidates that it would wrongly drop",
                self.listed_dropped,
                self.listed_found,
            ),
            ("of those that instructions ask for", self.asked_dropped, self.asked_found),
            ("candidates that it would keep that are listed", listed_kept, left),
            (f"{common} that it would leave", self.common_kept, self.common),
            (
                "kept ones that it would ask for, or not, as the list does",
                self.uses_same,
                self.uses_compared,
            ),
            (
                "listed pairs of product and attribute that giving out finds",
                self.pairs_same,
                self.pairs,
            ),
            ("given pairs that are listed", self.pairs_same, self.pairs_given),
        )
        return [
            (name, f"{part:,} of {whole:,}", f"{part / max(whole, 1):.1%}")
            for name, part, whole in rows
        ]


def read_listed(path: Path) -> AttributeList:
    """The attributes of a file like items_ins_v2.json."""
    products: dict[str, frozenset[str]] = {}
    targets: set[str] = set()
    for asin, entry in stream_object(path):
        names = entry.get("attributes") if isinstance(entry, Mapping) else None
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise DataError(
                f"{path} does not list the attributes of {asin!r}; expected a file like"
                " items_ins_v2.json."
            )
        products[asin] = frozenset(names)
        in_instruction = entry.get("instruction_attributes") or []
        targets.update(one for one in in_instruction if isinstance(one, str))
    if not any(products.values()):
        raise DataError(f"{path} lists no attributes; expected a file like items_ins_v2.json.")
    return AttributeList(products, frozenset(targets))


def compare(
    mined: Candidates, records: Iterable[Mapping[str, Any]], listed: AttributeList, least: int = 5
) -> ListComparison:
    """Candidates, and the giving out of the list's own attributes, beside the list."""
    counted = listed.counted()
    common = {one for one, count in counted.items() if count >= least}
    use_of = {one.phrase: one.proposal.use for one in mined.candidates}
    both = counted.keys() & use_of.keys()
    dropped = {phrase for phrase, use in use_of.items() if use == DROP}
    left = both - dropped
    assignment = AttributeAssignment(dict.fromkeys(counted, "has"), fields=mined.fields)
    pairs = 0
    same = 0
    for record in records:
        theirs = listed.products.get(record["asin"])
        if theirs is not None:
            ours = set(assignment.of(record))
            pairs += len(ours)
            same += len(ours & theirs)
    return ListComparison(
        least=least,
        common=len(common),
        common_found=len(common & both),
        listed=len(counted),
        listed_found=len(both),
        asked=len(listed.asked),
        asked_found=len(listed.asked & both),
        candidates=len(use_of),
        dropped=len(dropped),
        listed_dropped=len(both & dropped),
        asked_dropped=len(listed.asked & both & dropped),
        common_kept=len(common & left),
        uses_compared=len(left),
        uses_same=sum((one in listed.asked) == (use_of[one] != "is a") for one in left),
        pairs=sum(map(len, listed.products.values())),
        pairs_given=pairs,
        pairs_same=same,
    )
