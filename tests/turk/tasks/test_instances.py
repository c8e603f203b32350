"""Instances formed one by one are those that forming all of them at once would give."""

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.turk.tasks.instances import form_instances
from errands.turk.tasks.table import infer, written
from errands.turk.tasks.task import Instance, Label

CELLS = ["", "NA", "nan", "1", "1.0", "01", " 1", "-0.0", "0.0", "0", "2.50", "x", "X", "a\r\nb",
         "true", "TRUE", "False", "9223372036854775808", "99999999999999999999", "-1", "1e400",
         "15.7683775939708819", "3 dogs"]  # fmt: skip

Columns = dict[str, list[str]]


def all_at_once(inputs: Columns, answers: Columns, rows: int) -> list[Instance]:
    """Plainly: type whole columns, group rows by value, write the inputs and read them again."""
    typed = {name: infer(cells) for name, cells in inputs.items()}
    given = {name: infer(cells) for name, cells in answers.items()}
    groups: dict[tuple[Label, ...], list[int]] = {}
    for row in range(rows):
        groups.setdefault(tuple(values[row] for values in typed.values()), []).append(row)
    firsts = [group[0] for group in groups.values()]
    served = {
        name: [
            written(value).replace("\r\n", "\n").replace("\r", "\n")
            for value in infer([written(values[row]) for row in firsts])
        ]
        for name, values in typed.items()
    }
    return [
        Instance(
            "t",
            number,
            {name: texts[number] for name, texts in served.items()},
            {name: tuple(values[row] for row in group) for name, values in given.items()},
        )
        for number, group in enumerate(groups.values())
    ]


def exactly(instance: Instance) -> str:
    return repr((instance.row, dict(instance.inputs), dict(instance.labels)))


@settings(max_examples=effort(125, 500))
@given(st.data(), st.integers(1, 8), st.integers(0, 3), st.integers(0, 2))
def test_one_by_one_is_all_at_once(data: st.DataObject, rows: int, width: int, fields: int) -> None:
    def column() -> list[str]:
        some = data.draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=3))
        return data.draw(st.lists(st.sampled_from(some), min_size=rows, max_size=rows))

    inputs = {f"i{place}": column() for place in range(width)}
    answers = {f"a{place}": column() for place in range(fields)}
    formed = form_instances("t", rows, inputs, answers)
    expected = all_at_once(inputs, answers, rows)
    assert list(map(exactly, formed)) == list(map(exactly, expected))


def test_they_are_a_sequence() -> None:
    formed = form_instances("t", 3, {"n": ["1", "2", "1.0"]}, {"q": ["a", "b", "c"]})
    assert len(formed) == 2
    assert formed[-1] == formed[1]
    assert formed[:1] == (formed[0],)
    assert formed[0].labels == {"q": ("a", "c")}
    assert formed == form_instances("t", 3, {"n": ["1", "2", "1.0"]}, {"q": ["a", "b", "c"]})
    assert formed == tuple(formed)
    assert formed != tuple(formed)[:1]
    assert repr(formed) == "Instances('t', 2)"
    with pytest.raises(IndexError):
        formed[2]
