"""Predictions made elsewhere, and the oracle's own, scored alike."""

import json
from pathlib import Path

import pytest

from errands.errors import DataError
from errands.turk.drivers import Pages
from errands.turk.oracle.predictions import oracle_lines, read_predictions, score_prediction
from errands.turk.scoring.instance_score import instance_figure
from errands.turk.tasks.loader import load_tasks


def write(folder: Path, *lines: object) -> Path:
    path = folder / "predictions.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(texts))
    return path


def test_the_oracles_lines_score_in_full(tmp_path: Path) -> None:
    tasks = load_tasks("demo", "train")
    pages = Pages("dom")
    lines = [line for line in oracle_lines(tasks, pages, 1) if "Quiz From" not in line]
    path = write(tmp_path, *lines)
    for prediction in read_predictions(path):
        scored = score_prediction(prediction, tasks, pages)
        assert scored.error is None
        assert scored.failed_actions == 0
        assert instance_figure(scored.fields, "released", ranges_count_as_one=True) == 1.0


def test_answers_are_scored_as_if_the_page_held_them(tmp_path: Path) -> None:
    tasks = load_tasks("demo")
    task = tasks.task("Synonym Swap")
    instance = task.instances[0]
    answers = {name: next((str(a) for a in given if a is not None), "")
               for name, given in instance.labels.items()}  # fmt: skip
    path = write(
        tmp_path,
        {"task": task.name, "row": 0, "answers": answers},
        {"task": task.name, "row": 0, "answers": {}},
        {"task": task.name, "row": 999, "answers": {}},
        {"task": "No Such Task", "row": 0, "actions": "submit()"},
        {"task": task.name, "row": 0, "actions": ["nonsense", "modify_text('nowhere', 'x')"]},
    )
    good, empty, row, name, failing = (
        score_prediction(line, tasks, Pages("dom")) for line in read_predictions(path)
    )
    assert instance_figure(good.fields, "paper") == 1.0
    assert instance_figure(empty.fields, "paper") == 0.0
    assert row.error == "there is no row 999"
    assert "No Such Task" in str(name.error)
    assert failing.failed_actions == 2


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "Line 1"),
        ("[]", "Line 1"),
        ('{"task": "x"}', "Line 1"),
        ('{"task": "x", "row": 1}', "neither"),
        ('{"task": "x", "row": 1, "answers": {}, "actions": ""}', "both"),
    ],
)
def test_bad_lines_are_one_sentence(tmp_path: Path, line: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        list(read_predictions(write(tmp_path, line)))


def test_missing_files_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(read_predictions(tmp_path / "absent"))
