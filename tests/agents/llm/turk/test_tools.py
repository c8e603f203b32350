"""One form page as named tools: what frameworks get."""

import functools
import json
import pickle
from typing import Any

import pytest

from errands.agents.llm.tools import ToolError, call_tool
from errands.agents.llm.turk.tools import TurkPointerTools, TurkTools, form_messages
from errands.envs.turk_config import TurkConfig
from errands.errors import SettingError, TaskError
from errands.turk.browser.driver import BrowserDriver
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import oracle_actions
from errands.turk.pages.field import CHOICES

FORMS = TurkConfig("demo", driver="dom", max_steps=50)


@pytest.fixture
def tools() -> TurkTools:
    made = TurkTools(FORMS)
    made.reset(task="Homepage Guestbook 1998", row=0)
    return made


def values(tools: TurkTools, name: str) -> list[str]:
    return tools._env.page.values(name)


def test_the_page_and_its_fields_are_shown_and_no_answers(tools: TurkTools) -> None:
    text = tools.reset(task="Angry Letter Tone", row=1, prompt=[], other=1)
    assert text.startswith("The page:\n<")
    assert "anger (radio): 1 | 2" in text
    assert "request (textarea)" in text
    assert "Answer." not in text
    opening = form_messages()
    assert [message["role"] for message in opening] == ["system", "user"]
    assert "pointer" not in opening[0]["content"]
    assert "CSS selectors" in form_messages(pointer=True)[0]["content"]


def test_every_type_of_field_is_filled_in(tools: TurkTools) -> None:
    tools.reset(task="Plant Doctor", row=0)
    for name in ("diagnosis", "treatment", "urgency"):
        field = tools._env.page.fields([name])[0]
        value = field.options[-1] if field.type in CHOICES else "3"
        assert tools.fill(name, value) == f"{name} is filled in."
        assert values(tools, name) == [value]
    tools.reset(task="Address Cleanup", row=0)
    tools.fill("town", "Łódź 🏙 'quoted' \"twice\"")
    assert values(tools, "town") == ["Łódź 🏙 'quoted' \"twice\""]
    assert tools.steps == 1


def test_several_boxes_are_ticked_at_once(tools: TurkTools) -> None:
    tools.reset(task="Recipe Allergens", row=0)
    boxes = tools._env.page.fields(["allergens"])[0].options
    tools.fill("allergens", "|".join(boxes[:2]))
    assert values(tools, "allergens") == list(boxes[:2])


def test_an_answer_that_brings_fields_into_sight_lists_them() -> None:
    """Whenever the list of visible fields changes, and only then, the answer says so."""
    told = 0
    tools = TurkTools(TurkConfig("demo", driver="auto", max_steps=300))
    for name in ("Cat or Committee", "Delivery Trouble Report", "Weekend Questionnaire"):
        tools.reset(task=name, row=0)
        before = tools._lines()
        for field in tools._env.page.fields():
            if field.type in CHOICES and field.visible and not tools.done:
                for option in filter(None, field.options):
                    answer = tools.fill(field.name, option)
                    after = tools._lines()
                    assert ("The fields are now:" in answer) == (after != before)
                    told += after != before
                    before = after
    assert told


def test_submitting_ends_it_and_scores(tools: TurkTools) -> None:
    tools.reset(task="Angry Letter Tone", row=0)
    instance = tools._env.instance
    assert instance is not None
    fields = tools._env.page.fields(list(instance.labels))
    for action in oracle_actions(fields, instance.labels, {}):
        tools.fill(str(action.arguments["name"]), str(action.arguments["value"]))
    assert tools.reward == 0
    assert not tools.done
    assert tools.submit() == "The form is submitted. The task is over."
    assert tools.done
    assert tools.reward == tools.get_reward() == 1
    assert tools.success
    assert set(tools.reward_parts) == {field.name for field in fields if field.visible}
    for call in (lambda: tools.fill("anger", "1"), tools.submit, tools.read):
        with pytest.raises(ToolError, match="task is over"):
            call()
    assert tools.steps == len(tools.calls)
    assert (tools.task, tools.index) == ("Angry Letter Tone", 0)


def test_reading_is_a_step_and_changes_nothing(tools: TurkTools) -> None:
    first = tools.reset(task="Angry Letter Tone", row=0)
    assert tools.read() == first
    assert tools.read("anger").count('name="anger"') >= 1
    assert len(tools.read("anger")) < len(first)
    assert tools.steps == 3
    assert tools.submit()
    assert tools.reward < 1


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("no such field", "x", "no field 'no such field'. There are writer"),
        ("", "x", "no field ''"),
        (None, "x", "no field None"),
        (["a"], "x", "no field"),
        ("writer", "no such option", "."),
        ("writer", {"a": 1}, "a text"),
        ("writer", None, "a text"),
        ("subject", "x" * 200_000, "too long"),
        ("x" * 10_000, "y", "no field"),
        ("'; drop table", "y", "no field"),
    ],
)
def test_wrong_use_is_one_sentence_and_a_step(
    tools: TurkTools, name: Any, value: Any, why: str
) -> None:
    before = {field.name: values(tools, field.name) for field in tools._env.page.fields()}
    with pytest.raises(ToolError, match=why) as caught:
        tools.fill(name, value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 2_000
    assert tools.steps == 1
    assert before == {field.name: values(tools, field.name) for field in tools._env.page.fields()}
    assert json.dumps(tools.state)


def test_the_last_step_takes_the_page_as_it_is() -> None:
    tools = TurkTools(TurkConfig("demo", driver="dom", max_steps=2))
    tools.reset(task="Angry Letter Tone", row=0)
    tools.fill("anger", "1")
    said = tools.fill("request", "whatever")
    assert said.endswith("No steps are left: the task is over.")
    assert tools.done
    assert tools.reward_parts
    tools.reset(task="Angry Letter Tone", row=0)
    assert (tools.steps, tools.reward, tools.done) == (0, 0, False)
    tools.fill("anger", "1")
    with pytest.raises(ToolError, match="No steps are left"):
        tools.fill("nothing", "1")
    assert tools.done


def test_fields_that_the_agent_is_not_given_are_not_listed() -> None:
    tools = TurkTools(TurkConfig("demo", driver="dom", fields="hidden"))
    text = tools.reset(task="Angry Letter Tone", row=0)
    assert text.endswith("Fields:\n(see the page)")
    with pytest.raises(ToolError) as caught:
        tools.fill("nothing", "1")
    assert str(caught.value) == "There is no field 'nothing'."
    assert tools.fill("anger", "1") == "anger is filled in."


@pytest.mark.parametrize(("task", "row"), [("no such task", 0), ("Angry Letter Tone", 10**6),
                                           ("Angry Letter Tone", "x"), (None, 0)])  # fmt: skip
def test_there_is_no_such_page(tools: TurkTools, task: Any, row: Any) -> None:
    with pytest.raises((TaskError, SettingError)):
        tools.reset(task=task, row=row)


def test_a_long_page_is_cut_and_says_so() -> None:
    tools = TurkTools(FORMS, room=3_000)
    text = tools.reset(task="Jumble Sale Sorting", row=0)
    assert "The page was too long" in text
    whole = TurkTools(FORMS).reset(task="Jumble Sale Sorting", row=0)
    assert len(text) < len(whole) / 2


def test_it_can_be_made_in_other_processes(tools: TurkTools) -> None:
    make = functools.partial(TurkTools, FORMS)
    packed = pickle.dumps(make)
    assert len(packed) < 6_000
    again = pickle.loads(packed)()
    assert again.reset(task="Angry Letter Tone", row=0) == tools.reset("Angry Letter Tone", 0)


def test_many_share_what_is_read_once() -> None:
    first, second = TurkTools(FORMS), TurkTools(FORMS)
    assert first._env.tasks is second._env.tasks


def test_mouse_and_keyboard_work_where_there_is_a_browser(browser_driver: BrowserDriver) -> None:
    pages = Pages(browser_driver)
    tools = TurkPointerTools(TurkConfig("demo", max_steps=50), pages=pages)
    tools.reset(task="Address Cleanup", row=0)
    assert tools.click("input[name=town]") == "Done."
    assert tools.type_text("York") == "Done."
    assert values(tools, "town") == ["York"]
    assert tools.press_key("Backspace") == "Done."
    assert values(tools, "town") == ["Yor"]
    assert tools.scroll(0.5) == "Done."
    assert tools.click_at(0.5, 0.5) == "Done."
    for name, arguments in (
        ("click", {"selector": "#nothing-of-that-name"}),
        ("click", {"selector": "!!"}),
        ("click_at", {"x": 7, "y": "a"}),
        ("press_key", {"key": "NoSuchKey"}),
        ("drag", {"source": "#a", "target": "#b"}),
        ("select_text", {"selector": "p", "start": -5, "end": 2}),
    ):
        with pytest.raises(ToolError):
            call_tool(tools, name, arguments)
    again = TurkPointerTools.at(**tools.state, forms=TurkConfig("demo", max_steps=50), pages=pages)
    assert again.steps == tools.steps
    assert values(again, "town") == ["Yor"]
    again._env.close()
    tools._env.close()


def test_without_a_browser_a_pointer_is_refused_in_a_sentence() -> None:
    tools = TurkPointerTools(FORMS)
    tools.reset(task="Address Cleanup", row=0)
    with pytest.raises(ToolError, match="'dom' has no action 'click'"):
        tools.click("input")
    assert tools.steps == 1
