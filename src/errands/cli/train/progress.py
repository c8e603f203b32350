"""What the commands of `errands train` share: progress, Ctrl-C, how a training ended."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from errands.cli.output import print_json, remarks, results
from errands.errors import SettingError

if TYPE_CHECKING:
    from errands.learn.data.demonstrations import Demonstrations

__all__ = [
    "Catalog",
    "Device",
    "Evaluate",
    "Resume",
    "SaveEvery",
    "Seed",
    "Track",
    "asked_to_stop",
    "bar",
    "checked",
    "chosen",
    "end",
    "need_torch",
    "others",
    "shown_on",
    "tell",
    "times",
]

Seed: Any = typer.Option(0, min=0, help="Of everything that is chance.")
Device: Any = typer.Option("cpu", help="Where to compute: cpu, cuda, cuda:N, mps or auto.")
Resume: Any = typer.Option(False, "--resume", help="Go on with a training that was stopped.")
SaveEvery: Any = typer.Option(30.0, min=0, metavar="SECONDS", help="Between checkpoints.")
Track: Any = typer.Option(None, help="A tracker's module: trackio, wandb or alike.")
Catalog: Any = typer.Option(None, help="Refuse demonstrations of another catalogue than this.")
Evaluate: Any = typer.Option(
    None,
    metavar="SHARE|RUN",
    help="What to measure after every epoch: a share to keep back (0.1), or another run.",
)
_STOPPED: Final = 130


def need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise SettingError(
            "Training needs PyTorch, which is not installed; run pip install 'errands[train]'."
        ) from None


def chosen(preset: str, presets: Mapping[str, Any]) -> Any:
    if preset not in presets:
        raise SettingError(f"There is no preset {preset!r}; expected {', '.join(presets)}.")
    return presets[preset]


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
    """What to measure beside training: a share of the lesson, or another run."""
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


def shown_on(shown_bar: Progress, what: str) -> Callable[[Any], None]:
    """Shows how far a training is, and how much of what it gets right."""
    task = shown_bar.add_task("", total=None)
    return lambda reached: shown_bar.update(
        task,
        total=reached.steps,
        completed=reached.step,
        description=f"loss {reached.loss:.3f}, {reached.accuracy:.0%} of {what} right",
    )


def times(shares: Mapping[str, float]) -> str:
    """Where the time went, in words."""
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def tell(trained: Any, what: str, examples: str, as_json: bool) -> None:
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
    held = trained.held_out
    kept = (
        f" ({held['held_out_accuracy']:.1%} of those it was measured on, loss"
        f" {held['held_out_loss']:.3f})"
        if held
        else ""
    )
    results.print(
        f"{trained.folder}: {trained.steps:,} updates, loss {trained.loss:.3f},"
        f" {trained.accuracy:.1%} of {what} right{kept}. {trained.choices_per_second:,.0f}"
        f" {examples} a second, {trained.choices_per_cpu_second:,.0f} a CPU second; time:"
        f" {times(trained.shares)}.",
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
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
