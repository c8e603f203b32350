"""Tables are read and typed as pandas 1.5.3 did it; garbage is a `TaskError` or a table."""

import csv
import io
import math

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import TaskError
from errands.turk.tasks import table
from errands.turk.tasks.table import CELL_LIMIT, MISSING, decode, infer, read_table, written
from errands.turk.tasks.task import Label


def typed(values: list[Label]) -> list[tuple[str, str]]:
    return [(type(value).__name__, repr(value)) for value in values]


# Expected values are what pandas 1.5.3 gave for these columns.
COLUMNS: list[tuple[list[str], list[Label]]] = [
    (["1", "2"], [1, 2]),
    (["1", ""], [1.0, None]),
    (["007", "+7", "-0"], [7, 7, 0]),
    ([" 3", "4 "], [3, 4]),
    (["1", "1.0"], [1.0, 1.0]),
    ([".5", "5.", "1E-5"], [0.5, 5.0, 1e-05]),
    (["True", "False"], [True, False]),
    (["TRUE", "fAlse", ""], [True, False, None]),
    (["True", "1"], ["True", "1"]),
    (["yes", "NA", "None"], ["yes", None, "None"]),
    (["", "", "nan"], [None, None, None]),
    (["inf", "-Infinity", "1"], [math.inf, -math.inf, 1.0]),
    (["1e", "1"], ["1e", "1"]),
    (["1e400"], ["1e400"]),
    (["1_0"], ["1_0"]),
    (["１"], ["１"]),
    (["0x10"], ["0x10"]),
    ([" NA", "1"], [" NA", "1"]),
    (["9223372036854775807"], [9223372036854775807]),
    (["9223372036854775808"], [9223372036854775808]),
    (["9223372036854775808", "-1"], ["9223372036854775808", "-1"]),
    (["18446744073709551616", "1"], ["18446744073709551616", "1"]),
    (["9223372036854775808", "1.5"], [9.223372036854778e18, 1.5]),
    (["1.5", "99999999999999999999"], [1.5, 1.0000000000000002e20]),
    (["99999999999999999999", "1.5"], ["99999999999999999999", "1.5"]),
    (["99999999999999999999abc", "1"], ["99999999999999999999abc", "1"]),
    # Not the nearest float, but the one its quick routine finds.
    (["15.7683775939708819"], [15.76837759397088]),
    (["6.320656015278037e-11"], [6.320656015278036e-11]),
    (["9e-29", "41.67"], [9.000000000000001e-29, 41.67]),
    (["5e-324", "1e-320", "1e-700"], [5e-324, 1e-320, 0.0]),
    (["=1+1", "@SUM(A1)"], ["=1+1", "@SUM(A1)"]),
]


@pytest.mark.parametrize(("cells", "values"), COLUMNS)
def test_a_column_has_one_type(cells: list[str], values: list[Label]) -> None:
    assert typed(infer(cells)) == typed(values)


def test_every_missing_token_is_missing() -> None:
    assert infer(["x", *sorted(MISSING)]) == ["x", *[None] * len(MISSING)]
    assert len(MISSING) == 18
    assert "None" not in MISSING


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3.0"),
        (1e-05, "1e-05"),
        (1e16, "1e+16"),
        (True, "True"),
        (None, ""),
        (math.nan, ""),
        ("a", "a"),
    ],
)
def test_values_are_written_as_pandas_writes(value: Label, text: str) -> None:
    assert written(value) == text


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_come_back_nearly(numbers: list[float]) -> None:
    for value, number in zip(infer([f"{number!r}" for number in numbers]), numbers, strict=True):
        assert isinstance(value, int | float | str)
        assert math.isclose(float(value), number, rel_tol=1e-11, abs_tol=1e-320)


@given(st.lists(st.text()))
def test_any_column_can_be_typed(cells: list[str]) -> None:
    values = infer(cells)
    assert len(values) == len(cells)
    assert len({type(value) for value in values} - {type(None)}) <= 1


def test_a_table() -> None:
    table = read_table('\ufeffa,b\r\n1,"x\r\ny, ""z"""\r\n\r\n2\r\n'.encode())
    assert table.columns == {"a": ["1", "2"], "b": ['x\r\ny, "z"', ""]}
    assert table.remarks == ("has 1 rows shorter than the header: filled with blanks",)
    assert len(table) == 2


def test_names_are_made_different() -> None:
    assert list(read_table(b"a,a,,a.1,a\n1,2,3,4,5").columns) == [
        "a",
        "a.2",
        "Unnamed: 2",
        "a.1",
        "a.3",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf\n\n  \n", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2,3\n", "has 3 cells in the row that ends in line 2, where the header has 2"),
        (b'a,b\n1,"2\n3,4\n', "a quote is never closed"),
    ],
)
def test_what_cannot_be_read_is_said(data: bytes, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        read_table(data)


def test_empty_cells_too_many_do_no_harm() -> None:
    assert read_table(b"a,b\n1,2,,\n").columns == {"a": ["1"], "b": ["2"]}


def test_nul_is_left_out_and_said() -> None:
    table = read_table(b"a\nx\0y\n")
    assert table.columns == {"a": ["xy"]}
    assert "1 NUL" in table.remarks[0]


@pytest.mark.parametrize(
    ("data", "text", "remark"),
    [
        ("é".encode(), "é", None),
        ("é".encode("latin-1"), "é", "Windows-1252"),
        ("é".encode("utf-16"), "é", "UTF-16"),
        (b"\xff\xfe\xd8", "ÿþØ", "Windows-1252"),
        (b"\x81\xe9", "\x81é", "Latin-1"),
    ],
)
def test_encodings(data: bytes, text: str, remark: str | None) -> None:
    found, said = decode(data)
    assert found == text
    assert said is None if remark is None else remark in (said or "")


def test_huge_cells_up_to_a_limit() -> None:
    before = csv.field_size_limit()
    cell = "x" * CELL_LIMIT
    assert read_table(f"a\n{cell}\n".encode()).columns == {"a": [cell]}
    with pytest.raises(TaskError, match="more than 10,485,760 characters"):
        read_table(f"a\n{cell}x\n".encode())
    assert csv.field_size_limit() == before


@settings(max_examples=effort(75, 300))
@given(st.one_of(st.binary(), st.text(alphabet='a,"\n\r\0é 1.', max_size=60).map(str.encode)))
def test_garbage_is_a_table_or_a_task_error(data: bytes) -> None:
    try:
        table = read_table(data)
    except TaskError:
        return
    assert len({len(cells) for cells in table.columns.values()}) == 1
    assert len(table) > 0


@given(st.lists(st.lists(st.text(alphabet="ab,\"\n' ;", min_size=1), min_size=2, max_size=2)))
def test_what_was_written_is_read(rows: list[list[str]]) -> None:
    sheet = io.StringIO(newline="")
    csv.writer(sheet).writerows([["one", "two"], *rows, ["x", "y"]])
    table = read_table(sheet.getvalue().encode())
    assert list(map(list, zip(*table.columns.values(), strict=True))) == [*rows, ["x", "y"]]


def test_a_large_table_of_small_cells_is_regular(monkeypatch: pytest.MonkeyPatch) -> None:
    data = ("a,b\n" + "1,xy\n" * 50).encode()
    expected = read_table(data)
    monkeypatch.setattr(table, "CELL_LIMIT", 5)
    assert read_table(data) == expected
    assert expected.regular
    with pytest.raises(TaskError, match="a cell of more than 5 characters"):
        read_table(data + b"1,abcdef\n")


@pytest.mark.parametrize("data", [b"a,b\n1\n", "a,b\n1,2\n".encode("utf-16"), b"a,b\n\xff,1\n"])
def test_what_had_to_be_mended_is_not_regular(data: bytes) -> None:
    assert not read_table(data).regular
