"""The nouns of a title, on which the type reward of a purchase rests.

The original compares the NOUN and PROPN tokens that a spaCy model finds in two titles. Which
tokens those are depends on the model, and no English model can be had from PyPI, so the tagger is
a part that can be exchanged: the built-in one (`lexicon`), a spaCy model of the user's
(`spacy:en_core_web_lg`), or a file that states the nouns of each product. Tagging happens once,
when a catalogue is built; `title_score` is all that runs while an agent acts.
`docs/explanation/nouns.md` measures how far the built-in tagger is from the original's.
"""

import importlib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import msgspec

from errands.errors import DataError, ErrandsError
from errands.extras import install_command

__all__ = ["EMPTY_GOAL_SCORE", "NounTagger", "nouns_from_file", "tagger", "title_score"]

EMPTY_GOAL_SCORE = 0.2
"""The title score where the goal's title has no noun."""


class NounTagger(Protocol):
    """Finds the nouns of a title; the same title always gives the same list."""

    name: str
    """Recorded in the catalogue's manifest; changes whenever a tag can change."""

    def nouns(self, title: str) -> list[str]:
        """Lower-cased tokens tagged NOUN or PROPN, in order, repeats kept."""
        ...


def tagger(spec: str = "lexicon") -> NounTagger:
    """The tagger that a name stands for.

    `lexicon` tags the title as it is written and comes nearest to the original's scores;
    `lexicon-lower` tags the lower-cased title, where fewer adjectives pass for names;
    `spacy:MODEL` runs an installed spaCy model, as the original does.
    """
    if spec in ("lexicon", "lexicon-lower"):
        from errands.shop.rewards.noun_lexicon import LexiconTagger

        return LexiconTagger(lower=spec == "lexicon-lower")
    kind, _, model = spec.partition(":")
    if kind == "spacy" and model:
        return _SpacyTagger(model)
    raise ErrandsError(
        f"There is no noun tagger {spec!r}; choose lexicon, lexicon-lower or spacy:MODEL "
        "(for instance spacy:en_core_web_lg)."
    )


class _SpacyTagger:
    """NOUN and PROPN tokens by a spaCy model, which must be installed already."""

    def __init__(self, model: str) -> None:
        try:
            spacy: Any = importlib.import_module("spacy")
        except ImportError:
            raise ErrandsError(
                f"The tagger spacy:{model} needs spaCy, which is not installed; run: "
                f"{install_command('spacy')}"
            ) from None
        try:
            self._model: Any = spacy.load(model, exclude=["ner", "lemmatizer"])
        except OSError:
            raise ErrandsError(
                f"spaCy is installed but its model {model!r} is not (models are not on PyPI); run: "
                f"python -m spacy download {model}"
            ) from None
        version = self._model.meta.get("version", "")
        self.name = f"spacy:{model}-{version}" if version else f"spacy:{model}"

    def nouns(self, title: str) -> list[str]:
        """The lower-cased NOUN and PROPN tokens of a title."""
        return [token.text.lower() for token in self._model(title) if token.pos_ in _NOUN_TAGS]


_NOUN_TAGS = ("NOUN", "PROPN")


def nouns_from_file(path: str | PathLike[str]) -> Mapping[str, list[str]]:
    """Read a JSON file `{asin: [noun, ...]}`; nouns are taken as written but for case."""
    source = Path(path)
    try:
        lists = msgspec.json.decode(source.read_bytes(), type=dict[str, list[str]])
    except OSError as error:
        raise DataError(f"Cannot read the nouns file {source}: {error.strerror}.") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DataError(
            f"{source} is not a nouns file, that is one JSON object {{asin: [noun, ...]}}: {error}."
        ) from None
    return {asin: [noun.lower() for noun in nouns] for asin, nouns in lists.items()}


def title_score(bought: Sequence[str], goal: Sequence[str]) -> float:
    """The share of the goal's nouns that the bought title has too.

    Common nouns are counted once, the goal's nouns with their repeats (so a title with a repeated
    noun scores below 1 against itself), as the original counts them.

    >>> title_score(["power", "cord", "outlet"], ["power", "cord", "bar", "bar"])
    0.5
    """
    if not goal:
        return EMPTY_GOAL_SCORE
    return len(set(goal).intersection(bought)) / len(goal)
