"""The words that generated products are made of, read once from the files beside this module.

Templates are compiled to %-formats when they are read: `{part}` becomes `%(part)s`.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from errands.shop.synthetic.rng import Rng

__all__ = [
    "Attribute",
    "Bank",
    "Name",
    "Subcategory",
    "read_words",
    "spoken_attribute",
    "title_case",
    "wordbank",
]

CATEGORIES = {"beauty": 238, "electronics": 229, "fashion": 200, "garden": 216, "grocery": 117}
"""Files of sub-categories, with how many of 1,000 products each one gets."""

POOL = 16
"""Attributes that may be hidden in a product of one sub-category."""

WORDINGS = 12
"""Ways to word one sentence."""

FRAMES = 840
"""Different sets of words for a sentence, in each family."""

_SHORT = 400
"""Invented words of two syllables in each pool."""

_SPREAD = 40009
"""A prime factor that spreads ranks over syllables (it divides no number of syllables)."""

_WORD = re.compile(r"(?<![{\w])\w+(?![}\w])")
_SLOT = re.compile(r"\{(\w+)\}")
_SMALL = frozenset(("a", "an", "and", "as", "at", "by", "for", "in", "of", "on", "or", "the", "to"))
_VERBS = {
    "be": "is", "have": "has", "offer": "offers",
    "contain": "contains", "work": "works", "help": "helps",
}  # fmt: skip
_PLURAL_VERBS = {verb: verb.replace("be", "are") for verb in _VERBS}


@dataclass(frozen=True, slots=True)
class Name:
    """What a kind of product is called."""

    text: str
    article: str
    """"", "some" or "a pair of" ("" where the article follows the next word)."""
    plural: bool


@dataclass(frozen=True, slots=True)
class Attribute:
    """A hidden attribute and the ways to say it."""

    name: str
    place: str
    before: tuple[str, ...]
    clauses: tuple[str, ...]
    clauses_plural: tuple[str, ...]
    shows: tuple[str, ...]
    says: tuple[str, ...]
    heads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """What related sub-categories share."""

    kind: str
    frames: tuple[Mapping[str, str], ...]
    """Words for one sentence each; a writer goes from frame to frame."""
    sentences: tuple[tuple[str, ...], ...]
    """Each in several wordings."""


@dataclass(frozen=True, slots=True)
class Subcategory:
    """One query of the shop: what its products are called, cost and may have."""

    index: int
    category: str
    query: str
    path: str
    names: tuple[Name, ...]
    picture: str
    price: float
    attributes: tuple[Attribute, ...]
    family: Family
    options: tuple[tuple[str, str], ...]
    """Name and kind of values of the option groups it may have."""
    weight: int


@dataclass(frozen=True, slots=True)
class Coinage:
    """Syllables of invented words."""

    starts: tuple[str, ...]
    middles: tuple[str, ...]
    ends: Mapping[str, tuple[str, ...]]

    def word(self, pool: str, rank: int) -> str:
        """The invented word of this rank, lower case; two ranks or two pools never share a word."""
        ends = self.ends[pool]
        starts, middles = self.starts, self.middles
        short = len(starts) * len(ends)
        if rank < _SHORT:
            start, end = divmod(rank * _SPREAD % short, len(ends))
            return starts[start] + ends[end]
        block, rank = divmod(rank, short * len(middles))
        rest, end = divmod(rank * _SPREAD % (short * len(middles)), len(ends))
        start, middle = divmod(rest, len(middles))
        text = starts[start] + middles[middle]
        while block:
            block, middle = divmod(block - 1, len(middles))
            text += middles[middle]
        return text + ends[end]


@dataclass(frozen=True, slots=True)
class Bank:
    """Everything the generator says."""

    subcategories: tuple[Subcategory, ...]
    attributes: tuple[str, ...]
    coinage: Coinage
    closers: tuple[str, ...]
    heads: tuple[str, ...]
    titles: tuple[str, ...]
    extras: tuple[str, ...]
    colors: Mapping[str, str]
    """Each with the shade it is drawn in."""
    values: Mapping[str, tuple[str, ...]]
    motifs: tuple[str, ...]
    """Nouns that makers call their lines by."""
    own_titles: tuple[str, ...]
    """Titles with motifs."""
    vague: Mapping[str, tuple[Name, ...]]
    """What people call anything of a category."""
    special: Mapping[str, tuple[Attribute, ...]]
    """Attributes that few products of a category have."""
    reworded: Mapping[str, tuple[Attribute, ...]]
    """Attributes in other words than those of the listing, by name."""
    phrasing: Mapping[str, tuple[str, ...]]
    option_phrases: Mapping[str, tuple[str, ...]]


@cache
def title_case(text: str) -> str:
    """Capitals as in a title.

    >>> title_case("women's shoes for the office")
    "Women's Shoes for the Office"
    """
    words = text.split(" ")
    return " ".join(
        word if place and word in _SMALL else word[:1].upper() + word[1:]
        for place, word in enumerate(words)
    )


def compiled(template: str) -> str:
    """A template as a %-format."""
    return _SLOT.sub(r"%(\1)s", template.replace("%", "%%"))


def with_article(text: str) -> str:
    """The text behind "a" or "an"; plurals stay as they are.

    >>> with_article("ankle strap"), with_article("usb port"), with_article("soft bristles")
    ('an ankle strap', 'a usb port', 'soft bristles')
    """
    if text.endswith("s") and not text.endswith("ss"):
        return text
    return f"{article(text)} {text}"


def article(text: str) -> str:
    """The indefinite article before a text."""
    vowel = text[:1] in "aeiou8" and not text.startswith(("us", "uv", "uni", "one", "eu"))
    return "an" if vowel or text.startswith(("hdmi", "lcd", "led", "11", "18")) else "a"


@cache
def wordbank() -> Bank:
    """The word bank, read on first use."""
    shared, spoken = read_words("sentences"), read_words("attributes")
    options, phrasing, coinage = (
        read_words("options"),
        read_words("phrasing"),
        read_words("coinage"),
    )
    wording = read_words("wording")
    common = _wordings(shared["sentences"], shared["synonyms"])
    attributes: dict[tuple[str, str], Attribute] = {}
    groups = options.pop("groups")
    subcategories: list[Subcategory] = []
    special = {name: _special(words, spoken) for name, words in wording["special"].items()}
    for category, share in CATEGORIES.items():
        table = read_words(category)
        rows = sum(len(family["rows"]) for family in table["family"])
        sentences = {
            name: _wordings(lines, shared["synonyms"]) + common
            for name, lines in {"": table["sentences"], **table.get("special", {})}.items()
        }
        for entry in table["family"]:
            family = Family(
                kind=entry["kind"],
                frames=_frames(entry, shared["weekdays"]),
                sentences=sentences[entry.get("special", "")],
            )
            words = [
                attributes.setdefault((word, kind), _attribute(word, kind, spoken))
                for kind, names in entry["attributes"].items()
                for word in names
            ]
            words = Rng(f"attributes/{entry['name']}").shuffled(words)
            for place, row in enumerate(entry["rows"]):
                pool = _pool(words, row, place / len(entry["rows"]), spoken["only"])
                rng = Rng(f"weight/{row}")
                weight = share * rng.between(5, 15) * 100 // rows
                offered = groups.get(row.partition(" | ")[0], entry["options"])
                subcategories.append(
                    _subcategory(
                        row, len(subcategories), table, entry, family, pool, offered, weight
                    )
                )
    return Bank(
        subcategories=tuple(subcategories),
        attributes=tuple(sorted({word for word, _ in attributes})),
        coinage=Coinage(
            tuple(coinage.pop("starts")),
            tuple(coinage.pop("middles")),
            {pool: tuple(ends) for pool, ends in coinage.items()},
        ),
        closers=_formats(shared["closers"]),
        heads=_formats(shared["heads"]),
        titles=_formats(shared["titles"]),
        extras=_formats(shared["extras"]),
        colors=options["colors"],
        values={name: tuple(values) for name, values in options.items()},
        motifs=tuple(wording["motifs"]),
        own_titles=_formats(wording["titles"]),
        vague={
            category: tuple(_name(name) for name in names)
            for category, names in wording["vague"].items()
        },
        special={name: tuple(found) for name, found in special.items()},
        reworded={
            **_reworded(attributes, spoken, wording["synonyms"]),
            **{
                attribute.name: (other,)
                for found in special.values()
                for attribute, other in found.items()
            },
        },
        option_phrases={name: tuple(says) for name, says in phrasing.pop("options").items()},
        phrasing={
            **{name: tuple(says) for name, says in phrasing.items()},
            "plain": tuple(filter(_is_plain, phrasing["templates"])),
        },
    )


def _is_plain(template: str) -> bool:
    """Whether a template says what is wanted, and nothing else."""
    return (
        len(_SLOT.sub("", template).split()) <= 5
        and "old one" not in template
        and not any(slot in template for slot in ("{person}", "{event}", "{reason}"))
    )


def read_words(name: str) -> dict[str, Any]:
    """One of the word bank's files."""
    source = files("errands.shop.synthetic").joinpath("wordbank", f"{name}.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _formats(templates: Iterable[str]) -> tuple[str, ...]:
    return tuple(compiled(template) for template in templates)


def _wordings(
    templates: Iterable[str], synonyms: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """Each template in WORDINGS wordings; all differ in some word that has synonyms."""

    def worded(template: str, turn: int) -> str:
        def other(match: re.Match[str]) -> str:
            choices = synonyms.get(match[0])
            return choices[(turn + match.start()) % len(choices)] if choices else match[0]

        return compiled(_WORD.sub(other, template))

    return tuple(
        tuple(worded(template, turn) for turn in range(WORDINGS)) for template in templates
    )


def _frames(entry: Mapping[str, Any], weekdays: Sequence[str]) -> tuple[Mapping[str, str], ...]:
    def word(key: str, turn: int) -> str:
        return str(entry[key][turn % len(entry[key])])

    return tuple(
        {
            "style": word("styles", turn),
            "material": word("materials", turn),
            "material2": word("materials", turn + 1),
            "use": word("uses", turn),
            "use2": word("uses", turn + 1),
            "part": word("parts", turn),
            "benefit": word("benefits", turn),
            "weekday": weekdays[turn % len(weekdays)],
            "n": str(3 + turn * 7 % 27),
            "d": str(1 + turn * 5 % 9),
        }
        for turn in range(FRAMES)
    )


def _name(text: str) -> Name:
    plural = text.endswith("s") and not text.endswith("ss")
    if text[0] == "+":
        return Name(text[1:], "some", plural)
    if text[0] == "=":
        return Name(text[1:], "a pair of", plural)
    return Name(text, "", False)


def _subcategory(
    row: str,
    index: int,
    table: Mapping[str, Any],
    entry: Mapping[str, Any],
    family: Family,
    pool: Sequence[Attribute],
    options: Sequence[str],
    weight: int,
) -> Subcategory:
    cells = [cell.strip() for cell in row.split(" | ")]
    query, leaf, names = cells[:3]
    return Subcategory(
        index=index,
        category=table["category"],
        query=query,
        path=f"{table['root']} › {entry['root']} › {leaf}",
        names=tuple(_name(name.strip()) for name in names.split(",")),
        picture=cells[3] if len(cells) > 3 else entry["picture"],
        price=float(cells[4] if len(cells) > 4 else entry["price"]),
        attributes=tuple(pool),
        family=family,
        options=tuple(option.partition(":")[::2] for option in options),
        weight=weight,
    )


def _pool(
    words: Sequence[Attribute], row: str, share: float, only: Mapping[str, str]
) -> list[Attribute]:
    """Attributes that suit a query: those few queries have, then a part of the common ones."""
    query = row.partition(" | ")[0]
    common = [word for word in words if word.name not in only]
    special = [word for word in words if _suits(query, only.get(word.name, ""))]
    start = int(share * len(common))
    turned = common[start:] + common[:start]
    return Rng(f"pool/{query}").shuffled((special + turned)[: max(POOL, len(special) + 5)])


def _suits(query: str, needed: str) -> bool:
    return any(word in query for word in needed.split())


def _reworded(
    attributes: Iterable[tuple[str, str]],
    table: Mapping[str, Any],
    synonyms: Mapping[str, Sequence[str]],
) -> dict[str, tuple[Attribute, ...]]:
    """Attributes that can be said in other words, in these words."""
    return {
        word: tuple(_attribute(word, kind, table, way) for way in synonyms[word])
        for word, kind in attributes
        if word in synonyms
    }


def _special(
    words: Mapping[str, Sequence[str]], table: Mapping[str, Any]
) -> dict[Attribute, Attribute]:
    """Every first word with every second one, and in other words."""
    pairs = [first.split(": ") for first in words["first"]]
    return {
        _attribute(f"{first} {second}", "part", table): _attribute(
            f"{first} {second}", "part", table, f"{other} {words['instead']}"
        )
        for first, other in pairs
        for second in words["second"]
    }


def _spoken(word: str, table: Mapping[str, Any]) -> str:
    default = f"easy to {word[5:]}" if word.startswith("easy ") else word
    return str(table["spoken"].get(word, default))


def _attribute(word: str, kind: str, table: Mapping[str, Any], other: str = "") -> Attribute:
    """An attribute and how it is said; in `other` words than its own if there are any."""
    ways = table["kind"][kind]
    name = word
    spoken = other or _spoken(word, table)
    word = other or word
    words = {
        "a": word,
        "say": spoken,
        "an": with_article(spoken),
        "first": word.rsplit(" ", 1)[0],
    }

    def filled(templates: Sequence[str], **more: str) -> list[str]:
        known = words | more
        return [
            _SLOT.sub(lambda slot: known.get(slot[1], slot[0]), template) for template in templates
        ]

    def capital(text: str) -> str:
        return text if text.startswith("{") else text[0].upper() + text[1:]

    return Attribute(
        name=name,
        place=ways["place"],
        before=tuple(filled(ways["before"])),
        clauses=tuple(filled(ways["clauses"], **_VERBS)),
        clauses_plural=tuple(filled(ways["clauses"], **_PLURAL_VERBS)),
        shows=tuple(title_case(text) for text in filled(ways["shows"])),
        says=_formats(capital(text) for text in filled(ways["says"])),
        heads=_formats(capital(text) for text in filled(ways["heads"])),
    )


def spoken_attribute(word: str, kind: str) -> Attribute:
    """An attribute that is in no sub-category's pool, said as those of a kind are."""
    return _attribute(word, kind, _attribute_table())


@cache
def _attribute_table() -> Mapping[str, Any]:
    return read_words("attributes")
