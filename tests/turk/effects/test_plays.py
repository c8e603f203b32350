"""Plays under both drivers: they find what a proof has not seen."""

from pathlib import Path

import pytest
from effort import SLOW, effort

from errands.agents.random_agent import random_action
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.drivers import Pages
from errands.turk.effects.plays import compare_drivers
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Instance, Task

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "turkingbench" / "tasks"


def task_of(body: str, rows: int = 30) -> Task:
    instances = [Instance("t", row, {"x": str(row)}, {"q": ("a",)}) for row in range(rows)]
    return Task("t", body, instances, ("q",))


RADIOS = "<input type=radio name=q value=a><input type=radio name=q value=b>"


def test_drivers_that_agree(browser_driver: BrowserDriver) -> None:
    compared = compare_drivers(task_of(RADIOS), DomDriver(), browser_driver, random_action, 3)
    assert compared.differences == ()
    assert (compared.agent_plays, compared.walks, compared.rows) == (3, 3, 6)
    assert compared.unseen_rows == 6, "the proof's rows come last"
    assert compared.actions == 3 + 3 * 25


def test_every_play_tells_its_first_difference(browser_driver: BrowserDriver) -> None:
    body = RADIOS + "<p id=p></p><script>onclick = () => p.append('!')</script>"
    compared = compare_drivers(task_of(body), DomDriver(), browser_driver, random_action, 2)
    assert len(compared.differences) == 4
    assert "text: '' against '!'" in compared.differences[0]


def test_rows_come_again_where_there_are_few(browser_driver: BrowserDriver) -> None:
    compared = compare_drivers(task_of(RADIOS, 2), DomDriver(), browser_driver, random_action, 3)
    assert (compared.rows, compared.unseen_rows) == (2, 0)


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data/turkingbench is not here")
def test_real_tasks_that_run_without_a_browser(browser_driver: BrowserDriver) -> None:
    """A sample of what docs/explanation/turkingbench-results.md tells of `errands turk compare`."""
    tasks = load_tasks(REAL)
    pages = Pages("auto")
    names = tasks.names if SLOW else tasks.names[::12]
    for name in names:
        task = tasks.task(name)
        if pages.choice(task) == "dom":
            compared = compare_drivers(
                task, pages.driver_for(task), browser_driver, random_action, effort(1, 5), "tests"
            )
            assert compared.differences == (), name
