"""TurkingBench's task folders: found in a folder or archive, checked, put in place as one tree.

The checksums of 108 of the 159 tasks are known. A known file that differs is refused; of the
others it can only be said that they are there. A folder without both of its files is no task.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from errands.data.archive import SUFFIXES, TASK_FILES, plain_name, unpack_tasks
from errands.data.sets import Action, Check, FileReport, fingerprint, known_tasks
from errands.errors import DataError
from errands.progress import Progress, silent

__all__ = ["TREE", "inspect_tasks", "is_archive", "stage_tasks", "swap_in", "sweep"]

TREE = "tasks"
"""The folder that holds the task folders."""

_STAGE = ".tasks.new"
_ASIDE = ".tasks.old"


def is_archive(name: str) -> bool:
    """Whether a file of this name should be unpacked."""
    return name.lower().endswith(SUFFIXES)


def stage_tasks(source: Path, target: Path, *, progress: Progress = silent) -> Path:
    """Copy or unpack all tasks of `source` into a fresh folder in `target` and return it."""
    stage = target / _STAGE
    stage.mkdir(parents=True)
    if source.is_dir():
        for folder in _task_folders(_tree(source)):
            (stage / folder.name).mkdir()
            for name in TASK_FILES:
                progress(f"copying {folder.name}", 0, None)
                shutil.copyfile(folder / name, stage / folder.name / name)
    else:
        unpack_tasks(source, stage, progress=progress)
        complete = {folder.name for folder in _task_folders(stage)}
        for folder in stage.iterdir():
            if folder.name not in complete:
                shutil.rmtree(folder)
    if not any(stage.iterdir()):
        raise DataError(
            f"{source} has no tasks: expected folders tasks/NAME with {' and '.join(TASK_FILES)}"
        )
    return stage


def inspect_tasks(
    tree: Path, action: Action, *, verify: bool = True, progress: Progress = silent
) -> tuple[FileReport, ...]:
    """Measure every task file in `tree`; with `verify`, a file unlike the known one is refused."""
    known = known_tasks()
    reports = []
    for folder in _task_folders(tree):
        for name in TASK_FILES:
            path = f"{TREE}/{folder.name}/{name}"
            measured = fingerprint(folder / name, progress=progress, what=folder.name)
            expected = known.get(path)
            check: Check = "unknown"
            if expected is not None:
                check = "sha256" if expected == measured.sha256 else "differs"
            reports.append(FileReport(path, measured.bytes, measured.sha256, action, check))
    wrong = [report for report in reports if report.check == "differs"]
    if wrong and verify:
        first = wrong[0]
        more = f" and {len(wrong) - 1} more files" if len(wrong) > 1 else ""
        raise DataError(
            f"{first.name}{more} differ from the known TurkingBench: expected sha256 "
            f"{known[first.name]}, got {first.sha256}. Pass --no-verify to take another version; "
            "its scores cannot be compared with those published."
        )
    return tuple(reports)


def swap_in(stage: Path, target: Path) -> None:
    """Make the staged tree the tree of `target`."""
    tree, aside = target / TREE, target / _ASIDE
    if tree.exists():
        tree.rename(aside)
    stage.rename(tree)
    shutil.rmtree(aside, ignore_errors=True)


def sweep(target: Path) -> None:
    """Remove what a killed run left in `target`."""
    # A kill between the two renames of `swap_in`: the old tree is still the good one.
    if (target / _ASIDE).exists() and not (target / TREE).exists():
        (target / _ASIDE).rename(target / TREE)
    for name in (_STAGE, _ASIDE):
        shutil.rmtree(target / name, ignore_errors=True)


def _tree(folder: Path) -> Path:
    """The folder of task folders: `folder` itself or the `tasks` in it."""
    for tree in (folder / TREE, folder / "turkingbench" / TREE):
        if tree.is_dir():
            return tree
    return folder


def _task_folders(tree: Path) -> Iterator[Path]:
    if not tree.is_dir():
        return
    for folder in sorted(tree.iterdir()):
        if plain_name(folder.name) and all((folder / name).is_file() for name in TASK_FILES):
            yield folder
