"""Folders become tasks; broken ones are said and do not stop the others."""

import csv
import gc
import json
import weakref
from pathlib import Path
from typing import Any

import pytest
from effort import effort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from errands.errors import SettingError, TaskError
from errands.turk.tasks.loader import DEMO, TaskProblem, TaskSet, load_tasks
from errands.turk.tasks.splits import turkingbench
from errands.turk.tasks.task import Label, Task

SHARED = Path(__file__).resolve().parents[4] / "shared"
TASKS = SHARED / "data" / "turkingbench" / "tasks"
RECORDED = SHARED / "fixtures" / "turkingbench"
TEMPLATE = '<p>${text}</p><input name="q"><input type="radio" name="r" value="1">'
BATCH = "Title,text,Answer.q,Answer.r\nT,one,a,1\nT,two,b,\nT,one,,2\n"


def make(folder: Path, template: str | bytes = TEMPLATE, batch: str | bytes = BATCH) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, held in (("template.html", template), ("batch.csv", batch)):
        (folder / name).write_bytes(held.encode() if isinstance(held, str) else held)
    return folder


def load_task(folder: Path) -> Task:
    return load_tasks(folder).task(folder.name)


def test_a_task(tmp_path: Path) -> None:
    task = load_task(make(tmp_path / "A task"))
    assert (task.name, task.fields) == ("A task", ("q", "r"))
    one, two = task.instances
    assert (one.row, dict(one.inputs)) == (0, {"Title": "T", "text": "one"})
    assert one.labels == {"q": ("a", None), "r": (1.0, 2.0)}
    assert two.labels == {"q": ("b",), "r": (None,)}
    assert one.id.startswith("A task/0/")
    assert one.id != two.id


def test_inputs_are_written_as_the_original_wrote_them(tmp_path: Path) -> None:
    batch = 'n,f,b,t,e,Answer.q\n1,0.10,true,"a\r\nb\rc",NA,x\n,1e-7,FALSE,007,,y\n'
    first, second = load_task(make(tmp_path / "t", batch=batch)).instances
    assert dict(first.inputs) == {"n": "1.0", "f": "0.1", "b": "True", "t": "a\nb\nc", "e": ""}
    assert dict(second.inputs) == {"n": "", "f": "1e-07", "b": "False", "t": "007", "e": ""}


def test_equal_numbers_are_one_instance(tmp_path: Path) -> None:
    task = load_task(make(tmp_path / "t", batch="n,Answer.q\n1,a\n1.0,b\n2,c\n"))
    assert [instance.labels["q"] for instance in task.instances] == [("a", "b"), ("c",)]


def test_bookkeeping_is_no_input(tmp_path: Path) -> None:
    batch = "HITId,WorkerId,text,Answer.q\nh,w1,x,1\nh,w2,x,2\n"
    (instance,) = load_task(make(tmp_path / "t", batch=batch)).instances
    assert list(instance.inputs) == ["text"]
    both = load_task(make(tmp_path / "u", "<p>${WorkerId} ${text}</p>", batch))
    assert len(both.instances) == 2


def test_only_answers(tmp_path: Path) -> None:
    (instance,) = load_task(make(tmp_path / "t", batch="Answer.q\n1\n2\n")).instances
    assert instance.labels == {"q": (1, 2)}
    assert instance.inputs == {}


@pytest.mark.parametrize(
    ("template", "batch", "message"),
    [
        (" \n", BATCH, "template.html is empty"),
        (TEMPLATE, "", "batch.csv is empty"),
        (TEMPLATE, "a,Answer.b\n", "batch.csv has a header but no rows"),
        (TEMPLATE, "a\n1,2\n", "batch.csv has 2 cells"),
    ],
)
def test_a_broken_task_is_one_sentence(
    tmp_path: Path, template: str, batch: str, message: str
) -> None:
    folder = make(tmp_path / "Bad", template, batch)
    with pytest.raises(TaskError, match=f"The task 'Bad' cannot be used: {message}"):
        load_task(folder)


def test_absent_files_are_said(tmp_path: Path) -> None:
    (tmp_path / "batch.csv").write_text(BATCH)
    with pytest.raises(TaskError, match=r"template\.html cannot be read: No such file"):
        load_task(tmp_path)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    tree = tmp_path / "set" / "tasks"
    make(tree / "Good")
    make(tree / "Also good", TEMPLATE.encode() + b"\xe9", "x,Answer.q\n1,2\n")
    make(tree / "Broken", batch='a\n"')
    make(tree / ".hidden")
    make(tree / "old batch-1")
    (tree / "Nothing").mkdir()
    (tree / "Half").mkdir()
    (tree / "Half" / "template.html").write_text("x")
    (tree / "Good" / ".~lock.batch.csv#").write_text("x")
    (tree / "notes.txt").write_text("x")
    return tree


def test_broken_tasks_do_not_stop_the_rest(mixed: Path) -> None:
    tasks = load_tasks(mixed)
    assert tasks.names == ("Also good", "Broken", "Good")
    assert tasks.problems == (TaskProblem("Half", "batch.csv is missing."),)
    assert [task.name for task in tasks] == ["Also good", "Good"]
    assert [task.name for task in tasks] == ["Also good", "Good"]
    said = {(problem.task, problem.fatal) for problem in tasks.problems}
    assert said == {("Half", True), ("Broken", True), ("Also good", False)}
    assert [problem.message for problem in tasks.problems if problem.task == "Also good"] == [
        "template.html is not UTF-8 (byte 69): read as Windows-1252.",
        "template.html has ${text}, for which batch.csv has no column.",
    ]
    with pytest.raises(TaskError, match="'Broken' cannot be used"):
        tasks.task("Broken")
    with pytest.raises(TaskError, match="no task 'Half' in the split 'all'"):
        tasks.task("Half")
    assert len(tasks) == 3
    assert "Good" in tasks
    assert "Half" not in tasks
    assert tasks.missing == ()
    assert tasks.split_of("Good") == "train"
    assert str(mixed) in repr(tasks)


def test_a_place_may_be_the_folder_its_parent_or_a_task(mixed: Path) -> None:
    whole = load_tasks(mixed).names
    assert load_tasks(mixed.parent).names == whole
    assert load_tasks(str(mixed.parent)).names == whole
    single = load_tasks(mixed / "Good")
    assert single.names == ("Good",)
    assert single.task("Good").instances[0].task == "Good"


def test_a_task_is_read_once_and_few_are_kept(tmp_path: Path) -> None:
    for number in range(9):
        make(tmp_path / f"t{number}")
    tasks = load_tasks(tmp_path)
    assert tasks.task("t3") is tasks.task("t3")
    # Memory stays flat: earlier tasks are given up.
    seen = [weakref.ref(task) for task in tasks]
    gc.collect()
    assert len(seen) == 9
    assert sum(held() is not None for held in seen) == 4


def test_a_place_without_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match="has no tasks: expected folders"):
        load_tasks(tmp_path)
    with pytest.raises(TaskError, match="There is no folder"):
        load_tasks(tmp_path / "absent")
    with pytest.raises(TaskError):
        load_tasks("bad\0name")
    with pytest.raises(TaskError, match="run `errands data turkingbench`"):
        load_tasks("turkingbench")
    make(tmp_path / "home" / "data" / "turkingbench" / "tasks" / "One")
    assert load_tasks("turkingbench").names == ("One",)
    with pytest.raises(SettingError, match="did you mean 'test'"):
        load_tasks("turkingbench", "tests")


@settings(max_examples=effort(40, 150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(min_size=1, max_size=80),
    st.one_of(
        st.binary(max_size=80),
        st.text(alphabet='a,"\n\r\0é1.', max_size=60).map(
            lambda text: f"Answer.x,y\n{text}".encode()
        ),
    ),
)
def test_garbage_is_a_task_or_a_task_error(tmp_path: Path, template: bytes, batch: bytes) -> None:
    folder = make(tmp_path / "t", template, batch)
    try:
        task = load_task(folder)
    except TaskError:
        return
    assert task.instances
    for instance in task.instances:
        assert set(instance.labels) == set(task.fields)
        assert instance.id


def test_the_demo_tasks() -> None:
    from importlib import resources

    if not resources.files("errands.turk").joinpath(DEMO).is_dir():
        pytest.skip("the demo tasks are not written yet")
    tasks = load_tasks(DEMO)
    assert len(list(tasks)) == len(tasks) > 0
    assert tasks.problems == ()


@pytest.fixture(scope="module")
def real() -> TaskSet:
    return load_tasks(TASKS)


def recorded(name: str) -> list[dict[str, Any]]:
    with (RECORDED / name).open() as lines:
        return [json.loads(line) for line in lines]


def as_recorded(value: Any) -> Label:
    """NaN and infinities are written as objects."""
    if isinstance(value, dict):
        return None if "$nan" in value else float("inf") * value["$inf"]
    label: Label = value
    return label


@pytest.mark.shared
def test_counts_of_the_real_tasks(real: TaskSet) -> None:
    with (TASKS.parent / "tasks.csv").open(newline="") as lines:
        rows = {row["task"]: row for row in csv.DictReader(lines)}
    assert len(real) == 108
    total = 0
    for task in real:
        row = rows[task.name]
        found = (
            real.split_of(task.name).replace("_", ""),
            sum(len(next(iter(i.labels.values()))) for i in task.instances),
            len(task.instances),
            len(task.fields),
        )
        assert found == (
            row["split"].replace("_", ""),
            int(row["rows"]),
            int(row["instances"]),
            int(row["answer_columns"]),
        ), task.name
        total += len(task.instances)
    assert total == 27_300
    assert real.problems == ()
    assert len(real.missing) == 51
    assert set(real.missing) | set(real.names) == set(turkingbench().expected("all"))


@pytest.mark.shared
def test_recorded_labels(real: TaskSet) -> None:
    count = 0
    for record in recorded("labels.jsonl"):
        instance = real.task(record["task"]).instances[record["instance_index"]]
        assert list(record["gold"]) == list(instance.labels)
        for name, labels in record["gold"].items():
            # Which is a later step: only of these types, missing answers become empty texts.
            fill = "" if record["types"][name] in ("radio", "checkbox") else None
            got = [fill if label is None else label for label in instance.labels[name]]
            expected = [as_recorded(label) for label in labels]
            assert [(type(x), x) for x in got] == [(type(x), x) for x in expected]
            count += 1
    assert count == 16_031


@pytest.mark.shared
def test_recorded_inputs(real: TaskSet) -> None:
    paths = sorted((RECORDED / "instances").iterdir())
    assert len(paths) == 24
    for path in paths:
        record = json.loads(path.read_text())
        instance = real.task(record["task"]).instances[record["instance_index"]]
        held = record["input_csv_fields"]
        assert [garbled(text) for text in instance.inputs] == list(held)
        assert [garbled(text) for text in instance.inputs.values()] == list(held.values())


def garbled(text: str) -> str:
    return text.encode().decode("latin-1")
