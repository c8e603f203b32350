"""The built-in noun tagger: a lexicon, the shape of a word, and its neighbours in the title.

The reward wants the tokens that a Universal Dependencies tagger would call NOUN or PROPN in a
product title. Titles are strings of capitalised words without a sentence, so what a word *is*
decides nearly everything. Three steps, each on one screen below:

1. `word_class` looks a token up as written, then in lower case (so `Stainless`, which the lexicon
   has met in names, is a name, while `Portable` stays an adjective), and guesses an unknown one
   from its shape: digits, capitals, suffix.
2. A few words are set right where the newspaper English of the lexicon misleads in a shop.
3. `_is_noun` settles the words that depend on their neighbours within a *segment*, the stretch
   between commas, brackets and free-standing dashes.

The lexicon (Brill's, Brown Corpus and Wall Street Journal, MIT licence; Twitter words by Gimpel
et al., CC-BY 3.0) is `lexicon.txt.zst`, whose first lines say where it is from.
"""

import re
from collections.abc import Mapping
from enum import Enum, auto
from functools import cache
from importlib import resources
from typing import NamedTuple

import zstandard

from errands.shop.rewards.title_tokens import chunk_tokens

__all__ = ["Kind", "LexiconTagger", "load_lexicon", "tag", "word_class"]


class Kind(Enum):
    """What a token is before its neighbours are looked at."""

    NOUN = auto()
    ADJECTIVE = auto()
    GERUND = auto()
    BASE = auto()
    """A verb's base form, which a title mostly uses as a noun: `Pack`, `Stand`."""
    THIRD = auto()
    """A form in -s, a verb only where it opens a segment: `Supports 4K`, but `Pillow Covers`."""
    PARTICLE = auto()
    GOVERNOR = auto()
    """What makes a verb of a base form after it: `to`, `can`, `you`."""
    DETERMINER = auto()
    NUMBER = auto()
    CROSS = auto()
    """The x of `18 x 18`."""
    BREAK = auto()
    """Punctuation that ends a segment."""
    OTHER = auto()


_BY_TAG = {
    "NN": Kind.NOUN, "NNS": Kind.NOUN, "NNP": Kind.NOUN, "NNPS": Kind.NOUN,
    "JJ": Kind.ADJECTIVE, "VBG": Kind.GERUND, "VB": Kind.BASE, "VBP": Kind.BASE, "VBZ": Kind.THIRD,
    "TO": Kind.GOVERNOR, "MD": Kind.GOVERNOR, "PRP": Kind.GOVERNOR,
    "DT": Kind.DETERMINER, "PRP$": Kind.DETERMINER, "CD": Kind.NUMBER,
}  # fmt: skip

_PROMISES = (
    "apply brighten bring get give go help improve keep make prevent reduce remove restore see "
    "strengthen take thicken try"
)
"""Base forms that say what the goods do rather than what they are."""

_SHOP_WORDS = {
    # The apostrophe was lost, not the possessive: `Mens Shoes` is read as `Men's Shoes`.
    **dict.fromkeys(("mens", "womens"), Kind.OTHER),
    # Goods that newspapers know as verbs, adverbs or adjectives.
    **dict.fromkeys(("set", "cut", "knit", "top", "back", "cleaner", "trimmer"), Kind.NOUN),
    **dict.fromkeys(_PROMISES.split(), Kind.OTHER),
    **dict.fromkeys(("off", "over", "out", "up", "down", "under"), Kind.PARTICLE),
    "x": Kind.CROSS,
}

_CAPITAL_SUFFIXES = (
    (re.compile(r"^.{3,}(?:able|ible|less|proof)$"), Kind.ADJECTIVE),
    (re.compile(r"^.{4,}ing$"), Kind.GERUND),
    (re.compile(r"^.{3,}[^e]ed$"), Kind.OTHER),
)
_LOWER_SUFFIXES = (
    *_CAPITAL_SUFFIXES,
    (re.compile(r"^.{3,}ly$"), Kind.OTHER),
    (re.compile(r"^.{3,}(?:al|ble|ic|ive|ous|ful)$"), Kind.ADJECTIVE),
)
_NUMERAL = re.compile(r"[+-]?[\d½¼¾][\d.,/:x×½¼¾-]*$")
_BREAKS = frozenset(",;:()[]{}|.!?–—-·•…【】（）~")
_CACHE_LIMIT = 1 << 18


_NEVER = (Kind.OTHER, Kind.BREAK, Kind.NUMBER)


class _Word(NamedTuple):
    lower: str
    kind: Kind
    capital: bool
    noun: bool | None
    """None where its neighbours decide."""


@cache
def load_lexicon() -> Mapping[str, str]:
    """Word (case as met) to its most frequent Penn Treebank tag; read once in a process."""
    file = resources.files("errands.shop.rewards").joinpath("lexicon.txt.zst")
    lexicon: dict[str, str] = {}
    for line in zstandard.decompress(file.read_bytes()).decode().split("\n"):
        tag, *words = line.split(" ")
        if tag != ";":
            lexicon.update(dict.fromkeys(words, tag))
    return lexicon


def tag(word: str) -> str:
    """Its most frequent tag; '' where the lexicon does not know it."""
    return load_lexicon().get(word, "")


def word_class(token: str, lexicon: Mapping[str, str]) -> Kind:
    """What a token is before its neighbours are looked at."""
    lower = token.lower()
    if not token.isalpha():
        if token == "%":
            return Kind.NOUN
        if not any(map(str.isalnum, token)):
            return Kind.BREAK if token in _BREAKS else Kind.OTHER
        if token[0].isdigit() or _NUMERAL.match(token):
            # `921ORB` and `3D` are names, `2pcs` and `20ml` are amounts.
            return Kind.NOUN if token[-1].isupper() and not _NUMERAL.match(token) else Kind.NUMBER
    if lower in _SHOP_WORDS:
        return _SHOP_WORDS[lower]
    capital = token[0].isupper()
    tag = lexicon.get(token)
    if tag is None and lower in lexicon:
        tag = lexicon[lower]
        if len(token) > 1 and token.isupper() and tag.startswith("V"):
            return Kind.NOUN  # LED is not the past tense of lead.
    if tag == "PRP" and len(token) > 1 and token.isupper():
        return Kind.NOUN  # US, IT
    if tag is None:
        for suffix, kind in _CAPITAL_SUFFIXES if capital else _LOWER_SUFFIXES:
            if suffix.match(token):
                return kind
        return Kind.NOUN
    if tag == "FW":
        return Kind.NOUN if capital else Kind.OTHER
    return _BY_TAG.get(tag, Kind.OTHER)


def _is_noun(word: _Word, before: _Word | None, after: _Word | None) -> bool:
    """Whether a word whose class is open is a noun between its neighbours in the segment."""
    match word.kind:
        case Kind.ADJECTIVE:
            # Nothing follows that it could describe: `Shoes Casual`, `(Silver)`, `Off White`.
            return word.capital and after is None
        case Kind.GERUND:
            return word.capital and after is not None and after.kind is Kind.NOUN
        case Kind.BASE:
            if before is not None and before.kind is Kind.GOVERNOR:
                return False
            return after is None or after.kind not in (Kind.DETERMINER, Kind.GOVERNOR)
        case Kind.THIRD:
            return before is not None and before.kind not in (Kind.GOVERNOR, Kind.DETERMINER)
        case Kind.PARTICLE:
            # With nothing before it to belong to it opens a name: `Off White`, `Over Ear`.
            return word.capital and before is None and after is not None and after.capital
        case Kind.CROSS:
            return not (before is not None and before.kind is Kind.NUMBER)
        case _:
            return False


class LexiconTagger:
    """Nouns by lexicon and rule; `lower` tags the lower-cased title, where capitals say nothing."""

    def __init__(self, *, lower: bool = False) -> None:
        self.name = "lexicon-lower-1" if lower else "lexicon-1"
        self._lower = lower
        self._lexicon = load_lexicon()
        self._chunks: dict[str, tuple[_Word, ...]] = {}

    def nouns(self, title: str) -> list[str]:
        """The lower-cased nouns of a title, in order, repeats kept."""
        nouns: list[str] = []
        words: list[_Word] = []
        chunks = self._chunks
        for chunk in (title.lower() if self._lower else title).split():
            words += chunks.get(chunk) or self._read(chunk)
        last = len(words) - 1
        for at, word in enumerate(words):
            noun = word.noun
            if noun is None:
                before = words[at - 1] if at else None
                after = words[at + 1] if at < last else None
                if before is not None and before.kind is Kind.BREAK:
                    before = None
                if after is not None and after.kind is Kind.BREAK:
                    after = None
                noun = _is_noun(word, before, after)
            if noun:
                nouns.append(word.lower)
        return nouns

    def _read(self, chunk: str) -> tuple[_Word, ...]:
        """The words of a chunk; a hyphen or slash *inside* it joins, and is left out."""
        pieces = chunk_tokens(chunk)
        inside = range(1, len(pieces) - 1)
        words = tuple(
            [
                self._word(piece)
                for at, piece in enumerate(pieces)
                if not (at in inside and piece in "-/–—~")
            ]
        )
        if len(self._chunks) >= _CACHE_LIMIT:
            self._chunks.clear()
        self._chunks[chunk] = words
        return words

    def _word(self, token: str) -> _Word:
        kind = word_class(token, self._lexicon)
        noun = True if kind is Kind.NOUN else False if kind in _NEVER else None
        return _Word(token.lower(), kind, token[0].isupper(), noun)
