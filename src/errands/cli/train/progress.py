"""What the commands of `errands train` share: progress, Ctrl-C, how a training ended."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from errands.cli.output import print_json, remarks, results
from errands.errors import SettingError

if TYPE_CHECKING:
    from errands.learn.data.demonstrations import Demonstrations

__all__ = [
    "Catalog",
    "Device",
    "Epochs",
    "Evaluate",
    "Force",
    "LearningRate",
    "Least",
    "Out",
    "Resume",
    "SaveEvery",
    "Seed",
    "Threads",
    "Track",
    "bar",
    "changed",
    "checked",
    "end",
    "explain_supervised",
    "find_preset",
    "need_torch",
    "others",
    "time_shares",
    "training",
]

# Options that several commands have.
Out: Any = typer.Option(..., help="The checkpoint's directory.")
Least: Any = typer.Option(0.99, min=0, max=1, help="The reward a demonstration needs.")
Epochs: Any = typer.Option(None, min=1, help="Passes over all examples.")
LearningRate: Any = typer.Option(
    None, "--learning-rate", "--rate", min=0, help="The learning rate of the optimizer."
)
Threads: Any = typer.Option(None, min=1, help="Threads to compute with.")
Seed: Any = typer.Option(0, min=0, help="Seed of all randomness.")
Device: Any = typer.Option("cpu", help="Where to compute: cpu, cuda, cuda:N, mps or auto.")
Resume: Any = typer.Option(False, "--resume", help="Resume a training that was stopped.")
SaveEvery: Any = typer.Option(30.0, min=0, metavar="SECONDS", help="Time between checkpoints.")
Track: Any = typer.Option(None, help="A tracker's module: trackio, wandb or alike.")
Catalog: Any = typer.Option(None, help="Refuse demonstrations of another catalogue than this.")
Evaluate: Any = typer.Option(
    None,
    metavar="SHARE|RUN",
    help="What to measure after every epoch: a share to hold out (0.1), or another run.",
)
Force: Any = typer.Option(False, "--force", help="Replace a file that is there already.")

_STOPPED: Final = 130


def need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise SettingError(
            "Training needs PyTorch, which is not installed; run pip install 'errands[train]'."
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


def checked(demonstrations: str, catalog: str | None, least: float) -> "Demonstrations":
    """Demonstrations of a run, if it was played on that catalogue."""
    from errands.learn.data.demonstrations import read_choices_file, read_demonstrations
    from errands.learn.environments import checksum_on

    if demonstrations.endswith(".jsonl"):
        if catalog is not None:
            raise SettingError(
                f"{demonstrations} does not say which catalogue it is of; leave --catalog out."
            )
        return read_choices_file(demonstrations)
    checksum = None if catalog is None else checksum_on(demonstrations, catalog)
    return read_demonstrations(demonstrations, least=least, checksum=checksum)


def others(evaluate: str | None, least: float) -> "tuple[float, Demonstrations | None]":
    """What to measure beside training: a share of the demonstrations, or another run."""
    if evaluate is None:
        return 0.0, None
    try:
        share = float(evaluate)
    except ValueError:
        return 0.0, checked(evaluate, None, least)
    if not 0 < share < 1:
        raise SettingError(
            f"--evaluate {evaluate} is no share; expected one between 0 and 1, or a run."
        )
    return share, None


def bar(what: str) -> Progress:
    return Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
        console=remarks,
        transient=True,
    )


@contextmanager
def training(what: str, describe: Callable[[Any], str], **options: Any) -> Iterator[Any]:
    """The `TrainingOptions` of a training with a progress bar, which Ctrl-C stops; `describe` says
    how well it goes."""
    from errands.learn.trainer import TrainingOptions

    with bar(what) as progress_bar, asked_to_stop() as stop:
        task = progress_bar.add_task("", total=None)

        def show(progress: Any) -> None:
            progress_bar.update(
                task,
                total=progress.steps,
                completed=progress.step,
                description=describe(progress),
            )

        yield TrainingOptions(on_progress=show, stop=stop, **options)


def time_shares(shares: Mapping[str, float]) -> str:
    """Where the time went, in words."""
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def explain_supervised(trained: Any, what: str, examples: str, as_json: bool) -> None:
    """How a supervised training ended."""
    if as_json:
        print_json(
            {
                "checkpoint": str(trained.folder),
                "updates": trained.steps,
                "loss": trained.loss,
                "accuracy": trained.accuracy,
                **trained.held_out,
                f"{examples}_per_second": trained.choices_per_second,
                f"{examples}_per_cpu_second": trained.choices_per_cpu_second,
                "shares": trained.shares,
            }
        )
        return
    held_out = ""
    if trained.held_out:
        held_out = (
            f" ({trained.held_out['held_out_accuracy']:.1%} of those it was measured on, loss"
            f" {trained.held_out['held_out_loss']:.3f})"
        )
    results.print(
        f"{trained.folder}: {trained.steps:,} updates, loss {trained.loss:.3f},"
        f" {trained.accuracy:.1%} of {what} right{held_out}. {trained.choices_per_second:,.0f}"
        f" {examples} a second, {trained.choices_per_cpu_second:,.0f} a CPU second; time:"
        f" {time_shares(trained.shares)}.",
        soft_wrap=True,
    )


def end(was_stopped: bool) -> None:
    """A training that was stopped is not a training that is done."""
    if was_stopped:
        remarks.print("Stopped and saved; the same command with --resume goes on.", soft_wrap=True)
        raise typer.Exit(_STOPPED)


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
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
