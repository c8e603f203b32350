"""The stemmer of the search engine: Porter's algorithm as Lucene's English chain applies it.

It follows Porter's paper of 1980 with the three later changes of its author that Lucene has:
words of one or two letters are left alone, `bli` becomes `ble` (the paper has `abli`), and
`logi` becomes `log`. Every character but a, e, i, o, u and some y is a consonant, so digits
and letters of other scripts are consonants too. `stem` expects lower case.
"""

__all__ = ["stem"]

_DERIVED = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
"""Suffixes that two endings made (relat-ion-al), and the one ending that is left."""

_QUALITY = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}

_ENDINGS = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_PLAIN = frozenset(_ENDINGS.split())
"""Suffixes that go altogether when enough of the word is left."""


def _shape(word: str) -> str:
    """The word with each letter replaced by c (consonant) or v (vowel).

    >>> _shape("syzygy")
    'cvcvcv'
    """
    shape = ""
    vowel = True  # so that a leading y is a consonant
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and not vowel)
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How many times consonants follow vowels: Porter's m."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether the word ends as `hop` does: consonant, vowel, consonant other than w, x, y."""
    return word[-1] not in "wxy" and _shape(word).endswith("cvc")


def _is_doubled(word: str) -> bool:
    """Whether the word ends in the same consonant twice."""
    return word[-1:] == word[-2:-1] and _shape(word)[-1:] == "c"


def _drop_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _drop_tense(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    if word.endswith("ed"):
        rest = word[:-2]
    elif word.endswith("ing"):
        rest = word[:-3]
    else:
        return word
    if "v" not in _shape(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _is_doubled(rest):
        return rest if rest[-1] in "lsz" else rest[:-1]
    if _measure(rest) == 1 and _is_short(rest):
        return rest + "e"
    return rest


def _replace(word: str, rules: dict[str, str], longest: int) -> str:
    for size in range(longest, 2, -1):
        suffix = word[-size:]
        if suffix in rules:
            rest = word[: -len(suffix)]
            return rest + rules[suffix] if _measure(rest) else word
    return word


def _drop_suffix(word: str) -> str:
    for size in range(5, 1, -1):
        suffix = word[-size:]
        if suffix in _PLAIN:
            rest = word[: -len(suffix)]
            if suffix == "ion" and not rest.endswith(("s", "t")):
                return word
            return rest if _measure(rest) > 1 else word
    return word


def _tidy(word: str) -> str:
    measure = _measure(word)
    if word.endswith("e"):
        rest = word[:-1]
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    if word.endswith("ll") and measure > 1:
        return word[:-1]
    return word


def stem(word: str) -> str:
    """The stem of a lower-case word.

    >>> stem("leggings"), stem("easily"), stem("analogies")
    ('leg', 'easili', 'analog')
    """
    if len(word) < 3:
        return word
    word = _drop_tense(_drop_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _DERIVED, 7)
    word = _replace(word, _QUALITY, 5)
    return _tidy(_drop_suffix(word))
