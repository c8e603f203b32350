"""What a choice model reads with: words and, where it is pretrained, the encoder that knows them.

reading = new_reading(config, texts, most=8_000, seed=0)
reading.keep(Path("il"))
model = reading.model(config)                     # weights drawn, or the pretrained ones
...
kept_reading(Path("il"), config, about.words)     # the same words; weights are yet to load
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from errands.learn.data.vocabulary import Vocabulary, Words
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.models.pretrained_encoder import PretrainedEncoder, open_encoder, rebuild_encoder

__all__ = ["Reading", "kept_reading", "new_reading"]


class Reading(NamedTuple):
    """Words, and the encoder if there is one already; for one model."""

    words: Words
    encoder: PretrainedEncoder | None = None

    def model(self, config: ChoiceConfig) -> ChoiceModel:
        return ChoiceModel(config, len(self.words), self.encoder)

    def keep(self, folder: Path) -> None:
        """Into a checkpoint's folder, what `about.json` and weights do not hold."""
        if self.encoder is not None:
            self.encoder.keep(folder)


def new_reading(config: ChoiceConfig, texts: Iterable[str], most: int, seed: int) -> Reading:
    """Of a model that is trained from scratch on texts, or from a pretrained encoder."""
    if config.encoder == "pretrained":
        encoder = open_encoder(config.pretrained, config.width, seed)
        return Reading(encoder.sub_words, encoder)
    return Reading(Vocabulary.of(texts, most=most))


def kept_reading(folder: Path, config: ChoiceConfig, words: tuple[str, ...]) -> Reading:
    """Of a checkpoint; `words` are those of its `about.json`."""
    if config.encoder == "pretrained":
        encoder = rebuild_encoder(folder, config.width)
        return Reading(encoder.sub_words, encoder)
    return Reading(Vocabulary(words))
