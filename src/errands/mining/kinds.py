"""What kind of thing a product is, as a shopper would search for it.

A category says so where the title says it, too ("Fan Heaters"). Else it is the noun that a title
comes down to ("AW Women's Cycling Shorts, Pack of 3" is `women's cycling shorts`): the last one
before a preposition or the end of a stretch, if shops sell such things. Only then a category or a
tag that the title does not say, what other titles of the table come down to, too, and the texts.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from errands.mining.phrases import shop_words
from errands.shop.rewards.noun_lexicon import tag

__all__ = ["MinedKind", "TitleNouns", "alternatives", "is_title", "narrow_names"]

COMMON: Final = 3
"""Titles of different makers that make a noun the name of a kind."""
MOST_TITLES: Final = 40_000
"""Titles of a table that are counted."""
MOST_WORDS: Final = 3
"""Words of a kind, apart from whom it is for."""
_IN_FULL: Final = 4
"""Words of a title that make a stretch of a text the same title."""
_LONGEST: Final = 400
_LONGEST_WORD: Final = 40
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_STRETCH_END: Final = re.compile(r"[,;:|()\[\]{}!?•/\"“”™®]+|\s[-–—~+]+\s|\.(?=\s|$)|[-–—](?=\s)")
_JOINED: Final = re.compile(r"(?<=[a-z][a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALTERNATIVES: Final = re.compile(r"[&,/;]|\band\b|\bor\b", re.IGNORECASE)
_AFTER_THING: Final = frozenset(
    "for with by from in compatible featuring that which without w at as including includes via"
    " where when under of".split()
)
"""Words that end what a title comes down to."""
_CONTAINERS: Final = frozenset(
    "set pack packs pair pairs combo bundle lot piece pieces box".split()
)
"""Before an `of`, they are not the thing."""
_IRREGULAR: Final = {"mice": "mouse", "knives": "knife", "shelves": "shelf", "scarves": "scarf",
                     "loaves": "loaf", "feet": "foot", "teeth": "tooth"}  # fmt: skip


class MinedKind(NamedTuple):
    """A kind, and whether the product's own texts say it."""

    text: str
    said: bool


@cache
def _things() -> frozenset[str]:
    known = shop_words()
    return frozenset(map(_stem, known["things"] | known["kinds"]))


@cache
def _no_kinds() -> frozenset[str]:
    """Words that name no kind, and that stand behind a kind without being a part of it."""
    known = shop_words()
    listed = "people colors units praise boilerplate vague no_kinds materials occasions".split()
    return frozenset(word for name in listed for word in known[name]) - known["kinds"]


def _stem(word: str) -> str:
    return _singular(word[:_LONGEST_WORD])


@lru_cache(maxsize=1 << 16)
def _singular(word: str) -> str:
    """A noun in the singular, however it is spelled; of `t-shirt` the part behind the hyphen."""
    plain = word.lower().replace("’", "'").removesuffix("'s").rstrip("'")
    last = plain.rpartition("-")[2] or plain
    if last in _IRREGULAR:
        return _IRREGULAR[last]
    if last.endswith("ies") and len(last) > 4:
        return last[:-3] + "y"
    if last.endswith(("ses", "xes", "ches", "shes", "zes")) and len(last) > 4:
        return last[:-2]
    if last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3:
        last = last[:-1]
    # movie and movies, hoody and hoodies
    return last[:-2] + "y" if last.endswith("ie") else last


def _is_noun(word: str) -> bool:
    """Whether a word may be a noun: newspapers know it as one, or do not know it."""
    plain = word.lower().removesuffix("'s")
    if _stem(plain) in _things():
        return True
    known = tag(plain)
    if known:
        return known in ("NN", "NNS")
    return not plain.endswith(("able", "ible", "less", "proof", "ing", "ed", "ly"))


def narrow_names(path: Sequence[str], title: str, brand: str = "") -> list[str]:
    """What the parts of a path name, the narrowest first: without the brand, without the product
    itself, and "Sofa Beds & Futons" taken apart."""
    names: dict[str, None] = {}
    stems = {_stem(word) for word in _TOKEN.findall(title[:_LONGEST])}
    makers = {_letters(brand), _letters(title.partition(" ")[0])} - {""}
    for part in reversed(path):
        if is_title(part, title) or (_letters(part) in makers and _stem(part) not in _things()):
            continue
        joined = _stem(part.strip()) in stems
        plain = part.strip() if joined else " ".join(_spaced(part).split())
        for name in _ALTERNATIVES.split(_without_maker(plain, title, brand)):
            words = [_WHOM.get(word, word) for word in name.lower().split()]
            while words and not _TOKEN.search(words[-1]):
                words.pop()
            if words:
                names[" ".join(words)] = None
    return list(names)


def alternatives(name: str) -> list[str]:
    """The kinds that a name is of: "Snacks, Nuts & Seeds" is of three."""
    return [one.strip() for one in _ALTERNATIVES.split(name) if one.strip()]


def is_title(part: str, title: str) -> bool:
    """Whether a part of a path is the product itself, perhaps cut short."""
    whole = " ".join(title.casefold().split())
    known = " ".join(part.casefold().split()).rstrip(".… ")
    return not known or (whole.startswith(known) and 2 * len(known) > len(whole))


def _spaced(name: str) -> str:
    """A name with its words apart: `FanHeaters`, `kitchen-accessories`, `photo_clip`."""
    if " " in name:
        return name
    if name.islower():
        return re.sub(r"[-_]+", " ", name)
    return _JOINED.sub(" ", name.replace("_", " "))


def _without_maker(name: str, title: str, brand: str) -> str:
    """A name without the words that the title or the brand begins with, too."""
    words = name.split()
    for maker in (brand.casefold().split(), title.casefold().split()):
        at = 0
        while at < min(len(words) - 1, len(maker)) and words[at].casefold() == maker[at]:
            at += 1
        if at > 0 and _stem(words[at - 1]) not in _things():
            words = words[at:]
    return " ".join(words)


def _stretches(title: str) -> Iterator[list[str]]:
    """The words of each stretch of a title, up to where it goes on about something else."""
    for stretch in _STRETCH_END.split(title[:_LONGEST]):
        taken: list[str] = []
        words = _TOKEN.findall(stretch)
        for at, word in enumerate(words):
            lower = word.lower()
            if lower in _AFTER_THING:
                if lower == "of" and taken and _holds(taken[-1], words[at + 1 :]):
                    taken.clear()
                    continue
                if lower != "by" or len(taken) != 1:
                    # A maker alone is followed by what it makes.
                    break
            taken.append(word)
        if taken:
            yield taken


def _holds(word: str, rest: Sequence[str]) -> bool:
    """Whether the thing is what comes behind an `of`: "Set of Mugs", "Badge of Honour Tee"."""
    inner = list(takewhile(lambda one: one.lower() not in _AFTER_THING, rest))
    return word.lower() in _CONTAINERS or (bool(inner) and _stem(inner[-1]) in _things())


def _is_number(word: str) -> bool:
    return any(mark.isdigit() for mark in word)


def _ends_at(words: Sequence[str]) -> int:
    """Where the noun of a stretch is: the last word that may name a kind; -1: nowhere."""
    none = _no_kinds()
    for at in range(len(words) - 1, -1, -1):
        word = words[at]
        plain = word.lower().removesuffix("'s").removesuffix("’s")
        if _is_number(word) or len(plain) < 2 or plain in none or not _is_noun(plain):
            continue
        if _stem(plain) in _things() or not _is_participle(words[at + 1 : at + 2]):
            return at
    return -1


def _is_participle(following: Sequence[str]) -> bool:
    """Whether a noun goes on to one that it belongs to, as in "Acid Washed"."""
    plain = "".join(following).lower()
    return tag(plain) in ("VBN", "VBD") or (not tag(plain) and plain.endswith("ed"))


class TitleNouns:
    """What the titles of a table come down to."""

    def __init__(self, titles: Iterable[tuple[str, str]] = ()) -> None:
        """Of titles, each with its brand or ''."""
        makers: dict[str, set[str]] = defaultdict(set)
        pairs: dict[tuple[str, str], str] = {}
        for title, brand in titles:
            maker = (brand or title.partition(" ")[0]).casefold()
            for words in _stretches(title):
                at = _ends_at(words)
                if at > 0 and len(words[at]) > 3:
                    stem = _stem(words[at])
                    if len(makers[stem]) < COMMON:
                        makers[stem].add(maker)
                for one, other in pairwise(words):
                    pair = one.lower(), _stem(other)
                    if pairs.setdefault(pair, maker) != maker:
                        pairs[pair] = ""  # several
        self._common = frozenset(stem for stem, held in makers.items() if len(held) >= COMMON)
        self._pairs = frozenset(pair for pair, held in pairs.items() if not held)

    def kind_of(
        self,
        title: str,
        names: Sequence[str],
        *,
        own: str = "",
        tags: Sequence[str] = (),
        text: str = "",
        brand: str = "",
        shared: Collection[str] = (),
    ) -> MinedKind | None:
        """The kind of a product: by the name that the table has for it, what its categories name
        (the narrowest first), its title, its tags and its texts.

        Of a category of several kinds, "Flour, Oil & Salt", it must say itself which it is; those
        are `shared`.
        """
        stretches = list(_stretches(title))
        said = {_stem(word) for one in (title[:_LONGEST], text) for word in _TOKEN.findall(one)}
        usable = [_said_of(name, said) for name in names if self._may_be_kind(name)]
        if own and self._may_be_kind(own):
            usable.insert(0, own)
        ends = {_stem(words[at]) for words in stretches if (at := _ends_at(words)) >= 0}
        if (kind := self._named(usable, ends, stretches)) is not None:
            return MinedKind(_for_whom(kind, title), True)
        maker = {_letters(word) for word in brand.split()} - {""}
        found = [self._thing(words) for words in stretches]
        first = _first_that_tells(stretches, maker)
        if (thing := next(iter(found[first : first + 1]), None)) is not None and thing[1]:
            return MinedKind(_for_whom(thing[0], title), True)
        things = [one for one in found if one is not None]
        stems = {_stem(word) for words in stretches for word in words}
        if (kind := self._named(usable, stems, stretches)) is not None:
            return MinedKind(_for_whom(kind, title), True)
        if (in_full := self._title_in_full(stems, text)) is not None:
            return MinedKind(_for_whom(in_full, title), True)
        usable = [one for one in (own, *names) if self._may_be_kind(one) and one not in shared]
        usable += [name for name in tags if self._may_be_kind(name)]
        for name in usable:
            words = _TOKEN.findall(name)
            if _stem(words[-1]) in _things():
                whole = all(_stem(word) in said for word in words)
                return MinedKind(_for_whom(name, title), whole)
        if at_end := [phrase for phrase, ended in things if ended]:
            return MinedKind(_for_whom(at_end[0], title), True)
        noun = self._last_noun(stretches, maker)
        if noun is not None and (noun[1] or not things):
            return MinedKind(_for_whom(noun[0], title), True)
        if things:
            return MinedKind(_for_whom(things[0][0], title), True)
        for words in _stretches(text):
            if (thing := self._thing(words)) is not None:
                return MinedKind(_for_whom(thing[0], title), True)
        if usable:
            return MinedKind(usable[0], False)
        words = stretches[0] if stretches else []
        return MinedKind(words[-1].lower(), True) if words and words[-1].isalpha() else None

    def _named(
        self, names: Sequence[str], stems: Collection[str], stretches: Sequence[Sequence[str]]
    ) -> str | None:
        """The first name whose noun is one of a title's, or if it is long, what the title has."""
        for name in names:
            words = _TOKEN.findall(name)
            if _stem(words[-1]) not in stems:
                continue
            if len(words) > MOST_WORDS:
                return self._phrase(stretches, _stem(words[-1]))
            # An irregular plural is found only as the title spells it.
            singular = _IRREGULAR.get(words[-1].lower())
            return name if singular is None else f"{name[: -len(words[-1])]}{singular}"
        return None

    def _title_in_full(self, stems: Collection[str], text: str) -> str | None:
        """The thing that the texts end a title in, where a shop has cut it short."""
        for words in _stretches(text):
            thing = self._thing(words)
            if thing is not None and thing[1]:
                known = [word for word in words if _stem(word) in stems and not _is_number(word)]
                if len(known) >= _IN_FULL:
                    return thing[0]
        return None

    def _last_noun(
        self, stretches: Sequence[Sequence[str]], maker: Collection[str]
    ) -> tuple[str, bool] | None:
        """What the first stretches of a title end in; whether a noun that is known as such."""
        for words in stretches:
            at = _ends_at(words)
            if at < 0 or _letters(words[at]) in maker:
                continue
            known = tag(words[at].lower()) in ("NN", "NNS")
            if known or at > 0 or len(stretches) == 1 or _stem(words[at]) in self._common:
                return self._with_modifiers(words, at), known or _stem(words[at]) in self._common
        return None

    def _may_be_kind(self, name: str) -> bool:
        words = _TOKEN.findall(name)
        return (
            0 < len(words) <= MOST_WORDS + 1
            and words[-1].lower().removesuffix("'s").removesuffix("’s") not in _no_kinds()
            and not _is_number(words[-1])
            and len(words[-1]) > 1
            and _is_noun(words[-1])
        )

    def _thing(self, words: Sequence[str]) -> tuple[str, bool] | None:
        """A thing that a stretch names, and whether the stretch ends in it."""
        known = _things()
        last = _ends_at(words)
        for at in range(last, -1, -1):
            if _stem(words[at]) in known and not _is_number(words[at]):
                return self._with_modifiers(words, at), at == last
        return None

    def _phrase(self, stretches: Sequence[Sequence[str]], stem: str) -> str:
        """The words of a title with a certain noun, and what other titles put before it, too."""
        for words in stretches:
            for at in range(len(words) - 1, -1, -1):
                if _stem(words[at]) == stem:
                    return self._with_modifiers(words, at)
        raise LookupError(stem)

    def _with_modifiers(self, words: Sequence[str], at: int) -> str:
        """A noun with the words before it that titles of several makers put there, or with one
        noun: `wall mount`, `water bottle`."""
        first = at
        none = _no_kinds()
        while at - first < MOST_WORDS - 1 and first > 0:
            plain = words[first - 1].lower()
            usual = (plain, _stem(words[first])) in self._pairs
            noun = first == at and tag(words[first - 1].lower()) == "NN"
            if (
                not (usual or noun)
                or plain.removesuffix("'s").removesuffix("’s") in none
                or _is_number(plain)
                or plain in shop_words()["passed_over"]
                or _stem(plain) in (_stem(words[first]), _stem(words[at]))
            ):
                break
            first -= 1
        return " ".join(word.lower() for word in words[first : at + 1])


def _said_of(name: str, said: Collection[str]) -> str:
    """A name without the words that a product does not say before its noun, by which a search
    would find others."""
    words = name.split()
    before = [
        word for word in words[:-1] if all(_stem(one) in said for one in _TOKEN.findall(word))
    ]
    return " ".join([*before, words[-1]])


def _first_that_tells(stretches: Sequence[Sequence[str]], maker: Collection[str]) -> int:
    """The first stretch of a title that is not the maker alone."""
    for at, words in enumerate(stretches):
        if len(words) > 1 and not all(_letters(word) in maker for word in words):
            return at
    return 0


def _letters(word: str) -> str:
    return "".join(filter(str.isalnum, word)).casefold()


def _for_whom(kind: str, title: str) -> str:
    """A kind in the plural, for the people for whom the title says it is, if that is one sort."""
    words = [word.lower().replace("’", "'") for word in _TOKEN.findall(title[:_LONGEST])]
    noun = _stem(kind.split()[-1])
    whom = {_WHOM[word] for at, word in enumerate(words) if _says_whom(words, at, noun)}
    many = _plural(kind)
    if len(whom) != 1 or "unisex" in words:
        return many
    shown = next(iter(whom))
    return many if _stem(shown) in map(_stem, many.split()) else f"{shown} {many}"


def _says_whom(words: Sequence[str], at: int, noun: str) -> bool:
    """Whether a word of a title names people, as those that have a thing: women's; for women;
    women slippers."""
    if words[at] not in _WHOM:
        return False
    own = "'" in words[at] or words[at] in ("mens", "womens", "ladies")
    behind = words[max(0, at - 2) : at]
    return own or "for" in behind or noun in map(_stem, words[at + 1 : at + 3])


def _plural(kind: str) -> str:
    """A kind in the plural, if that is still found where the singular stands.

    >>> _plural("water bottle"), _plural("dress"), _plural("green tea"), _plural("knife")
    ('water bottles', 'dresses', 'green tea', 'knife')
    """
    rest, _, noun = kind.rpartition(" ")
    if (
        (
            noun.endswith(("s", "f", "fe", "mouse", "wear", "ware", "foot", "ing"))
            and not noun.endswith(("ss", "us", "ring", "earring"))
        )
        or noun in shop_words()["uncounted"]
        or noun in _IRREGULAR
        or not noun.isascii()
    ):
        return kind
    if noun.endswith(("ss", "us", "x", "ch", "sh", "z")):
        many = noun + "es"
    elif noun.endswith("y") and noun[-2:-1] not in ("a", "e", "i", "o", "u", ""):
        many = noun[:-1] + "ies"
    else:
        many = noun + "s"
    return f"{rest} {many}".strip()


_WHOM: Final[Mapping[str, str]] = {
    spelling: shown
    for shown, spellings in {
        "women's": "women's womens women ladies ladies'",
        "men's": "men's mens men",
        "girls'": "girl's girls girls'",
        "boys'": "boy's boys boys'",
        "kids'": "kids kids' kid's children's",
        "baby": "baby's",
    }.items()
    for spelling in spellings.split()
}
"""Whom a thing is for, as titles spell it, and as it is said."""
