"""Verification: what is found out about a task, and what goes wrong."""

from errands.turk.drivers import Pages
from errands.turk.effects.rows import evenly_spaced
from errands.turk.effects.verify import verify_task
from errands.turk.tasks.loader import load_tasks


def test_rows_are_spread_evenly() -> None:
    assert evenly_spaced(10, 5) == [0, 2, 4, 6, 8]
    assert evenly_spaced(3, 9) == [0, 1, 2]
    assert evenly_spaced(0, 4) == []


def test_failures_are_results() -> None:
    chosen = load_tasks("demo").task("Fridge Notes")

    class Broken(Pages):
        def open(self, *_: object, **__: object):  # type: ignore[no-untyped-def]
            from errands.turk.pages.driver import DriverError

            raise DriverError("the page fell apart")

    found = verify_task(chosen, "train", Broken("dom"), instances=1, browser=None)
    assert found.error == "the page fell apart"
    assert found.oracle == {}
