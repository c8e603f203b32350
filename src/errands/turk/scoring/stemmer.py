"""The stemmer of ROUGE: Porter's algorithm with the additions that the rouge-score package runs.

The additions are NLTK's default mode: a short list of irregular words, `ie` kept in words of
four letters (`dies`, `died`), y to i only after a consonant (`happy`, not `enjoy`), `-ally`
undone before other endings, `-fully` and `-logy`. The search engine's stemmer
(`errands.shop.search.stemmer`) has its author's additions instead, and the two must not be mixed.
`stem` expects lower case.
"""

from typing import Final

__all__ = ["stem"]

_IRREGULAR: Final = {
    "sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
    "cannings": "canning", "canning": "canning", "howe": "howe", "proceed": "proceed",
    "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip

_DERIVED: Final = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "fulli": "ful",
}  # fmt: skip
"""Suffixes that two endings made (relat-ion-al), and the one ending that is left."""

_QUALITY: Final = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip

_PLAIN: Final = frozenset(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()
)
"""Suffixes that go altogether when enough of the word is left."""


def _shape(word: str) -> str:
    """The word with each letter replaced by c (consonant) or v (vowel).

    >>> _shape("syzygy")
    'cvcvcv'
    """
    shape = []
    vowel = True  # so that a leading y is a consonant
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and not vowel)
        shape.append("v" if vowel else "c")
    return "".join(shape)


def _measure(word: str) -> int:
    """How many times consonants follow vowels: Porter's m."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether it ends as `hop` does (consonant, vowel, consonant but w, x, y), or is like `at`."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")


def _drop_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _drop_tense(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    if word.endswith("ed"):
        rest = word[:-2]
    elif word.endswith("ing"):
        rest = word[:-3]
    else:
        return word
    shape = _shape(rest)
    if "v" not in shape:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-1:] == rest[-2:-1] and shape[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    if shape.count("vc") == 1 and _is_short(rest):
        return rest + "e"
    return rest


def _replace(word: str, rules: dict[str, str], longest: int) -> str:
    for size in range(longest, 2, -1):
        suffix = word[-size:]
        if len(suffix) == size and suffix in rules:
            rest = word[:-size]
            return rest + rules[suffix] if _measure(rest) else word
    return word


def _undo_derivation(word: str) -> str:
    while word.endswith("alli") and _measure(word[:-4]):
        word = word[:-2]
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replace(word, _DERIVED, 7)


def _drop_suffix(word: str) -> str:
    for size in range(5, 1, -1):
        suffix = word[-size:]
        if len(suffix) == size and suffix in _PLAIN:
            rest = word[:-size]
            if suffix == "ion" and not rest.endswith(("s", "t")):
                return word
            return rest if _measure(rest) > 1 else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        return word[:-1]
    return word


def stem(word: str) -> str:
    """The stem of a lower-case word.

    >>> stem("running"), stem("dies"), stem("enjoys"), stem("theology"), stem("skies")
    ('run', 'die', 'enjoy', 'theolog', 'sky')
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 3:
        return word
    word = _drop_tense(_drop_plural(word))
    if len(word) > 2 and word[-1] == "y" and _shape(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    word = _undo_derivation(word)
    word = _replace(word, _QUALITY, 5)
    return _tidy(_drop_suffix(word))
