"""A model that does paperwork, on the demo tasks, behind a scripted endpoint."""

import asyncio
import base64
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from errands.agents.llm.turk.demonstrations import DemonstrationStyle, demonstrations
from errands.browser.screenshots import pixels
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.turk.actions.grammar import format_action, parse_answer
from errands.turk.oracle.field_oracle import oracle_action
from errands.turk.tasks.loader import load_tasks

TEST = ("Picture Captions", "Lost Property Matching", "Doorbell Log", "Two Charts",
        "Delivery Trouble Report", "Teapot Reviews")  # fmt: skip


BEST = 0.95
"""Where workers set a slider differently, nobody reaches 1."""


def turk_env(observation: str = "html", **settings: Any) -> TurkEnv:
    return TurkEnv(split="test", driver="dom", observation=observation, **settings)


def right_answer(env: TurkEnv, name: str) -> str | None:
    """What the oracle would do: the endpoint stands in for a perfect model."""
    assert env.instance is not None
    assert env._page is not None
    [field] = env._page.fields([name])
    action = oracle_action(field, env.instance.labels[name], env._page.values(name))
    return None if action is None else format_action(action)


def asked_field(request: dict[str, Any]) -> str:
    content = request["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return re.findall(r"^Field: (.*)$", text, re.M)[-1]


def perfect(env: TurkEnv) -> Callable[[dict[str, Any], int], str]:
    def script(request: dict[str, Any], number: int) -> str:
        name = asked_field(request)
        return f"self.actions.{right_answer(env, name) or f'leave({name!r})'}"

    return script


def perfect_whole(env: TurkEnv) -> Callable[[dict[str, Any], int], str]:
    def script(request: dict[str, Any], number: int) -> str:
        text = request["messages"][-1]["content"].split("\n\nHTML:")[0]
        names = re.findall(r"^(\w+) \(", text, re.M)
        return "\n".join(filter(None, (right_answer(env, name) for name in names)))

    return script


def tool_message(call: str) -> dict[str, Any]:
    if "leave(" in call:
        return {"tool_calls": [{"function": {"name": "leave", "arguments": "{}"}}]}
    calls = [
        {"function": {"name": action.name, "arguments": json.dumps(action.arguments)}}
        for action in parse_answer(call)
    ]
    return {"content": None, "tool_calls": calls}


@pytest.mark.parametrize(
    ("observation", "settings"),
    [
        ("html", {}),
        ("html", {"encoding": "relevant"}),
        ("relevant", {}),
        ("html", {"demos": 3}),
        ("html", {"calls": "tools"}),
    ],
    ids=str,
)
def test_field_by_field(
    endpoint: Any, factory: Any, play: Any, observation: str, settings: dict[str, Any]
) -> None:
    env = turk_env(observation)
    script = perfect(env)
    if settings.get("calls") == "tools":
        endpoint.script = lambda request, number: tool_message(script(request, number))
    else:
        endpoint.script = script
    made = factory("turk", env, **settings)
    for task in ("Two Charts", "Teapot Reviews", "Delivery Trouble Report"):
        played = play(made, env, options={"task": task, "row": 0})
        assert played.terminated
        assert played.moves[-1].action == "submit()"
        assert played.reward > BEST
        assert all(message == "" for message in played.messages[:-1])
    assert ("tools" in endpoint.requests[0]) is (settings.get("calls") == "tools")


@pytest.mark.parametrize("ask", ["field", "whole"])
@pytest.mark.parametrize("answer", ["leave('x')", "```\nself.actions.leave()\n```"])
def test_a_model_may_leave_a_field_as_it_is(
    endpoint: Any, factory: Any, play: Any, ask: str, answer: str
) -> None:
    endpoint.script = lambda request, number: answer
    env = turk_env()
    played = play(factory("turk", env, ask=ask), env, options={"task": "Two Charts", "row": 0})
    [move] = played.moves
    assert move.action == "submit()"
    assert answer in move.thought
    assert move.usage.calls == len(endpoint.requests) == (3 if ask == "field" else 1)


def test_fields_that_come_into_sight_are_asked_for(endpoint: Any, factory: Any) -> None:
    endpoint.script = lambda request, number: f"modify_radio({asked_field(request)!r}, 'no')"
    html = "<input type=radio name=arrived value=no><input type=radio name=seen value=no>"
    agent = factory("turk", turk_env()).agent(0)

    def info(*visible: str) -> dict[str, Any]:
        fields = [
            {"name": name, "type": "radio", "visible": name in visible, "options": ["no"]}
            for name in ("arrived", "seen")
        ]
        return {"message": "", "fields": fields}

    async def episode() -> list[str]:
        await agent.begin(html, info("arrived"))
        seen = [info("arrived"), info("arrived", "seen"), info("arrived", "seen")]
        return [(await agent.act(html, shown)).action for shown in seen]

    assert asyncio.run(episode()) == [
        "modify_radio('arrived', 'no')",
        "modify_radio('seen', 'no')",
        "submit()",
    ]


@pytest.mark.parametrize("calls", ["text", "tools"])
def test_a_whole_page_in_one_answer(endpoint: Any, factory: Any, play: Any, calls: str) -> None:
    env = turk_env()
    script = perfect_whole(env)
    endpoint.script = (
        script if calls == "text" else lambda request, number: tool_message(script(request, number))
    )
    made = factory("turk", env, ask="whole", calls=calls)
    played = play(made, env, options={"task": "Teapot Reviews", "row": 1})
    assert played.reward > BEST
    assert len(endpoint.requests) == 1
    assert played.moves[0].usage is not None
    assert played.moves[1].usage is None
    assert played.moves[-1].action == "submit()"


def test_in_a_whole_page_one_bad_action_spoils_no_other(
    endpoint: Any, factory: Any, play: Any
) -> None:
    answers = [
        "modify_radio('more', 'Z')\nmodify_radio('best_day', 'A')\nsubmit()",
        "modify_radio('more', 'B')",
    ]
    endpoint.script = lambda request, number: answers[number]
    env = turk_env()
    played = play(factory("turk", env, ask="whole"), env, options={"task": "Two Charts", "row": 0})
    actions = [move.action for move in played.moves]
    assert actions == [
        "modify_radio('more', 'Z')",
        "modify_radio('best_day', 'A')",
        "modify_radio('more', 'B')",
        "submit()",
    ]
    again = endpoint.requests[1]["messages"][-1]["content"]
    assert "The last action failed: " in again
    assert "more (radio)" in again
    assert "best_day (radio)" not in again


def test_a_failed_action_is_put_to_the_model_again(endpoint: Any, factory: Any, play: Any) -> None:
    endpoint.script = lambda request, number: f"modify_radio({asked_field(request)!r}, 'Z')"
    env = turk_env()
    played = play(factory("turk", env), env, options={"task": "Two Charts", "row": 0})
    asked = [asked_field(request) for request in endpoint.requests]
    assert asked == ["more", "more", "best_day", "best_day", "confidence", "confidence"]
    assert "The last action failed: " in endpoint.requests[1]["messages"][-1]["content"]
    assert "failed" not in endpoint.requests[2]["messages"][-1]["content"]
    assert played.terminated


def test_an_answer_for_another_field_is_refused(endpoint: Any, factory: Any, play: Any) -> None:
    endpoint.script = lambda request, number: "modify_radio('best_day', 'A')\nsubmit()"
    env = turk_env()
    played = play(factory("turk", env), env, options={"task": "Two Charts", "row": 0})
    assert [move.action for move in played.moves] == [
        "no_answer()",
        "modify_radio('best_day', 'A')",
        "no_answer()",
        "submit()",
    ]
    repaired = endpoint.requests[1]["messages"][-1]["content"]
    assert "The answer is for 'best_day', but the field is 'more'." in repaired


@pytest.mark.parametrize(
    "answer", ["I cannot.", "", "modify_text('a'", "x" * 1_000_000, "submit()", "__import__('os')"]
)
def test_nonsense_is_explained_by_the_environment(
    endpoint: Any, factory: Any, play: Any, answer: str
) -> None:
    endpoint.script = lambda request, number: answer
    env = turk_env()
    played = play(factory("turk", env), env, options={"task": "Two Charts", "row": 0})
    assert [move.action for move in played.moves] == ["no_answer()"] * 3 + ["submit()"]
    assert all("no action" in message for message in played.messages[:3])
    assert len(endpoint.requests) == 6


def test_broken_tool_arguments_are_asked_about(endpoint: Any, factory: Any, play: Any) -> None:
    function = {"name": "modify_radio", "arguments": '{"name": "more", "val'}
    endpoint.script = lambda request, number: {"tool_calls": [{"function": function}]}
    env = turk_env()
    made = factory("turk", env, calls="tools")
    played = play(made, env, most=1, options={"task": "Two Charts", "row": 0})
    assert played.moves[0].action == "no_answer()"
    assert "arguments of modify_radio" in endpoint.requests[1]["messages"][-1]["content"]
    names = {tool["function"]["name"] for tool in endpoint.requests[0]["tools"]}
    kinds = ("text", "checkbox", "radio", "select", "range")
    assert names == {*(f"modify_{kind}" for kind in kinds), "leave"}


def test_without_a_list_of_fields_the_page_tells_them(
    endpoint: Any, factory: Any, play: Any
) -> None:
    env = turk_env(fields="hidden")
    endpoint.script = perfect(env)
    played = play(factory("turk", env), env, options={"task": "Two Charts", "row": 0})
    assert played.reward > BEST
    assert "Type: not told" in endpoint.requests[0]["messages"][-1]["content"]


def test_a_page_too_long_is_cut_and_that_is_said(endpoint: Any, factory: Any, play: Any) -> None:
    env = TurkEnv(split="train", driver="dom")
    endpoint.script = perfect(env)
    made = factory("turk", env, budget=3000)
    played = play(made, env, most=60, options={"task": "Jumble Sale Sorting", "row": 0})
    assert played.reward > BEST
    assert len(endpoint.requests) == 47
    for request in endpoint.requests:
        question = request["messages"][-1]["content"]
        assert len(question) < 3000 * 3
        assert f'name="{asked_field(request)}"' in question
        assert "(The page was too long. Left out: " in question
    for move in played.moves[:-1]:
        assert "The page was too long" in move.thought


@pytest.mark.parametrize("whole", [False, True])
def test_demonstrations_are_from_train_before_the_action(whole: bool) -> None:
    tested = load_tasks("demo", "test")
    made = demonstrations(tested, "dom", count=9, seed=0, style=DemonstrationStyle(whole=whole))
    assert len({one.task for one in made}) == len(made) == 9
    for one in made:
        assert tested.splits.of(one.task) == "train"
        assert one.task not in tested
        assert one.actions
        for action in one.actions:
            value = str(action.arguments["value"])
            if action.name == "modify_text" and len(value) > 12:
                assert f'value="{value}"' not in one.form.html
        assert not re.search(r"<input[^>]*\schecked(=|\s|>)", one.form.html)
    if not whole:
        kinds = [one.blank.type for one in made]
        assert {"radio", "select", "checkbox", "text", "range", "textarea"} <= set(kinds)
    again = demonstrations(tested, "dom", count=9, seed=0, style=DemonstrationStyle(whole=whole))
    assert again == made
    other = demonstrations(tested, "dom", count=9, seed=1, style=DemonstrationStyle(whole=whole))
    assert [one.task for one in other] != [one.task for one in made]


def test_demonstrations_go_before_the_question(endpoint: Any, factory: Any, play: Any) -> None:
    env = turk_env()
    endpoint.script = perfect(env)
    made = factory("turk", env, demos=4)
    play(made, env, options={"task": "Two Charts", "row": 0})
    assert len(made.settings["demonstrations"]) == 4
    roles = [message["role"] for message in endpoint.requests[0]["messages"]]
    assert roles == ["system", *["user", "assistant"] * 4, "user"]


def test_a_tested_task_is_never_a_demonstration() -> None:
    with pytest.raises(SettingError, match="only 0 train tasks"):
        demonstrations(load_tasks("demo"), "dom", count=1, seed=0, style=DemonstrationStyle())


def test_a_budget_without_room_is_refused(factory: Any) -> None:
    with pytest.raises(SettingError, match="leaves 0 tokens for a page"):
        factory("turk", turk_env(), budget=600)
    with pytest.raises(SettingError, match="9 demonstrations"):
        factory("turk", turk_env(), budget=1500, demos=9)


def test_full_pages_need_full_pages(factory: Any) -> None:
    with pytest.raises(SettingError, match="take observation='html'"):
        factory("turk", turk_env("relevant"), encoding="full")


@pytest.mark.parametrize("form", ["both", "picture"])
def test_a_screenshot_goes_along_as_a_picture(endpoint: Any, factory: Any, form: str) -> None:
    env = turk_env()
    html, info = env.reset(options={"task": "Two Charts", "row": 0})
    picture = np.zeros((800, 1280, 3), np.uint8)
    picture[:, 640:] = (255, 128, 0)
    observation = {"html": html, "screenshot": picture} if form == "both" else picture
    endpoint.script = lambda request, number: "modify_radio('more', 'A')"
    agent = factory("turk", env, shrink=2.0).agent(0)

    async def one() -> Any:
        await agent.begin(observation, info)
        return await agent.act(observation, info)

    assert asyncio.run(one()).action == "modify_radio('more', 'A')"
    text, image = endpoint.requests[0]["messages"][-1]["content"]
    assert ("(only a picture is given)" in text["text"]) is (form == "picture")
    kind, _, encoded = image["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    sent = pixels(base64.b64decode(encoded))
    assert tuple(sent[100, 100]) == (0, 0, 0)
    assert tuple(sent[100, 600]) == (255, 128, 0)
    assert tuple(sent[100, 700]) == (255, 255, 255), "beyond the shrunk picture"


def test_fifty_desks_at_once(endpoint: Any, factory: Any, play_many: Any) -> None:
    endpoint.script = lambda request, number: f"modify_text({asked_field(request)!r}, 'x')"
    envs = [turk_env() for _ in range(50)]
    results = play_many(factory("turk", envs[0], encoding="relevant", repairs=0), envs)
    assert all(played.terminated for played in results)
