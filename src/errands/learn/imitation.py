"""Imitation: a choice model learns to do what demonstrations do.

    train_choice(demonstrations, Path("il"), ImitationConfig())

The mean negative log-likelihood of what was done is made small, batch after batch. Which batch
comes when follows from the seed alone, so a training that was killed goes on from its last
checkpoint to the same weights.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import torch
from torch.nn import functional

from errands.learn.batch import Encoded, Lengths, encode, pack
from errands.learn.checkpoint import About, read_about
from errands.learn.choice_model import ChoiceConfig, ChoiceModel
from errands.learn.demonstrations import Demonstrations
from errands.learn.reading import kept_reading, new_reading
from errands.learn.training import Measured, Progress, Trained, learn, left_over, order, updates

__all__ = ["PRESETS", "ImitationConfig", "Progress", "Trained", "train_choice", "with_encoder"]


class ImitationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a choice model is trained."""

    choice: ChoiceConfig = ChoiceConfig()
    epochs: int = 4
    batch: int = 32
    """Choices that make up one update; the paper's 1 with 32 steps of accumulation."""
    rate: float = 2e-3
    warm_up: int = 50
    """Updates over which the rate rises; then it falls to 0 in a straight line."""
    decay: float = 0.01
    clip: float = 1.0
    most_actions: int = 16
    """Larger pages keep their first six actions, the one that was taken and some by chance."""
    words: int = 8_000
    seed: int = 0
    threads: int = 2


PRESETS: Final = {
    "small": ImitationConfig(),
    "rnn": ImitationConfig(
        choice=ChoiceConfig(encoder="gru", hidden=512, word_attention=True), rate=5e-4
    ),
    "paper": ImitationConfig(epochs=10, batch=32, rate=2e-5, warm_up=0, decay=0.0, most_actions=20),
}


def with_encoder(config: ImitationConfig, name: str) -> ImitationConfig:
    """The same with a pretrained encoder, which reads whole pages as in the paper: 512 tokens,
    128 of an action."""
    lengths = Lengths(wish=64, past=64, page=380, action=128)
    choice = msgspec.structs.replace(
        config.choice, encoder="pretrained", pretrained=name, width=0, lengths=lengths
    )
    return msgspec.structs.replace(config, choice=choice)


def train_choice(
    shown: Demonstrations,
    folder: Path,
    config: ImitationConfig,
    *,
    resume: bool = False,
    track: str | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Trained:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `stop` is asked after every update: a training that stops is saved and can be resumed.
    """
    plan = msgspec.to_builtins(config)
    left = left_over(folder, "choice", plan, resume)
    if left is None:
        reading = new_reading(config.choice, _texts(shown), config.words, config.seed)
        reading.keep(folder)
    else:
        reading = kept_reading(folder, config.choice, read_about(folder, "choice").words)
    words = reading.words
    data = [(encode(view, words, config.choice.lengths), taken) for view, taken in shown.choices]
    about = About(
        kind="choice",
        trained="imitation",
        config=plan,
        words=words.words,
        checksum=shown.checksum,
    )
    return learn(
        folder,
        about,
        config,
        left,
        steps=updates(len(data), config),
        make=lambda: reading.model(config.choice),
        batches=lambda first: _batches(data, config, first),
        measure=_measure,
        track=track,
        on_progress=on_progress,
        stop=stop,
    )


def _texts(shown: Demonstrations) -> Iterator[str]:
    return (text for view, _ in shown.choices for text in (view.wanted, view.page, *view.actions))


def _batches(
    data: Sequence[tuple[Encoded, int]], config: ImitationConfig, first: int
) -> Iterator[tuple[int, list[tuple[Encoded, int]]]]:
    """Batches from after `first` on, each with its number from 1."""
    for step, chosen in order(len(data), config, first):
        dice = random.Random(f"{config.seed} cut {step}")
        yield step, [_cut(data[number], config.most_actions, dice) for number in chosen]


def _cut(choice: tuple[Encoded, int], most: int, dice: random.Random) -> tuple[Encoded, int]:
    view, taken = choice
    if len(view.actions) <= most:
        return choice
    chance = dice.sample(range(6, len(view.actions)), most - 7)
    kept = sorted({*range(6), taken, *chance})
    return Encoded(
        view.observed,
        view.places,
        tuple(view.actions[place] for place in kept),
        tuple(view.action_places[place] for place in kept),
    ), kept.index(taken)


def _measure(model: ChoiceModel, batch: list[tuple[Encoded, int]]) -> Measured:
    scores = model(pack([view for view, _ in batch])).scores
    taken = torch.tensor([place for _, place in batch])
    loss = functional.cross_entropy(scores, taken)
    return Measured(loss, int((scores.argmax(dim=1) == taken).sum()), len(batch))
