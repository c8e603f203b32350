"""Imitation: a choice model learns to do what demonstrations do.

    train_choice(demonstrations, Path("il"), ImitationConfig())

The mean negative log-likelihood of what was done is made small, batch after batch. Which batch
comes when follows from the seed alone, so a training that was killed goes on from its last
checkpoint to the same weights.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import torch
from torch import nn
from torch.nn import functional

from errands import __version__
from errands.errors import SettingError
from errands.learn.batch import Encoded, encode, pack
from errands.learn.checkpoint import About, fit, read_about, read_progress, save
from errands.learn.choice_model import ChoiceConfig, ChoiceModel
from errands.learn.demonstrations import Demonstrations
from errands.learn.private_chance import private_chance
from errands.learn.tracker import open_trackers
from errands.learn.vocabulary import Vocabulary

__all__ = ["PRESETS", "ImitationConfig", "Trained", "train_choice"]

_SAVE_SECONDS: Final = 30.0


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


class Trained(NamedTuple):
    """How a training ended."""

    folder: Path
    loss: float
    accuracy: float
    choices_per_second: float
    steps: int


class Progress(NamedTuple):
    """How far a training is."""

    step: int
    steps: int
    loss: float
    accuracy: float


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
    left = _left_over(folder, plan, resume)
    words = (
        _words(shown, config) if left is None else Vocabulary(read_about(folder, "choice").words)
    )
    data = [(encode(view, words, config.choice.lengths), taken) for view, taken in shown.choices]
    steps = config.epochs * (-(-len(data) // config.batch))
    first = 0 if left is None else left["step"]
    threads = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    try:
        with (
            private_chance(config.seed),
            open_trackers(folder, track, folder.name, plan, first) as log,
        ):
            model = ChoiceModel(config.choice, len(words))
            optimiser = torch.optim.AdamW(
                model.parameters(), lr=config.rate, weight_decay=config.decay
            )
            if left is not None:
                fit(model, left["weights"], folder)
                optimiser.load_state_dict(left["optimiser"])
                torch.set_rng_state(left["chance"])

            def keep(step: int, figures: dict[str, float]) -> None:
                about = About(
                    kind="choice",
                    trained="imitation",
                    config=plan,
                    words=words.words,
                    checksum=shown.checksum,
                    is_done=step == steps,
                    figures=figures,
                    versions={"errands": __version__, "torch": str(torch.__version__)},
                )
                progress = {
                    "step": step,
                    "optimiser": optimiser.state_dict(),
                    "chance": torch.get_rng_state(),
                    "recent": recent.held(),
                }
                save(folder, about, model.state_dict(), progress)

            model.train()
            began = saved = time.monotonic()
            recent = _Recent(*(left or {}).get("recent", ()))
            step = first
            for step, batch in _batches(data, config, first):
                for group in optimiser.param_groups:
                    group["lr"] = config.rate * _share(step, steps, config.warm_up)
                loss, right = _update(model, optimiser, batch, config.clip)
                recent.add(loss, right, len(batch))
                if step % 20 == 0 or step == steps:
                    log.log(step, {"loss": recent.loss, "accuracy": recent.accuracy})
                    on_progress(Progress(step, steps, recent.loss, recent.accuracy))
                if stop() or time.monotonic() - saved > _SAVE_SECONDS:
                    keep(step, recent.figures())
                    saved = time.monotonic()
                    if stop():
                        break
            keep(step, recent.figures())
            seconds = max(time.monotonic() - began, 1e-9)
            done = (step - first) * config.batch
            return Trained(folder, recent.loss, recent.accuracy, done / seconds, step)
    finally:
        torch.set_num_threads(threads)


def _left_over(folder: Path, plan: dict[str, Any], resume: bool) -> dict[str, Any] | None:
    """What a killed training left, if it is to go on."""
    there = read_progress(folder) if folder.exists() else None
    if there is None:
        return None
    if not resume:
        raise SettingError(f"{folder} has a checkpoint already; add --resume, or name another.")
    if read_about(folder, "choice").config != plan:
        raise SettingError(
            f"{folder} was trained with other settings; resume it with the same, or name another."
        )
    return there


def _words(shown: Demonstrations, config: ImitationConfig) -> Vocabulary:
    texts = (text for view, _ in shown.choices for text in (view.wanted, view.page, *view.actions))
    return Vocabulary.of(texts, most=config.words)


def _batches(
    data: Sequence[tuple[Encoded, int]], config: ImitationConfig, first: int
) -> Iterator[tuple[int, list[tuple[Encoded, int]]]]:
    """Batches from after `first` on, each with its number from 1."""
    in_epoch = -(-len(data) // config.batch)
    for epoch in range(first // in_epoch, config.epochs):
        order = list(range(len(data)))
        random.Random(f"{config.seed} order {epoch}").shuffle(order)
        for place in range(in_epoch):
            step = epoch * in_epoch + place + 1
            if step > first:
                dice = random.Random(f"{config.seed} cut {step}")
                chosen = order[place * config.batch : (place + 1) * config.batch]
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


def _update(
    model: ChoiceModel, optimiser: torch.optim.Optimizer, batch: list[Any], clip: float
) -> tuple[float, int]:
    scores = model(pack([view for view, _ in batch])).scores
    taken = torch.tensor([place for _, place in batch])
    loss = functional.cross_entropy(scores, taken)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimiser.step()
    return loss.item(), int((scores.argmax(dim=1) == taken).sum())


def _share(step: int, steps: int, warm_up: int) -> float:
    """Of the rate: rises, then falls to 0."""
    rising = min(1.0, step / warm_up) if warm_up else 1.0
    return rising * max(0.0, 1 - (step - 1) / steps)


class _Recent:
    """Figures of the last batches, newer ones counting more."""

    def __init__(self, loss: float = 0.0, accuracy: float = 0.0, weight: float = 0.0) -> None:
        self.loss = loss
        self.accuracy = accuracy
        self._weight = weight

    def add(self, loss: float, right: int, count: int) -> None:
        self._weight = 0.98 * self._weight + 1
        self.loss += (loss - self.loss) / self._weight
        self.accuracy += (right / count - self.accuracy) / self._weight

    def held(self) -> tuple[float, float, float]:
        return self.loss, self.accuracy, self._weight

    def figures(self) -> dict[str, float]:
        return {"loss": self.loss, "accuracy": self.accuracy}
