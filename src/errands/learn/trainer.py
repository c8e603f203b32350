"""What all supervised trainings share: order, pace, figures, checkpoints, going on after a stop.

Which batch comes when follows from the seed alone, so a training that was killed goes on from
its last checkpoint to the same weights. What is held out is measured after every epoch and
leaves no trace in them.
"""

import math
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
from errands.learn.models.device import find_device, moved
from errands.learn.models.rng import private_chance
from errands.learn.timing import ASIDE, Rate, Speed, Stopwatch
from errands.learn.tracker import open_trackers

__all__ = [
    "SAVE_SECONDS",
    "Measured",
    "Pace",
    "Progress",
    "Trained",
    "learn",
    "left_over",
    "order",
    "samples",
    "updates",
]

SAVE_SECONDS: Final = 30.0
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
    choices_per_cpu_second: float
    shares: dict[str, float]
    """Of the time: encoding, model, learning, saving, evaluation."""
    held_out: dict[str, float]
    """`held_out_loss` and `held_out_accuracy` after the last epoch, where something is."""


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


def left_over(
    folder: Path, kind: str, plan: dict[str, Any], resume: bool, lesson: str = ""
) -> dict[str, Any] | None:
    """What a killed training left, if it is to go on; `lesson` is the demonstrations' print."""
    there = read_progress(folder) if folder.exists() else None
    if there is None:
        return None
    if not resume:
        raise SettingError(f"{folder} has a checkpoint already; add --resume, or name another.")
    about = read_about(folder, kind)
    if about.config != plan:
        raise SettingError(
            f"{folder} was trained with other settings; resume it with the same, or name another."
        )
    if about.lesson and lesson and about.lesson != lesson:
        raise SettingError(
            f"{folder} was trained on other demonstrations; resume it with the same, or name"
            " another --out."
        )
    return there


def updates(count: int, pace: Pace) -> int:
    """How many updates a training takes."""
    return pace.epochs * (-(-count // pace.batch))


def samples(count: int, pace: Pace, step: int) -> int:
    """How many examples so many updates have taken; the last of an epoch can be a smaller one."""
    epochs, rest = divmod(step, -(-count // pace.batch))
    return epochs * count + rest * pace.batch


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
    count: int,
    make: Callable[[], Model],
    batches: Callable[[int], Iterable[tuple[int, Batch]]],
    measure: Callable[[Model, Batch], Measured],
    held_out: Callable[[], Iterable[Batch]] | None = None,
    track: str | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    save_every: float = SAVE_SECONDS,
    device: str = "cpu",
    watch: Stopwatch | None = None,
) -> Trained:
    """Make a model, or take up what is `left`, and update it with every batch to the end.

    `count` is how many examples there are. What is `held_out` is measured after every epoch.
    `stop` is asked after every update: a training that stops is saved and can be resumed.
    """
    first = 0 if left is None else left["step"]
    place = find_device(device)
    steps, before = updates(count, pace), samples(count, pace, first)
    watch = watch or Stopwatch()
    threads = torch.get_num_threads()
    torch.set_num_threads(pace.threads)
    try:
        with (
            private_chance(pace.seed),
            open_trackers(folder, track, folder.name, about.config, first) as log,
        ):
            model = make().to(place)
            optimiser = torch.optim.AdamW(model.parameters(), lr=pace.rate, weight_decay=pace.decay)
            if left is not None:
                fit(model, left["weights"], folder)
                optimiser.load_state_dict(left["optimiser"])
                torch.set_rng_state(left["chance"])
            recent = _Recent(*(left or {}).get("recent", ()))
            held: dict[str, float] = dict((left or {}).get("held_out", {}))

            def keep(step: int) -> None:
                now = msgspec.structs.replace(
                    about,
                    is_done=step == steps,
                    figures={**recent.figures(), **held},
                    versions={"errands": __version__, "torch": str(torch.__version__)},
                )
                progress = {
                    "step": step,
                    "optimiser": optimiser.state_dict(),
                    "chance": torch.get_rng_state(),
                    "recent": recent.held(),
                    "held_out": held,
                }
                with watch.on("saving"):
                    save(folder, now, model.state_dict(), progress)

            model.train()
            saved = time.monotonic()
            pause = save_every
            speed = Speed(watch)
            step = first
            for step, batch in _timed(batches(first), watch):
                for group in optimiser.param_groups:
                    group["lr"] = pace.rate * _share(step, steps, pace.warm_up)
                with watch.on("model"):
                    measured = measure(model, moved(batch, place))
                with watch.on("learning"):
                    optimiser.zero_grad(set_to_none=True)
                    measured.loss.backward()  # type: ignore[no-untyped-call]
                    nn.utils.clip_grad_norm_(model.parameters(), pace.clip)
                    optimiser.step()
                    recent.add(measured.loss.item(), measured.right, measured.out_of)
                if not math.isfinite(recent.loss):
                    raise SettingError(
                        f"The loss is no number any more after {step} updates; train with a lower"
                        " --rate."
                    )
                is_epoch = step % max(steps // pace.epochs, 1) == 0
                if held_out is not None and is_epoch:
                    with watch.on(ASIDE):
                        held.update(
                            _held(model, measure, (moved(batch, place) for batch in held_out()))
                        )
                if step % 20 == 0 or step == steps or (held_out is not None and is_epoch):
                    rate = speed.lately(samples(count, pace, step) - before)
                    log.log(
                        step,
                        {
                            **recent.figures(),
                            **(held if is_epoch else {}),
                            **_pace(rate, watch),
                        },
                    )
                    on_progress(Progress(step, steps, recent.loss, recent.accuracy))
                if stop():
                    break
                if time.monotonic() - saved > pause:
                    start = time.monotonic()
                    keep(step)
                    saved = time.monotonic()
                    pause = max(save_every, _SAVE_SHARE * (saved - start))
            whole = speed.whole(samples(count, pace, step) - before)
            keep(step)
            return Trained(
                folder,
                recent.loss,
                recent.accuracy,
                whole.per_second,
                step,
                whole.per_cpu_second,
                watch.shares(),
                held,
            )
    finally:
        torch.set_num_threads(threads)


def _timed(batches: Iterable[tuple[int, Batch]], watch: Stopwatch) -> Iterator[tuple[int, Batch]]:
    """The same batches; what it takes to make them is measured."""
    rest = iter(batches)
    while True:
        with watch.on("encoding"):
            found = next(rest, None)
        if found is None:
            return
        yield found


def _pace(rate: Rate, watch: Stopwatch) -> dict[str, float]:
    return {
        "samples_per_second": rate.per_second,
        "samples_per_cpu_second": rate.per_cpu_second,
        **{f"time_{name}": share for name, share in watch.shares().items()},
    }


def _held(
    model: Model, measure: Callable[[Model, Batch], Measured], batches: Iterable[Batch]
) -> dict[str, float]:
    """How well a model does on what it has not learnt; neither it nor chance is changed."""
    loss, right, count = 0.0, 0, 0
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model.eval()
        for batch in batches:
            found = measure(model, batch)
            loss += found.loss.item() * found.out_of
            right += found.right
            count += found.out_of
        model.train()
    count = max(count, 1)
    return {"held_out_loss": loss / count, "held_out_accuracy": right / count}


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
