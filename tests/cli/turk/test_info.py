"""`errands turk` as a user types it."""

import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import DataError, SettingError


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(app, ["turk", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status
    return result


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    for name, rows in (("Good", "1,2\n3,4\n3,5\n"), ("Bad [x]", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "template.html").write_text("${a}<input name=b>")
        (tmp_path / name / "batch.csv").write_text(f"a,Answer.b,Answer.c\n{rows}")
    return tmp_path


def test_info_is_a_table(tasks: Path) -> None:
    said = run("info", str(tasks), status=1)
    for text in (
        "fields per task",
        "instances",
        "100.0%",
        "Good",
        "1 answer column has no field",
        "Good: Answer.c",
    ):
        assert text in said.stdout
    assert "Bad [x]: batch.csv has a header but no rows. Left out." in said.stderr
    assert re.search(r"Bad \[x\]\W+left out", said.stdout)
    assert "Every task" not in run("info", str(tasks), "--no-each", status=1).stdout


def test_a_missing_table_is_named_and_no_success(tasks: Path) -> None:
    (tasks / "Bad [x]" / "batch.csv").unlink()
    said = run("info", str(tasks), status=1)
    assert "Bad [x]: batch.csv is missing. Left out." in said.stderr
    assert re.search(r"left out\W+1\b", said.stdout)
    problems = json.loads(run("info", str(tasks), "--json", status=1).stdout)["problems"]
    assert [problem["task"] for problem in problems if problem["fatal"]] == ["Bad [x]"]
    # It is a task of the split train alone.
    (tasks / "splits.json").write_text('{"test": ["Good"]}')
    assert "Left out" not in run("info", str(tasks), "--split", "test").stderr
    run("info", str(tasks), "--split", "train", status=1)


def test_info_as_json(tasks: Path) -> None:
    found = json.loads(run("info", str(tasks), "--json", status=1).stdout)
    assert (found["tasks"], found["instances"], found["answers"]) == (1, 2, 3)
    assert found["types"] == [{"type": "text", "fields": 1, "tasks": 1, "on_pages": 2}]
    assert found["spreads"]["fields per task"]["mean"] == 1
    assert found["each"][0]["name"] == "Good"
    assert found["problems"][0]["task"] == "Bad [x]"


def test_missing_tasks_are_named(tasks: Path) -> None:
    (tasks / "Good").rename(tasks / "Event effect")
    assert (
        "19 tasks of this split are not here" in run("info", str(tasks), "--split", "test").stdout
    )


def test_info_draws(tasks: Path) -> None:
    run("info", str(tasks), "--plot", str(tasks / "plot.svg"), status=1)
    assert (tasks / "plot.svg").read_text().startswith("<svg")
    with pytest.raises(DataError, match="cannot be written"):
        run("info", str(tasks), "--plot", str(tasks / "no" / "plot.svg"))


def test_the_papers_figures(tasks: Path) -> None:
    said = run("info", str(tasks), "--figures", status=1).stdout
    for text in ("Figure 3", "36,200", "15.6", "Table 2", "published place"):
        assert text in said
    found = json.loads(run("info", str(tasks), "--figures", "--json", status=1).stdout)
    measures = {one["measure"]: one["ours"] for one in found["figure_3"]}
    assert (measures["tasks"], measures["instances"], measures["fields per task"]) == (1, 2, 1)
    text = found["table_2"][0]
    assert (text["type"], text["on_pages"], text["place"], text["published_place"]) == (
        *("text", 2, 1, 4),
    )


def test_conditions_are_listed() -> None:
    said = run("conditions").stdout
    for text in ("gpt4-relevant-original", "original-relevant", "T + V", "82,000", "41.7"):
        assert text in said
    rows = [json.loads(line) for line in run("conditions", "--json").stdout.splitlines()]
    assert len(rows) == 12
    by_name = {row["name"]: row for row in rows}
    assert by_name["gpt4v-full"]["settings"]["vision"] is True
    assert by_name["oracle"]["settings"] == {}
    assert {row["protocol"] for row in rows} == {"turk-test"}


def test_mistakes_are_left_to_the_main_command(tasks: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        run("info", str(tasks / "absent"))
    with pytest.raises(SettingError, match="There is no split 'dev'"):
        run("info", str(tasks), "--split", "dev")
