"""The quick way to read a table gives what `csv` gives, or leaves the text to it."""

import csv
import io
import time

import pytest
from effort import effort
from hypothesis import example, given, settings
from hypothesis import strategies as st

from errands.turk.tasks.table import read_plain

Plain = tuple[list[str], list[list[str]]]


def slowly(text: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""))
    return [row for row in rows if row and not (len(row) == 1 and row[0].isspace())]


def rows_of(plain: Plain) -> list[list[str]]:
    header, columns = plain
    return [header, *map(list, zip(*columns, strict=True))]


def test_a_regular_table() -> None:
    text = 'a,"b ""1"" "\r\n"x\r\ny, z",\n  \n"""q""",""\n\n"""",last'
    assert read_plain(text) == (["a", 'b "1" '], [["x\r\ny, z", '"q"', '"'], ["", "", "last"]])


@pytest.mark.parametrize(
    "text",
    ["", "a,b", "a\nx\n", "a,b\n1\n", "a,b\n1,2,3\n", 'a,b\n1,"2', 'a,b\n5" pipe,1" pipe\n',
     'a,b\n"1"2,3\n', 'a,b\n"1" ,3\n', "a,b\n1,\0\n"],
)  # fmt: skip
def test_what_is_not_regular_is_left_alone(text: str) -> None:
    assert read_plain(text) is None


@settings(max_examples=effort(100, 500))
@given(st.text(alphabet='",\n\r ab', max_size=30))
@example('a,b\n"""",\n')
@example('a,b\n""x,\n')
def test_no_text_is_read_otherwise(text: str) -> None:
    plain = read_plain(text)
    assert plain is None or rows_of(plain) == slowly(text)


@settings(max_examples=effort(75, 300))
@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.text(alphabet='",\n ab\u2028é'), min_size=width, max_size=width),
            min_size=2,
        )
    ),
    st.sampled_from((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)),
    st.sampled_from(("\n", "\r\n")),
)
def test_every_table_that_csv_writes_is_regular(
    rows: list[list[str]], quoting: int, ending: str
) -> None:
    sheet = io.StringIO(newline="")
    csv.writer(sheet, quoting=quoting, lineterminator=ending).writerows(rows)
    plain = read_plain(sheet.getvalue())
    assert plain is not None
    assert rows_of(plain) == rows


@pytest.mark.parametrize("piece", ['"', '""', ',"', '"\n', ",", "\n", 'a""', ' "",'])
def test_time_grows_with_the_length_alone(piece: str) -> None:
    begun = time.process_time()
    read_plain("a,b\n" + piece * (2_000_000 // len(piece)))
    assert time.process_time() - begun < 10
