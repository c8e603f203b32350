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

from errands.mining.mentions import Mention, mention_of, tells
from errands.mining.phrases import (
    FIELDS,
    Spoken,
    clauses,
    cut,
    parts,
    phrases,
    shop_words,
    spoken,
    words,
)
from errands.mining.proposal import PLACES
from errands.shop.rewards.noun_lexicon import tag
from errands.shop.synthetic.phrasing import synthetic_instruction
from errands.stemming import lucene_stem

__all__ = ["MOST_ASKED", "AssignmentCounts", "AttributeAssignment", "InstructionAttribute"]

MOST_ASKED: Final = 3
"""Attributes in one instruction, unless told otherwise."""

ENOUGH: Final = 2
"""Attributes beyond which none is asked for that people hardly say."""
_LONGEST_LABEL: Final = 40
_SHORT_VALUE: Final = 4
"""Characters of what a specification is called, and words of what it says."""
_LONG_LIST: Final = 10
_SHORT_PARTS: Final = 3
"""Parts of a list of ingredients, and the words of one."""
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


def _told_clauses(text: str) -> Iterator[str]:
    """The clauses of a text that tell of its product: not the labels of specifications, and no
    lines that are long lists, as of ingredients."""
    for line in text.split("\n"):
        label, colon, value = line.partition(":")
        is_labelled = colon and len(label) <= _LONGEST_LABEL and len(words(value)) <= _SHORT_VALUE
        cut = clauses(value if is_labelled else line)
        if len(cut) < _LONG_LIST or len(words(line)) > _SHORT_PARTS * len(cut):
            yield from cut


def _placed(said: Spoken, role: str, use: str, kind: str) -> InstructionAttribute:
    """Where an instruction names what a product says of itself: "for" a phone, not with it, and
    "stainless steel" before bottles that call themselves so."""
    if said.before and lucene_stem(said.before) == kind:
        return InstructionAttribute(said.text, "before")
    text = said.text.removeprefix("compatible with ").removeprefix("compatible for ")
    if text != said.text:
        return InstructionAttribute(text.removeprefix("for "), "for")
    if said.behind == "for" and not (use == "which is" and _is_adjective(text.split()[-1])):
        return InstructionAttribute(text, "for")
    # What it has is no occasion: "finished with a wooden polish".
    of_its_own = use == "good for" and role == "has"
    return InstructionAttribute(text, "with" if of_its_own else PLACES[use])


def _is_of_other(before: str, mention: Mention) -> bool:
    """Whether whom or what something is for goes on to a thing of its own: "wet dog food"."""
    known = shop_words()
    other = mention.role == "" and tag(before) in ("NN", "NNS")
    return other and before not in known["kinds"] | known["things"]


def _is_adjective(word: str) -> bool:
    """Whether a word says what the next one is like: "for long-lasting color" is for no lasting."""
    return tag(word.rpartition("-")[2]) in ("JJ", "VBG", "VBN", "VBD")


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
        title = record.get("name")
        held = [
            (words(clause), clause, text == title)
            for text in parts(record, self._fields)
            for clause in _told_clauses(text)
        ]
        known = {lucene_stem(word) for word in words(query)}
        kind = lucene_stem(words(query)[-1]) if words(query) else ""
        asked: list[tuple[str, InstructionAttribute]] = []
        for name in sorted(attributes, key=self._order):
            if len(asked) >= (max(self._least, ENOUGH) if self._ranks.get(name) else self._most):
                break
            stems = {lucene_stem(word) for word in name.split(" ")}
            if self._uses[name] not in PLACES or stems & known:
                continue
            said_in = ((clause, titled) for has, clause, titled in held if _has(has, name))
            ways = (self._way(clause, name, kind, titled) for clause, titled in said_in)
            way = next((one for one in ways if one is not None), None)
            if way is not None:
                asked.append((name, way))
                known |= stems
        return asked

    def _order(self, name: str) -> tuple[int, int]:
        """What is asked for first: what people say, and of that the phrases."""
        return self._ranks.get(name, 0), -name.count(" ")

    def _way(self, clause: str, name: str, kind: str, titled: bool) -> InstructionAttribute | None:
        """How an instruction asks for what a clause says; None where it says no such thing."""
        said, mention = spoken(clause, name), mention_of(clause, name)
        if said is None or mention is None:
            return None
        use = self._uses[name]
        if use == "good for" and (
            len(said.text.split()) > name.count(" ") + 1 or _is_of_other(said.before, mention)
        ):
            return None
        lone = " " not in name
        told = said.before != "" and lucene_stem(said.before) == kind
        of_other = lone and mention.behind in ("for", "with", "of")
        of_other |= use == "has" and said.before in shop_words()["materials"]
        told = told or (titled and not of_other)
        known = not lone and not self._ranks.get(name)
        if not told and not tells(mention.role, use, known=known):
            return None
        return _placed(said, mention.role, use, kind)

    def entries(self, records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each product's id and entry."""
        for record in records:
            yield record["asin"], self.entry(record)
