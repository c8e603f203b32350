"""Files beside the items: looked up by asin, never loaded; the same errors as a slow reading."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from errands.errors import DataError
from errands.shop.build import side_file
from errands.shop.build.side_file import scan_nouns, scan_side


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "side.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("block", [5, 64, 1 << 22])
def test_values_are_found_by_asin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(side_file, "BLOCK", block)
    held: dict[str, Any] = {f"B{number:05}": {"n": number} for number in range(300)}
    held |= {"é" * 10: ["umlaut"], "x" * 41: "too long", "": 0, "nul\0": 1, "B\u20ac": None}
    path = write(tmp_path, json.dumps(held, indent=1))
    side, source = scan_side(path, tmp_path / "table")
    side = pickle.loads(pickle.dumps(side))
    asked = ["B00007", "nothing", "é" * 10, "B00299", "B\u20ac", "B00000", "x" * 41, "y" * 10**6]
    assert side.find(asked) == [
        {"n": 7}, None, ["umlaut"], {"n": 299}, None, {"n": 0}, None, None,
    ]  # fmt: skip
    assert side.find([]) == []
    assert source.bytes == path.stat().st_size
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_of_equal_names_the_last_counts(tmp_path: Path) -> None:
    path = write(tmp_path, r'{"B1": 1, "B2": NaN, "\u00421": 2, "B\ud800": "\udfff", "B3": 3}')
    side, _ = scan_side(path, tmp_path / "table")
    found = side.find(["B1", "B2", "B\ufffd", "B3", "B4"])
    assert found[0] == 2
    assert found[1] != found[1]
    assert found[2:] == ["\ufffd", 3, None]


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    side, _ = scan_side(write(tmp_path, "\ufeff{}"), tmp_path / "table")
    assert side.find(["B1"]) == [None]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "at character 0"),
        ('{"a": 1,}', "at character 8"),
        ('{"unknown": tru}', "at character 12"),
        (b'{"unknown": "\xff"}', "byte 13 is not UTF-8"),
        ('{"unknown": {"a": 01}}', "at character"),
        ('{"a\\q": 1}', "at character"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, text: str | bytes, complaint: str
) -> None:
    with pytest.raises(DataError, match=rf"side\.json is not the JSON file .*{complaint}"):
        scan_side(write(tmp_path, text), tmp_path / "table")


def test_nouns(tmp_path: Path) -> None:
    side, _ = scan_nouns(write(tmp_path, '{"B1": ["Lamp"], "B2": []}'), tmp_path / "table")
    assert side.find(["B1", "B2", "B3"]) == [["Lamp"], [], None]


@pytest.mark.parametrize("text", ["[]", '{"B1": "lamp"}', '{"B1": [1]}', "{", '{"a": [NaN]}'])
def test_what_is_no_nouns_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="is not a nouns file"):
        scan_nouns(write(tmp_path, text), tmp_path / "table")


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path, '{"B1": {"a": 1}}')
    side, _ = scan_side(path, tmp_path / "table")
    path.write_text('{"B1": {"a')
    with pytest.raises(DataError, match="changed while it was read"):
        side.find(["B1"])
