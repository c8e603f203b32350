"""`errands experiment nouns` as a user types it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import DataError

RECORD = {
    "asin": "B000000001",
    "name": "Oak Table Lamp",
    "full_description": "",
    "small_description": [],
    "customization_options": {},
    "category": "garden",
    "query": "lamp",
    "product_category": "Home › Light",
    "images": ["a.jpg"],
}


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.json"
    second = {**RECORD, "asin": "B000000002", "name": "Oak Chair"}
    path.write_text(json.dumps([RECORD, RECORD, {"asin": "broken"}, second]))
    return path


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["experiment", "nouns", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_it_prints_two_tables(items: Path) -> None:
    text = _run("--items", str(items))
    assert "sneakers" in text
    assert "Ordered pairs of 2 products" in text


def test_it_as_json_with_a_nouns_file(items: Path, tmp_path: Path) -> None:
    nouns = tmp_path / "mine.json"
    nouns.write_text('{"B000000001": ["lamp"], "B000000002": ["chair"]}')
    answer = json.loads(_run("--items", str(items), "--nouns", str(nouns), "--json"))
    assert answer["products"] == 2
    assert [row["got"] for row in answer["expectations"][:1]] == [pytest.approx(1 / 3)]
    assert {row["change"] for row in answer["shares"]} >= {"lexicon-1 → mine.json"}


def test_it_stops_at_the_limit(items: Path) -> None:
    answer = json.loads(_run("--items", str(items), "--limit", "2", "--json"))
    assert answer["products"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("{}", "not a list of product records"),
        ("[]", "fewer than two usable products"),
    ],
)
def test_it_refuses_a_wrong_items_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "items.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        _run("--items", str(path))


def test_it_names_a_missing_items_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Cannot read the items file"):
        _run("--items", str(tmp_path / "gone.json"))
