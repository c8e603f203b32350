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
from typing import Any, Final, NamedTuple

from errands.errors import SettingError

__all__ = [
    "FIELDS", "Spoken", "clauses", "cut", "fields_named", "located", "parts", "phrases",
    "shop_words", "spoken", "words",
]  # fmt: skip

FIELDS: Final = ("title", "features", "description")
"""Where a product says something about itself."""
LONGEST_PART: Final = 50_000
"""Characters of one text that are looked at: what is longer is no description."""

_WORD: Final = re.compile(r"[^\W_]{2,}")
_CLAUSE_END: Final = re.compile(r"[;!?|()\[\]{}•·●★✔✓\"“”\n\r]+|[.,:](?=\s|$)|\s[-–—~]+\s")

_SPELLED: Final = re.compile(r"[^\W_]+")
_BESIDE: Final = re.compile(r"[^\w\s'’-]|_|\b\d|[a-z]{3}[A-Z]")
"""What stands between two things, of which a phrase would take one word each; and words that were
run together."""
_JOINING: Final = frozenset("to of in on at the s".split())
"""Function words that join two words to one phrase."""
_PARTICLES: Final = (["off"], ["down"])
_LONG_NUMBER: Final = 4
"""Digits of a number that rather is a name."""
_COUNTED: Final = ("s", "ed")
"""What a phrase ends in to which a number may belong: 2 usb ports, 5 star rated."""


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


class Spoken(NamedTuple):
    """A phrase as a product says it."""

    text: str
    behind: str
    """The function word that it stands behind, if it does."""
    before: str
    """The word that it stands before, if there is one."""


def spoken(clause: str, phrase: str) -> Spoken | None:
    """A phrase as a clause says it, with the function words that were stepped over; None where it
    says two things one beside the other, or only a part of a name.

    >>> spoken("Super easy to clean, made in Nepal.", "easy clean").text
    'easy to clean'
    >>> spoken("Case for Apple iPhone", "apple iphone")
    Spoken(text='apple iphone', behind='for', before='')
    >>> spoken("a 5 Star Rated heater", "star rated").text
    '5 star rated'
    >>> spoken("7/8 printed tights", "printed tights").text
    'printed tights'
    >>> spoken("dust and air", "dust air"), spoken("iPhone 14 Pro", "iphone pro")
    (None, None)
    """
    every = list(_SPELLED.finditer(clause))
    lower = [one[0].lower() for one in every]
    places = _places(lower, phrase)
    return None if places is None else _as_said(clause, every, lower, places)


def located(clause: str, phrase: str) -> tuple[list[str], list[int]] | None:
    """All words of a clause in lower case, and where those of a phrase first are among them."""
    lower = [word.lower() for word in _SPELLED.findall(clause)]
    places = _places(lower, phrase)
    return None if places is None else (lower, places)


def _places(lower: Sequence[str], phrase: str) -> list[int] | None:
    wanted = phrase.split(" ")
    counted = [at for at, word in enumerate(lower) if _counts(word)]
    for start in range(len(counted) - len(wanted) + 1):
        places = counted[start : start + len(wanted)]
        if [lower[at] for at in places] == wanted:
            return places
    return None


def _counts(word: str) -> bool:
    return len(word) > 1 and not word.isdecimal() and word not in shop_words()["passed_over"]


def _as_said(
    clause: str, every: Sequence[re.Match[str]], lower: Sequence[str], places: Sequence[int]
) -> Spoken | None:
    """The words at some places of a clause, with what belongs to them, if they are one phrase."""
    first, last = places[0], places[-1]
    between = [word for at, word in enumerate(lower) if first < at < last and at not in places]
    said = clause[every[first].start() : every[last].end()]
    if any(word not in _JOINING for word in between) or _BESIDE.search(said):
        return None
    if lower[last + 1 : last + 2] in _PARTICLES and lower[last + 2 : last + 3] != ["to"]:
        said = clause[every[first].start() : every[last + 1].end()]
    if first and lower[first - 1].isdecimal() and len(lower[first - 1]) < _LONG_NUMBER:
        gap = clause[every[first - 1].end() : every[first].start()]
        # Not the 0 of 3.0 or the 8 of 7/8, and not one of something.
        is_part = clause[: every[first - 1].start()].endswith((".", ",", "/"))
        bound = gap == "-" or (gap == " " and lower[last].endswith(_COUNTED))
        if (
            bound
            and not (is_part or lower[first - 1] in "01")
            and (first == 1 or not _counts(lower[first - 2]))
        ):
            said = f"{lower[first - 1]}{gap}{said}"
    behind = lower[first - 1] if first else ""
    plain = " ".join(said.lower().split())
    before = lower[last + 1] if last + 1 < len(every) else ""
    return Spoken(plain, behind if behind in shop_words()["passed_over"] else "", before)


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
