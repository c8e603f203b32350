"""Whether words of a text stand among search words, where they say nothing of the product.

Sellers end their descriptions with what shoppers might type: `mens dress shirts slim fit men suits
regular fit men suits for wedding ...`. What stands there is said of other things. Such a passage
goes on for long without a stop or any word that makes a sentence, or it names things and nothing
else, or the same few things again and again.
"""

import itertools
import re
from collections import Counter
from typing import Final

from errands.shop.rewards.thesaurus import SMALL, all_words, singular

__all__ = ["is_listing"]

_REACH: Final = 20
"""Words looked at on either side."""
_FARTHEST: Final = 600
"""Characters looked at on either side."""
_SHORTEST: Final = 12
_LONG_RUN: Final = 15
_RUN_OF_ONE: Final = 25
"""So long must a run be for each word in it that makes a sentence."""
_PROSE_SHARE: Final = 0.08
_REPEATED_SHARE: Final = 0.2
_MANY_NAMES: Final = 3
_TABLE: Final = 3
"""With so many colons it is a table of what the product is."""
_ENDS: Final = re.compile(r"[!?\n\r\t•【】]|\.\s|<[^<>]{0,200}>")
_PAUSES: Final = re.compile(r"[,;:/|()\[\]{}*✔✓★☆❤💖]|\s[-–—]\s")
_PROSE: Final = frozenset(
    "a an the of is are be was were been being it its you your yours we our us they their"
    " them this that these those which who whom when where while if because so as than then"
    " but or not no can could will would may might must should do does did has have had having"
    " from by into onto made make makes making very more most all any each every both such also"
    " just only even please provides provide gives give keeps keep allows allow ensures ensure"
    " offers offer features"
    " at in on to".split()
)
"""Words that make a sentence. `for`, `with` and `and` stand among search words, too."""


def is_listing(text: str, start: int, end: int) -> bool:
    """Whether the part of a plain text from `start` to `end` stands among search words."""
    # Words that are looked at stand within these bounds, so that a long text takes no longer.
    least, most = max(0, start - _FARTHEST), min(len(text), end + _FARTHEST)
    first = max((found.end() for found in _ENDS.finditer(text, least, start)), default=least)
    following = _ENDS.search(text, end, most)
    last = following.start() if following else most
    before = all_words(text[first:start])[-_REACH:]
    after = all_words(text[end:last])[:_REACH]
    within = [one.word for one in all_words(text[start:end])]
    words = [*(one.word for one in before), *within, *(one.word for one in after)]
    if len(words) < _SHORTEST:
        return False
    left = text[first + (before[0].start if before else start - first) : start]
    right = text[end : end + (after[-1].end if after else 0)]
    around = f"{left}{text[start:end]}{right}"
    runs = ([one.word for one in all_words(part)] for part in _PAUSES.split(around))
    if any(len(run) >= _LONG_RUN and _prose(run) * _RUN_OF_ONE <= len(run) for run in runs):
        return True
    if around.count(":") >= _TABLE:
        return False
    if not _prose(words) and _names(left, text[start:end], right) >= _MANY_NAMES:
        return True
    counts = Counter(singular(word) for word in words if word not in SMALL and not word.isdigit())
    repeated = sum(count - 1 for count in counts.values())
    return _prose(words) < _PROSE_SHARE * len(words) and repeated >= _REPEATED_SHARE * len(words)


def _names(left: str, middle: str, right: str) -> int:
    """How many parts between pauses, one after the other and with the middle one among them, end as
    names of things do: in a plural."""
    before, after = _PAUSES.split(left), _PAUSES.split(right)
    parts = [*before[:-1], f"{before[-1]}{middle}{after[0]}", *after[1:]]
    here = len(before) - 1
    if not _is_name(parts[here]):
        return 0
    around = (parts[here + 1 :], parts[:here][::-1])
    return 1 + sum(sum(1 for _ in itertools.takewhile(_is_name, side)) for side in around)


def _is_name(part: str) -> bool:
    words = [one.word for one in all_words(part)]
    return bool(words) and singular(words[-1]) != words[-1] and words[-1].isalpha()


def _prose(words: list[str]) -> int:
    return sum(word in _PROSE for word in words)
