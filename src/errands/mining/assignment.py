"""Kept attributes given to products, and the instructions that a program can write with them.

A product has an attribute if its own texts say it: the same words in the same order, in one
clause, with nothing but function words and numbers between, as when the phrase was mined. An
instruction asks for what a product is like, has and is good for, in the words of the shop's
synthetic goals; a product of which there is less than `least` to ask for gets none, as in the
original's files.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from errands.mining.phrases import FIELDS, cut, parts, phrases
from errands.mining.proposal import PLACES
from errands.shop.synthetic.phrasing import synthetic_instruction

__all__ = ["MOST_ASKED", "AssignmentCounts", "AttributeAssignment", "InstructionAttribute"]

MOST_ASKED: Final = 5
"""Attributes in one instruction, unless told otherwise."""

_ORDER: Final = ("before", "with", "for")


class InstructionAttribute(msgspec.Struct, frozen=True):
    """An attribute and where an instruction names it."""

    name: str
    place: str


class AssignmentCounts(msgspec.Struct):
    """What was given out."""

    products: int = 0
    with_attributes: int = 0
    with_instruction: int = 0
    given: int = 0
    """Attributes of all products together."""
    used: Counter[str] = msgspec.field(default_factory=Counter)
    """Products of each attribute."""


class AttributeAssignment:
    """Gives attributes to products; `made` is complete once all entries were."""

    def __init__(
        self,
        uses: Mapping[str, str],
        *,
        least: int = 2,
        most: int = MOST_ASKED,
        fields: Sequence[str] = FIELDS,
    ) -> None:
        """`uses` are the kept phrases, each with its use."""
        self._uses = uses
        self._least = least
        self._most = most
        self._fields = fields
        self._sizes = sorted({len(phrase.split(" ")) for phrase in uses})
        self.made = AssignmentCounts()

    def of(self, record: Mapping[str, Any]) -> list[str]:
        """The attributes that a product says it has, each once, in the order in which it does."""
        clauses = cut(parts(record, self._fields))
        names = (one for size in self._sizes for one in phrases(clauses, size) if one in self._uses)
        return list(dict.fromkeys(names))

    def entry(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What items_ins_v2 says of a product."""
        attributes = self.of(record)
        made = self.made
        made.products += 1
        made.with_attributes += bool(attributes)
        made.given += len(attributes)
        made.used.update(attributes)
        entry: dict[str, Any] = {"attributes": attributes}
        uses = [(name, self._uses[name]) for name in attributes]
        placed = [InstructionAttribute(name, PLACES[use]) for name, use in uses if use in PLACES]
        query = record.get("query")
        if len(placed) >= self._least and isinstance(query, str) and query.strip():
            # In the order in which the instruction names them.
            targets = sorted(placed[: self._most], key=lambda one: _ORDER.index(one.place))
            entry["instruction"] = synthetic_instruction(query.strip().lower(), targets)
            entry["instruction_attributes"] = [one.name for one in targets]
            made.with_instruction += 1
        return entry

    def entries(self, records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each product's id and entry."""
        for record in records:
            yield record["asin"], self.entry(record)
