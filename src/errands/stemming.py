"""Porter's stemmer, in the two variants that results depend on; the two must not be mixed.

`lucene_stem` is the search engine's: Porter's paper of 1980 with the three later changes of its
author that Lucene has. Words of one or two letters are left alone, `bli` becomes `ble` (the paper
has `abli`), and `logi` becomes `log`.
`rouge_stem` is the rouge-score package's, NLTK's default mode: also a short list of irregular
words, `ie` kept in words of four letters (`dies`, `died`), y to i only after a consonant (`happy`,
not `enjoy`), `-ally` undone before other endings, `-fully` and `-logy`.

Every character but a, e, i, o, u and some y is a consonant, so digits and letters of other scripts
are consonants too. Both expect lower case. By hand because NLTK, which has both, takes three times
as long and brings four packages along (docs/explanation/dependencies.md).
"""

from collections.abc import Callable
from typing import Final

__all__ = ["lucene_stem", "rouge_stem"]

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
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
"""Suffixes that two endings made (relat-ion-al), and the one ending that is left."""
_LUCENE_DERIVED: Final = {**_DERIVED, "logi": "log"}
_ROUGE_DERIVED: Final = {**_DERIVED, "fulli": "ful"}

_QUALITY: Final = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip

_PLAIN: Final = frozenset(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()
)
"""Suffixes that go altogether when enough of the word is left."""

IsShort = Callable[[str], bool]


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


def _is_short_or_like_at(word: str) -> bool:
    return _shape(word) == "vc" or _is_short(word)


def _is_doubled(word: str) -> bool:
    """Whether the word ends in the same consonant twice."""
    return word[-1:] == word[-2:-1] and _shape(word)[-1:] == "c"


def _drop_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _drop_tense(word: str, is_short: IsShort) -> str:
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
    if _measure(rest) == 1 and is_short(rest):
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


def _tidy(word: str, is_short: IsShort) -> str:
    measure = _measure(word)
    if word.endswith("e"):
        rest = word[:-1]
        if measure > 1 or (measure == 1 and not is_short(rest)):
            word = rest
    if word.endswith("ll") and measure > 1:
        return word[:-1]
    return word


def lucene_stem(word: str) -> str:
    """The stem of a lower-case word for the search engine.

    >>> lucene_stem("leggings"), lucene_stem("easily"), lucene_stem("analogies")
    ('leg', 'easili', 'analog')
    """
    if len(word) < 3:
        return word
    word = _drop_tense(_drop_plural(word), _is_short)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _LUCENE_DERIVED, 7)
    word = _replace(word, _QUALITY, 5)
    return _tidy(_drop_suffix(word), _is_short)


def rouge_stem(word: str) -> str:
    """The stem of a lower-case word for ROUGE.

    >>> rouge_stem("running"), rouge_stem("dies"), rouge_stem("enjoys"), rouge_stem("theology")
    ('run', 'die', 'enjoy', 'theolog')
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 3:
        return word
    if not word.endswith("ies"):
        word = _drop_plural(word)
    if word.endswith(("ies", "ied")):
        word = word[:-1] if len(word) == 4 else word[:-2]
    else:
        word = _drop_tense(word, _is_short_or_like_at)
    if len(word) > 2 and word[-1] == "y" and _shape(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    while word.endswith("alli") and _measure(word[:-4]):
        word = word[:-2]
    if word.endswith("logi"):
        word = word[:-1] if _measure(word[:-3]) else word
    else:
        word = _replace(word, _ROUGE_DERIVED, 7)
    word = _replace(word, _QUALITY, 5)
    return _tidy(_drop_suffix(word), _is_short_or_like_at)
