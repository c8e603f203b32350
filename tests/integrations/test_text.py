"""Calls read out of what models write."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import Call, Script

from errands.agents.llm.tools import ToolError
from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.integrations.text import TextEpisode, read_written_call


def written(call: Call) -> str:
    told = json.dumps({"name": call.name, "arguments": call.arguments})
    return f"I think it fits.\n<tool_call>\n{told}\n</tool_call>"


@pytest.mark.parametrize("which", ["shop_script", "form_script"])
def test_written_calls_earn_what_the_agent_earned(
    which: str, request: pytest.FixtureRequest
) -> None:
    script: Script = request.getfixturevalue(which)
    rewards = []
    for number, played in enumerate(script.played):
        episode = TextEpisode(script.episodes, number)
        assert played.text in episode.messages[-1]["content"]
        for call in played.calls:
            turn = episode.answer(written(call))
            assert turn.valid
        assert turn.done
        assert not turn.truncated
        rewards.append(turn.reward)
        assert episode.result()["protocol"] == script.episodes.key
        with pytest.raises(SettingError, match="over"):
            episode.answer("more")
    assert rewards == script.rewards


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('<tool_call>{"name": "a", "arguments": {"b": 1}}</tool_call>', ("a", {"b": 1})),
        ('<tool_call>{"name": "a"}', ("a", {})),
        (
            'x <tool_call>{"name": "a"}</tool_call> y <tool_call>{"name": "b"}</tool_call>',
            ("b", {}),
        ),
        ('<think><tool_call>{"name": "no"}</tool_call></think>{"name": "a"}', ("a", {})),
        ('{"name": "a", "parameters": {"c": "d"}}', ("a", {"c": "d"})),
        ('<tool_call>```json\n{"name": "a"}\n```</tool_call>', ("a", {})),
        ("search[red shoes]", ("search", {"query": "red shoes"})),
        ("Action: click[Buy Now]", ("click", {"name": "Buy Now"})),
    ],
)
def test_calls_are_found(text: str, call: Any) -> None:
    assert read_written_call(text, brackets=True) == call


@pytest.mark.parametrize(
    "text",
    ["", "hello", "<tool_call>", "<tool_call></tool_call>", "<tool_call>[1]</tool_call>", "{",
     '{"name": 1}', "{}", "x" * 300_000, "<tool_call>" + "[" * 100_000, "think[about it]"],
)  # fmt: skip
def test_what_is_no_call_is_one_sentence_and_a_turn(text: str, shop: ToolEpisodes) -> None:
    with pytest.raises(ToolError) as caught:
        read_written_call(text, brackets=True)
    assert "\n" not in str(caught.value)
    episode = TextEpisode(shop, 0)
    turn = episode.answer(text)
    assert (turn.valid, turn.done, turn.reward) == (False, False, 0)
    assert episode.turns == 1


@pytest.mark.parametrize("answer", [None, 5, b"search[lamp]", {"name": "search"}])
def test_an_answer_that_is_no_text_is_one_sentence(answer: Any, shop: ToolEpisodes) -> None:
    turn = TextEpisode(shop, 0).answer(answer)
    assert (turn.valid, turn.done) == (False, False)
    assert "no text" in turn.observation


def test_brackets_are_for_the_shop() -> None:
    with pytest.raises(ToolError):
        read_written_call("search[red shoes]", brackets=False)


@given(st.text(max_size=200))
def test_any_text_is_a_call_or_one_sentence(text: str) -> None:
    said = ""
    try:
        name, _ = read_written_call(text, brackets=True)
    except ToolError as problem:
        name, said = "none", str(problem)
    assert isinstance(name, str)
    assert "\n" not in said


def test_an_episode_ends_whatever_is_written() -> None:
    for options in ({"protocol": "shop-demo"}, {"protocol": "turk-demo"}):
        episode = TextEpisode(open_episodes(**options, episodes=12, max_steps=3), 0)
        turns = [episode.answer("no call") for _ in range(3)]
        assert [turn.done for turn in turns] == [False, False, True]
        assert turns[-1].truncated
        assert turns[-1].reward == 0


def test_running_out_of_steps_is_told_from_an_end_of_ones_own() -> None:
    episode = TextEpisode(open_episodes("shop-demo", episodes=12, max_steps=1), 0)
    turn = episode.answer("search[lamp]")
    assert (turn.done, turn.truncated, turn.valid) == (True, True, True)
    forms = TextEpisode(open_episodes("turk-demo", episodes=12, max_steps=1), 0)
    turn = forms.answer('{"name": "submit", "arguments": {}}')
    assert (turn.done, turn.truncated) == (True, False)
