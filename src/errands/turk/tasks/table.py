"""Tables of answers: reads a `batch.csv` and gives every column the type the original gave it.

TurkingBench was run on tables read by pandas 1.5.3, which decides on one type for a whole column:
integers, real numbers (also integers with blanks), truth values, or texts. That choice shows in
labels (`3` or `3.0`), in which rows count as the same instance, and in the text that is put into
pages. This module makes the same choices by hand: pandas is a large dependency, whose later
versions choose otherwise. `infer` is the rule, cell by cell.
"""

import codecs
import csv
import io
import itertools
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeVar

from errands.errors import TaskError
from errands.turk.tasks.task import Label

__all__ = [
    "ANSWER", "CELL_LIMIT", "MISSING", "ColumnMeaning", "ColumnType", "TaskTable", "cut_row",
    "decode", "infer", "meaning", "read_cells", "read_plain", "read_table", "written",
]  # fmt: skip

ANSWER: Final = "Answer."
"""Columns of this prefix hold answers; all others are inputs."""

CELL_LIMIT: Final = 10 * 2**20
"""A longer cell (in characters) is refused."""

MISSING: Final = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
)  # fmt: skip
"""Cells that mean "nothing": the list of pandas 1.5.3 (later ones add `None`, a text here)."""

_SPACE = " \t\n\v\f\r"
_INTEGER = re.compile(rf"[{_SPACE}]*([+-]?[0-9]+)[{_SPACE}]*")
_REAL = re.compile(
    rf"[{_SPACE}]*+([+-]?)([0-9]*+)(?:\.([0-9]*+))?(?:[eE]([+-]?[0-9]{{1,17}}))?[{_SPACE}]*+"
)
_INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
_TRUTH: Final = {"true": True, "false": False}
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)
_EXACT: Final = 15
_DIGITS: Final = 17
_LARGEST: Final = 308
_BATCH: Final = 256
_QUOTED: Final = "\0"
"""Stands for a piece in quotes, where a text is read in one pass."""

ColumnType = Literal["text", "integer", "integer or blank", "real", "truth"]
"""What a whole column is. Integers among blanks are real numbers, read as integers first."""

T = TypeVar("T")

_csv_lock = threading.Lock()


@dataclass(frozen=True)
class TaskTable:
    """A table as read: texts, column by column, and what had to be mended on the way."""

    columns: dict[str, list[str]]
    """Column name to its cells, in file order."""
    remarks: tuple[str, ...] = ()
    regular: bool = False
    """Whether the file is UTF-8 with rows as `read_plain` takes them, each for `cut_row`."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def decode(data: bytes) -> tuple[str, str | None]:
    """The text of a file and, where it is not plain UTF-8, a remark. A BOM is kept."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16"), "is UTF-16, not UTF-8"
        except UnicodeDecodeError:
            pass
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        where = f"byte {error.start:,}"
    try:
        return data.decode("cp1252"), f"is not UTF-8 ({where}): read as Windows-1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), f"is not UTF-8 ({where}): read as Latin-1"


def _text(data: bytes) -> tuple[str, str | None]:
    """As `decode`, without a BOM."""
    if data.startswith(codecs.BOM_UTF8):
        # Left out before decoding: with it, every character of the text would take two bytes.
        try:
            return data[len(codecs.BOM_UTF8) :].decode("utf-8"), None
        except UnicodeDecodeError:
            pass
    text, remark = decode(data)
    return text.removeprefix("\ufeff"), remark


def read_table(data: bytes) -> TaskTable:
    """Read the bytes of a CSV file: commas, quotes doubled inside quotes, a header first.

    Rows that are too short are filled with blanks. Rows that are too long, a quote that never
    ends, no header, no row, or a cell beyond `CELL_LIMIT` is a `TaskError` whose message follows
    the name of the file.
    """
    text, remark = _text(data)
    remarks = [remark] if remark else []
    if "\0" in text:
        remarks.append(f"has {text.count(chr(0)):,} NUL characters: left out")
        text = text.replace("\0", "")
    plain = _plain(text)
    if plain is not None and (len(text) <= CELL_LIMIT or _within_limit(plain[1])):
        columns = dict(zip(_unique_names(plain[0]), plain[1], strict=True))
        return TaskTable(columns, tuple(remarks), regular=not remarks)
    rows = _rows(text)
    header = next(rows, None)
    if header is None:
        raise TaskError("is empty: expected a header and rows.")
    names = _unique_names(header[1])
    width = len(names)
    cells: list[list[str]] = []
    short = 0
    for line, row in rows:
        if len(row) > width:
            if any(row[width:]):
                raise TaskError(
                    f"has {len(row)} cells in the row that ends in line {line:,}, "
                    f"where the header has {width}."
                )
            del row[width:]
        elif len(row) < width:
            short += 1
            row += [""] * (width - len(row))
        cells.append(row)
    if not cells:
        raise TaskError("has a header but no rows.")
    if short:
        remarks.append(f"has {short:,} rows shorter than the header: filled with blanks")
    columns = dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))
    return TaskTable(columns, tuple(remarks))


def read_plain(text: str) -> tuple[list[str], list[list[str]]] | None:
    """The header and the columns below it, read in a few passes; None where it is not regular.

    The `csv` module looks at every character. Almost every table is regular, though: a header of
    two cells or more, at least one row, equally many cells in every row, and quotes only around
    whole cells. Such a text is cut at its quotes; what stands outside of them, with a mark for
    each piece inside, is cut at line ends and commas; and the pieces are put back. A text that is
    not regular is left to `csv`. Lines that are blank are no rows.
    """
    return None if _QUOTED in text else _plain(text)


def _plain(text: str) -> tuple[list[str], list[list[str]]] | None:
    """As `read_plain`, of a text without the mark."""
    pieces = text.split('"')
    if len(pieces) % 2 == 0:
        return None
    outline = _QUOTED.join(pieces[0::2])
    if "\r" in outline:
        outline = outline.replace("\r\n", "\n").replace("\r", "\n")
    lines = [line for line in outline.split("\n") if line and not line.isspace()]
    if len(lines) < 2:
        return None
    commas = lines[0].count(",")
    if not commas or set(map(str.count, lines, itertools.repeat(","))) != {commas}:
        return None
    cells = _filled(",".join(lines).split(","), pieces[1::2])
    if cells is None:
        return None
    width = commas + 1
    return cells[:width], [cells[place::width] for place in range(width, 2 * width)]


def _within_limit(columns: Sequence[Sequence[str]]) -> bool:
    return all(max(map(len, cells)) <= CELL_LIMIT for cells in columns)


def cut_row(row: str) -> list[str] | None:
    """The cells of one row of a regular text, without its line end; None where it is none."""
    if '"' not in row:
        return row.split(",")
    pieces = row.split('"')
    return _filled(_QUOTED.join(pieces[0::2]).split(","), pieces[1::2])


def _filled(cells: list[str], quoted: list[str]) -> list[str] | None:
    """Every mark replaced by its piece; None where a cell is only partly in quotes."""
    if not quoted:
        return cells
    pieces = iter(quoted)
    take = pieces.__next__
    irregular = False

    def joined(cell: str) -> str:
        # Several pieces side by side: the quotes between them were doubled, and mean one.
        nonlocal irregular
        if cell.strip(_QUOTED):
            irregular = True
        return '"'.join(itertools.islice(pieces, cell.count(_QUOTED)))

    filled = [
        cell if _QUOTED not in cell else take() if cell == _QUOTED else joined(cell)
        for cell in cells
    ]
    return None if irregular else filled


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the number of its last line."""
    # A last line of our own: if it does not come out as a row, a quote was left open.
    end = "\0end"
    lines = itertools.chain(io.StringIO(text, newline=""), [end])
    reader = csv.reader(lines)
    before: list[str] = []
    while True:
        # The limit is the process's; other readers of CSV get theirs back at once.
        with _csv_lock:
            usual = csv.field_size_limit(CELL_LIMIT)
            try:
                rows = [(reader.line_num, row) for row in itertools.islice(reader, _BATCH)]
            except csv.Error:
                raise TaskError(
                    f"has a cell of more than {CELL_LIMIT:,} characters near line "
                    f"{reader.line_num:,} (is a quote left open?)."
                ) from None
            finally:
                csv.field_size_limit(usual)
        for line, row in rows:
            before = row
            # As pandas: a line of nothing but blanks is no row.
            if row and row != [end] and not (len(row) == 1 and row[0].isspace()):
                yield line, row
        if len(rows) < _BATCH:
            break
    if before != [end]:
        raise TaskError("ends inside a quoted cell: a quote is never closed.")


def _unique_names(header: Sequence[str]) -> list[str]:
    """Column names as pandas makes them: blanks and repetitions get names of their own."""
    named = [name or f"Unnamed: {place}" for place, name in enumerate(header)]
    names_in_use = set(named)
    seen: dict[str, int] = {}
    names: list[str] = []
    for name in named:
        count = seen.get(name, 0)
        unique = name
        while count and (unique := f"{name}.{count}") in names_in_use:
            count += 1
        seen[name] = count + 1
        names_in_use.add(unique)
        names.append(unique)
    return names


class ColumnMeaning(NamedTuple):
    """What a column is, and what its cells mean."""

    type: ColumnType
    known: dict[str, Label] | None = None
    """The value of each different cell, in order of appearance; None for a column of texts, where
    every cell that is not missing means itself."""


def infer(cells: Sequence[str]) -> list[Label]:
    """The values of one column, typed by what all of its cells have in common.

    Missing cells are None. All integers: ints, but floats if a cell is missing; all numbers:
    floats; all true or false, in any case: bools; otherwise texts, as they stand. Integers that
    64 bits cannot hold leave the whole column as texts, as in pandas (which then leaves missing
    cells as texts, too, if all integers are below 2**64; here they are None).
    """
    known = meaning(cells).known
    if known is None:
        return [None if cell in MISSING else cell for cell in cells]
    return list(map(known.__getitem__, cells))


def meaning(cells: Sequence[str]) -> ColumnMeaning:
    """The type of a column and the values of its cells; see `infer`."""
    first = next(itertools.filterfalse(MISSING.__contains__, cells), None)
    if first is None:
        return ColumnMeaning("text", dict.fromkeys(cells))
    if _is_text(first):
        return ColumnMeaning("text")
    # A cell that comes again changes nothing, neither what a column is nor where reading stops.
    known: dict[str, Label] = dict.fromkeys(cells)
    present = [cell for cell in known if cell not in MISSING]
    typed = _typed(present, blanks=len(present) < len(known))
    if typed is None:
        return ColumnMeaning("text")
    known.update(zip(present, typed[1], strict=True))
    return ColumnMeaning(typed[0], known)


def _typed(cells: Sequence[str], *, blanks: bool) -> tuple[ColumnType, Sequence[Label]] | None:
    """The type of cells that are not missing, and their values; None for texts."""
    try:
        if (whole := _integers(cells, blanks)) is not None:
            return "integer or blank" if blanks else "integer", whole
    except OverflowError:
        return None
    if (real := _all(_real, cells)) is not None:
        return "real", real
    if (truth := _all(_truth, cells)) is not None:
        return "truth", truth
    return None


def read_cells(cells: Iterable[str], column: ColumnType) -> tuple[Label, ...]:
    """The values of some cells of a column whose type is known, as `infer` has them."""
    if column == "text":
        return tuple([None if cell in MISSING else cell for cell in cells])
    read = _READERS[column]
    return tuple([None if cell in MISSING else read(cell) for cell in cells])


def _is_text(cell: str) -> bool:
    """Whether a column that begins with this cell cannot be anything but texts."""
    return _INTEGER.match(cell) is None and _real(cell) is None and _truth(cell) is None


def written(value: Label) -> str:
    """The text pandas writes for a value: what stands in the next table, and in a page."""
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else repr(value)


def _integers(cells: Sequence[str], blanks: bool) -> Sequence[Label] | None:
    """None where a cell is no integer; OverflowError where pandas gives up on numbers."""
    whole: list[int] = []
    wide = False
    for cell in cells:
        match = _INTEGER.match(cell)
        if match is None:
            return None
        # An early stop, as pandas reads: an overlong number counts even before odd characters.
        number = int(match[1]) if len(match[1]) <= 4000 else 10**4000
        if number not in _INT64:
            wide = True
        elif match.end() < len(cell) and not wide:
            return None
        if wide:
            return _unsigned(cells, blanks)
        whole.append(number)
    return [float(number) for number in whole] if blanks else whole


def _unsigned(cells: Sequence[str], blanks: bool) -> list[int] | None:
    """Like `_integers`, where some number only fits without a sign."""
    whole: list[int] = []
    signed = False
    for cell in cells:
        if cell.lstrip(_SPACE).startswith("-"):
            signed = True
            continue
        match = _INTEGER.match(cell)
        if match is None:
            return None
        if len(match[1]) > 4000 or int(match[1]) not in _UINT64:
            raise OverflowError
        if match.end() < len(cell):
            return None
        whole.append(int(match[1]))
    if signed or blanks:
        raise OverflowError
    return whole


def _all(read: Callable[[str], T | None], cells: Sequence[str]) -> list[T] | None:
    """What each cell is; None where one is not."""
    values: list[T] = []
    for cell in cells:
        value = read(cell)
        if value is None:
            return None
        values.append(value)
    return values


def _real(cell: str) -> float | None:
    """A number by pandas' own quick routine, whose last digit is not always the nearest.

    It takes 17 digits at most, and scales by a power of ten in one step; a number too large for
    it is no number.
    """
    match = _REAL.fullmatch(cell)
    if match is None:
        infinite = _INFINITE.fullmatch(cell)
        return None if infinite is None else float(infinite[1] + "inf")
    sign, whole, part, power = match.groups()
    part = part or ""
    if power is None and 0 < len(whole) + len(part) <= _EXACT:
        # So few digits and their power of ten are exact: one division gives the nearest.
        return float(cell)
    kept = whole[:_DIGITS]
    decimals = part[: _DIGITS - len(kept)]
    digits = kept + decimals
    if not digits:
        return None
    number = float(int(digits[:_EXACT]))
    for digit in digits[_EXACT:]:
        number = number * 10.0 + int(digit)
    exponent = len(whole) - len(kept) - len(decimals) + int(power or 0)
    if sign == "-":
        number = -number
    if exponent > _LARGEST:
        return None
    if exponent > 0:
        number *= float(f"1e{exponent}")
    elif exponent < -2 * _LARGEST:
        number *= 0.0
    elif exponent < -_LARGEST:
        number = number / float(f"1e{-_LARGEST - exponent}") / 1e308
    else:
        number /= float(f"1e{-exponent}")
    return None if math.isinf(number) else number


def _truth(cell: str) -> bool | None:
    return _TRUTH.get(cell.lower()) if len(cell) < 6 else None


_READERS: Final[Mapping[ColumnType, Callable[[str], Label]]] = {
    "integer": int,
    "integer or blank": lambda cell: float(int(cell)),
    "real": _real,
    "truth": _truth,
}
"""How cells are read of which it is known that they can be."""
