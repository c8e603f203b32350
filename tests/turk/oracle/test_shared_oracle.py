"""The oracle reaches full marks on an instance of every shared task, the challenge split aside."""

import csv
from pathlib import Path

import pytest
from effort import effort

from errands.turk.dom.driver import DomDriver
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import Driver
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.template import page_html

pytestmark = pytest.mark.shared

PLACE = Path(__file__).resolve().parents[4] / "shared" / "data" / "turkingbench"


def table() -> dict[str, str]:
    """Task to what a page without scripts is like, challenge tasks left out."""
    if not PLACE.is_dir():
        return {}
    with (PLACE / "tasks.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if "challenge" not in row["split"]]
    return {
        row["task"]: row["nojs_class"]
        for row in rows
        if (PLACE / "tasks" / row["task"] / "batch.csv").is_file()
    }


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    return load_tasks(PLACE)


def full_marks(driver: Driver, tasks: TaskSet, name: str) -> None:
    task = tasks.task(name)
    instance = task.instances[0]
    page = driver.open(page_html(task, instance))
    play_oracle(page, instance)
    scored = score_page(page, instance)
    page.close()
    assert instance_figure(scored, "released", ranges_count_as_one=True) == pytest.approx(1.0)
    exact = [field for field in scored if field.type != "range"]
    assert all(score == pytest.approx(1.0) for f in exact for score in f.scores.values())


@pytest.mark.parametrize("name", [name for name, kind in table().items() if kind == "static"])
def test_pages_that_need_no_script(tasks: TaskSet, name: str) -> None:
    full_marks(DomDriver(), tasks, name)


SCRIPTED = [name for name, kind in table().items() if kind != "static"]


@pytest.mark.parametrize("name", SCRIPTED[:: effort(3, 1)])
def test_pages_that_need_a_browser(tasks: TaskSet, browser_driver: Driver, name: str) -> None:
    full_marks(browser_driver, tasks, name)
