"""The example of a task folder is a sound one, and runs."""

from pathlib import Path

import pytest
import task_folder as example

from errands.turk.tasks.loader import load_tasks


def test_its_tasks_are_sound(tmp_path: Path) -> None:
    tasks = load_tasks(str(example.write_tasks(tmp_path)), "all")
    [task] = tasks
    assert len(task.instances) == 2
    assert not [problem for problem in tasks.problems if problem.fatal]


def test_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(tmp_path)
    shown = capsys.readouterr().out
    assert "What a fine day!" in shown
    assert "{'mood': 1.0, 'reason': 1.0}" in shown
