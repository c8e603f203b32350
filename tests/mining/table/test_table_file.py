"""Rows out of files of any kind, damaged ones among them."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.errors import DataError
from errands.mining.table.column_map import ColumnMap
from errands.mining.table.table_file import BadRow, TableFile


def _rows(path: Path, given: ColumnMap | None = None) -> list[Any]:
    return [
        str(row) if isinstance(row, BadRow) else dict(row) for row in TableFile(path, given).rows()
    ]


def _write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", "title,price\nMug,5\n"),
        ("a.csv", '\ufefftitle,price\r\n"Mug","5"\r\n\r\n'),
        ("a.csv", "title;price\nMug;5\n"),
        ("a.csv", "title|price\nMug|5"),
        ("a.tsv", "title\tprice\nMug\t5\n"),
        ("a.csv", "title,price\nMug,5\n".encode("utf-16")),
        ("a.jsonl", '{"title": "Mug", "price": "5"}\n\n'),
        ("a.json", '[{"title": "Mug", "price": "5"}]'),
        ("a.json", '{"title": "Mug", "price": "5"}\n'),
        ("dump", '[{"title": "Mug", "price": "5"}]'),
    ],
)
def test_every_kind_gives_the_same_row(tmp_path: Path, name: str, data: str | bytes) -> None:
    path = _write(tmp_path / name, data)
    assert TableFile(path).header == ("title", "price")
    assert _rows(path) == [{"title": "Mug", "price": "5"}]


@pytest.mark.parametrize(
    "data",
    [
        {"products": [{"title": "Mug"}, {"title": "Jug"}], "total": 2},
        {"status": "ok", "errors": [], "hits": [{"title": "Mug"}, {"title": "Jug"}]},
        {"data": {"x": 1}, "products": {"edges": [{"node": {"title": t}} for t in ("Mug", "Jug")]}},
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_inside_an_object(tmp_path: Path, data: Any, indent: int | None) -> None:
    path = _write(tmp_path / "a.json", json.dumps(data, indent=indent))
    assert _rows(path) == [{"title": "Mug"}, {"title": "Jug"}]


def test_an_object_that_tells_of_itself_is_a_product(tmp_path: Path) -> None:
    mug = {"title": "Mug", "brand": "Zor", "images": [{"src": "a"}, {"src": "b"}]}
    for indent in (None, 1):
        path = _write(tmp_path / "a.json", json.dumps(mug, indent=indent))
        assert _rows(path) == [mug]
    assert TableFile(path).header == ("title", "brand", "images", "images[].src")


def test_a_long_line_of_products(tmp_path: Path) -> None:
    many = {"products": [{"title": f"Mug {n}", "text": "x" * 100} for n in range(1_000)]}
    assert len(_rows(_write(tmp_path / "a.json", json.dumps(many)))) == 1_000
    line = json.dumps({"title": "Mug", "text": "x" * 100_000})
    assert len(_rows(_write(tmp_path / "b.json", f"{line}\n{line}\n"))) == 2


def test_cells_may_hold_breaks_and_delimiters(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", 'title,text\n"a;b","one\ntwo, ""three"""\n')
    assert _rows(path) == [{"title": "a;b", "text": 'one\ntwo, "three"'}]


def test_damaged_rows_have_reasons(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", b"title,price\nA,1,2\nB\nC\xe4,3\nD,4\n")
    assert _rows(path) == [
        "row has more cells than the first line",
        "row has fewer cells than the first line",
        "text is not utf-8-sig: say which it is in the map, [reading] encoding",
        {"title": "D", "price": "4"},
    ]
    assert _rows(path, ColumnMap(columns={}, encoding="latin-1"))[2]["title"] == "Cä"


def test_damaged_lines_have_reasons(tmp_path: Path) -> None:
    lines = [b'{"title": "A"}', b"{broken", b"[1]", b'"x"', b'{"title": "\xff"}', b"[" * 100_000]
    path = _write(tmp_path / "a.jsonl", b"\n".join(lines))
    assert _rows(path) == [
        {"title": "A"},
        "line is not JSON",
        "line is not a JSON object",
        "line is not a JSON object",
        "line is not UTF-8",
        "line is not JSON",
    ]


def test_a_huge_cell_is_read(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", f"title,text\nA,{'x' * 1_000_000}\n")
    assert len(_rows(path)[0]["text"]) == 1_000_000


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", " \n\n", "is empty"),
        ("a.csv", "a,b,a\n1,2,3\n", "two columns 'a'"),
        ("a.csv", ",,\n1,2,3\n", "no names of columns"),
        ("a.csv", b"n\xe4me,price\n", r'encoding = "cp1252"'),
        ("a.csv", b"PK\x03\x04\x00\x00", "not a text file"),
        ("a.json", "[1, 2]", "holds no JSON objects"),
        ("a.json", "[{]", "is not the JSON file"),
        ("a.json", "nonsense", "is not the JSON file"),
        ("a.jsonl", "x\ny\n", "holds no JSON objects"),
    ],
)
def test_files_of_which_nothing_can_be_made(
    tmp_path: Path, name: str, data: str | bytes, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        TableFile(_write(tmp_path / name, data))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "punycode"])
def test_another_encoding_than_the_map_says(tmp_path: Path, encoding: str) -> None:
    path = _write(tmp_path / "a.csv", "title,price\nMüg,5\n")
    with pytest.raises(DataError, match=f"is not {encoding}"):
        _rows(path, ColumnMap(columns={}, encoding=encoding))


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", 'title\n"' + "x\n" * 9_000_000)
    with pytest.raises(DataError, match="a quote that is not closed"):
        _rows(path)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            TableFile(path)


def test_progress_comes_to_an_end(tmp_path: Path) -> None:
    data = "\n".join(["title", *(f"row {number}" for number in range(5_000))])
    told: list[tuple[int, int]] = []
    path = _write(tmp_path / "a.csv", data)
    rows = TableFile(path, progress=lambda done, total: told.append((done, total))).rows()
    assert sum(1 for _ in rows) == 5_000
    assert told
    assert all(0 < done <= total == len(data) for done, total in told)
    lines = _write(tmp_path / "a.jsonl", "\n".join(json.dumps({"a": n}) for n in range(2_000)))
    told.clear()
    assert (
        sum(1 for _ in TableFile(lines, progress=lambda d, t: told.append((d, t))).rows()) == 2_000
    )
    assert told
