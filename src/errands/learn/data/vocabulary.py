"""Words as numbers, for models that are trained from scratch.

A vocabulary is made from training texts. A word that is not in it gets one of a few hundred
shared numbers by its hash, so that a name nobody has seen before still equals itself. Prices get
numbers by size. `[button]` and its like are single tokens, as the original means them to be.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol

__all__ = ["END", "HASH_BUCKETS", "MARKS", "PAD", "Tokenizer", "Vocabulary", "tokens"]

PAD: Final = 0
END: Final = 2
MARKS: Final = ("[pad]", "[begin]", "[end]", "[button]", "[clicked button]", "[image]")
"""Tokens that are no words; `[button_]` and its like, the ends of buttons, say nothing new."""
HASH_BUCKETS: Final = 512
PRICES: Final = 48
_TOKEN: Final = re.compile(
    r"\[clicked button\]|\[button\]|\$?\d+(?:\.\d+)?|[a-z0-9]+(?:['&.-][a-z0-9]+)*|[<>]"
)
_NOISE: Final = re.compile(r"\[(?:clicked )?button_\]|\[sep\]")


def tokens(text: str) -> list[str]:
    """A text as words, marks and prices.

    >>> tokens("[button] Blue-16 [button_] Price: $12.50")
    ['[button]', 'blue-16', 'price', '$12.50']
    """
    return _TOKEN.findall(_NOISE.sub(" ", text.lower()))


class Tokenizer(Protocol):
    """Whatever gives texts numbers: a vocabulary, or the tokenizer of a pretrained model."""

    @property
    def words(self) -> tuple[str, ...]:
        """Those that `about.json` has to keep."""
        ...

    @property
    def max_tokens(self) -> int:
        """That can be read at once."""
        ...

    def __len__(self) -> int: ...

    def encode(self, text: str) -> tuple[int, ...]:
        """The numbers of a text's tokens; never `PAD` or `END`."""
        ...


class Vocabulary:
    """Known words in the order of their numbers."""

    max_tokens: int = 2**31

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self.places = {word: place for place, word in enumerate(self.words)}
        first = len(MARKS) + PRICES + HASH_BUCKETS
        self._numbers = {word: first + place for place, word in enumerate(self.words)}
        self._numbers.update((mark, place) for place, mark in enumerate(MARKS))
        self._known = lru_cache(2**14)(self._encode)

    @classmethod
    def of(cls, texts: Iterable[str], *, most: int = 8_000, at_least: int = 2) -> "Vocabulary":
        """The most frequent words of texts; equally frequent ones in the order of the alphabet."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(tokens(text))
        ranked = sorted(
            (word for word, count in counts.items() if count >= at_least and word not in MARKS),
            key=lambda word: (-counts[word], word),
        )
        return cls(ranked[:most])

    def __len__(self) -> int:
        return len(MARKS) + PRICES + HASH_BUCKETS + len(self.words)

    def encode(self, text: str) -> tuple[int, ...]:
        """The numbers of a text's tokens."""
        return self._known(text)

    def number(self, token: str) -> int:
        """The number of a token."""
        known = self._numbers.get(token)
        if known is not None:
            return known
        if token[:1] == "$":
            return len(MARKS) + _price_bucket(float(token[1:] or 0))
        return self.hash_bucket(zlib.crc32(token.encode()))

    @staticmethod
    def hash_bucket(place: int) -> int:
        """One of the numbers that words outside of the vocabulary share."""
        return len(MARKS) + PRICES + place % HASH_BUCKETS

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(map(self.number, tokens(text)))


def _price_bucket(price: float) -> int:
    """Prices by size: five steps for each factor of two above 1 dollar.

    >>> _price_bucket(10) < _price_bucket(11.5) < _price_bucket(100) < _price_bucket(1e9)
    True
    """
    if price <= 1:
        return 0
    return min(PRICES - 1, int(5 * math.log2(price)))
