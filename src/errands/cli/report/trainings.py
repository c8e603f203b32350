"""The part of `errands report` that is about trainings: their curves, on one page."""

from collections.abc import Sequence
from pathlib import Path

from errands.cli.output import remarks, results
from errands.reports.statistics.training import ABOUT, Training, labelled, read_training
from errands.reports.writing import training_report
from errands.runs.store.places import FILE

__all__ = ["is_training", "show_trainings", "write_trainings"]

_PAGE = "training.html"


def is_training(place: str) -> bool:
    """Whether `errands train` made this folder."""
    folder = Path(place)
    return (folder / ABOUT).is_file() and not (folder / FILE).is_file()


def write_trainings(
    places: Sequence[str], folder: Path, title: str
) -> tuple[list[Training], list[Path]]:
    """One page about trainings, and what is on it."""
    folders = [Path(place) for place in places]
    if not folders:
        return [], []
    named = zip(folders, labelled(folders), strict=True)
    trainings = [read_training(each, label) for each, label in named]
    return trainings, [training_report(trainings, folder / _PAGE, title=title)]


def show_trainings(trainings: Sequence[Training]) -> None:
    for one in trainings:
        for remark in one.remarks:
            remarks.print(f"{one.label}: {remark}")
        listed = ", ".join(
            f"{name.replace('_', ' ')} {value:,.4g}"
            for name, value in one.figures.items()
            if name != "step"
        )
        results.print(f"{one.label}: {one.trained}, {one.step:,} steps; {listed}")
