"""Builders: a choice model of any kind, and how views become what it takes, new or from disk.

builder = new_builder(config, texts, 8_000, seed=0)
reader, model = builder.reader(config), builder.model(config)
builder.save(Path("il"))
...
load_builder(Path("il"), config, info.words)     # the same; weights are yet to be loaded
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from torch import nn

from errands.learn.data.associations import (
    Associations,
    learn_associations,
    read_associations,
    write_associations,
)
from errands.learn.data.batch import TextReader
from errands.learn.data.matching import MatchReader
from errands.learn.data.pictures import Pictures
from errands.learn.data.view import ChoiceView
from errands.learn.data.vocabulary import Tokenizer, Vocabulary
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.models.matching import MatchingModel
from errands.learn.models.pretrained_encoder import PretrainedEncoder, open_encoder, rebuild_encoder

__all__ = ["ModelBuilder", "ViewReader", "load_builder", "new_builder"]


class ViewReader(Protocol):
    """How views become what a model takes: one by one, then many side by side."""

    @property
    def words(self) -> tuple[str, ...]: ...
    def encode(self, view: ChoiceView, /) -> Any: ...
    def pack(self, views: Sequence[Any], /) -> Any: ...


class ModelBuilder(NamedTuple):
    """What a choice model has beside its weights."""

    tokenizer: Tokenizer = Vocabulary(())
    encoder: PretrainedEncoder | None = None
    associations: Associations | None = None

    def model(self, config: ChoiceConfig) -> nn.Module:
        if config.encoder == "matching":
            return MatchingModel(config.width, config.layers, config.heads)
        return ChoiceModel(config, len(self.tokenizer), self.encoder)

    def reader(self, config: ChoiceConfig, pictures: Pictures | None = None) -> ViewReader:
        if self.associations is not None:
            return MatchReader(self.associations)
        return TextReader(self.tokenizer, config.lengths, pictures)

    def save(self, folder: Path) -> None:
        """Into a checkpoint's folder, what `about.json` and weights do not hold."""
        if self.encoder is not None:
            self.encoder.save(folder)
        if self.associations is not None:
            write_associations(folder, self.associations)


def new_builder(
    config: ChoiceConfig,
    texts: Iterable[str],
    most: int,
    seed: int,
    wanted: Sequence[tuple[str, str]] = (),
) -> ModelBuilder:
    """For a model that is trained from scratch on texts, or from a pretrained encoder; `wanted` are
    instructions, each beside what pages say of the product that was wanted."""
    if config.encoder == "matching":
        return ModelBuilder(associations=learn_associations(wanted))
    if config.encoder == "pretrained":
        encoder = open_encoder(
            config.pretrained, config.width, seed, from_scratch=config.from_scratch
        )
        return ModelBuilder(encoder.tokenizer, encoder)
    return ModelBuilder(Vocabulary.of(texts, most=most))


def load_builder(folder: Path, config: ChoiceConfig, words: tuple[str, ...]) -> ModelBuilder:
    """For the model of a checkpoint; `words` are those of its `about.json`."""
    if config.encoder == "matching":
        return ModelBuilder(associations=read_associations(folder))
    if config.encoder == "pretrained":
        encoder = rebuild_encoder(folder, config.width)
        return ModelBuilder(encoder.tokenizer, encoder)
    return ModelBuilder(Vocabulary(words))
