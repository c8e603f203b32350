"""The example of a task folder passes the kit, and runs."""

from pathlib import Path

import pytest
import task_folder as example

from errands.testing import TaskFolderConformance
from errands.turk.tasks.loader import load_tasks


class TestMoods(TaskFolderConformance):
    @pytest.fixture(autouse=True)
    def _written(self, tmp_path: Path) -> None:
        self.place = example.write_tasks(tmp_path)

    def folder(self) -> Path:
        return self.place


def test_it_has_two_pages(tmp_path: Path) -> None:
    [task] = load_tasks(example.write_tasks(tmp_path))
    assert len(task.instances) == 2


def test_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(tmp_path)
    shown = capsys.readouterr().out
    assert "What a fine day!" in shown
    assert "{'mood': 1.0, 'reason': 1.0}" in shown
