"""What a phrase is to the product that says it: what it has, is like or is for, or a mere mention.

"With an aluminum frame" tells of a part; "matches your garden furniture", "wipe with a damp cloth"
and "develops motor skills" do not, and nobody would ask for them. It goes by the word that the
noun phrase stands behind, and by whether the noun phrase ends where the phrase does.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from errands.mining.phrases import located, shop_words
from errands.shop.rewards.noun_lexicon import tag

__all__ = ["Mention", "mention_of", "tells"]

_HAVING: Final = frozenset(
    "with w has have having feature features featuring include includes including included contain"
    " contains containing plus".split()
)
_MADE: Final = frozenset(
    "made crafted handcrafted built constructed consists consisting composed woven fashioned carved"
    " wrapped finished covered topped lined filled cast set".split()
)
"""Behind these, "of", "from" and "in" say what a thing has."""
_DONE_WITH: Final = frozenset(
    "clean cleaned cleaning wipe wiped wipes wash washed washing rinse rinsed dust dusted use used"
    " pair paired pairs mix mixed work works go goes apply applied along together compatible start"
    " starts begin begins struggle deal play fill treat treated".split()
)
"""What is done with something is not had."""
_STEPPED_OVER: Final = frozenset("a an the its our your their this these s both very".split())
_JOINED: Final = frozenset(("and", "or"))
_IS: Final = frozenset("is are be being".split())
_MODIFIERS: Final = frozenset(("JJ", "JJR", "JJS", "NN", "NNS", "NNP", "VBN", "CD", "RB", ""))
_FOLLOWING: Final = frozenset(("VBZ", "VBP", "VBD", "MD", "IN", "TO", "CC", "DT", "RB", "WDT"))
"""What may come behind a whole noun phrase."""
_LONGEST_POINT: Final = 6
"""Words of a clause that is a point of a list rather than a sentence."""


class Mention(NamedTuple):
    """How a clause says a phrase."""

    role: str
    """`has`, `for`, `is`, `point` (of a list), or nothing."""
    before: str
    """The word that it stands before, if there is one."""
    behind: str
    """The word that its noun phrase stands behind, if there is one."""


def mention_of(clause: str, phrase: str) -> Mention | None:
    """What a phrase is to the product, where a clause says it first; None where it does not.

    >>> mention_of("Features a strong aluminum frame and legs", "aluminum frame").role
    'has'
    >>> mention_of("wipe it with a damp cloth", "damp cloth").role
    ''
    >>> mention_of("develops motor skills", "motor skills").role
    ''
    >>> mention_of("Solid oak legs", "oak legs").role
    'point'
    """
    found = located(clause, phrase)
    if found is None:
        return None
    words, places = found
    first, last = places[0], places[-1]
    before = words[last + 1] if last + 1 < len(words) else ""
    at = _governor(words, first)
    if _is_participle(before) and not _is_adjective(words[last]):
        # "Acid washed": it belongs to what follows.
        return None
    role = _role(words, at, len(words)) if _ends(before) else ""
    return Mention(role, before, words[at] if at >= 0 else "")


def _ends(before: str) -> bool:
    """Whether a noun phrase may end before a word."""
    if before.isdecimal():
        return False
    return not before or before in shop_words()["passed_over"] or tag(before) in _FOLLOWING


def _is_participle(word: str) -> bool:
    return tag(word) in ("VBN", "VBD") or (not tag(word) and word.endswith("ed"))


def _is_adjective(word: str) -> bool:
    return word.endswith(("ed", "ing")) or tag(word) in ("JJ", "RB", "VBN", "VBD")


def _governor(words: Sequence[str], first: int) -> int:
    """Where the word is that the noun phrase around a word stands behind; -1: it begins."""
    at = first - 1
    stepped = False
    while at >= 0:
        word = words[at]
        if word in _JOINED:
            stepped = False
        elif word in _STEPPED_OVER:
            stepped = True
        elif stepped or word in _HAVING or not _is_modifier(word):
            return at
        at -= 1
    return -1


def _is_modifier(word: str) -> bool:
    return word.isdecimal() or (word not in shop_words()["passed_over"] and tag(word) in _MODIFIERS)


def _role(words: Sequence[str], at: int, length: int) -> str:
    if at < 0:
        return "point" if length <= _LONGEST_POINT else ""
    behind = words[at]
    earlier = words[at - 1] if at else ""
    if behind in _HAVING:
        return "has" if _DONE_WITH.isdisjoint(words[max(0, at - 3) : at]) else ""
    if behind in ("of", "from", "in", "by"):
        return "has" if earlier in _MADE else ""
    if behind in _IS:
        return "is"
    return "for" if behind == "for" else ""


def tells(role: str, use: str, *, known: bool) -> bool:
    """Whether a product that says a phrase in some role is asked for by it.

    What shops are known to say (`known`) tells wherever it stands, but for parts and materials,
    which must be the product's own.
    """
    if use == "has":
        return role in ("has", "point", "is" if known else "point")
    return known or role in ("is", "point")
