"""What all supervised trainings share: order, pace, figures, checkpoints, going on after a stop.

Which batch comes when follows from the seed alone, so a training that was killed goes on from
its last checkpoint to the same weights.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec
import torch
from torch import Tensor, nn

from errands import __version__
from errands.errors import SettingError
from errands.learn.checkpoint import About, fit, read_about, read_progress, save
from errands.learn.private_chance import private_chance
from errands.learn.tracker import open_trackers

__all__ = ["Measured", "Pace", "Progress", "Trained", "learn", "left_over", "order", "updates"]

_SAVE_SECONDS: Final = 30.0
_SAVE_SHARE: Final = 20
"""Saving takes at most one part in so many of the time, however large the model is."""

Model = TypeVar("Model", bound=nn.Module)
Batch = TypeVar("Batch")


class Pace(Protocol):
    """The settings that every training has."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def warm_up(self) -> int: ...
    @property
    def decay(self) -> float: ...
    @property
    def clip(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def threads(self) -> int: ...


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


class Measured(NamedTuple):
    """What a model made of a batch."""

    loss: Tensor
    right: int
    out_of: int


def left_over(folder: Path, kind: str, plan: dict[str, Any], resume: bool) -> dict[str, Any] | None:
    """What a killed training left, if it is to go on."""
    there = read_progress(folder) if folder.exists() else None
    if there is None:
        return None
    if not resume:
        raise SettingError(f"{folder} has a checkpoint already; add --resume, or name another.")
    if read_about(folder, kind).config != plan:
        raise SettingError(
            f"{folder} was trained with other settings; resume it with the same, or name another."
        )
    return there


def updates(count: int, pace: Pace) -> int:
    """How many updates a training takes."""
    return pace.epochs * (-(-count // pace.batch))


def order(count: int, pace: Pace, first: int) -> Iterator[tuple[int, list[int]]]:
    """Which examples each update after `first` takes, with its number from 1."""
    in_epoch = -(-count // pace.batch)
    for epoch in range(first // in_epoch, pace.epochs):
        shuffled = list(range(count))
        random.Random(f"{pace.seed} order {epoch}").shuffle(shuffled)
        for place in range(in_epoch):
            step = epoch * in_epoch + place + 1
            if step > first:
                yield step, shuffled[place * pace.batch : (place + 1) * pace.batch]


def learn(
    folder: Path,
    about: About,
    pace: Pace,
    left: dict[str, Any] | None,
    *,
    steps: int,
    make: Callable[[], Model],
    batches: Callable[[int], Iterable[tuple[int, Batch]]],
    measure: Callable[[Model, Batch], Measured],
    track: str | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Trained:
    """Make a model, or take up what is `left`, and update it with every batch to the end.

    `stop` is asked after every update: a training that stops is saved and can be resumed.
    """
    first = 0 if left is None else left["step"]
    threads = torch.get_num_threads()
    torch.set_num_threads(pace.threads)
    try:
        with (
            private_chance(pace.seed),
            open_trackers(folder, track, folder.name, about.config, first) as log,
        ):
            model = make()
            optimiser = torch.optim.AdamW(model.parameters(), lr=pace.rate, weight_decay=pace.decay)
            if left is not None:
                fit(model, left["weights"], folder)
                optimiser.load_state_dict(left["optimiser"])
                torch.set_rng_state(left["chance"])

            def keep(step: int, figures: dict[str, float]) -> None:
                now = msgspec.structs.replace(
                    about,
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
                save(folder, now, model.state_dict(), progress)

            model.train()
            began = saved = time.monotonic()
            pause = _SAVE_SECONDS
            recent = _Recent(*(left or {}).get("recent", ()))
            step = first
            for step, batch in batches(first):
                for group in optimiser.param_groups:
                    group["lr"] = pace.rate * _share(step, steps, pace.warm_up)
                measured = measure(model, batch)
                optimiser.zero_grad(set_to_none=True)
                measured.loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), pace.clip)
                optimiser.step()
                recent.add(measured.loss.item(), measured.right, measured.out_of)
                if step % 20 == 0 or step == steps:
                    log.log(step, {"loss": recent.loss, "accuracy": recent.accuracy})
                    on_progress(Progress(step, steps, recent.loss, recent.accuracy))
                if stop():
                    break
                if time.monotonic() - saved > pause:
                    start = time.monotonic()
                    keep(step, recent.figures())
                    saved = time.monotonic()
                    pause = max(_SAVE_SECONDS, _SAVE_SHARE * (saved - start))
            keep(step, recent.figures())
            seconds = max(time.monotonic() - began, 1e-9)
            done = (step - first) * pace.batch
            return Trained(folder, recent.loss, recent.accuracy, done / seconds, step)
    finally:
        torch.set_num_threads(threads)


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
        self.accuracy += (right / max(count, 1) - self.accuracy) / self._weight

    def held(self) -> tuple[float, float, float]:
        return self.loss, self.accuracy, self._weight

    def figures(self) -> dict[str, float]:
        return {"loss": self.loss, "accuracy": self.accuracy}
