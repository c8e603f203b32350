"""Imitation: a choice model learns to do what demonstrations do.

    train_choice(demonstrations, Path("il"), ImitationConfig())

The loss is the mean negative log-likelihood of what was done.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional

from errands.errors import DataError
from errands.learn.checkpoint import PROGRESS, CheckpointInfo, read_info
from errands.learn.data.batch import EncodedView, TokenLimits
from errands.learn.data.dataset import fingerprint, hold_out, texts_of, wanted_products
from errands.learn.data.demonstrations import DemonstratedChoice, Demonstrations
from errands.learn.data.pictures import Pictures, checkpoint_pictures, save_pictures
from errands.learn.models.builder import ViewReader, load_builder, new_builder
from errands.learn.models.choice import ChoiceConfig, check_width, with_pictures
from errands.learn.timing import Stopwatch
from errands.learn.trainer import (
    BatchMetrics,
    SupervisedConfig,
    SupervisedTask,
    TrainingOptions,
    TrainingResult,
    batch_order,
    chunks,
    read_stored,
    train_supervised,
)

__all__ = ["PRESETS", "ImitationConfig", "train_choice", "with_encoder"]

_Example = tuple[Any, int]


class ImitationConfig(SupervisedConfig, frozen=True, kw_only=True):
    """The hyperparameters of imitation. The paper's batches are of 1, with 32 steps of
    accumulation."""

    choice: ChoiceConfig = ChoiceConfig()
    epochs: int = 4
    max_actions: int = 16
    """Larger pages keep their first six actions, the one that was taken and a random sample."""


class _TrainingBatch(NamedTuple):
    """Choices side by side."""

    views: Any
    taken: Tensor


PRESETS: Final = {
    "small": ImitationConfig(),
    "matching": ImitationConfig(choice=ChoiceConfig(encoder="matching", layers=2), batch_size=64),
    "rnn": ImitationConfig(
        choice=ChoiceConfig(encoder="gru", hidden=512, word_attention=True), learning_rate=5e-4
    ),
    "paper": ImitationConfig(
        epochs=10, learning_rate=2e-5, warmup_steps=0, weight_decay=0.0, max_actions=20
    ),
}


WHOLE_PAGES: Final = TokenLimits(instruction=64, past=64, page=380, action=128)
"""As much as the paper's encoder reads: 512 tokens, 128 of an action."""


def with_encoder(
    config: ImitationConfig,
    name: str,
    *,
    from_scratch: bool = False,
    lengths: TokenLimits = WHOLE_PAGES,
) -> ImitationConfig:
    """The same with a pretrained encoder, which reads whole pages unless told."""
    choice = msgspec.structs.replace(
        config.choice,
        encoder="pretrained",
        pretrained=name,
        from_scratch=from_scratch,
        width=0,
        lengths=lengths,
    )
    return msgspec.structs.replace(config, choice=choice)


def train_choice(
    demonstrations: Demonstrations,
    folder: Path,
    config: ImitationConfig,
    *,
    pictures: Pictures | None = None,
    others: Sequence[DemonstratedChoice] = (),
    options: TrainingOptions | None = None,
) -> TrainingResult:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `pictures` are seen on products' pages; the checkpoint keeps them, for a resumed training, too.
    `others` are choices to measure after every epoch, beside what `config` holds out; what is
    learnt does not depend on them.
    """
    options = options or TrainingOptions()
    check_width(config.choice)
    if options.resume and (folder / PROGRESS).exists():
        pictures = checkpoint_pictures(folder, pictures)
    choice = with_pictures(config.choice, pictures)
    if options.resume and (folder / PROGRESS).exists():
        choice = _same_edition(choice, read_info(folder, "choice"))
    config = msgspec.structs.replace(config, choice=choice)
    choices = demonstrations.choices
    if not choices:
        raise DataError("These demonstrations have no choice to learn from.")
    if pictures is not None and all(pictures.of(view.product) is None for view, _ in choices):
        raise DataError(
            "No product of these demonstrations is in the table of pictures; expected those of the"
            " same catalogue, as `errands train pictures` makes it."
        )
    training, held_out = hold_out(choices, config.held_out, config.seed)
    info = CheckpointInfo(
        kind="choice",
        trained="imitation",
        config=msgspec.to_builtins(config),
        checksum=demonstrations.checksum,
        fingerprint=fingerprint(choices),
    )
    stored = read_stored(folder, info, options.resume)
    watch = Stopwatch()
    with watch.on("encoding"):
        if stored is None:
            save_pictures(folder, pictures)
            texts = texts_of(view for view, _ in training)
            wanted = wanted_products(training)
            builder = new_builder(config.choice, texts, config.vocabulary_size, config.seed, wanted)
            builder.save(folder)
        else:
            builder = load_builder(folder, config.choice, read_info(folder, "choice").words)
        reader = builder.reader(config.choice, pictures)
        examples, measured = (
            [(reader.encode(view), taken) for view, taken in part]
            for part in (training, [*held_out, *others])
        )
    task = SupervisedTask(
        len(examples),
        lambda: builder.model(config.choice),
        lambda first: _batches(reader, examples, config, first),
        _measure,
        (lambda: (_pack(reader, part) for part in chunks(measured, config.batch_size)))
        if measured
        else None,
    )
    info = msgspec.structs.replace(info, words=reader.words)
    return train_supervised(
        task, folder, info, config, options, stored, watch, demonstrations.goals
    )


def _same_edition(choice: ChoiceConfig, info: CheckpointInfo) -> ChoiceConfig:
    """The model of an older checkpoint stays what it is when its training is resumed."""
    edition = info.config.get("choice", {}).get("edition", choice.edition)
    return msgspec.structs.replace(choice, edition=edition)


def _batches(
    reader: ViewReader, examples: Sequence[_Example], config: ImitationConfig, first: int
) -> Iterator[tuple[int, _TrainingBatch]]:
    """Batches from after `first` on, each with its number from 1."""
    for step, chosen in batch_order(len(examples), config, first):
        rng = random.Random(f"{config.seed} cut {step}")
        some = [_fewer_actions(examples[place], config.max_actions, rng) for place in chosen]
        yield step, _pack(reader, some)


def _pack(reader: ViewReader, examples: Sequence[_Example]) -> _TrainingBatch:
    taken = torch.tensor([place for _, place in examples])
    return _TrainingBatch(reader.pack([view for view, _ in examples]), taken)


def _fewer_actions(example: _Example, most: int, rng: random.Random) -> _Example:
    view, taken = example
    if not isinstance(view, EncodedView) or len(view.actions) <= most:
        return example
    sample = rng.sample(range(6, len(view.actions)), most - 7)
    places = sorted({*range(6), taken, *sample})
    shorter = view._replace(
        actions=tuple(view.actions[place] for place in places),
        action_places=tuple(view.action_places[place] for place in places),
    )
    return shorter, places.index(taken)


def _measure(model: nn.Module, batch: _TrainingBatch) -> BatchMetrics:
    scores = model(batch.views).scores
    loss = functional.cross_entropy(scores, batch.taken)
    return BatchMetrics(loss, int((scores.argmax(dim=1) == batch.taken).sum()), len(batch.taken))
