"""The instances of a task, formed when they are asked for.

Tables have thousands of rows and dozens of columns, of which a run may want five instances. So
what a table says about all of them at once, the type of each column and which rows belong
together, is found out when a task is read; the rest is done instance by instance.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar, overload

from errands.turk.tasks.table import MISSING, infer, meanings, written
from errands.turk.tasks.task import Instance, Label

__all__ = ["Instances", "form_instances", "plain_newlines"]

T = TypeVar("T")


class _Column(NamedTuple, Generic[T]):
    """A column: of inputs with a cell per instance, of answers with one per row of the table."""

    cells: Sequence[str]
    known: Mapping[str, T] | None
    """What each cell stands for or is on a page; None where cells are texts."""


class Instances(Sequence[Instance]):
    """All instances of one task, in order of first appearance; each is formed anew when taken."""

    __slots__ = ("_answers", "_groups", "_inputs", "_task")

    def __init__(
        self,
        task: str,
        groups: Sequence[Sequence[int]],
        inputs: Mapping[str, _Column[str]],
        answers: Mapping[str, _Column[Label]],
    ) -> None:
        self._task = task
        self._groups = groups
        self._inputs = inputs
        self._answers = answers

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Instance, ...]: ...
    def __getitem__(self, index: int | slice) -> Instance | tuple[Instance, ...]:
        if isinstance(index, slice):
            return tuple(map(self._form, range(len(self))[index]))
        return self._form(range(len(self))[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instances | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Instances({self._task!r}, {len(self)})"

    def _form(self, number: int) -> Instance:
        rows = self._groups[number]
        inputs = {
            name: _served(cells[number]) if texts is None else texts[cells[number]]
            for name, (cells, texts) in self._inputs.items()
        }
        labels = {
            name: tuple([_label(cells[row], known) for row in rows])
            for name, (cells, known) in self._answers.items()
        }
        return Instance(self._task, number, inputs, labels)


def form_instances(
    task: str, rows: int, inputs: Mapping[str, list[str]], answers: Mapping[str, list[str]]
) -> Instances:
    """Rows that agree in all inputs are one instance, and each row is one worker's answers."""
    groups = _grouped(inputs, rows)
    # Rows of different cells can still agree: 1 and 1.0, or two ways to write nothing. Every
    # cell of a column is in the first row of some group, so these rows tell of the whole column.
    firsts = _firsts(inputs, groups)
    known = {name: meanings(cells) for name, cells in firsts.items()}
    doubtful = {name for name, cells in firsts.items() if _doubtful(cells, known[name])}
    if doubtful:
        groups = _merged(groups, firsts, {name: known[name] for name in doubtful})
        firsts = _firsts(inputs, groups)
    return Instances(
        task,
        groups,
        {name: _Column(cells, _texts(known[name])) for name, cells in firsts.items()},
        {name: _Column(cells, meanings(cells)) for name, cells in answers.items()},
    )


def _grouped(inputs: Mapping[str, list[str]], rows: int) -> list[list[int]]:
    """Rows of the same input cells."""
    if not inputs:
        return [list(range(rows))]
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*inputs.values(), strict=True)):
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _firsts(
    inputs: Mapping[str, list[str]], groups: Sequence[Sequence[int]]
) -> dict[str, list[str]]:
    """The inputs at the first row of each group."""
    rows = [group[0] for group in groups]
    return {name: list(map(cells.__getitem__, rows)) for name, cells in inputs.items()}


def _doubtful(cells: Sequence[str], known: Mapping[str, Label] | None) -> bool:
    """Whether different cells of a column may mean the same."""
    if known is None:
        return len(MISSING.intersection(cells)) > 1
    return len(set(known.values())) < len(known)


def _merged(
    groups: Sequence[list[int]],
    firsts: Mapping[str, list[str]],
    doubtful: Mapping[str, Mapping[str, Label] | None],
) -> list[list[int]]:
    """Groups whose inputs mean the same made one, their rows in order."""
    columns = [
        [_label(cell, doubtful[name]) for cell in cells] if name in doubtful else cells
        for name, cells in firsts.items()
    ]
    merged: dict[tuple[Label, ...], list[int]] = {}
    for group, key in zip(groups, zip(*columns, strict=True), strict=True):
        merged.setdefault(key, []).extend(group)
    return [sorted(group) for group in merged.values()]


def _label(cell: str, known: Mapping[str, Label] | None) -> Label:
    if known is None:
        return None if cell in MISSING else cell
    return known[cell]


def _texts(known: Mapping[str, Label] | None) -> dict[str, str] | None:
    """Cell to text of a column of numbers or truth values.

    The original wrote inputs to a file and read that with types again, which can move the last
    digit of a number once more.
    """
    if known is None:
        return None
    again = infer([written(value) for value in known.values()])
    return dict(zip(known, map(plain_newlines, map(written, again)), strict=True))


def _served(cell: str) -> str:
    """A text as it reaches the page."""
    return "" if cell in MISSING else plain_newlines(cell)


def plain_newlines(text: str) -> str:
    """Windows and old Macintosh line ends as plain ones."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
