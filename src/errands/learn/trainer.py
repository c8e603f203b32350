"""The supervised trainer: batches, learning rate, figures, checkpoints, resuming.

Which batch comes when follows from the seed alone, so a training that was killed goes on from
its last checkpoint to the same weights. What is held out is measured after every epoch and
changes nothing in them.
"""

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
import torch
from torch import Tensor, nn

from errands.errors import SettingError
from errands.learn.checkpoint import (
    CheckpointInfo,
    differing,
    load_state,
    read_info,
    read_progress,
    save,
    versions,
)
from errands.learn.models.runtime import find_device, seeded_torch, to_device
from errands.learn.timing import EVALUATION, Speed, Stopwatch
from errands.learn.tracker import Log, open_log
from errands.shop.fingerprints import GoalFingerprints

__all__ = [
    "BatchMetrics",
    "SupervisedConfig",
    "SupervisedTask",
    "TrainingOptions",
    "TrainingProgress",
    "TrainingResult",
    "batch_order",
    "chunks",
    "read_stored",
    "samples_seen",
    "train_supervised",
]

_SAVING_SHARE: Final = 20
"""Saving takes at most one part in so many of the time, however large the model is."""
_LATER: Final = {"from_scratch": False}
"""Settings that checkpoints of earlier versions do not have, and what they are there."""

Model = TypeVar("Model", bound=nn.Module)
Batch = TypeVar("Batch")
Item = TypeVar("Item")


class TrainingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a training is run. Its weights do not depend on any of this."""

    resume: bool = False
    """Whether to go on with what is in the checkpoint's folder."""
    track: str | None = None
    """A module such as trackio or wandb, which gets the figures too."""
    device: str = "cpu"
    on_progress: Callable[[Any], None] = lambda progress: None
    """Gets a `TrainingProgress` or an `RLProgress` now and then."""
    stop: Callable[[], bool] = lambda: False
    """Called after every update; a training that stops is saved and can be resumed."""
    save_every: float = 30.0
    """Seconds between checkpoints."""


class SupervisedConfig(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    # Checkpoints spell these as they did before.
    rename={
        "batch_size": "batch",
        "learning_rate": "rate",
        "warmup_steps": "warm_up",
        "weight_decay": "decay",
        "max_grad_norm": "clip",
        "max_actions": "most_actions",
        "vocabulary_size": "words",
        "word_dropout": "disguised",
    },
):
    """The hyperparameters that all supervised trainings have."""

    epochs: int
    batch_size: int = 32
    learning_rate: float = 2e-3
    warmup_steps: int = 50
    """Updates over which the learning rate rises; then it falls to 0 in a straight line."""
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    vocabulary_size: int = 8_000
    held_out: float = 0.0
    """Share of the instructions that is not learnt, but measured after every epoch."""
    seed: int = 0
    threads: int = 2

    def updates_per_epoch(self, size: int) -> int:
        return -(-size // self.batch_size)


class BatchMetrics(NamedTuple):
    """How well a model does on a batch."""

    loss: Tensor
    right: int
    total: int


class SupervisedTask(NamedTuple, Generic[Model, Batch]):
    """What is to be learnt by which model."""

    size: int
    """How many examples there are."""
    make_model: Callable[[], Model]
    batches: Callable[[int], Iterable[tuple[int, Batch]]]
    """All batches after so many updates, each with its number from 1."""
    measure: Callable[[Model, Batch], BatchMetrics]
    held_out: Callable[[], Iterable[Batch]] | None = None
    """What is measured after every epoch, if anything."""


class TrainingProgress(NamedTuple):
    """How far a training is."""

    step: int
    steps: int
    loss: float
    accuracy: float


class TrainingResult(NamedTuple):
    """How a training ended."""

    folder: Path
    loss: float
    accuracy: float
    choices_per_second: float
    steps: int
    choices_per_cpu_second: float
    shares: dict[str, float]
    """Of the time: encoding, model, learning, saving, evaluation."""
    held_out: dict[str, float]
    """`held_out_loss` and `held_out_accuracy` after the last epoch, where something is."""


def read_stored(folder: Path, info: CheckpointInfo, resume: bool) -> dict[str, Any] | None:
    """What a training that was stopped has stored, if it is to be resumed: with the same `info`."""
    stored = read_progress(folder, resume, info.kind)
    if stored is None:
        return None
    earlier = read_info(folder, info.kind)
    later = {name: value for name, value in _LATER.items() if name in info.config}
    before = {**later, **earlier.config}
    if before != info.config:
        raise SettingError(
            f"{folder} was trained with other settings{differing(before, info.config)}; resume it"
            " with the same, or name another."
        )
    if earlier.fingerprint and info.fingerprint and earlier.fingerprint != info.fingerprint:
        raise SettingError(
            f"{folder} was trained on other demonstrations; resume it with the same, or name"
            " another --out."
        )
    return stored


def samples_seen(size: int, config: SupervisedConfig, step: int) -> int:
    """How many examples so many updates have taken; the last of an epoch can be a smaller one."""
    epochs, rest = divmod(step, config.updates_per_epoch(size))
    return epochs * size + rest * config.batch_size


def batch_order(size: int, config: SupervisedConfig, first: int) -> Iterator[tuple[int, list[int]]]:
    """Which examples each update after `first` takes, with its number from 1."""
    per_epoch = config.updates_per_epoch(size)
    for epoch in range(first // per_epoch, config.epochs):
        shuffled = list(range(size))
        random.Random(f"{config.seed} order {epoch}").shuffle(shuffled)
        for place in range(per_epoch):
            step = epoch * per_epoch + place + 1
            if step > first:
                yield step, shuffled[place * config.batch_size : (place + 1) * config.batch_size]


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """All in their order, so many at once."""
    return (items[place : place + size] for place in range(0, len(items), size))


def train_supervised(
    task: SupervisedTask[Any, Any],
    folder: Path,
    info: CheckpointInfo,
    config: SupervisedConfig,
    options: TrainingOptions,
    stored: dict[str, Any] | None,
    watch: Stopwatch,
    goals: GoalFingerprints,
) -> TrainingResult:
    """Make a model, or take up what is `stored`, and update it with every batch to the end.
    `goals` are what the examples come from."""
    first = 0 if stored is None else stored["step"]
    find_device(options.device)  # Before there is anything of this training.
    with (
        seeded_torch(config.seed, config.threads),
        open_log(folder, options.track, folder.name, info.config, first) as log,
    ):
        trainer = _Trainer(task, folder, info, config, options, watch, goals)
        if stored is not None:
            trainer.restore(stored)
        return trainer.train(log)


@dataclass(eq=False)
class _Trainer:
    """A training under way."""

    task: SupervisedTask[Any, Any]
    folder: Path
    info: CheckpointInfo
    config: SupervisedConfig
    options: TrainingOptions
    watch: Stopwatch
    goals: GoalFingerprints

    def __post_init__(self) -> None:
        config = self.config
        self.device = find_device(self.options.device)
        self.model: nn.Module = self.task.make_model().to(self.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.step = 0
        self.updates_per_epoch = config.updates_per_epoch(self.task.size)
        self.total_steps = config.epochs * self.updates_per_epoch
        self.recent = _RunningMean()
        self.held_out: dict[str, float] = {}

    def restore(self, stored: dict[str, Any]) -> None:
        load_state(self.model, stored["weights"], self.folder)
        self.optimizer.load_state_dict(stored["optimiser"])
        torch.set_rng_state(stored["chance"])
        self.step = stored["step"]
        self.recent = _RunningMean(*stored.get("recent", ()))
        self.held_out = dict(stored.get("held_out", {}))

    def train(self, log: Log) -> TrainingResult:
        self.model.train()
        speed = Speed(self.watch)
        samples_before = self._samples()
        saved, pause = time.monotonic(), self.options.save_every
        for step, batch in self.watch.timed("encoding", self.task.batches(self.step)):
            self.step = step
            self._update(batch)
            is_epoch = step % self.updates_per_epoch == 0
            is_measured = is_epoch and self.task.held_out is not None
            if is_measured:
                self._measure_held_out()
            if step % 20 == 0 or step == self.total_steps or is_measured:
                rate = speed.lately(self._samples() - samples_before)
                figures = self.recent.figures() | (self.held_out if is_epoch else {})
                log(step, figures | rate.figures("samples") | self.watch.figures())
                self.options.on_progress(
                    TrainingProgress(step, self.total_steps, self.recent.loss, self.recent.accuracy)
                )
            if self.options.stop():
                break
            if time.monotonic() - saved > pause:
                started = time.monotonic()
                self._save()
                saved = time.monotonic()
                pause = max(self.options.save_every, _SAVING_SHARE * (saved - started))
        rate = speed.whole(self._samples() - samples_before)
        self._save()
        return TrainingResult(
            self.folder,
            self.recent.loss,
            self.recent.accuracy,
            rate.per_second,
            self.step,
            rate.per_cpu_second,
            self.watch.shares(),
            self.held_out,
        )

    def _update(self, batch: Any) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * self._rate_share()
        with self.watch.on("model"):
            metrics = self.task.measure(self.model, to_device(batch, self.device))
        with self.watch.on("learning"):
            self.optimizer.zero_grad(set_to_none=True)
            metrics.loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
            self.optimizer.step()
            self.recent.add(metrics.loss.item(), metrics.right / max(metrics.total, 1))
        if not math.isfinite(self.recent.loss):
            raise SettingError(
                f"The loss is no number any more after {self.step} updates; train with a lower"
                " --learning-rate."
            )

    def _rate_share(self) -> float:
        """Of the learning rate: rises, then falls to 0."""
        warmup = self.config.warmup_steps
        rising = min(1.0, self.step / warmup) if warmup else 1.0
        return rising * max(0.0, 1 - (self.step - 1) / self.total_steps)

    def _measure_held_out(self) -> None:
        """How well the model does on what it has not learnt; neither it nor the random generator
        is changed."""
        assert self.task.held_out is not None
        loss, right, total = 0.0, 0, 0
        with (
            self.watch.on(EVALUATION),
            torch.random.fork_rng(devices=[]),
            torch.no_grad(),
        ):
            self.model.eval()
            for batch in self.task.held_out():
                metrics = self.task.measure(self.model, to_device(batch, self.device))
                loss += metrics.loss.item() * metrics.total
                right += metrics.right
                total += metrics.total
            self.model.train()
        total = max(total, 1)
        self.held_out = {"held_out_loss": loss / total, "held_out_accuracy": right / total}

    def _samples(self) -> int:
        return samples_seen(self.task.size, self.config, self.step)

    def _save(self) -> None:
        info = msgspec.structs.replace(
            self.info,
            is_done=self.step == self.total_steps,
            figures=self.recent.figures() | self.held_out,
            versions=versions(),
        )
        progress = {
            "algorithm": self.info.kind,
            "step": self.step,
            "optimiser": self.optimizer.state_dict(),
            "chance": torch.get_rng_state(),
            "recent": astuple(self.recent),
            "held_out": self.held_out,
        }
        with self.watch.on("saving"):
            save(self.folder, info, self.model.state_dict(), progress, self.goals)


@dataclass
class _RunningMean:
    """Loss and accuracy of the last batches, newer ones counting more."""

    loss: float = 0.0
    accuracy: float = 0.0
    weight: float = 0.0

    def add(self, loss: float, accuracy: float) -> None:
        self.weight = 0.98 * self.weight + 1
        self.loss += (loss - self.loss) / self.weight
        self.accuracy += (accuracy - self.accuracy) / self.weight

    def figures(self) -> dict[str, float]:
        return {"loss": self.loss, "accuracy": self.accuracy}
