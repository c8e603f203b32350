"""Verification: which rows tell most, and what a comparison finds."""

from errands.turk.dom.driver import DomDriver
from errands.turk.drivers import Pages
from errands.turk.effects.verify import evenly_spaced, telling_rows, verify_task
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Instance, Task


def task(*answers: dict[str, str]) -> Task:
    instances = tuple(
        Instance("t", row, {"x": str(row)}, {name: (value,) for name, value in given.items()})
        for row, given in enumerate(answers)
    )
    return Task("t", "<input name=a>", instances, tuple(answers[0]))


def test_rows_are_spread_evenly() -> None:
    assert evenly_spaced(10, 5) == [0, 2, 4, 6, 8]
    assert evenly_spaced(3, 9) == [0, 1, 2]
    assert evenly_spaced(0, 4) == []


def test_telling_rows_show_every_answer() -> None:
    same = {"a": "yes", "b": ""}
    held = task(same, same, {"a": "no", "b": ""}, same, {"a": "yes", "b": "because"})
    assert telling_rows(held, 9) == [0, 2, 4]
    assert telling_rows(held, 2) == [0, 2]


def test_failures_are_results() -> None:
    chosen = load_tasks("demo").task("Fridge Notes")

    class Broken(Pages):
        def open(self, *_: object, **__: object):  # type: ignore[no-untyped-def]
            from errands.turk.pages.driver import DriverError

            raise DriverError("the page fell apart")

    found = verify_task(chosen, "train", Broken("dom"), instances=1, dom=DomDriver(), browser=None)
    assert found.error == "the page fell apart"
    assert found.oracle == {}
