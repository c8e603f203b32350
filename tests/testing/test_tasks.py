"""The demo's tasks pass the kit, and folders with one defect each do not."""

import shutil
from importlib import resources
from pathlib import Path

import pytest
from kits import failures

from errands.testing import TaskFolderConformance


class TestDemo(TaskFolderConformance):
    """Without those tasks whose scripts make or fill in fields, for which it takes a browser."""

    @pytest.fixture(autouse=True)
    def _copy(self, tmp_path: Path) -> None:
        with resources.as_file(resources.files("errands.turk") / "demo") as demo:
            for template in demo.glob("*/template.html"):
                if "<script" not in template.read_text(encoding="utf-8"):
                    shutil.copytree(template.parent, tmp_path / template.parent.name)
        self.place = tmp_path

    def folder(self) -> Path:
        return self.place


TEMPLATE = """<p>${sentence}</p>
<label><input type="radio" name="mood" value="glad"> glad</label>
<label><input type="radio" name="mood" value="sad"> sad</label>
<label>Why? <input type="text" name="reason"></label>
"""
BATCH = """sentence,Answer.mood,Answer.reason
What a fine day!,glad,a fine day
My tea is cold.,sad,cold tea
"""


class ToyKit(TaskFolderConformance):
    def __init__(self, folder: Path, template: str = TEMPLATE, batch: str = BATCH) -> None:
        self.place = folder
        task = folder / "moods"
        task.mkdir()
        (task / "template.html").write_text(template, encoding="utf-8")
        (task / "batch.csv").write_text(batch, encoding="utf-8")

    def folder(self) -> Path:
        return self.place


def test_a_sound_folder_passes(tmp_path: Path) -> None:
    assert failures(ToyKit(tmp_path)) == set()


@pytest.mark.parametrize(
    ("template", "batch", "failure"),
    [
        ("", BATCH, "every_folder_is_a_task"),
        (TEMPLATE, "", "every_folder_is_a_task"),
        (TEMPLATE + "${word}", BATCH, "nothing_has_to_be_mended"),
        (TEMPLATE, BATCH.replace("Answer.", ""), "nothing_has_to_be_mended"),
        (TEMPLATE.replace("${sentence}", ""), BATCH, "pages_of_a_task_differ"),
        (TEMPLATE.replace("${sentence}", "$ {sentence}"), BATCH, "pages_of_a_task_differ"),
        (TEMPLATE, BATCH.replace("My tea", "${sentence}"), "inputs_are_filled_in"),
        (TEMPLATE.replace('"reason"', '"why"'), BATCH, "every_answer_has_a_field"),
        (TEMPLATE.replace('"sad"', '"unhappy"'), BATCH, "answers_can_be_given"),
        (TEMPLATE.replace("<label", "<label hidden"), BATCH, "answers_can_be_given"),
        (TEMPLATE.replace("<label", "<label hidden"), BATCH, "an_environment_plays_it"),
        (
            '${sentence} <input type="text" name="mood" value="glad">',
            "sentence,Answer.mood\nHurray!,glad\nWell.,glad\n",
            "pages_are_not_answered_already",
        ),
    ],
)
def test_a_broken_folder_fails(tmp_path: Path, template: str, batch: str, failure: str) -> None:
    assert failure in failures(ToyKit(tmp_path, template, batch))


def test_half_a_task_is_told(tmp_path: Path) -> None:
    kit = ToyKit(tmp_path)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "template.html").write_text(TEMPLATE)
    assert failures(kit) == {"every_folder_is_a_task"}


def test_columns_that_need_no_field(tmp_path: Path) -> None:
    kit = ToyKit(tmp_path, TEMPLATE.replace('"reason"', '"why"'))
    kit.unplaced = frozenset({"reason"})
    assert failures(kit) == set()
