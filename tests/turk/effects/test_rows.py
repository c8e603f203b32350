"""Which rows a proof takes: every kind that a script could tell apart."""

from collections.abc import Sequence

from errands.turk.effects.rows import reasons_against, rows_to_prove
from errands.turk.tasks.task import Instance, Task


def task_of(template: str, values: Sequence[str], name: str = "x") -> Task:
    rows = [Instance("t", row, {name: value}, {}) for row, value in enumerate(values)]
    return Task("t", template, rows)


def test_without_scripts_rows_are_spread() -> None:
    chosen = rows_to_prove(task_of("${x}", [f"v{n}" for n in range(100)]), 4, 9)
    assert chosen.rows == (0, 25, 50, 75)
    assert (chosen.kinds, chosen.kinds_of_all) == (0, 0)


def test_few_rows_are_all_taken() -> None:
    assert rows_to_prove(task_of("", ["a", "b"]), 8, 24).rows == (0, 1)
    assert rows_to_prove(task_of("", []), 8, 24).rows == ()


def test_few_values_in_a_script_are_each_a_kind() -> None:
    values = ["a"] * 40 + ["b"] + ["a"] * 40 + ["c"]
    chosen = rows_to_prove(task_of("<script>f('${x}')</script>", values), 2, 9)
    assert {40, 81} <= set(chosen.rows)
    assert (chosen.kinds, chosen.kinds_of_all) == (3, 3)


def test_what_a_script_names_is_a_kind_wherever_it_stands() -> None:
    values = [f"a longer text {n}" for n in range(90)]
    values[33] = "has _UNK_ in it"
    values[44] = "no"
    template = "<p>${x}</p><script>$('p:contains(\"_UNK_\")').hide(); if (v == 'no') f()</script>"
    assert {33, 44} <= set(rows_to_prove(task_of(template, values), 2, 9).rows)


def test_many_values_are_parted_into_classes() -> None:
    values = [f"text {n}" for n in range(60)]
    values[10], values[20], values[30], values[40] = "12.5", "Empty", "it's", "long " * 90
    chosen = rows_to_prove(task_of("<script>f('${x}')</script>", values), 2, 9)
    assert {10, 20, 30, 40} <= set(chosen.rows)


def test_at_most_so_many() -> None:
    chosen = rows_to_prove(task_of("<script>f('${x}')</script>", list("abcdefghij")), 2, 4)
    assert len(chosen.rows) == 4
    assert (chosen.kinds, chosen.kinds_of_all) == (4, 10)


def test_a_row_may_bring_a_script() -> None:
    assert reasons_against(task_of("${x}", ["a", "<b>c</b>"])) == ()
    (reason,) = reasons_against(task_of("${x}", ["a", "<script>b()</script>"]))
    assert reason == "row 1 puts markup that may act into x"
