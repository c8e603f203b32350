"""What a product says about itself, cut into the short phrases that attributes are mined from.

One function for all: mining counts phrases, and giving attributes out looks for the same phrases,
so that what was found in a product is always found there again. Function words and bare numbers are
stepped over ("easy to use" is `easy use`), as the original's stop words did; the end of a clause
is not.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from errands.errors import SettingError

__all__ = ["FIELDS", "clauses", "cut", "fields_named", "parts", "phrases", "shop_words", "words"]

FIELDS: Final = ("title", "features", "description")
"""Where a product says something about itself."""
LONGEST_PART: Final = 50_000
"""Characters of one text that are looked at: what is longer is no description."""

_WORD: Final = re.compile(r"[^\W_]{2,}")
_CLAUSE_END: Final = re.compile(r"[;!?|()\[\]{}•·●★✔✓\"“”\n\r]+|[.,:](?=\s|$)|\s[-–—~]+\s")


@cache
def shop_words() -> Mapping[str, frozenset[str]]:
    """Words of the shop trade, by what they tell about a phrase."""
    text = files("errands.mining").joinpath("shop_words.toml").read_text(encoding="utf-8")
    return {name: frozenset(listed.split()) for name, listed in tomllib.loads(text).items()}


def words(clause: str) -> tuple[str, ...]:
    """The words of a clause that count, in lower case: no function words, no bare numbers.

    >>> words("Easy to use with 2 women's non-slip soles")
    ('easy', 'use', 'women', 'non', 'slip', 'soles')
    """
    every = _WORD.findall(clause.lower())
    passed_over = shop_words()["passed_over"]
    return tuple(
        [sys.intern(word) for word in every if word not in passed_over and not word.isdecimal()]
    )


def clauses(text: str) -> list[str]:
    """A text cut where a clause ends."""
    return _CLAUSE_END.split(text)


def cut(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each clause of some texts."""
    return [words(clause) for text in texts for clause in clauses(text)]


def phrases(clauses: Iterable[Sequence[str]], size: int = 2) -> Iterator[str]:
    """All phrases of so many words, as often as they occur; none goes on beyond a clause.

    >>> list(phrases(cut(["Gluten free, easy to prepare."])))
    ['gluten free', 'easy prepare']
    """
    for clause in clauses:
        for at in range(len(clause) - size + 1):
            yield " ".join(clause[at : at + size])


def fields_named(text: str) -> tuple[str, ...]:
    """The fields that a list such as "title,features" names, in their usual order."""
    named = {one.strip() for one in text.split(",") if one.strip()}
    if not named or named - set(FIELDS):
        raise SettingError(
            f"{text!r} does not say which texts to look at; expected one or more of"
            f" {', '.join(FIELDS)}, with commas."
        )
    return tuple(field for field in FIELDS if field in named)


def parts(record: Mapping[str, Any], fields: Sequence[str] = FIELDS) -> list[str]:
    """The texts of an item record, in which anything may stand."""
    features = record.get("small_description")
    texts: dict[str, list[Any]] = {
        "title": [record.get("name")],
        "features": features if isinstance(features, list) else [features],
        "description": [record.get("full_description")],
    }
    return [
        text[:LONGEST_PART]
        for field in fields
        for text in texts[field]
        if isinstance(text, str) and text
    ]
