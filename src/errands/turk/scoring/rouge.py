"""ROUGE-L, the measure of written answers: how much of a text stands in another, in order.

The longest common subsequence of two texts' words gives precision (its share of the prediction)
and recall (its share of the reference); the score is their F-measure. The numbers are those of
the rouge-score package 0.1.2 with its stemmer on, to the last bit, and without its dependencies:
words are runs of a-z and 0-9 after lower-casing, those longer than three letters are stemmed.
A text in another script has no words here, and scores 0 against everything.
"""

import re
from functools import lru_cache

from rapidfuzz.distance import LCSseq

from errands.stemming import rouge_stem

__all__ = ["rouge_l", "words"]

_WORD = re.compile("[a-z0-9]+")
_LONGEST_KEPT = 40
"""Stems of longer words are not kept: they are noise, and could fill the memory."""

_kept_stem = lru_cache(maxsize=1 << 16)(rouge_stem)


def words(text: str) -> list[str]:
    """The words that ROUGE compares.

    >>> words("The cats aren't RUNNING.")
    ['the', 'cat', 'aren', 't', 'run']
    """
    matches = _WORD.findall(text.lower())
    return [
        word
        if len(word) < 4
        else _kept_stem(word)
        if len(word) <= _LONGEST_KEPT
        else rouge_stem(word)
        for word in matches
    ]


def rouge_l(prediction: str, reference: str) -> float:
    """The F-measure of ROUGE-L, from 0 to 1.

    >>> rouge_l("the cat ran", "The cats are running!")
    0.5714285714285715
    """
    predicted, expected = words(prediction), words(reference)
    if not predicted or not expected:
        return 0.0
    common = LCSseq.similarity(predicted, expected)
    if not common:
        return 0.0
    precision, recall = common / len(predicted), common / len(expected)
    return 2 * precision * recall / (precision + recall)
