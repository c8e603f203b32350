"""Associations: which words of pages people mean by which of theirs.

    associations = learn_associations([(instruction, text of the product that was wanted), ...])
    associations.cover("a snug shirt", "slim fit shirt") -> (0.7, 1.0)

A person who asks for `plaited` straps knows them when the page says `braided`. Of instructions,
each beside what the pages say of the product that was wanted, IBM's first model of translation
(Brown et al. 1993) learns how likely a word of the page leads to a word of the instruction: by
counting, in seconds, the same in every process. Words of few products are left out, for of those
chance makes the most.
"""

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from errands.agents.page_reading import read_instruction
from errands.atomic import atomic_write
from errands.errors import DataError
from errands.stemming import lucene_stem

__all__ = [
    "Associations",
    "bag",
    "content",
    "learn_associations",
    "pieces",
    "read_associations",
    "write_associations",
]

FILE: Final = "associations.json"
_BUCKETS: Final = 1 << 20
"""Words are told apart by their hash, so that one nobody has seen is itself; 0 is none."""
_ROUNDS: Final = 8
_IDENTITY: Final = 20.0
"""So much likelier than by another word an instruction's word comes of itself, at first."""
_LEAST_SHARE: Final = 0.05
_LEAST_COUNT: Final = 3.0
_LEAST_LIFT: Final = 4.0
"""Associations that are weaker, rarer, or hardly stronger than chance, are none."""
_LEAST_PAGES: Final = 8
"""A word on fewer pages than this is associated with itself alone."""

_PIECE: Final = re.compile(r"\d+(?:\.\d+)?|[a-z]+")
_NUMBERS: Final = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
}


@lru_cache(1 << 16)
def _number(piece: str) -> int:
    stem = lucene_stem(_NUMBERS.get(piece, piece))
    return 1 + zlib.crc32(stem.encode()) % (_BUCKETS - 1)


_SMALL: Final = frozenset(
    "a an and any are as at be but by can for from had has have if in into is it its made make not"
    " of on or our so than that the their them then there these they this to us was we were when"
    " which who will with you your".split()
)


@lru_cache(1 << 15)
def pieces(text: str) -> tuple[int, ...]:
    """The words of a text as numbers: stems, letters apart from digits, small numbers as digits.

    >>> pieces("Two Boxes, 12in") == pieces("2 box 12 in")
    True
    """
    return tuple(map(_number, _PIECE.findall(text.lower())))


@lru_cache(1 << 15)
def bag(text: str) -> frozenset[int]:
    """The different words of a text that say something."""
    return frozenset(_number(one) for one in _PIECE.findall(text.lower()) if one not in _SMALL)


@lru_cache(1 << 13)
def content(instruction: str) -> tuple[int, ...]:
    """The words of an instruction that say something, in their order."""
    words = read_instruction(instruction).words
    return tuple(dict.fromkeys(number for word in words for number in pieces(word)))


class Associations(msgspec.Struct, frozen=True):
    """How far words of pages stand for words of instructions, and how much those say."""

    strengths: dict[int, dict[int, float]] = {}
    """Of an instruction's words, of pages' words: how likely the one comes of the other."""
    weights: dict[int, float] = {}
    """Of an instruction's words: the rarer, the more it says."""

    def weight(self, word: int) -> float:
        return self.weights.get(word, 1.0)

    def strength(self, word: int, others: frozenset[int]) -> float:
        """How far a word of an instruction is covered by words of a page, from 0 to 1."""
        if word in others:
            return 1.0
        known = self.strengths.get(word)
        if not known:
            return 0.0
        return max((share for other, share in known.items() if other in others), default=0.0)

    def cover(self, instruction: str, text: str) -> tuple[float, ...]:
        """How far each content word of an instruction is covered by a text."""
        there = bag(text)
        return tuple(self.strength(word, there) for word in content(instruction))

    def meant(self, word: int, asked: Sequence[int]) -> float:
        """How far a word of a page is meant by one of an instruction's."""
        if word in asked:
            return 1.0
        strengths = self.strengths
        return max(
            (strengths[one].get(word, 0.0) for one in asked if one in strengths), default=0.0
        )


def learn_associations(pairs: Sequence[tuple[str, str]]) -> Associations:
    """From instructions, each beside the text of the product that was wanted."""
    rows = [(content(instruction), bag(text)) for instruction, text in pairs]
    rows = [(asked, shown) for asked, shown in rows if asked and shown]
    if not rows:
        return Associations()
    pages = Counter(word for text in {text for _, text in pairs} for word in bag(text))
    asked_words, shown_words, sizes = [], [], []
    for asked, shown in rows:
        kept = [0, *sorted(w for w in shown if pages[w] >= _LEAST_PAGES or w in asked)]
        asked_words.append(np.repeat(asked, len(kept)))
        shown_words.append(np.tile(kept, len(asked)))
        sizes += [len(kept)] * len(asked)
    keys, place = np.unique(
        np.concatenate(asked_words) * _BUCKETS + np.concatenate(shown_words), return_inverse=True
    )
    group = np.repeat(np.arange(len(sizes)), sizes)
    asked_of, shown_of = np.divmod(keys, _BUCKETS)
    share = np.where(shown_of == asked_of, _IDENTITY, 1.0)
    counts = share
    for _ in range(_ROUNDS):
        weight = share[place]
        total = np.bincount(group, weight, len(sizes))
        counts = np.bincount(place, weight / total[group], len(keys))
        share = counts / (np.bincount(shown_of, counts, _BUCKETS)[shown_of] + 1.0)
    said = np.bincount(np.concatenate([asked for asked, _ in rows]), minlength=_BUCKETS) / len(rows)
    strong = (shown_of > 0) & (shown_of != asked_of) & (counts >= _LEAST_COUNT)
    strong &= (share > _LEAST_SHARE) & (share > _LEAST_LIFT * said[asked_of])
    strengths: dict[int, dict[int, float]] = {}
    for at in np.flatnonzero(strong).tolist():
        # Rounded, for the last bits of a sum are not the same on every machine.
        strengths.setdefault(int(asked_of[at]), {})[int(shown_of[at])] = round(float(share[at]), 4)
    weights = {at: round(-float(np.log(said[at])) / 5, 4) for at in np.flatnonzero(said).tolist()}
    return Associations(strengths, weights)


def write_associations(folder: Path, associations: Associations) -> None:
    """Into a checkpoint's folder."""
    data = msgspec.json.encode(associations)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(folder / FILE, lambda path: path.write_bytes(data))
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None


def read_associations(folder: Path) -> Associations:
    """Of a checkpoint's folder."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Associations)
    except OSError as failure:
        raise DataError(f"{folder / FILE} cannot be read ({failure.strerror}).") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        raise DataError(f"{folder / FILE} is damaged ({failure}); train the model anew.") from None
