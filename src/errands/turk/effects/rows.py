"""Which rows of a task a proof must see: every kind that a script could tell apart.

A row's values reach a script by `${name}` inside it, or by a text that the script names: such
values make kinds of rows. So does a value that is left blank. Variables of a script that have many
values are parted into classes: numbers, short and long texts, with quotes or markup in them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from errands.turk.dom.scripts import PageScripts, may_act, read_scripts
from errands.turk.tasks.task import Task

__all__ = ["ProofRows", "evenly_spaced", "reasons_against", "rows_to_prove"]

_PLACEHOLDERS: Final = frozenset({"", "empty", "none", "nan", "null", "n/a"})
_FEW: Final = 12
"""Up to so many different values of a variable in a script are each a kind of row."""
_LONG: Final = 200
_TELLING: Final = 4
"""Texts of scripts that are at least so long are looked for inside values, too."""

Kind = tuple[str, str]
"""A variable, and what is the same in all rows of this kind."""


class ProofRows(NamedTuple):
    """Rows to prove a task on."""

    rows: tuple[int, ...]
    kinds: int
    """Kinds that are among them."""
    kinds_of_all: int


def evenly_spaced(count: int, most: int) -> list[int]:
    """So many row numbers, evenly over all of them."""
    rows = min(count, most)
    return [index * count // rows for index in range(rows)]


def reasons_against(task: Task) -> tuple[str, ...]:
    """Why a task's pages are not the same without a browser by construction; none: they are."""
    reasons = read_scripts(task.template).reasons
    if reasons:
        return reasons
    for instance in task.instances:
        for name, value in instance.inputs.items():
            if may_act(value):
                return (f"row {instance.row} puts markup that may act into {name}",)
    return ()


def rows_to_prove(task: Task, least: int, most: int) -> ProofRows:
    """Rows of every kind, greedily, at most so many; at least so many, evenly spaced."""
    scripts = read_scripts(task.template)
    many = _variables_of_many_values(task, scripts)
    kinds = [_kinds(scripts, instance.inputs, many) for instance in task.instances]
    rows: list[int] = []
    seen: set[Kind] = set()
    left = dict.fromkeys(range(len(kinds)))
    while left and len(rows) < most:
        best = max(left, key=lambda row: len(kinds[row] - seen)) if rows else 0
        if rows and not kinds[best] - seen:
            break
        rows.append(best)
        del left[best]
        seen |= kinds[best]
    for row in [row for row in (*evenly_spaced(len(kinds), least), *left) if row in left]:
        if len(rows) < least:
            rows.append(row)
    return ProofRows(tuple(sorted(set(rows))), len(seen), len(frozenset().union(*kinds)))


def _variables_of_many_values(task: Task, scripts: PageScripts) -> frozenset[str]:
    values: dict[str, set[str]] = {name: set() for name in scripts.variables}
    for instance in task.instances:
        for name in scripts.variables & instance.inputs.keys():
            values[name].add(instance.inputs[name])
    return frozenset(name for name, each in values.items() if len(each) > _FEW)


def _kinds(
    scripts: PageScripts, inputs: Mapping[str, str], many: frozenset[str]
) -> frozenset[Kind]:
    """All by which a script could tell this row."""
    kinds: set[Kind] = set()
    telling = [text for text in scripts.literals if len(text) >= _TELLING]
    for name, value in inputs.items():
        bare = value.strip()
        if bare in scripts.literals:
            kinds.add((name, f"is {bare}"))
        kinds.update((name, f"has {text}") for text in telling if text in value)
        if name in scripts.variables:
            kinds.add((name, _class_of(value) if name in many else f"is {value}"))
        elif bare.lower() in _PLACEHOLDERS:
            kinds.add((name, "blank"))
        if may_act(value):
            kinds.add((name, "may act"))
    return frozenset(kinds)


def _class_of(value: str) -> str:
    """Texts that a script is likely to treat alike."""
    bare = value.strip()
    if bare.lower() in _PLACEHOLDERS:
        return "blank"
    try:
        float(bare)
    except ValueError:
        marks = "".join(mark for mark in "'\"<\n\\" if mark in value)
        return f"{'long' if len(bare) > _LONG else 'short'} {marks!r}"
    return "number"
