"""What parts the values of an option in one cell."""

import pytest

from errands.mining.table.column_map import ColumnMap
from errands.mining.table.separators import doubtful_sign, found_separators
from errands.mining.table.table_file import BadRow


def found(*cells: object, **split: str) -> str | None:
    columns = ColumnMap(columns={}, options={"color": "c"})
    given = ColumnMap(columns={}, options={"color": "c"}, split={**columns.split, **split})
    return found_separators([{"c": cell} for cell in cells], given).get("color")


@pytest.mark.parametrize(
    ("cells", "sign"),
    [
        (["black;blue", "red"], ";"),
        (["black\nblue", "red"], "\n"),
        (["black, blue, red", "red, white"], ","),
        (["black, blue", "black"], ","),
        (["black, matte", "white, matte"], None),  # a value with a comma in it, for all we know
        (["1,5 l, blue", "2,5 l"], None),
        (["black|blue", "red;white"], None),  # the usual sign is used: the other is something else
        (["black &amp; blue"], None),
        (["black/blue", "S/M"], None),
        (["made by hand in our workshop in the mountains; please ask"], None),
        (["red", "", None, 7, ["a;b"]], None),
        ([], None),
    ],
)
def test_a_sign_counts_where_the_whole_column_speaks_for_it(
    cells: list[object], sign: str | None
) -> None:
    assert found(*cells) == sign


def test_what_the_map_says_is_not_looked_for() -> None:
    assert found("black;blue", options=",") is None
    assert found("black;blue", color="|") is None


def test_damaged_rows_say_nothing() -> None:
    columns = ColumnMap(columns={}, options={"color": "c"})
    assert found_separators([BadRow("torn"), {"c": "a;b"}], columns) == {"color": ";"}


@pytest.mark.parametrize(
    ("value", "sign"),
    [("black/blue", "/"), ("a; b", ";"), ("black, matte", ","), ("1/2", None), ("1,5", None),
     ("plain", None), ("8/10 years", None), ("/", None)],
)  # fmt: skip
def test_signs_that_may_part_values(value: str, sign: str | None) -> None:
    assert doubtful_sign(value) == sign
