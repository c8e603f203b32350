"""What people call a product and how they say its attributes, in any catalogue.

For products of the generator its word bank knows. Others are named as their titles name them: the
words up to the noun that their category ends in, or else up to the last noun before the first
break. An attribute that the word bank does not know is said by what its last word is: a quality, a
material, a part, somebody or something it is good for.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain
from typing import Final, NamedTuple

from errands.shop.product import Product
from errands.shop.rewards.noun_lexicon import load_lexicon
from errands.shop.synthetic.wordbank import (
    Attribute,
    Name,
    Subcategory,
    read_words,
    spoken_attribute,
    wordbank,
)
from errands.stemming import lucene_stem

__all__ = ["LONGEST_SAID", "ProductWords", "name_of", "words_for"]

LONGEST_TITLE: Final = 300
"""Characters of a title that are read: what it is called stands in front."""
LONGEST_SAID: Final = 80
"""Characters of the longest attribute or option value that anybody would say."""
LONGEST_NAME: Final = 3
"""Words of the longest name taken from a title."""

_BREAK: Final = re.compile(
    r"[^\w\s'’-]|\s-\s|\b(?:and|as|at|by|compatible|for|from|in|of|on|or|the|to|with|without)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]\S*")
_PARTS: Final = re.compile(r"[&,/]|\band\b")
_BEFORE_NOUNS: Final = ("JJ", "NN", "NNS", "VB", "VBG", "VBN")
_PARTICIPLES: Final = ("VBN", "VBG", "VBD")
_QUALITY_ENDINGS: Final = ("able", "ible", "less", "proof", "ed", "ing")


class ProductWords(NamedTuple):
    """The words of one product."""

    category: str
    names: tuple[Name, ...]
    """What it is called; never empty."""
    attributes: tuple[Attribute, ...]
    """Those of its attributes that can be said, each with the ways to say it."""
    kinds: frozenset[str]
    """Those of the attributes that say what it is (`console table`): they are names themselves."""
    brand: str
    """Empty where the title tells of none."""


def words_for(product: Product) -> ProductWords:
    """The words in which a person could ask for a product."""
    brand = _brand(product)
    sayable = [name for name in product.attributes if name.strip() and len(name) <= LONGEST_SAID]
    kind = _subcategories().get((product.query, product.product_category))
    if kind is not None:
        own = {attribute.name: attribute for attribute in kind.attributes}
        said = tuple(own.get(name) or _attribute(name) for name in sayable)
        return ProductWords(kind.category, kind.names, said, frozenset(), brand)
    names = _title_names(product)
    heads = {lucene_stem(name.text.rsplit(" ", 1)[-1]) for name in names} | _heads(product)
    kinds = frozenset(name for name in sayable if lucene_stem(name.rsplit(" ", 1)[-1]) in heads)
    return ProductWords(product.category, names, tuple(map(_attribute, sayable)), kinds, brand)


def name_of(text: str) -> Name:
    """A name with its article.

    >>> name_of("ankle boots"), name_of("wall art").article, name_of("desk lamp").plural
    (Name(text='ankle boots', article='a pair of', plural=True), 'some', False)
    """
    last = text.rsplit(" ", 1)[-1]
    if last in _table("pairs"):
        return Name(text, "a pair of", True)
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return Name(text, "some" if plural or last in _table("masses") else "", plural)


@cache
def _subcategories() -> Mapping[tuple[str, str], Subcategory]:
    return {(kind.query, kind.path): kind for kind in wordbank().subcategories}


@cache
def _table(name: str) -> frozenset[str]:
    return frozenset(read_words("plain")[name].split())


def _brand(product: Product) -> str:
    """The first word of a title, where it is no word that others use."""
    first = product.title[:LONGEST_TITLE].split(" ", 1)[0]
    is_one = first.isalpha() and len(first) > 2 and first.lower() not in load_lexicon()
    return first if is_one else ""


def _heads(product: Product) -> set[str]:
    """Stems of what the category and the query of a product end in."""
    leaf = product.product_category.rsplit("›", 1)[-1]
    parts = (part.split() for text in (leaf, product.query) for part in _PARTS.split(text.lower()))
    return {lucene_stem(words[-1]) for words in parts if words}


def _title_names(product: Product) -> tuple[Name, ...]:
    """What a title calls its product, in one word and in more."""
    clauses = list(_clauses(product.title[:LONGEST_TITLE]))
    nouns = set(product.nouns)
    heads = _heads(product)
    first = clauses[0][0] if clauses else ""
    # What it has (short sleeves) and who makes it are not what it is.
    others = {first, *(name.rsplit(" ", 1)[-1] for name in product.attributes)}
    known = {noun for noun in nouns - others if noun in load_lexicon()}
    for candidates in ({noun for noun in nouns if lucene_stem(noun) in heads}, known):
        runs = (_run(clause, candidates, first) for clause in clauses)
        run = next(filter(None, runs), [])
        if run:
            break
    else:
        run = _PARTS.split(product.query)[0].split() or ["product"]
    longest = run[-LONGEST_NAME:]
    # One word (`pick`, `roll`) says little where the title has more.
    return tuple(name_of(" ".join(longest[-size:])) for size in range(len(longest), 0, -1)[:2])


def _clauses(title: str) -> Iterator[list[str]]:
    """The words of a title, in lower case, from break to break; numbers and codes break too."""
    for clause in _BREAK.split(title):
        words: list[str] = []
        for word in clause.split():
            if _WORD.fullmatch(word) and word.replace("-", "").replace("'", "").isalpha():
                words.append(word.lower())
            elif words:
                yield words
                words = []
        if words:
            yield words


def _run(clause: list[str], heads: set[str], brand: str) -> list[str]:
    """The words of a clause that name something: up to the last of the heads in it, which the word
    before nearly always belongs to (`flosser pick`)."""
    tags = load_lexicon()
    for end in range(len(clause), 0, -1):
        if clause[end - 1] in heads:
            start = end - 1
            if start and clause[start - 1] != brand:
                start -= 1
            while start and tags.get(clause[start - 1]) in _BEFORE_NOUNS:
                start -= 1
            return clause[start:end]
    return []


@cache
def _attributes() -> Mapping[str, Attribute]:
    """The word bank's, by name."""
    bank = wordbank()
    common = (one for kind in bank.subcategories for one in kind.attributes)
    return {one.name: one for one in (*chain.from_iterable(bank.special.values()), *common)}


@lru_cache(1 << 14)
def _attribute(name: str) -> Attribute:
    """An attribute with the ways to say it."""
    known = _attributes().get(name)
    if known is not None:
        return known
    first, _, last = name.rpartition(" ")
    if last in _table("people") and first:
        return replace(spoken_attribute(last, "need"), name=name)
    return spoken_attribute(name, _guess(first, last))


def _guess(first: str, last: str) -> str:
    """The kind of an attribute, by its words."""
    tag = load_lexicon().get(last, "")
    for kind, is_it in {
        "ease": first == "easy",
        "free": last == "free",
        "room": last in _table("rooms"),
        "effect": last in _table("effects"),
        "need": last in _table("needs"),
        "made": last in _table("materials"),
        "trait": last in _table("qualities")
        or tag.startswith("JJ")
        or (tag in ("", *_PARTICIPLES) and last.endswith(_QUALITY_ENDINGS)),
        "have": last.endswith("s") or last in _table("masses") or not tag,
    }.items():
        if is_it:
            return kind
    return "part"
