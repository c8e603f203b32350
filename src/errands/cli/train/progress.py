"""What the commands of `errands train` share: progress, Ctrl-C, how a training ended."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import msgspec
import typer

from errands.cli.completion import catalog_names
from errands.cli.output import counting, remarks
from errands.errors import SettingError
from errands.extras import install_command

if TYPE_CHECKING:
    from errands.learn.data.demonstrations import Demonstrations

__all__ = [
    "Epochs",
    "LearningRate",
    "Least",
    "Out",
    "Seed",
    "SupervisedOptions",
    "TrainingRun",
    "changed",
    "checked",
    "end",
    "find_preset",
    "need_torch",
    "time_shares",
]

# Options that several commands have.
Out: Any = typer.Option(..., help="The checkpoint's directory.")
Least: Any = typer.Option(0.99, min=0, max=1, help="The reward a demonstration needs.")
Epochs: Any = typer.Option(None, min=1, help="Passes over all examples.")
LearningRate: Any = typer.Option(
    None, "--learning-rate", "--rate", min=0, help="The learning rate of the optimizer."
)
Seed: Any = typer.Option(0, min=0, help="Seed of all randomness.")


@dataclass(frozen=True)
class SupervisedOptions:
    """What is learnt from demonstrations, and what is measured beside it."""

    out: str = Out
    least: float = Least
    epochs: int | None = Epochs
    learning_rate: float | None = LearningRate
    evaluate: str | None = typer.Option(
        None,
        metavar="SHARE|RUN",
        help="What to measure after every epoch: a share to hold out (0.1), or another run.",
    )
    catalog: str | None = typer.Option(
        None,
        "--data",
        help="Refuse demonstrations of another catalogue than this.",
        autocompletion=catalog_names,
    )

    def measured(self, demonstrations: str) -> "tuple[float, Demonstrations | None]":
        """A share of the demonstrations, or another run's."""
        if self.evaluate is None:
            return 0.0, None
        try:
            share = float(self.evaluate)
        except ValueError:
            if Path(self.evaluate).resolve() == Path(demonstrations).resolve():
                raise SettingError(
                    f"--evaluate {self.evaluate} is what is learnt from; name another run, or a"
                    " share that is held out (--evaluate 0.1)."
                ) from None
            return 0.0, checked(self.evaluate, None, self.least)
        if not 0 < share < 1:
            raise SettingError(
                f"--evaluate {self.evaluate} is no share; expected one between 0 and 1, or a run."
            )
        return share, None


@dataclass(frozen=True)
class TrainingRun:
    """How a training is computed, saved and followed."""

    threads: int | None = typer.Option(None, min=1, max=1024, help="Threads to compute with.")
    device: str = typer.Option("cpu", help="Where to compute: cpu, cuda, cuda:N, mps or auto.")
    seed: int = Seed
    resume: bool = typer.Option(False, "--resume", help="Resume a training that was stopped.")
    save_every: float = typer.Option(
        30.0, min=0, metavar="SECONDS", help="Time between checkpoints."
    )
    track: str | None = typer.Option(None, help="A tracker's module: trackio, wandb or alike.")

    @contextmanager
    def training(self, out: str, what: str, describe: Callable[[Any], str]) -> Iterator[Any]:
        """The `TrainingOptions` of a training with a progress bar, which Ctrl-C stops; `describe`
        says how well it goes."""
        from errands.learn.checkpoint import PROGRESS
        from errands.learn.trainer import TrainingOptions

        if self.resume and not (Path(out) / PROGRESS).exists():
            remarks.print(f"There is nothing in {out} to go on with: the training begins anew.")
        with counting() as shown, _asked_to_stop() as stop:
            task = shown.add_task(what, total=None, remark="")

            def show(progress: Any) -> None:
                shown.update(
                    task,
                    total=progress.steps,
                    completed=progress.step,
                    remark=describe(progress),
                )

            yield TrainingOptions(
                on_progress=show,
                stop=stop,
                resume=self.resume,
                track=self.track,
                device=self.device,
                save_every=self.save_every,
            )


_STOPPED: Final = 130


def need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise SettingError(
            f"Training needs PyTorch, which is not installed; run {install_command('train')}."
        ) from None


def find_preset(preset: str, presets: Mapping[str, Any]) -> Any:
    if preset not in presets:
        raise SettingError(f"There is no preset {preset!r}; expected {', '.join(presets)}.")
    return presets[preset]


def changed(config: Any, **settings: Any) -> Any:
    """A config with the settings that were given; None stands for those that were not."""
    return msgspec.structs.replace(
        config, **{name: value for name, value in settings.items() if value is not None}
    )


def checked(
    demonstrations: str, catalog: str | None, least: float, instructions: str | None = None
) -> "Demonstrations":
    """Demonstrations of a run, if it was played on that catalogue, or of the original's files."""
    from errands.learn.data.demonstrations import read_choices_file, read_demonstrations
    from errands.learn.data.query_pairs import read_query_file
    from errands.learn.environments import checksum_on

    if demonstrations.endswith((".jsonl", ".json")):
        if catalog is not None:
            raise SettingError(
                f"{demonstrations} does not say which catalogue it is of; leave --data out."
            )
        if demonstrations.endswith(".json"):
            places = None if instructions is None else Path(instructions)
            return read_query_file(Path(demonstrations), places)
        return read_choices_file(demonstrations)
    checksum = None if catalog is None else checksum_on(demonstrations, catalog)
    return read_demonstrations(demonstrations, least=least, checksum=checksum)


def time_shares(shares: Mapping[str, float]) -> str:
    """Where the time went, in words."""
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def end(was_stopped: bool) -> None:
    """A training that was stopped is not a training that is done."""
    if was_stopped:
        remarks.print("Stopped and saved; the same command with --resume goes on.")
        raise typer.Exit(_STOPPED)


@contextmanager
def _asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came; a second Ctrl-C ends at once."""
    signals: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if signals:
            raise KeyboardInterrupt
        signals.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
