"""Counting what tasks hold, and drawing it."""

import csv
import functools
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from errands.reports.html.turk_chart import draw
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.markup import field_types
from errands.turk.tasks.paper_figures import figure_3, table_2
from errands.turk.tasks.statistics import (
    Spread,
    TaskFacts,
    TaskSetStatistics,
    TypeFacts,
    measure,
    survey,
)
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

SHARED = Path(__file__).resolve().parents[4] / "shared"
TASKS = SHARED / "data" / "turkingbench" / "tasks"


def facts(name: str, instances: int = 2, split: str = "train", **fields: int) -> TaskFacts:
    return TaskFacts(name, split, instances, 3 * instances, fields, 0, 100, 20, 30)


def test_a_task_is_measured() -> None:
    template = "<input name=q${n}><input name=r type=radio><input name=ee>${n} <b>one, two</b>"
    labels = {"q1": ("a", "b"), "r": (1, 1), "ee": (None, None), "s": (1, 2)}
    task = Task("t", template, (Instance("t", 0, {"n": "1"}, labels),), tuple(labels))
    found = measure(task, "test")
    assert found == TaskFacts(
        *("t", "test", 1, 2, {"radio": 1, "text": 1}, 1, len(template)),
        *(found.pieces, found.subwords, ("s",)),
    )
    assert found.pieces > 20


def test_no_answers_at_all() -> None:
    task = Task("t", "<p>", (Instance("t", 0, {}, {}),), ())
    assert (measure(task).answers, measure(task).fields) == (0, {})


def test_totals() -> None:
    found = TaskSetStatistics(
        "here", "all", (facts("a", 2, radio=3), facts("b", 10, radio=1, text=1))
    )
    assert (found.instances, found.answers) == (12, 36)
    assert found.types == (TypeFacts("radio", 4, 2, 16), TypeFacts("text", 1, 1, 10))
    assert found.spreads["fields per task"] == Spread(2.5, 2.5, 2, 3)
    assert Spread.over([]) == Spread()


@pytest.mark.parametrize(
    "found",
    [
        TaskSetStatistics("nowhere", "all", ()),
        TaskSetStatistics("a" * 100, "test", (facts("<&>\x01\ud800", 1, "test"),)),
        TaskSetStatistics(
            "x",
            "all",
            tuple(
                facts(f"t{n}", n + 1, ("train", "test", "test_challenge", "subjective")[n % 4], r=1)
                for n in range(1000)
            ),
        ),
    ],
)
def test_the_plot_is_well_formed(found: TaskSetStatistics) -> None:
    picture = ElementTree.fromstring(draw(found))
    bars = picture.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(bars) >= len(found.tasks)
    assert all(float(bar.get("height", "0")) > 0 for bar in bars)


@pytest.mark.shared
def test_types_are_the_recorded_ones() -> None:
    tasks = load_tasks(TASKS)
    types: dict[str, dict[str, str]] = {}
    with (SHARED / "fixtures" / "turkingbench" / "labels.jsonl").open() as lines:
        for record in map(json.loads, lines):
            name = record["task"]
            if name not in types:
                task = tasks.task(name)
                # Recorded before anything is put in; as `text` where no control exists.
                found = field_types(task.template, task.fields)
                types[name] = {field: found.get(field, "text") for field in task.fields}
            assert types[name] == record["types"], name
    assert sum(map(len, types.values())) > 3000


@functools.cache
def surveyed() -> TaskSetStatistics:
    """Of all the real tasks."""
    return survey(load_tasks(TASKS))


@pytest.mark.shared
def test_the_real_tasks() -> None:
    found = surveyed()
    assert (len(found.tasks), found.instances, found.answers) == (108, 27_300, 59_579)
    assert 10 < found.spreads["fields per task"].mean < 20
    with (TASKS.parent / "tasks.csv").open(newline="") as lines:
        rows = {row["task"]: row for row in csv.DictReader(lines)}
    # Counted over three instances there, or over some of the columns; here on the first page.
    uneven = {"PerSenT", "Step 4 Selecting good - bad answers to questions (short)"}
    for task in found.tasks:
        row = rows[task.name]
        # Scripts make fields when the page loads.
        if row["nojs_class"] != "js-created" and task.name not in uneven:
            for kind in ("checkbox", "radio", "text", "textarea", "select", "range"):
                assert task.fields.get(kind, 0) == int(row[f"n_{kind}"]), (task.name, kind)


@pytest.mark.shared
def test_fields_that_come_with_the_inputs() -> None:
    task = load_tasks(TASKS).task("PerSenT")
    pages = [page_html(task, instance) for instance in task.instances]
    # Together 43, as in the browser.
    assert [len(field_types(page, task.fields)) for page in pages] == [18, 15, 10]


def test_figure_3_and_table_2_leave_out_what_nobody_fills_in() -> None:
    found = TaskSetStatistics(
        "here", "all", (facts("a", 2, radio=3, hidden=5), facts("b", 10, select=1, submit=1))
    )
    measures = {one.measure: (one.ours, one.published) for one in figure_3(found)}
    assert measures["tasks"] == (2, 158)
    assert measures["instances"] == (12, 36_200)
    assert measures["fields per task"] == (2.0, 15.6)
    assert measures["page length (subwords, about)"] == (30, 16_800)
    places = table_2(found)
    assert {one.type for one in places} == {
        *("checkbox", "radio", "textarea", "text", "select", "range"),
    }
    assert [(one.type, one.on_pages) for one in places[:2]] == [("select", 10), ("radio", 6)]
    assert [one.place for one in places] == [1, 2, 3, 4, 5, 6]
    assert (places[0].published_place, places[0].fields) == (5, 1)


def test_figures_of_the_real_tasks() -> None:
    """What docs/guides/form-pages.md says of them."""
    if not TASKS.is_dir():
        pytest.skip(f"{TASKS} is absent: TurkingBench's own tasks are not here")
    found = surveyed()
    measures = {one.measure: one.ours for one in figure_3(found)}
    assert measures["instances"] == 27_300
    assert measures["fields per task"] == pytest.approx(13.3, abs=0.05)
    assert measures["page length (subwords, about)"] == pytest.approx(16_200, abs=50)
    places = table_2(found)
    assert all(one.place == one.published_place for one in places)
    assert [one.on_pages for one in places[:2]] == [135_086, 82_966]


def test_the_fields_of_all_tasks_are_the_papers() -> None:
    """1,932 fields in 153 tasks (section 14.2 of the specification), and those of the other six."""
    if not TASKS.is_dir():
        pytest.skip(f"{TASKS} is absent: TurkingBench's own tasks are not here")
    with (TASKS.parent / "tasks.csv").open(newline="") as file:
        absent = [row for row in csv.DictReader(file) if not row["rows"]]
    kinds = ("checkbox", "radio", "text", "textarea", "select", "range")
    fields = {row["task"]: sum(int(row[f"n_{kind}"]) for kind in kinds) for row in absent}
    assert fields["ANES 2008 open-ended survey"] == 411
    assert (1_932 + sum(fields.values())) / (153 + len(fields)) == pytest.approx(15.6, abs=0.1)


def test_subwords_are_words_marks_and_spare_spaces() -> None:
    page = Task("t", "one  two, 3\n</b>", (Instance("t", 0, {}, {}),), ())
    empty = Task("t", "x", (Instance("t", 0, {}, {}),), ())
    # `one`, a space, ` two`, `,`, ` 3`, a line's end, `</`, `b`, `>` against `x`
    assert measure(page).subwords - measure(empty).subwords == 9 - 1
