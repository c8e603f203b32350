"""Imitation: a choice model learns to do what demonstrations do.

    train_choice(demonstrations, Path("il"), ImitationConfig())

The mean negative log-likelihood of what was done is made small, batch after batch. Which batch
comes when follows from the seed alone, so a training that was killed goes on from its last
checkpoint to the same weights.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import torch
from torch import Tensor
from torch.nn import functional

from errands.errors import DataError
from errands.learn.checkpoint import PROGRESS, About, read_about
from errands.learn.data.batch import Batch, Encoded, Lengths, encode, pack
from errands.learn.data.dataset import fingerprint, hold_out, wished
from errands.learn.data.demonstrations import Choice, Demonstrations
from errands.learn.data.pictures import Pictures, keep_pictures, pictures_of
from errands.learn.models.choice import ChoiceConfig, ChoiceModel, check_width, seeing
from errands.learn.models.reading import kept_reading, new_reading
from errands.learn.timing import Stopwatch
from errands.learn.trainer import (
    SAVE_SECONDS,
    Measured,
    Progress,
    Trained,
    learn,
    left_over,
    order,
)

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
    held_out: float = 0.0
    """Share of the wishes that is not learnt, but measured after every epoch."""
    seed: int = 0
    threads: int = 2


class _Packed(NamedTuple):
    """Choices side by side."""

    views: Batch
    taken: Tensor


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
    pictures: Pictures | None = None,
    others: Sequence[Choice] = (),
    resume: bool = False,
    track: str | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    save_every: float = SAVE_SECONDS,
    device: str = "cpu",
) -> Trained:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `pictures` are seen on products' pages; the checkpoint keeps them, for a resumed training, too.
    `others` are choices to measure after every epoch, beside what `config` holds out; what is
    learnt does not depend on them. `stop` is asked after every update: a training that stops is
    saved and can be resumed.
    """
    check_width(config.choice)
    if resume and (folder / PROGRESS).exists():
        pictures = pictures_of(folder, pictures)
    config = msgspec.structs.replace(config, choice=seeing(config.choice, pictures))
    plan = msgspec.to_builtins(config)
    if not shown.choices:
        raise DataError("These demonstrations have no choice to learn from.")
    if pictures is not None and all(pictures.of(view.product) is None for view, _ in shown.choices):
        raise DataError(
            "No product of these demonstrations is in the table of pictures; expected those of the"
            " same catalogue, as `errands train pictures` makes it."
        )
    lesson, kept = hold_out(shown.choices, config.held_out, seed=config.seed, wish=wished)
    mark = fingerprint(shown.choices)
    left = left_over(folder, "choice", plan, resume, mark)
    if left is None:
        keep_pictures(folder, pictures)
    watch = Stopwatch()
    with watch.on("encoding"):
        if left is None:
            reading = new_reading(config.choice, _texts(lesson), config.words, config.seed)
            reading.keep(folder)
        else:
            reading = kept_reading(folder, config.choice, read_about(folder, "choice").words)
        words = reading.words
        data, held = (
            [(encode(view, words, config.choice.lengths, pictures), taken) for view, taken in some]
            for some in (lesson, [*kept, *others])
        )
    about = About(
        kind="choice",
        trained="imitation",
        config=plan,
        words=words.words,
        checksum=shown.checksum,
        lesson=mark,
    )
    return learn(
        folder,
        about,
        config,
        left,
        count=len(data),
        make=lambda: reading.model(config.choice),
        batches=lambda first: _batches(data, config, first),
        measure=_measure,
        held_out=(lambda: _whole(held, config.batch)) if held else None,
        track=track,
        on_progress=on_progress,
        stop=stop,
        save_every=save_every,
        device=device,
        watch=watch,
    )


def _texts(lesson: Sequence[Choice]) -> Iterator[str]:
    return (text for view, _ in lesson for text in (view.wanted, view.page, *view.actions))


def _batches(
    data: Sequence[tuple[Encoded, int]], config: ImitationConfig, first: int
) -> Iterator[tuple[int, _Packed]]:
    """Batches from after `first` on, each with its number from 1."""
    for step, chosen in order(len(data), config, first):
        dice = random.Random(f"{config.seed} cut {step}")
        yield step, _pack([_cut(data[number], config.most_actions, dice) for number in chosen])


def _whole(data: Sequence[tuple[Encoded, int]], count: int) -> Iterator[_Packed]:
    """All choices in their order, pages with all their actions."""
    for place in range(0, len(data), count):
        yield _pack(data[place : place + count])


def _pack(choices: Sequence[tuple[Encoded, int]]) -> _Packed:
    taken = torch.tensor([place for _, place in choices])
    return _Packed(pack([view for view, _ in choices]), taken)


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
        view.picture,
    ), kept.index(taken)


def _measure(model: ChoiceModel, batch: _Packed) -> Measured:
    scores = model(batch.views).scores
    loss = functional.cross_entropy(scores, batch.taken)
    return Measured(loss, int((scores.argmax(dim=1) == batch.taken).sum()), len(batch.taken))
