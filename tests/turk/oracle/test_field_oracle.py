"""The oracle: best answers from labels alone, and full marks on every demo task."""

from collections.abc import Sequence

import pytest

from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver
from errands.turk.oracle.field_oracle import oracle_action, oracle_actions, play_oracle
from errands.turk.pages.field import Field
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.scoring.metrics import score
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Label
from errands.turk.tasks.template import page_html


def field(kind: str, *options: str) -> Field:
    return Field("f", kind, True, options)


@pytest.mark.parametrize(
    ("kind", "options", "labels", "held", "expected"),
    [
        ("text", (), (None, "{}", "hello", "bye"), (), "hello"),
        ("text", (), (None, None), (), None),
        ("textarea", (), (3.0,), (), "3"),
        ("radio", ("1", "2"), (2, 2, 1), (), "2"),
        ("radio", ("1", "2"), (2.0, 1.0), (), "2"),
        ("radio", ("yes", "no"), ("maybe",), (), None),
        ("radio", ("True", "False"), (True, True, False), (), "True"),
        ("radio", ("a",), (None, None, "a"), (), None),
        ("select", ("", "x"), ("x",), ("",), "x"),
        ("checkbox", ("a", "b", "c"), ("a|c",), (), "a|c"),
        ("checkbox", ("a", "b", "c"), ("a|c",), ("a", "b"), "b|c"),
        ("checkbox", ("on",), ("on",), ("on",), None),
        ("checkbox", ("a",), ("zzz", "a"), (), "a"),
        ("range", (), (20, 40, 60), (), "40"),
        ("range", (), (None,), (), None),
        ("submit", (), ("x",), (), None),
    ],
)
def test_answers(
    kind: str, options: tuple[str, ...], labels: tuple, held: tuple[str, ...], expected: str | None
) -> None:  # type: ignore[type-arg]
    action = oracle_action(field(kind, *options), labels, held)
    if expected is None:
        assert action is None
    else:
        name = "text" if kind == "textarea" else kind
        assert action == Action(f"modify_{name}", {"name": "f", "value": expected})


def test_hidden_fields_are_left_alone() -> None:
    hidden = Field("f", "text", False)
    assert oracle_actions([hidden], {"f": ("x",)}, {}) == []


def range_ceiling(labels: Sequence[Label], rules: str) -> float | None:
    """The best score any answer can reach on a range field, where workers differ."""
    action = oracle_action(field("range"), labels, ())
    return action and score("range", [str(action.arguments["value"])], labels, rules)


def test_ceilings() -> None:
    assert range_ceiling((50, 50), "released") == 1.0
    ceiling = range_ceiling((0, 100), "released")
    assert ceiling is not None
    assert ceiling < 1
    assert range_ceiling((None,), "paper") is None


NEED_A_BROWSER = {
    "Bicycle Clinic", "Delivery Trouble Report", "Moving House Wizard", "Order the Steps",
    "Quiz From a List", "Village Gazette",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in load_tasks("demo").names if n not in NEED_A_BROWSER])
def test_full_marks_on_every_demo_task(name: str) -> None:
    driver = DomDriver()
    task = load_tasks("demo").task(name)
    for instance in task.instances:
        page = driver.open(page_html(task, instance))
        play_oracle(page, instance)
        scored = score_page(page, instance)
        assert instance_figure(scored, "released", ranges_count_as_one=True) == 1.0
        for result in scored:
            if result.type == "range":
                ceiling = range_ceiling(instance.labels[result.name], "released")
                assert result.scores["released"] == pytest.approx(ceiling, abs=0.02)
            else:
                assert set(result.scores.values()) == {1.0}
