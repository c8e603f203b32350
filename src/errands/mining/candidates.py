"""Candidates for attributes: the phrases that TF-IDF finds telling in each group of products.

A group is a category, or a query. A phrase's score in a group is its mean TF-IDF over the group's
products, a sentence that is copied word for word counted once; the best of each group are
candidates, and one that is among the best of several groups is one candidate. The same products
give the same candidates, in the same order.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import DataError, ErrandsError, SettingError
from errands.extras import install_command
from errands.mining.phrases import FIELDS, clauses, cut, parts, phrases, shop_words
from errands.mining.proposal import Proposal, Surroundings, propose
from errands.progress import Progress, silent
from errands.shop.build.json_stream import stream_array

__all__ = [
    "AttributeCandidate",
    "Candidates",
    "InGroup",
    "group_name",
    "mine",
    "read_candidates",
    "stream_items",
]

GROUPINGS: Final = ("category", "query")
EXAMPLES: Final = 3
SAMPLE: Final = 40_000
"""Products that are looked at unless told otherwise: as many as the original took."""
SHORT_CLAUSE: Final = 3
"""Words that count of a clause that many products may say alike."""
_LONGEST_EXAMPLE: Final = 160


class InGroup(msgspec.Struct, frozen=True):
    """A candidate in one of the groups of whose best it is."""

    name: str
    rank: int
    score: float
    products: int
    """In the group that have it."""


class AttributeCandidate(msgspec.Struct, frozen=True):
    """A phrase that may be an attribute."""

    phrase: str
    score: float
    """The best of its groups'."""
    products: int
    """That have it, of all that were looked at."""
    groups: tuple[InGroup, ...]
    examples: tuple[str, ...]
    """Where it was found, in the product's own words."""
    proposal: Proposal


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """What was mined, and how."""

    by: str
    top: int
    size: int
    fields: tuple[str, ...]
    products: int
    groups: dict[str, int]
    """Products of each group."""
    thin: int
    """Groups too small to have candidates."""
    candidates: tuple[AttributeCandidate, ...]

    def write(self, path: Path) -> None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))


def read_candidates(path: Path) -> Candidates:
    """What `errands mine attributes` wrote."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Candidates)
    except OSError as failure:
        problem = f"cannot be read ({failure.strerror})"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        problem = f"is no file of candidates ({failure})"
    raise DataError(f"{path} {problem}; `errands mine attributes` writes one.") from None


def stream_items(
    path: Path, progress: Callable[[int], None] | None = None
) -> Iterator[dict[str, Any]]:
    """The records of an items file that are objects with an id."""
    if not path.is_file():
        raise DataError(
            f"{path} is not a file; expected products as in items_shuffle.json. `errands mine"
            " products` makes it of a table."
        )
    for record in stream_array(path, progress):
        if isinstance(record, dict) and isinstance(record.get("asin"), str):
            yield record


def sampled(records: Iterator[dict[str, Any]], most: int, seed: int) -> list[dict[str, Any]]:
    """At most so many records, each as likely as the others; those that come, in their order."""
    chance = random.Random(seed)
    sample: list[tuple[int, dict[str, Any]]] = []
    for number, record in enumerate(records):
        if len(sample) < most:
            sample.append((number, record))
        elif (place := chance.randrange(number + 1)) < most:
            sample[place] = (number, record)
    return [record for _, record in sorted(sample, key=lambda one: one[0])]


def group_name(record: Mapping[str, Any], by: str) -> str:
    name = record.get(by)
    return name.strip().lower() if isinstance(name, str) and name.strip() else "all"


def mine(
    records: Sequence[Mapping[str, Any]],
    *,
    by: str = "category",
    top: int = 200,
    size: int = 2,
    least: int = 2,
    fields: Sequence[str] = FIELDS,
    lone: bool = False,
    progress: Progress = silent,
) -> Candidates:
    """The candidates of some products: the best `top` of each group, found in `least` products.

    With `lone`, words that say on their own what a product is like are candidates, too.
    """
    if by not in GROUPINGS:
        raise SettingError(
            f"Products are not grouped by {by!r}; expected {' or '.join(GROUPINGS)}."
        )
    if not records:
        raise DataError("There are no products to mine; look at what the items file holds.")
    words = shop_words()
    documents = []
    for place, record in enumerate(records):
        if place % 500 == 0:
            progress("reading texts", place, len(records))
        documents.append(cut(parts(record, fields)))
    grouped: dict[str, list[int]] = defaultdict(list)
    for place, record in enumerate(records):
        grouped[group_name(record, by)].append(place)
    groups_of: dict[str, list[InGroup]] = defaultdict(list)
    thin = 0
    for done, (name, places) in enumerate(sorted(grouped.items())):
        progress("counting phrases", done, len(grouped))
        best = (
            _best([documents[place] for place in places], size, least, top)
            if len(places) >= least
            else []
        )
        thin += not best
        if lone and size > 1 and best:
            best += _best([documents[place] for place in places], 1, least, top, words["lone"])
        for rank, (phrase, score, products) in enumerate(best, 1):
            groups_of[phrase].append(InGroup(name, rank, score, products))
    progress("counting phrases", len(grouped), len(grouped))
    where = _occurrences(documents, groups_of.keys(), {size, 1} if lone else {size})
    around = Surroundings.of(
        records, documents, {one: list(places) for one, places in where.items()}
    )
    made = [
        AttributeCandidate(
            phrase=phrase,
            score=max(one.score for one in groups),
            products=len(where[phrase]),
            groups=tuple(sorted(groups, key=lambda one: (-one.score, one.name))),
            examples=_examples(phrase, where[phrase], records, fields),
            proposal=propose(phrase, around),
        )
        for phrase, groups in groups_of.items()
    ]
    made.sort(key=lambda one: (-one.score, one.phrase))
    return Candidates(
        by=by,
        top=top,
        size=size,
        fields=tuple(fields),
        products=len(records),
        groups={name: len(places) for name, places in sorted(grouped.items())},
        thin=thin,
        candidates=tuple(made),
    )


def _best(
    documents: Sequence[Sequence[Sequence[str]]],
    size: int,
    least: int,
    top: int,
    among: Collection[str] | None = None,
) -> list[tuple[str, float, int]]:
    """The phrases of a group with the highest mean TF-IDF, with it and in how many products; with
    `among`, only these.

    Sentences that are only copied do not make a phrase frequent.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise ErrandsError(
            f"Mining needs scikit-learn, which is not installed; run {install_command('mine')}."
        ) from None

    def held(document: Sequence[Sequence[str]]) -> list[str]:
        return [one for one in phrases(document, size) if among is None or one in among]

    vectorizer = TfidfVectorizer(analyzer=held, min_df=least)
    try:
        weights = vectorizer.fit_transform(_once(documents))
    except ValueError:
        # No phrase of the group is in enough of its products.
        return []
    names = vectorizer.get_feature_names_out()
    scores = weights.sum(axis=0).A1 / len(documents)
    order = sorted(range(len(names)), key=lambda one: (-round(float(scores[one]), 9), names[one]))
    best = {str(names[one]): round(float(scores[one]), 6) for one in order[:top]}
    counts = Counter(
        phrase for one in documents for phrase in set(phrases(one, size)) if phrase in best
    )
    return [(phrase, score, counts[phrase]) for phrase, score in best.items()]


def _once(documents: Sequence[Sequence[Sequence[str]]]) -> list[list[Sequence[str]]]:
    """Products with a sentence that several repeat word for word left to the first of them.

    What sellers copy from product to product would crowd out what they say of a product; a short
    clause ("easy to clean") may well be said again.
    """
    seen: set[tuple[str, ...]] = set()
    made = []
    for document in documents:
        left = []
        for clause in document:
            words = tuple(clause)
            if len(words) <= SHORT_CLAUSE or words not in seen:
                left.append(clause)
                seen.add(words)
        made.append(left)
    return made


def _occurrences(
    texts: Sequence[Sequence[Sequence[str]]], candidates: Any, sizes: Collection[int]
) -> dict[str, dict[int, int]]:
    """For each wanted phrase the products that have it, each with the clause where it is first."""
    where: dict[str, dict[int, int]] = {phrase: {} for phrase in candidates}
    for place, product in enumerate(texts):
        for number, clause in enumerate(product):
            for phrase in (one for size in sizes for one in phrases([clause], size)):
                if phrase in where:
                    where[phrase].setdefault(place, number)
    return where


def _examples(
    phrase: str,
    where: Mapping[int, int],
    records: Sequence[Mapping[str, Any]],
    fields: Sequence[str],
) -> tuple[str, ...]:
    """Where a phrase was found, in the products' own words."""
    shown = []
    for place, number in list(where.items())[:EXAMPLES]:
        cuts = [clause for text in parts(records[place], fields) for clause in clauses(text)]
        shown.append(_shown(cuts[number], phrase))
    return tuple(shown)


def _shown(clause: str, phrase: str) -> str:
    """A clause, or the part of it where a phrase begins."""
    text = " ".join(clause.split())
    if len(text) <= _LONGEST_EXAMPLE:
        return text
    at = max(0, text.lower().find(phrase.split(" ")[0]) - _LONGEST_EXAMPLE // 3)
    return f"{'…' if at else ''}{text[at : at + _LONGEST_EXAMPLE]}…"
