"""What counts, and what was answered whether it counts or not."""

import pytest

from errands.turk.dom.driver import DomDriver
from errands.turk.drivers import Pages
from errands.turk.oracle.coverage import ORACLES, answered_fields, measure_coverage
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Instance, Task


def test_hidden_and_missing_fields_are_part_of_the_answers() -> None:
    html = (
        "<input name=a value=x><input type=hidden name=b value=y><input type=submit name=s>"
        "<select name=c><option>1</select>"
    )
    labels = {"a": ("x",), "b": ("z",), "gone": ("w",), "s": (3,), "c": (None, None, 1), "d": ("",)}
    found = answered_fields(DomDriver().open(html), Instance("t", 0, {}, labels))
    assert found.fields == 3
    assert found.sums == {"paper": 1.0, "released": 1.0}
    assert found.share("paper") == pytest.approx(1 / 3)


def test_nothing_answered_has_no_share() -> None:
    found = answered_fields(
        DomDriver().open("<input name=a>"), Instance("t", 0, {}, {"a": (None,)})
    )
    assert found.share("paper") is None


def test_both_figures_over_instances() -> None:
    task = load_tasks("demo").task("Moving House Wizard")
    nothing = measure_coverage(lambda open_page, _: open_page(), task, range(2), Pages("dom"))
    oracle = measure_coverage(ORACLES["oracle"], task, range(2), Pages("dom"))
    assert nothing.instances == oracle.instances == 2
    assert nothing.fields == oracle.fields > 0
    assert nothing.answered["paper"] == 0
    assert (oracle.answered["paper"] or 0) > 0.9


def test_a_page_that_fails_is_an_error() -> None:
    row = Instance("t", 0, {}, {"a": ("x",)})
    task = Task("t", "<input name=a>", (row,))

    class Broken(Pages):
        def open(self, *_: object, **__: object) -> None:  # type: ignore[override]
            from errands.turk.pages.driver import DriverError

            raise DriverError("no page today")

    found = measure_coverage(ORACLES["oracle"], task, [0], Broken("dom"))
    assert found.errors == ("row 0: no page today",)
    assert found.scores == {"paper": None, "released": None, "submitted": None}
