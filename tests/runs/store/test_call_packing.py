"""Calls of a model in a packed episode: whole again, small, and bounded whoever wrote them."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.agents.model_call import ModelCall, ToolCall
from errands.runs.episode import Episode, Step, Summary
from errands.runs.store.call_packing import packed_calls, whole_calls
from errands.runs.store.rows import pack, pack_body, unpack_body

SUMMARY = Summary(
    number=0, key="goal 0", status="done", reward=1.0, success=True, steps=1, seconds=1.0
)


def words(count: int, seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"{rng.getrandbits(40):x}" for _ in range(count))


def conversation(turns: int) -> tuple[Step, ...]:
    """An episode in text: one message that grows with every call."""
    opening = {"role": "system", "content": words(300, 0)}
    tools = ({"type": "function", "function": {"name": "search"}},)
    history = words(50, 1)
    steps = []
    for turn in range(turns):
        history += f"\nAction: click[{turn}]\nObservation: {words(200, turn + 2)}"
        call = ModelCall(
            messages=(opening, {"role": "user", "content": history}),
            tools=tools,
            answer=f"click[{turn}]",
            calls=(ToolCall("click", "{}"),),
            tokens_in=turn,
        )
        steps.append(Step(f"click[{turn}]", calls=(call,)))
    return tuple(steps)


def windowed(turns: int, room: int) -> tuple[Step, ...]:
    """The same with a window that loses the oldest text."""
    steps = []
    for step in conversation(turns):
        [call] = step.calls
        opening, grown = call.messages
        cut = {**grown, "content": "[earlier steps are left out]\n" + grown["content"][-room:]}
        steps.append(
            msgspec.structs.replace(
                step, calls=(msgspec.structs.replace(call, messages=(opening, cut)),)
            )
        )
    return tuple(steps)


def body(steps: tuple[Step, ...]) -> bytes:
    return pack_body(Episode(summary=SUMMARY, steps=steps))


def test_what_was_packed_comes_back() -> None:
    steps = conversation(20)
    assert unpack_body(SUMMARY, body(steps)).steps == steps
    steps = windowed(20, 9_000)
    assert unpack_body(SUMMARY, body(steps)).steps == steps


@pytest.mark.parametrize("make", [conversation, lambda turns: windowed(turns, 40_000)])
def test_an_episode_twice_as_long_takes_twice_as_much(make: Any) -> None:
    short, long = (len(pack(packed_calls(make(turns)))) for turns in (20, 40))
    assert long < 2.3 * short
    sent = sum(
        len(message["content"])
        for step in make(40)
        for call in step.calls
        for message in call.messages
    )
    assert long < sent / 8


def test_a_page_with_another_field_each_time_is_written_once() -> None:
    page = words(2_000, 5)
    steps = tuple(
        Step(
            "x",
            calls=(
                ModelCall(
                    messages=({"role": "user", "content": f"Field: q{number}\n\nHTML: {page}"},)
                ),
            ),
        )
        for number in range(50)
    )
    assert len(pack(packed_calls(steps))) < 1.5 * len(page)
    assert whole_calls(packed_calls(steps)) == steps


def test_episodes_of_before_are_read_and_those_without_calls_are_as_before() -> None:
    old = ["click[x]", 0.5, "abc", "page", "thought", "message", 1.5, 10, 20, 0.25]
    [step] = unpack_body(SUMMARY, pack(([old], "d", "last"))).steps
    assert step == Step(*old)  # type: ignore[arg-type]
    assert step.calls == ()

    class OldStep(msgspec.Struct, array_like=True):
        action: str
        reward: float = 0.0

    data = pack((conversation(2), "", None))[1:]
    steps, *_ = msgspec.msgpack.decode(data, type=tuple[list[OldStep], str, str | None])
    assert [one.action for one in steps] == ["click[0]", "click[1]"], "older versions can read it"


def test_lone_halves_of_characters_are_kept() -> None:
    odd = {"role": "user", "content": "\ud800 " + words(100, 3)}
    again = {"role": "user", "content": "\ud800 " + words(100, 3) + " more\udc00"}
    steps = (Step("x", calls=(ModelCall(messages=(odd,)), ModelCall(messages=(odd, again)))),)
    assert unpack_body(SUMMARY, body(steps)).steps == steps


texts = st.text(st.sampled_from("ab\n"), max_size=600) | st.text(max_size=20)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": texts | st.none()},
    optional={"=": st.integers(), "~": st.integers(), "|": st.none(), "tool_calls": st.just([1])},
)


@given(st.lists(st.lists(messages, max_size=4), max_size=6))
def test_any_messages_come_back(calls: list[list[dict[str, Any]]]) -> None:
    steps = tuple(Step("x", calls=(ModelCall(messages=tuple(one)),)) for one in calls)
    assert whole_calls(packed_calls(steps)) == steps


@pytest.mark.parametrize(
    "message",
    [
        {"=": 5},
        {"=": -1},
        {"=": "0"},
        {"role": "user", "~": [0, 1, 0, 0, 0, "x"]},
        {"role": "user", "~": [9]},
        {"role": "user", "~": "abc"},
        {"role": "user", "~": [0, -5, 0, 0, 0, "x"]},
        {"|": "no message"},
    ],
)
def test_what_leads_nowhere_is_an_error(message: dict[str, Any]) -> None:
    steps = (Step("x", calls=(ModelCall(messages=(message,)),)),)
    with pytest.raises(ValueError, match="message"):
        whole_calls(steps)


def test_a_store_of_a_stranger_cannot_fill_the_memory() -> None:
    first = {"role": "user", "content": "x" * 1_000}
    doubled = [
        {"role": "user", "~": [number, 10**9, 0, 10**9, 0, str(number)]} for number in range(60)
    ]
    steps = (Step("x", calls=(ModelCall(messages=(first, *doubled)),)),)
    with pytest.raises(ValueError, match="too long"):
        whole_calls(steps)
