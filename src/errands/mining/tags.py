"""The parts of speech that the shop's lexicon knows, for all of mining."""

from collections.abc import Mapping

from errands.shop.rewards.noun_lexicon import load_lexicon

__all__ = ["tag", "tags"]


def tags() -> Mapping[str, str]:
    """Lower-case word to its commonest part of speech (Penn Treebank)."""
    return load_lexicon()


def tag(word: str) -> str:
    """Of a word; '' where the lexicon does not know it."""
    return load_lexicon().get(word, "")
