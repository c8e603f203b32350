"""Demonstrations that are the same in every run."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from errands.agents.llm.settings import TurkSettings
from errands.agents.llm.turk.demonstration_lists import (
    demonstration_lists,
    list_for,
    listed_demonstrations,
)
from errands.agents.llm.turk.demonstrations import Demonstration, DemonstrationStyle
from errands.errors import DataError, SettingError
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

TASKS = Path(__file__).resolve().parents[5] / "shared" / "data" / "turkingbench" / "tasks"
PLAIN = DemonstrationStyle()


def tasks_of(name: str) -> TaskSet:
    if name == "demo-1":
        return load_tasks("demo", "test")
    if not TASKS.is_dir():
        pytest.skip(f"{TASKS} is absent: TurkingBench's own tasks are not here")
    return load_tasks(TASKS, "test")


def instance_of(tasks: TaskSet, example: Demonstration) -> tuple[Task, Instance]:
    task = load_tasks(tasks.place, "train").task(example.task)
    return task, task.instances[example.row]


@pytest.mark.parametrize("name", demonstration_lists())
def test_every_one_is_on_its_page_and_unanswered(name: str) -> None:
    tasks = tasks_of(name)
    chosen = demonstration_lists()[name]
    made = listed_demonstrations(chosen, tasks, count=9, style=PLAIN)
    assert [(one.task, one.row, one.blank.name, one.blank.type) for one in made] == [
        (one.task, one.row, one.field, one.type) for one in chosen.fields
    ]
    assert len({one.task for one in made}) == 9
    for one in made:
        assert tasks.splits.of(one.task) == "train"
        assert one.actions == (one.answer,)
        _, instance = instance_of(tasks, one)
        value = str(one.answer.arguments["value"])
        assert any(str(label).startswith(value[:3]) for label in instance.labels[one.blank.name])
        own = re.findall(rf'<[^>]*name="{re.escape(one.blank.name)}"[^>]*>', one.form.html)
        assert own
        assert not any(re.search(r"\schecked\b", tag) for tag in own)
        if one.answer.name == "modify_text":
            assert f">{value}</textarea>" not in one.form.html
            assert not any(f'value="{value}"' in tag for tag in own)


def test_the_first_so_many_are_taken() -> None:
    tasks = tasks_of("demo-1")
    chosen = list_for("fixed", tasks)
    whole = listed_demonstrations(chosen, tasks, count=9, style=PLAIN)
    for count in range(8):
        assert listed_demonstrations(chosen, tasks, count=count, style=PLAIN) == whole[:count]


def test_fixed_is_the_list_of_the_tasks_that_are_played(tmp_path: Path) -> None:
    assert list_for("fixed", load_tasks("demo", "test")).name == "demo-1"
    assert list_for("fixed", own_tasks(tmp_path)).name == "turkingbench-1"
    assert list_for("demo-1", own_tasks(tmp_path)).name == "demo-1"
    names = msgspec.json.schema(TurkSettings)["$defs"]["TurkSettings"]["properties"]["demo_list"]
    assert set(names["enum"]) == {"drawn", "fixed", *demonstration_lists()}


def test_the_demo_tasks_may_be_shown_for_tasks_of_ones_own(tmp_path: Path) -> None:
    tasks = own_tasks(tmp_path, "Mine")
    made = listed_demonstrations(demonstration_lists()["demo-1"], tasks, count=2, style=PLAIN)
    assert [one.task for one in made] == ["Cat or Committee", "Plant Doctor"]


def test_all_fields_of_a_page_and_the_page_as_served() -> None:
    tasks = tasks_of("demo-1")
    style = DemonstrationStyle(whole=True, served=True)
    for one in listed_demonstrations(list_for("fixed", tasks), tasks, count=9, style=style):
        assert len(one.actions) >= 1
        assert one.answer in one.actions
        assert one.form.html == page_html(*instance_of(tasks, one), mojibake=True)


def own_tasks(place: Path, *names: str, template: str = "${a}<input name=b>") -> TaskSet:
    for name in names or ("Question Typing",):
        folder = place / name
        folder.mkdir(exist_ok=True)
        (folder / "template.html").write_text(template)
        (folder / "batch.csv").write_text("a,Answer.b,Answer.q1-time\nx,y,q1-time\n")
    return load_tasks(place, "test")


@pytest.mark.parametrize(
    "template", ["${a}<input name=b>", "${a}<input type=checkbox name=q1-time>"]
)
def test_other_data_under_the_same_name_is_an_error(tmp_path: Path, template: str) -> None:
    tasks = own_tasks(tmp_path, template=template)
    with pytest.raises(DataError, match="has another page or another answer there"):
        show("turkingbench-1", tasks, 1)


def test_absent_tasks_are_named(tmp_path: Path) -> None:
    tasks = own_tasks(tmp_path, "Mine")
    with pytest.raises(SettingError, match=r"'Question Typing', which .* has not: take demo_list"):
        show("turkingbench-1", tasks, 1)


def test_a_task_that_is_tested_is_not_shown() -> None:
    with pytest.raises(SettingError, match="show the task 'Cat or Committee', which is being"):
        show("demo-1", load_tasks("demo"), 1)
    assert show("demo-1", load_tasks("demo"), 0) == []


def test_more_than_there_are_is_an_error() -> None:
    with pytest.raises(SettingError, match="the list demo-1 has 9 demonstrations"):
        show("demo-1", load_tasks("demo", "test"), 10)


def show(name: str, tasks: TaskSet, count: int) -> list[Demonstration]:
    return listed_demonstrations(demonstration_lists()[name], tasks, count=count, style=PLAIN)


@pytest.mark.parametrize("scrolled", [False, True])
def test_pictures(browser_driver: Any, scrolled: bool) -> None:
    tasks = tasks_of("demo-1")
    style = DemonstrationStyle(shrink=2.11, scrolled=scrolled)
    made = listed_demonstrations(list_for("fixed", tasks), tasks, count=2, style=style)
    plain = listed_demonstrations(list_for("fixed", tasks), tasks, count=2, style=PLAIN)
    assert all((one.form.picture or "").startswith("data:image/png;base64,") for one in made)
    bare = [msgspec.structs.replace(one, form=one.form._replace(picture=None)) for one in made]
    assert bare == plain
