"""The items file in pieces: all records, once, in order, and the checksum of the file."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from errands.errors import DataError
from errands.shop.build import items_file
from errands.shop.build.items_file import ItemsFile, complain, read_piece
from errands.shop.build.json_scan import MalformedJson

RECORDS: list[Any] = [{"asin": f"B{number}", "x": "é, ]" * (number % 7)} for number in range(50)]


@pytest.mark.parametrize("records", [1, 7, 50, 1000])
@pytest.mark.parametrize("block", [16, 1 << 22])
def test_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: int, block: int) -> None:
    monkeypatch.setattr(items_file, "BLOCK", block)
    path = tmp_path / "items.json"
    path.write_text(json.dumps(RECORDS, ensure_ascii=False, indent=1))
    seen: list[int] = []
    file = ItemsFile(path, seen.append)
    pieces = list(file.pieces(records))
    read = [read_piece(path, piece) for piece in pieces]
    assert [len(held) for held in read[:-1]] == [records] * (len(read) - 1)
    assert [record for held in read for record in held] == RECORDS
    assert file.bytes == seen[-1] == path.stat().st_size
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_json_takes_and_the_fast_decoder_does_not(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_bytes(
        rb'[{"a": NaN, "b": 1e999, "c": "x\ud800y", "d": "\ud83d\ude00",'
        rb' "a": 123456789012345678901},'
        rb' "\\ud800"]'
    )
    (piece,) = ItemsFile(path).pieces()
    assert read_piece(path, piece) == [
        {"a": 123456789012345678901, "b": float("inf"), "c": "x\ufffdy", "d": "\U0001f600"},
        "\\ud800",
    ]


def test_a_broken_record_is_found_by_whoever_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text('[{"a": 1}, {"b" 2}]')
    (piece,) = ItemsFile(path).pieces()
    with pytest.raises(MalformedJson):
        read_piece(path, piece)
    with pytest.raises(DataError, match=r"items\.json is not .* at character 16\."):
        complain(path)


def test_a_file_that_is_cut_off_has_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text('[{"a": 1}, {"b": 2')
    with pytest.raises(DataError, match="at character 18"):
        list(ItemsFile(path).pieces())


def test_a_file_that_is_right_by_now_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text("[1]")
    with pytest.raises(DataError, match="changed while it was read"):
        complain(path)
