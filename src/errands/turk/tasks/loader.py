"""Task folders, read one at a time: `template.html` and `batch.csv` become a `Task`.

A `TaskSet` knows the names of its tasks at once and reads a task when it is asked for, keeping
only the last few: memory does not grow with the number of instances. What is wrong with a folder
is a `TaskProblem` of that folder; the others go on.
"""

import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from errands.errors import TaskError
from errands.home import data_dir, exists, expanded, real
from errands.turk.tasks.instances import Instances, form_instances, plain_newlines
from errands.turk.tasks.splits import Splits, find_splits
from errands.turk.tasks.table import ANSWER, decode, read_table
from errands.turk.tasks.table_index import (
    ColumnRoles,
    IndexedInstances,
    IndexFile,
    make_index,
    read_whole,
)
from errands.turk.tasks.task import Task

__all__ = ["BOOKKEEPING", "DEMO", "INPUT", "TaskProblem", "TaskSet", "load_tasks"]

DEMO: Final = "demo"
"""The name of the tasks that come with Errands."""

BOOKKEEPING: Final = frozenset(
    {"HITId", "HITTypeId", "HITGroupId", "Reward", "CreationTime", "MaxAssignments",
     "RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds",
     "Expiration", "NumberOfSimilarHITs", "LifetimeInSeconds", "AssignmentId", "WorkerId",
     "AssignmentStatus", "AcceptTime", "SubmitTime", "AutoApprovalTime", "ApprovalTime",
     "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds", "LifetimeApprovalRate",
     "Last30DaysApprovalRate", "Last7DaysApprovalRate", "Approve", "Reject"}
)  # fmt: skip
"""Columns of the crowdsourcing platform: no inputs, unless the template asks for one by name."""

INPUT: Final = "Input."
"""The prefix of inputs in results of Mechanical Turk."""

_TREE: Final = "tasks"
_TEMPLATE: Final = "template.html"
_BATCH: Final = "batch.csv"
_KEPT: Final = 4
_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Of the module, not of a set: sets are pickled.
_reading = threading.Lock()


@dataclass(frozen=True)
class TaskProblem:
    """Something about a task folder that its owner should know."""

    task: str
    message: str
    fatal: bool = True
    """Whether the task is left out; otherwise it was read, with a guess or a repair."""


class TaskSet:
    """Tasks by name; iterating reads one after another and passes over the broken ones.

    `names` are the tasks of the split, in the order of its list where it has one, whether they
    can be read or not; `problems` grows as tasks are read; `missing` are names that the split
    has and the place has not.
    """

    def __init__(
        self,
        place: str,
        folders: Mapping[str, Traversable],
        splits: Splits,
        *,
        split: str = "all",
        missing: Sequence[str] = (),
        problems: Sequence[TaskProblem] = (),
    ) -> None:
        self.place = place
        self.split = split
        self.splits = splits
        self.names: tuple[str, ...] = splits.select(split, folders)
        self.missing: tuple[str, ...] = tuple(missing)
        self._folders = {name: folders[name] for name in self.names}
        self._problems: dict[TaskProblem, None] = dict.fromkeys(problems)
        self.keep = _KEPT
        """How many tasks that were read last stay in memory."""
        self._kept: dict[str, Task] = {}
        parents = (folder.parent for folder in folders.values() if isinstance(folder, Path))
        # Tables inside an archive have none.
        self._indices = next(map(IndexFile, parents), None)

    @property
    def problems(self) -> tuple[TaskProblem, ...]:
        """What was found wrong so far; after a whole round of iterating, everything."""
        return tuple(self._problems)

    @property
    def broken(self) -> tuple[str, ...]:
        """The folders that were found unusable so far."""
        return tuple(dict.fromkeys(one.task for one in self._problems if one.fatal))

    @property
    def left_out(self) -> str:
        """Which folders were found broken so far, and why, in one line; empty for none."""
        broken = [problem for problem in self._problems if problem.fatal]
        reasons = ", ".join(f"{one.task} ({one.message.rstrip('.')})" for one in broken)
        return reasons and f"broken task folders are left out: {reasons}"

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._folders

    def __iter__(self) -> Iterator[Task]:
        for name in self.names:
            try:
                task = self.task(name)
            except TaskError:
                continue
            yield task

    def __repr__(self) -> str:
        return f"TaskSet({self.place!r}, split={self.split!r}, {len(self)} tasks)"

    def folder(self, name: str) -> Traversable:
        """Where a task lives: pages may load files that lie beside its template."""
        try:
            return self._folders[name]
        except KeyError:
            raise TaskError(
                f"There is no task {name!r} in the split {self.split!r} of {self.place}; "
                "`errands turk info` lists the tasks."
            ) from None

    def split_of(self, name: str) -> str:
        """The split a task belongs to."""
        return self.splits.of(name)

    def task(self, name: str) -> Task:
        """Read a task, or take it from the last few; a broken one is a `TaskError`.

        Several threads may ask: one of them reads, the others find what it has read.
        """
        with _reading:
            return self._task(name)

    def _task(self, name: str) -> Task:
        task = self._kept.pop(name, None)
        if task is None:
            folder = self.folder(name)
            try:
                task, remarks = _read(folder, name, self._indices)
            except TaskError as error:
                self._problems[TaskProblem(name, str(error))] = None
                raise TaskError(f"The task {name!r} cannot be used: {error}") from None
            self._problems.update({TaskProblem(name, remark, False): None for remark in remarks})
        self._kept[name] = task
        for oldest in list(self._kept)[: -self.keep]:
            self._kept.pop(oldest, None)
        return task


def load_tasks(place: str | Path, split: str = "all") -> TaskSet:
    """The tasks of a place: `demo`, `turkingbench` (as `errands data` keeps it), or a folder.

    A folder may be the one that holds the task folders, its parent (they are in `tasks`), or a
    single task. `split` is one of `errands.turk.tasks.splits.SPLITS`.
    """
    root, label = _locate(place)
    if _is_task(root):
        name = real(root).name if isinstance(root, Path) else root.name
        # The folder around it may say which split the task is in; nothing else is expected there.
        around = real(root).parent if isinstance(root, Path) else root
        return TaskSet(label, {name: root}, find_splits([around], [name]), split=split)
    folders, problems = _scan(root)
    if not folders and not problems:
        raise TaskError(
            f"{label} has no tasks: expected folders that hold {_TEMPLATE} and {_BATCH} each; "
            f"`{DEMO}` names the tasks that come with Errands."
        )
    beside = isinstance(root, Path) and real(root).name == _TREE
    places = [root, root.joinpath("..")] if beside else [root]
    splits = find_splits(places, folders)
    seen = {*folders, *(problem.task for problem in problems)}
    missing = [name for name in splits.expected(split) if name not in seen]
    halves = set(splits.select(split, [problem.task for problem in problems]))
    problems = [problem for problem in problems if problem.task in halves]
    return TaskSet(label, folders, splits, split=split, missing=missing, problems=problems)


def _locate(place: str | Path) -> tuple[Path | Traversable, str]:
    """The folder of the task folders, or one task's folder; and what to call it."""
    if place == DEMO:
        return resources.files("errands.turk").joinpath(DEMO), DEMO
    path = expanded(place)
    if place == "turkingbench" and not exists(path):
        path = data_dir("turkingbench")
        if not path.exists():
            raise TaskError("TurkingBench is not here yet: run `errands data turkingbench`.")
    try:
        if not path.is_dir():
            raise TaskError(
                f"There is no folder {path}; expected one of tasks, or `{DEMO}`, the tasks that "
                "come with Errands."
            )
        if not _is_task(path):
            for inner in (path / _TREE, path / "turkingbench" / _TREE):
                if inner.is_dir() and not _is_task(inner):
                    return inner, str(path)
    except (OSError, ValueError) as error:
        raise TaskError(f"{str(path)!r} cannot be read: {_reason(error)}.") from None
    return path, str(path)


def _is_task(folder: Path | Traversable) -> bool:
    return any(folder.joinpath(name).is_file() for name in (_TEMPLATE, _BATCH))


def _scan(root: Path | Traversable) -> tuple[dict[str, Traversable], list[TaskProblem]]:
    """Task folders by name, and folders that are half a task.

    Hidden folders, those whose names hold `batch-` (as in the original), and folders without
    either file are not tasks.
    """
    folders: dict[str, Traversable] = {}
    problems: list[TaskProblem] = []
    try:
        entries = sorted(root.iterdir(), key=lambda entry: entry.name)
        for folder in entries:
            if folder.name.startswith(".") or "batch-" in folder.name or not folder.is_dir():
                continue
            there = [folder.joinpath(name).is_file() for name in (_TEMPLATE, _BATCH)]
            if all(there):
                folders[folder.name] = folder
            elif any(there):
                absent = _BATCH if there[0] else _TEMPLATE
                problems.append(TaskProblem(folder.name, f"{absent} is missing."))
    except OSError as error:
        raise TaskError(f"{root} cannot be read: {_reason(error)}.") from None
    return folders, problems


def _read(
    folder: Path | Traversable, name: str, indices: IndexFile | None
) -> tuple[Task, list[str]]:
    """A task and remarks about what was mended; every failure is a `TaskError` of one sentence."""
    template, remark = decode(_bytes(folder, _TEMPLATE))
    remarks = [f"{_TEMPLATE} {remark}."] if remark else []
    template = plain_newlines(template)
    if not template.strip():
        raise TaskError(f"{_TEMPLATE} is empty.")
    instances, columns, mended = _open_table(folder.joinpath(_BATCH), name, template, indices)
    remarks += [f"{_BATCH} {remark}." for remark in mended]
    roles = _roles(columns, template)
    if not roles.answers:
        remarks.append(f"{_BATCH} has no column {ANSWER}NAME: nothing can be scored.")
    if unknown := set(_VARIABLE.findall(template)) - set(columns) - set(roles.inputs):
        listed = ", ".join(f"${{{variable}}}" for variable in sorted(unknown)[:5])
        remarks.append(f"{_TEMPLATE} has {listed}, for which {_BATCH} has no column.")
    return Task(name, template, instances, tuple(roles.answers)), remarks


def _open_table(
    path: Path | Traversable, name: str, template: str, indices: IndexFile | None
) -> tuple[Instances, Collection[str], Sequence[str]]:
    """The instances of a table, its columns, and what was mended; with its index if it has one."""
    index = indices.find(path) if indices is not None and isinstance(path, Path) else None
    if index is not None and index.roles == _roles(index.columns, template):
        return IndexedInstances(name, index), index.columns, ()
    try:
        content, file = read_whole(path) if isinstance(path, Path) else (path.read_bytes(), None)
    except (OSError, ValueError) as error:
        raise TaskError(f"{_BATCH} cannot be read: {_reason(error)}.") from None
    try:
        table = read_table(content)
    except TaskError as error:
        raise TaskError(f"{_BATCH} {error}") from None
    roles = _roles(table.columns, template)
    inputs, answers = (
        {known: table.columns[column] for known, column in columns.items()} for columns in roles
    )
    instances = form_instances(name, len(table), inputs, answers)
    if indices is not None and file is not None and file.worth_index:
        index = make_index(file, content, table, roles, instances)
        if index is not None:
            indices.add(index)
    return instances, table.columns, table.remarks


def _bytes(folder: Path | Traversable, name: str) -> bytes:
    try:
        return folder.joinpath(name).read_bytes()
    except (OSError, ValueError) as error:
        raise TaskError(f"{name} cannot be read: {_reason(error)}.") from None


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _roles(columns: Collection[str], template: str) -> ColumnRoles:
    """Input columns, and answer columns without their prefix.

    In a file of results as Mechanical Turk gives it, inputs have a prefix, and all other columns
    are the platform's.
    """
    is_results = f"${{{INPUT}" not in template and any(
        column.startswith(INPUT) for column in columns
    )
    inputs: dict[str, str] = {}
    answers: dict[str, str] = {}
    for column in columns:
        if column.startswith(ANSWER):
            answers[column.removeprefix(ANSWER)] = column
        elif is_results:
            if column.startswith(INPUT):
                inputs[column.removeprefix(INPUT)] = column
        elif column not in BOOKKEEPING or f"${{{column}}}" in template:
            inputs[column] = column
    return ColumnRoles(inputs, answers)
