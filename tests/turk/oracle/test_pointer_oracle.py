"""The pointer oracle on tasks that setting fields does not solve."""

import dataclasses
import re
from functools import partial
from pathlib import Path

import pytest
from effort import SLOW, sampled

from errands.turk.actions.action import Action
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.oracle.coverage import answered_fields
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.oracle.page_work import answers_of
from errands.turk.oracle.pointer_oracle import _spelled, play_pointer, rehearse
from errands.turk.pages.driver import Driver
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Label
from errands.turk.tasks.template import page_html

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "turkingbench"
DEMO = load_tasks("demo", "test_challenge")

REACHED = {
    "BiSECT Human Evaluation": (None, 1.0, 1.0),
    "COMET2020 ATOMIC Inference Vp": (1.0, 1.0, 1.0),
    "Compile list of area chairs": (1.0, 1.0, 1.0),
    "ESNLI Rationale Generation": (1.0, 1.0, 1.0),
    "Elicitation obj": (1.0, 1.0, 1.0),
    "Gun violence structured extraction": (21 / 22, 1.0, 21 / 22),
    "Rationale Generation": (1.0, 1.0, 1.0),
    "neural-pop (PLAN evaluation) t5-human-test b": (1 / 6, 0.0, 3 / 4),
}
"""Score as released, share of the answers, and score as submitted, on the first row: see
docs/explanation/turkingbench-results.md for why."""
UNSEEN = {"Bicycle Clinic", "Village Gazette"}
"""Demo tasks with no field that is ever displayed."""
TIMES = {"start_timestamp", "end_timestamp"}
"""Columns that say when somebody worked: no answers."""


@pytest.fixture(scope="module")
def driver(browser_driver: BrowserDriver) -> BrowserDriver:
    return browser_driver


@pytest.fixture(scope="module")
def shared() -> TaskSet:
    if not SHARED.is_dir():
        pytest.skip(f"there are no shared tasks at {SHARED}")
    return load_tasks(SHARED, "test_challenge")


def made(labels: dict[str, tuple[Label, ...]]) -> Instance:
    return Instance("made", 0, {}, labels)


def play(driver: Driver, html: str, labels: dict[str, tuple[Label, ...]]) -> list[list[str]]:
    """What the fields hold once the pointer oracle has been at a page."""
    page = driver.open(html)
    try:
        actions = play_pointer(page, made(labels))
        forbidden = {f.name for f in page.fields(list(labels)) if f.type == "hidden"}
        assert not any(action.arguments.get("name") in forbidden for action in actions)
        return [page.values(name) for name in labels]
    finally:
        page.close()


@pytest.mark.parametrize("name", DEMO.names)
def test_every_demo_challenge_is_solved(driver: BrowserDriver, name: str) -> None:
    task = DEMO.task(name)
    more = 0
    for instance in task.instances if SLOW else task.instances[:1]:
        page = driver.open(page_html(task, instance))
        play_oracle(page, instance)
        by_fields = answered_fields(page, instance).share("paper")
        page.close()
        page = rehearse(partial(driver.open, page_html(task, instance)), instance)
        scored = score_page(page, instance, submit=True)
        page.close()
        assert instance_figure(scored, "submitted") == 1.0
        for rules in ("paper", "released"):
            assert instance_figure(scored, rules) == (None if name in UNSEEN else 1.0)
        assert by_fields is not None
        more += by_fields < 1
    assert more, "fields alone must not do"


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    sampled(REACHED, "BiSECT Human Evaluation", "Elicitation obj", "Rationale Generation"),
)
def test_shared_challenges(driver: BrowserDriver, shared: TaskSet, name: str) -> None:
    task = shared.task(name)
    labels = task.instances[0].labels
    kept = {field: given for field, given in labels.items() if field not in TIMES}
    instance = dataclasses.replace(task.instances[0], labels=kept)
    page = rehearse(partial(driver.open, page_html(task, instance)), instance)
    answered = answered_fields(page, instance).share("released")
    scored = score_page(page, instance, submit=True)
    page.close()
    found = (instance_figure(scored, "released"), answered, instance_figure(scored, "submitted"))
    assert found == pytest.approx(REACHED[name])


@pytest.mark.shared
def test_every_shared_challenge_is_listed(shared: TaskSet) -> None:
    assert set(shared.names) == set(REACHED)


def test_a_folded_block_is_opened_by_its_heading(driver: BrowserDriver) -> None:
    html = (
        "<h2>More</h2><div style='display:none'><input name=a></div>"
        "<script>document.querySelector('h2').onclick = () => {"
        " const s = document.querySelector('div').style;"
        " s.display = s.display ? '' : 'none' }</script>"
    )
    assert play(driver, html, {"a": ("x",)}) == [["x"]]


def test_a_slider_that_is_no_field(driver: BrowserDriver) -> None:
    html = (
        "<input type=hidden name=other value=7><input type=hidden name=h value=-1>"
        "<span role=slider tabindex=0>o</span><script>"
        "let v = 0; const keys = {Home: -1e9, PageUp: 20, ArrowRight: 1, ArrowLeft: -1};"
        "document.querySelector('span').onkeydown = (e) => {"
        " v = Math.min(100, Math.max(0, v + (keys[e.key] ?? 0)));"
        " document.querySelector('[name=h]').value = v }</script>"
    )
    assert play(driver, html, {"h": (None, 43), "other": (9,)}) == [["43"], ["7"]]


def test_boxes_of_one_value_are_counted(driver: BrowserDriver) -> None:
    boxes = "<input type=checkbox name=b value=1>" * 4
    assert play(driver, boxes, {"b": ("1|1",)}) == [["1", "1"]]


def test_a_box_that_bars_others_is_unticked(driver: BrowserDriver) -> None:
    html = (
        "<input type=checkbox name=none onclick='n.disabled = this.checked; n.value = \"\"'>"
        "<input name=noun id=n>"
    )
    assert play(driver, html, {"none": (None, "on"), "noun": (None, "ball")}) == [[], ["ball"]]


def test_words_are_marked_in_other_scripts(driver: BrowserDriver) -> None:
    html = (
        "<p>🦆🦆 one <b>two três</b> four</p><input type=hidden name=span><button type=button"
        " onclick='document.querySelector(\"input\").value = getSelection()'>Take</button>"
    )
    assert play(driver, html, {"span": ("two três",)}) == [["two três"]]


def test_a_page_that_cannot_be_answered_is_left(driver: BrowserDriver) -> None:
    html = (
        "<input name=lost style='display:none'><input name=ro readonly value=x>"
        "<button type=button>Nothing</button><button type=submit>Send</button>"
    )
    assert play(driver, html, {"lost": ("a",), "ro": ("b",), "absent": ("c",)}) == [
        [""], ["x"], [],
    ]  # fmt: skip


def test_without_a_pointer_it_is_the_oracle() -> None:
    html = "<input name=a><button type=button>More</button><input type=hidden name=h>"
    assert play(DomDriver(), html, {"a": ("x",), "h": ("y",)}) == [["x"], [""]]


def test_the_order_that_a_label_spells() -> None:
    assert _spelled("BCDA", ["A", "B", "C", "D"]) == ["B", "C", "D", "A"]
    assert _spelled("ten, one", ["one", "ten"]) == ["ten", "one"]
    assert _spelled("AAB", ["A", "B"]) == []
    assert _spelled("ABX", ["A", "B"]) == []
    assert _spelled("", []) == []


def test_answers_that_were_given() -> None:
    assert answers_of([None, "a", "{}", 2.0, "a", "nan", ""]) == ["a", "2"]


def test_only_listed_actions_are_used(driver: BrowserDriver) -> None:
    task = DEMO.task("Order the Steps")
    page = driver.open(page_html(task, task.instances[0]))
    done = play_pointer(page, task.instances[0])
    page.close()
    assert {type(action) for action in done} == {Action}
    assert {action.name for action in done} == {"drag", "modify_radio"}
    assert all(re.search(r'\[id="steps"\]', str(a.arguments)) for a in done if a.name == "drag")
