"""The parts of speech that the shop's lexicon knows, for all of mining."""

from collections.abc import Mapping
from functools import cache

__all__ = ["tag", "tags"]


@cache
def tags() -> Mapping[str, str]:
    """Lower-case word to its commonest part of speech (Penn Treebank)."""
    from errands.shop.rewards.noun_lexicon import load_lexicon

    return load_lexicon()


def tag(word: str) -> str:
    """Of a word; '' where the lexicon does not know it."""
    return tags().get(word, "")
