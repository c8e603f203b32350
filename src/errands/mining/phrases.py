"""What a product says about itself, cut into the short phrases that attributes are mined from.

One function for all: mining counts phrases, and giving attributes out looks for the same phrases,
so that what was found in a product is always found there again. Function words and bare numbers are
stepped over ("easy to use" is `easy use`), as the original's stop words did; the end of a clause
is not.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from errands.errors import SettingError

__all__ = ["FIELDS", "LONGEST_PART", "clauses", "cut", "fields_named", "parts", "phrases", "words"]

FIELDS: Final = ("title", "features", "description")
"""Where a product says something about itself."""
LONGEST_PART: Final = 50_000
"""Characters of one text that are looked at: what is longer is no description."""

_WORD: Final = re.compile(r"[^\W_]{2,}")
_CLAUSE_END: Final = re.compile(r"[;!?|()\[\]{}•·●★✔✓\"“”\n\r]+|[.,:](?=\s|$)|\s[-–—~]+\s")

_PASSED_OVER: Final = frozenset(
    """
    about above across after again against all almost also although always am among an and another
    any anyone anything are aren around as at back be became because become been before being below
    beside besides between both but by came can cannot come could couldn did didn do does doesn
    doing don done during each either else enough etc even ever every everyone everything everywhere
    few for from further get gets getting give given gives go goes going got had has hasn have haven
    having he hence her here hers herself him himself his how however if in indeed into is isn it
    its itself just keep keeps kept least less let lets like ll made make makes making many may
    maybe me might more moreover most mostly much must my myself namely near neither never
    nevertheless no nobody none nor not nothing now nowhere of off often on once one ones only onto
    or other others otherwise our ours ourselves out over own per perhaps please put quite rather re
    really same say see seem seems several shall she should shouldn since so some somehow someone
    something sometimes somewhere still such take takes than that the their theirs them themselves
    then there therefore these they this those though through throughout thus to together too toward
    towards under until up upon us use used uses using various ve very via was wasn we well were
    weren what whatever when whenever where wherever whether which while who whoever whole whom
    whose why will with within without won would wouldn yes yet you your yours yourself yourselves
    """.split()
) - {"use"}  # "easy to use", "daily use": what something is for is worth knowing


def words(clause: str) -> tuple[str, ...]:
    """The words of a clause that count, in lower case: no function words, no bare numbers.

    >>> words("Easy to use with 2 women's non-slip soles")
    ('easy', 'use', 'women', 'non', 'slip', 'soles')
    """
    return tuple(
        [
            sys.intern(word)
            for word in _WORD.findall(clause.lower())
            if word not in _PASSED_OVER and not word.isdecimal()
        ]
    )


def clauses(text: str) -> list[str]:
    """A text cut where a clause ends."""
    return _CLAUSE_END.split(text)


def cut(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each clause of some texts."""
    return [words(clause) for text in texts for clause in clauses(text)]


def phrases(held: Iterable[Sequence[str]], size: int = 2) -> Iterator[str]:
    """All phrases of so many words, as often as they occur; none goes on beyond a clause.

    >>> list(phrases(cut(["Gluten free, easy to prepare."])))
    ['gluten free', 'easy prepare']
    """
    for clause in held:
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
    held: dict[str, list[Any]] = {
        "title": [record.get("name")],
        "features": features if isinstance(features, list) else [features],
        "description": [record.get("full_description")],
    }
    return [
        text[:LONGEST_PART]
        for field in fields
        for text in held[field]
        if isinstance(text, str) and text
    ]
