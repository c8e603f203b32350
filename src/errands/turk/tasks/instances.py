"""The instances of a task, formed when they are asked for.

Tables have thousands of rows and dozens of columns, of which a run may want five instances. So
what a table says about all of them at once, the type of each column and which rows belong
together, is found out when a task is read; the rest is done instance by instance.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, overload

from errands.turk.tasks.table import (
    MISSING,
    ColumnMeaning,
    ColumnType,
    meaning,
    read_cells,
    written,
)
from errands.turk.tasks.task import Instance, Label

__all__ = ["Instances", "TableInstances", "form_instances", "plain_newlines", "served_text"]


class Instances(Sequence[Instance], ABC):
    """All instances of one task, in order of first appearance; each is formed anew when taken."""

    __slots__ = ("_task",)

    def __init__(self, task: str) -> None:
        self._task = task

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _form(self, number: int) -> Instance:
        """The instance of this number, which there is."""

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


class _Answers(NamedTuple):
    """A column of answers, a cell per row of the table."""

    cells: Sequence[str]
    type: ColumnType
    known: Mapping[str, Label] | None
    """What each cell stands for; None where cells are texts."""


class _Inputs(NamedTuple):
    """A column of inputs, a cell per instance."""

    cells: Sequence[str]
    type: ColumnType
    again: ColumnType
    """What the column is to who reads the file that the original wrote its values to."""
    texts: Mapping[str, str] | None
    """What each cell is on a page; None where cells are texts."""


class TableInstances(Instances):
    """The instances of a table that is in memory."""

    __slots__ = ("answers", "groups", "inputs")

    def __init__(
        self,
        task: str,
        groups: Sequence[Sequence[int]],
        inputs: Mapping[str, _Inputs],
        answers: Mapping[str, _Answers],
    ) -> None:
        super().__init__(task)
        self.groups = groups
        """The rows of each instance."""
        self.inputs = inputs
        self.answers = answers

    def __len__(self) -> int:
        return len(self.groups)

    def _form(self, number: int) -> Instance:
        rows = self.groups[number]
        inputs = {
            name: _served(column.cells[number]) if (texts := column.texts) is None
            else texts[column.cells[number]]
            for name, column in self.inputs.items()
        }  # fmt: skip
        labels = {
            name: tuple([_label(cells[row], known) for row in rows])
            for name, (cells, _, known) in self.answers.items()
        }
        return Instance(self._task, number, inputs, labels)


def form_instances(
    task: str, rows: int, inputs: Mapping[str, list[str]], answers: Mapping[str, list[str]]
) -> TableInstances:
    """Rows that agree in all inputs are one instance, and each row is one worker's answers."""
    groups = _grouped(inputs, rows)
    # Rows of different cells can still agree: 1 and 1.0, or two ways to write nothing. Every
    # cell of a column is in the first row of some group, so these rows tell of the whole column.
    firsts = _firsts(inputs, groups)
    meanings = {name: meaning(cells) for name, cells in firsts.items()}
    doubtful = {
        name: meanings[name].known
        for name, cells in firsts.items()
        if _doubtful(cells, meanings[name].known)
    }
    if doubtful:
        groups = _merged(groups, firsts, doubtful)
        firsts = _firsts(inputs, groups)
    return TableInstances(
        task,
        groups,
        {name: _inputs(cells, meanings[name]) for name, cells in firsts.items()},
        {name: _Answers(cells, *meaning(cells)) for name, cells in answers.items()},
    )


def _grouped(inputs: Mapping[str, list[str]], rows: int) -> list[list[int]]:
    """Rows of the same input cells."""
    if not inputs:
        return [list(range(rows))]
    groups: dict[tuple[str, ...], list[int]] = {}
    before: tuple[str, ...] | None = None
    group: list[int] = []
    for row, key in enumerate(zip(*inputs.values(), strict=True)):
        # Mostly, rows of an instance follow each other: comparing is less than hashing.
        if key != before:
            group = groups.setdefault(key, [])
            before = key
        group.append(row)
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


def _inputs(cells: Sequence[str], meant: ColumnMeaning) -> _Inputs:
    """The original wrote inputs to a file and read that with types again, which can move the last
    digit of a number once more."""
    if meant.known is None:
        return _Inputs(cells, meant.type, "text", None)
    copies = [written(value) for value in meant.known.values()]
    again = meaning(copies)
    texts = (_served(copy) if again.known is None else _text(again.known[copy]) for copy in copies)
    return _Inputs(cells, meant.type, again.type, dict(zip(meant.known, texts, strict=True)))


def served_text(cell: str, column: ColumnType, again: ColumnType) -> str:
    """An input's cell as it reaches the page, where the types of its column are known."""
    if column == "text":
        return _served(cell)
    (value,) = read_cells([cell], column)
    (copy,) = read_cells([written(value)], again)
    return _text(copy)


def _text(value: Label) -> str:
    return plain_newlines(written(value))


def _served(cell: str) -> str:
    """A text as it reaches the page."""
    return "" if cell in MISSING else plain_newlines(cell)


def plain_newlines(text: str) -> str:
    """Windows and old Macintosh line ends as plain ones."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
