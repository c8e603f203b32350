"""What a requester uploads: a template and a table, as Mechanical Turk takes them.

A table is either plain inputs (the header names the template's variables), or a file of results:
`Input.NAME` and `Answer.NAME` columns among Mechanical Turk's own. Both are read by the rules of
task folders (`errands.turk.tasks.table`), but cells stay texts as they were written.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import msgspec

from errands.errors import TaskError
from errands.turk.tasks.instances import plain_newlines
from errands.turk.tasks.loader import BOOKKEEPING, INPUT
from errands.turk.tasks.markup import start_tags
from errands.turk.tasks.table import ANSWER, MISSING, decode, read_table

__all__ = [
    "INPUT",
    "BatchFile",
    "BatchRow",
    "check_template",
    "distinct",
    "loosely",
    "mturk_time",
    "read_batch",
    "read_template",
    "time_of",
]

LARGEST_TEMPLATE: Final = 2**20
MOST_ROWS: Final = 200_000
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_CONTROLS: Final = ("input", "select", "textarea")
_ZONES: Final = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7, "EST": -5, "EDT": -4}
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_MTURK_TIME = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d?) (\d\d):(\d\d):(\d\d) (\w+) (\d{4})"
)


class BatchRow(msgspec.Struct, frozen=True):
    """One row: what is shown, what was answered, and what the platform noted."""

    inputs: dict[str, str]
    answers: dict[str, str]
    noted: dict[str, str]


class BatchFile(msgspec.Struct, frozen=True):
    """A table as it was uploaded."""

    columns: tuple[str, ...]
    """The inputs, in their order, without `Input.`."""
    rows: list[BatchRow]
    has_answers: bool


def read_template(data: bytes) -> str:
    """A template's text; one that nobody can answer is refused."""
    if len(data) > LARGEST_TEMPLATE:
        raise TaskError(f"The template has {len(data):,} bytes; the most is {LARGEST_TEMPLATE:,}.")
    template = plain_newlines(decode(data)[0].removeprefix("\ufeff").replace("\0", ""))
    if not template.strip():
        raise TaskError("The template is empty; expected HTML with fields to fill in.")
    if not any(start_tags(template, only=_CONTROLS)):
        raise TaskError(
            "The template has nothing to fill in; expected an input, a select or a textarea."
        )
    return template


def read_batch(data: bytes, template: str = "") -> BatchFile:
    """A table out of an uploaded file; what is wrong with it is said in one sentence."""
    _check_header(data)
    try:
        table = read_table(data)
    except TaskError as failure:
        raise TaskError(f"The CSV file {failure}") from None
    if len(table) > MOST_ROWS:
        raise TaskError(f"The CSV file has {len(table):,} rows; the most is {MOST_ROWS:,}.")
    is_results = f"${{{INPUT}" not in template and any(
        name.startswith(INPUT) for name in table.columns
    )
    inputs: dict[str, list[str]] = {}
    answers: dict[str, list[str]] = {}
    noted: dict[str, list[str]] = {}
    for name, cells in table.columns.items():
        if name.startswith(ANSWER):
            answers[name.removeprefix(ANSWER)] = cells
        elif is_results and name.startswith(INPUT):
            inputs[name.removeprefix(INPUT)] = cells
        elif not is_results and (name not in BOOKKEEPING or f"${{{name}}}" in template):
            inputs[name] = cells
        else:
            noted[name] = cells
    rows = [
        BatchRow(_row(inputs, place), _row(answers, place), _row(noted, place))
        for place in range(len(table))
    ]
    return BatchFile(tuple(inputs), rows, bool(answers))


def check_template(template: str, columns: Sequence[str]) -> None:
    """Refuse a table that lacks a column for a variable of the template."""
    unknown = set(_VARIABLE.findall(template)) - set(columns)
    if unknown:
        listed = ", ".join(f"${{{name}}}" for name in sorted(unknown)[:5])
        raise TaskError(f"The template has {listed}, for which the CSV file has no column.")


def distinct(rows: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Rows that agree in all inputs are one instance; in order of first appearance."""
    seen: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        seen.setdefault(tuple(row.values()), dict(row))
    return list(seen.values())


def loosely(cells: Iterable[str]) -> tuple[str, ...]:
    """Cells as a spreadsheet might have rewritten them: 3 and 3.0 are the same, so are blanks."""
    return tuple(map(_loose, cells))


def _loose(cell: str) -> str:
    if cell in MISSING:
        return ""
    try:
        return repr(float(cell)) if len(cell) < 40 else cell
    except ValueError:
        return " ".join(cell.split())


def _row(columns: Mapping[str, Sequence[str]], place: int) -> dict[str, str]:
    return {name: plain_newlines(cells[place]) for name, cells in columns.items()}


def _check_header(data: bytes) -> None:
    """Tables of tasks may repeat a column; in an upload that is a mistake."""
    text = decode(data)[0].removeprefix("\ufeff")
    try:
        header = next(csv.reader(io.StringIO(text.replace("\0", ""), newline="")), [])
    except csv.Error:
        raise TaskError("The CSV file has a header that cannot be read.") from None
    twice = sorted(name for name, count in Counter(header).items() if count > 1)
    if twice:
        named = repr(twice[0][:80]) if twice[0] else "without a name"
        raise TaskError(f"The CSV file has the column {named} more than once.")


def mturk_time(at: float | None) -> str:
    """A time as Mechanical Turk writes it; nothing where there is none.

    >>> mturk_time(0.0)
    'Thu Jan 01 00:00:00 UTC 1970'
    """
    if at is None:
        return ""
    then = datetime.fromtimestamp(at, UTC)
    return (
        f"{_DAYS[then.weekday()]} {_MONTHS[then.month - 1]} {then.day:02} {then:%H:%M:%S} UTC"
        f" {then.year}"
    )


def time_of(text: str) -> float | None:
    """Seconds since 1970 of a time in a file of results; None where it cannot be told.

    >>> time_of("Thu Jan 01 00:00:00 PST 1970")
    28800.0
    """
    match = _MTURK_TIME.fullmatch(text.strip())
    try:
        if match is None:
            then = datetime.fromisoformat(text.strip())
            return _stamp(then.replace(tzinfo=then.tzinfo or UTC))
        month, day, hour, minute, second, zone, year = match.groups()
        return _stamp(
            datetime(
                *(int(year), _MONTHS.index(month) + 1, int(day)),
                *(int(hour), int(minute), int(second)),
                tzinfo=timezone(timedelta(hours=_ZONES[zone])),
            )
        )
    except (ValueError, KeyError, OverflowError):
        return None


def _stamp(then: datetime) -> float:
    """Checked: at the ends of the calendar a time may be in no year of UTC."""
    return then.astimezone(UTC).timestamp()
