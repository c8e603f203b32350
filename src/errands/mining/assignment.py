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

from errands.mining.phrases import FIELDS, Spoken, clauses, cut, parts, phrases, spoken, words
from errands.mining.proposal import PLACES
from errands.shop.synthetic.phrasing import synthetic_instruction
from errands.stemming import lucene_stem

__all__ = ["MOST_ASKED", "AssignmentCounts", "AttributeAssignment", "InstructionAttribute"]

MOST_ASKED: Final = 3
"""Attributes in one instruction, unless told otherwise."""

ENOUGH: Final = 2
"""Attributes beyond which none is asked for that people hardly say."""
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


def _has(words_of_clause: Sequence[str], phrase: str) -> bool:
    size = phrase.count(" ") + 1
    return phrase in phrases([words_of_clause], size)


def _placed(said: Spoken, use: str, kind: str) -> InstructionAttribute:
    """Where an instruction names what a product says of itself: "for" a phone, not with it, and
    "stainless steel" before bottles that call themselves so."""
    if said.before and lucene_stem(said.before) == kind:
        return InstructionAttribute(said.text, "before")
    text = said.text.removeprefix("compatible with ").removeprefix("compatible for ")
    if text != said.text or said.behind == "for":
        return InstructionAttribute(text.removeprefix("for "), "for")
    return InstructionAttribute(text, PLACES[use])


class AttributeAssignment:
    """Gives attributes to products; `made` is complete once all entries were."""

    def __init__(
        self,
        uses: Mapping[str, str],
        *,
        least: int = 2,
        most: int = MOST_ASKED,
        fields: Sequence[str] = FIELDS,
        ranks: Mapping[str, int] | None = None,
    ) -> None:
        """`uses` are the kept phrases, each with its use; an instruction asks for those of a higher
        rank only if it has less than two, or `least`, without them."""
        self._ranks = ranks or {}
        self._uses = uses
        self._least = least
        self._most = most
        self._fields = fields
        self._sizes = sorted({len(phrase.split(" ")) for phrase in uses})
        self.made = AssignmentCounts()

    def of(self, record: Mapping[str, Any]) -> list[str]:
        """The attributes that a product says it has, each once, in the order in which it does."""
        cuts = cut(parts(record, self._fields))
        names = (one for size in self._sizes for one in phrases(cuts, size) if one in self._uses)
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
        query = record.get("query")
        if isinstance(query, str) and query.strip():
            asked = self._asked(record, query.strip().lower(), attributes)
            if len(asked) >= self._least:
                # In the order in which the instruction names them.
                asked.sort(key=lambda one: _ORDER.index(one[1].place))
                targets = [target for _, target in asked]
                entry["instruction"] = synthetic_instruction(query.strip().lower(), targets)
                entry["instruction_attributes"] = [name for name, _ in asked]
                made.with_instruction += 1
        return entry

    def _asked(
        self, record: Mapping[str, Any], query: str, attributes: Sequence[str]
    ) -> list[tuple[str, InstructionAttribute]]:
        """What an instruction asks for, and how it says it: nothing that the kind of the product
        says already, nothing twice, nothing that is two things one beside the other."""
        texts = [clause for text in parts(record, self._fields) for clause in clauses(text)]
        held = [(words(clause), clause) for clause in texts]
        known = {lucene_stem(word) for word in words(query)}
        kind = lucene_stem(words(query)[-1]) if words(query) else ""
        asked: list[tuple[str, InstructionAttribute]] = []
        for name in sorted(attributes, key=lambda one: self._ranks.get(one, 0)):
            if len(asked) >= (max(self._least, ENOUGH) if self._ranks.get(name) else self._most):
                break
            stems = {lucene_stem(word) for word in name.split(" ")}
            if (use := self._uses[name]) not in PLACES or stems & known:
                continue
            ways = (spoken(clause, name) for has, clause in held if _has(has, name))
            said = next((way for way in ways if way is not None), None)
            if said is not None:
                asked.append((name, _placed(said, use, kind)))
                known |= stems
        return asked

    def entries(self, records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each product's id and entry."""
        for record in records:
            yield record["asin"], self.entry(record)
