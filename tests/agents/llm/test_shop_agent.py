"""A model that shops, on the demo catalogue, behind a scripted endpoint."""

import json
import re
from typing import Any

import pytest

from errands.agents.agent import EndOfRun
from errands.agents.llm.shop.page import look
from errands.envs.shop import ShopEnv
from errands.errors import SettingError


def rule(prompt: str, *, thoughts: bool = False) -> str:
    """Search the instruction, take the first product, choose what is asked for, buy."""
    task = prompt[prompt.rindex("Instruction: ") :]
    wish = task.split("\n")[0].removeprefix("Instruction: ")
    page = task.rpartition("Observation:\n")[2]
    if thoughts and not task.rstrip().endswith("Observation: OK.\n\nAction:"):
        return "think[what is next?]"
    if "[Search]" in page:
        return f"search[{wish}]"
    if products := re.findall(r"^\[(B0\w{8})\]$", page, re.M):
        return f"click[{products[0]}]"
    for option in re.findall(r"^\[([^\[\]]+)\]$", page, re.M):
        if option[0].islower() and option in wish.lower() and f"click[{option}]" not in task:
            return f"click[{option}]"
    return "click[Buy Now]"


def by_prompt(request: dict[str, Any], number: int) -> str:
    return rule(request["messages"][1]["content"])


def by_tools(request: dict[str, Any], number: int) -> dict[str, Any]:
    """The same, from the calls so far."""
    [start, *rest] = request["messages"][1:]
    page = rest[-1]["content"] if rest else start["content"]
    wish = start["content"].split("\n")[0]
    done = [call for message in rest for call in message.get("tool_calls", ())]
    clicks = [json.loads(call["function"]["arguments"]).get("name") for call in done]
    history = " ".join(f"click[{name}]" for name in clicks)
    written = rule(f"{wish}\n{history}\n\nObservation:\n{page}")
    kind, words = written.rstrip("]").split("[", 1)
    key = {"search": "query", "click": "name"}[kind]
    function = {"name": kind, "arguments": json.dumps({key: words})}
    return {"content": None, "tool_calls": [{"id": "x", "type": "function", "function": function}]}


@pytest.mark.parametrize("observation", ["text", "text_rich"])
@pytest.mark.parametrize("settings", [{"style": "act"}, {"style": "react"}, {"top": 3}], ids=str)
def test_it_buys(
    endpoint: Any, factory: Any, play: Any, observation: str, settings: dict[str, Any]
) -> None:
    endpoint.script = by_prompt
    env = ShopEnv(split="test", observation=observation)
    rewards = []
    for seed in range(3):
        played = play(factory("shop", env, **settings), env, seed=seed)
        assert played.terminated
        rewards.append(played.reward)
        assert played.moves[-1].action == "click[Buy Now]"
        assert all(move.thought == move.action for move in played.moves)
        assert all(move.usage.calls == 1 and move.usage.cost > 0 for move in played.moves)
    assert max(rewards) > 0.4


@pytest.mark.parametrize("stream", [False, True])
def test_it_buys_with_tools(endpoint: Any, factory: Any, play: Any, stream: bool) -> None:
    endpoint.script = by_tools
    env = ShopEnv(split="test")
    played = play(factory("shop", env, calls="tools", style="act", stream=stream), env, seed=1)
    assert played.terminated
    assert played.reward > 0
    names = [tool["function"]["name"] for tool in endpoint.requests[0]["tools"]]
    assert names == ["search", "click"]
    roles = [message["role"] for message in endpoint.requests[-1]["messages"]]
    assert roles[:4] == ["system", "user", "assistant", "tool"]
    assert set(zip(roles[2::2], roles[3::2], strict=True)) == {("assistant", "tool")}


def test_both_ways_buy_the_same(endpoint: Any, factory: Any, play: Any) -> None:
    env = ShopEnv(split="test")
    endpoint.script = by_prompt
    text = play(factory("shop", env, style="act"), env, seed=5)
    endpoint.script = by_tools
    tools = play(factory("shop", env, style="act", calls="tools"), env, seed=5)
    assert [move.action for move in text.moves] == [move.action for move in tools.moves]


def test_thoughts_are_answered_and_are_no_steps(endpoint: Any, factory: Any, play: Any) -> None:
    endpoint.script = lambda request, number: rule(request["messages"][1]["content"], thoughts=True)
    env = ShopEnv(split="test")
    played = play(factory("shop", env, style="react"), env, seed=1)
    assert played.terminated
    assert all(not move.action.startswith("think") for move in played.moves)
    assert all(move.usage.calls == 2 for move in played.moves)
    assert played.moves[0].thought.startswith("think[what is next?]\n\nsearch[")
    last = endpoint.requests[-1]["messages"][1]["content"]
    assert "Action: think[what is next?]\n\nObservation: OK.\n\nAction:" in last


def test_endless_thoughts_become_steps(endpoint: Any, factory: Any, play: Any) -> None:
    endpoint.script = lambda request, number: "think[hm]"
    env = ShopEnv(split="test", max_steps=3)
    played = play(factory("shop", env, style="react", thoughts=2), env)
    assert [move.action for move in played.moves] == ["invalid[think hm]"] * 3
    assert len(endpoint.requests) == 9


def test_nonsense_is_asked_about_once_then_left_to_the_environment(
    endpoint: Any, factory: Any, play: Any
) -> None:
    endpoint.script = lambda request, number: "I am a teapot."
    env = ShopEnv(split="test", max_steps=2)
    played = play(factory("shop", env), env)
    assert [move.action for move in played.moves] == ["invalid[I am a teapot.]"] * 2
    assert played.moves[0].thought == "I am a teapot.\n\nI am a teapot."
    assert len(endpoint.requests) == 4
    asked_again = endpoint.requests[1]["messages"]
    assert asked_again[-2] == {"role": "assistant", "content": "I am a teapot."}
    assert "its last line is not an action" in asked_again[-1]["content"]
    history = endpoint.requests[2]["messages"][1]["content"]
    assert history.endswith(
        "Action: invalid[I am a teapot.]\n\nObservation: Invalid action!\n\nAction:"
    )


def test_repairs_can_help(endpoint: Any, factory: Any, play: Any) -> None:
    endpoint.script = lambda request, number: "hm" if number % 2 == 0 else by_prompt(request, 0)
    env = ShopEnv(split="test")
    assert play(factory("shop", env), env, seed=1).terminated


def test_broken_tool_arguments_are_asked_about(endpoint: Any, factory: Any, play: Any) -> None:
    function = {"name": "click", "arguments": '{"name": "Buy'}
    broken = {"content": None, "tool_calls": [{"id": "1", "function": function}]}
    endpoint.script = lambda request, number: broken
    env = ShopEnv(split="test", max_steps=1)
    played = play(factory("shop", env, calls="tools"), env)
    assert played.moves[0].action.startswith("invalid[click(")
    assert "arguments of click are not JSON" in endpoint.requests[1]["messages"][-1]["content"]


def test_a_megabyte_of_answer_is_an_invalid_action(endpoint: Any, factory: Any, play: Any) -> None:
    endpoint.script = lambda request, number: "blah " * 200_000
    env = ShopEnv(split="test", max_steps=1)
    played = play(factory("shop", env, repairs=0), env)
    assert len(played.moves[0].action) < 100
    assert len(played.moves[0].thought) < 210_000


def test_top_hides_products_and_pages(endpoint: Any, factory: Any, play: Any) -> None:
    env = ShopEnv(split="test", max_steps=4)
    _, info = env.reset(options={"goal": 0})
    _, *_, info = env.step(f"search[{info['instruction']}]")
    products = info["available_actions"]["clickables"][2:]
    answers = ["search[" + info["instruction"] + "]", f"click[{products[3]}]", "click[Next >]"]
    endpoint.script = lambda request, number: [*answers, f"click[{products[2]}]"][number]
    played = play(factory("shop", env, top=3), env, options={"goal": 0})
    assert played.moves[1].action == f"invalid[click {products[3]}]"
    assert played.moves[2].action.startswith("invalid[click Next")
    assert played.moves[3].action == f"click[{products[2]}]"
    shown = endpoint.requests[1]["messages"][1]["content"].rpartition("Observation:\n")[2]
    assert [f"[{name.upper()}]" in shown for name in products[:4]] == [True] * 3 + [False]
    assert "[Next >]" not in shown


def test_the_window_loses_the_oldest_and_keeps_the_instruction(
    endpoint: Any, factory: Any, play: Any
) -> None:
    env = ShopEnv(split="test", max_steps=8)
    endpoint.script = lambda request, number: f"search[mug {number}]"
    play(factory("shop", env, window=4500), env, options={"goal": 0})
    for request in endpoint.requests:
        assert sum(len(message["content"]) for message in request["messages"]) <= 4500
    first, last = (endpoint.requests[n]["messages"] for n in (0, -1))
    assert first[0] == last[0]
    assert "[earlier steps are left out]" in last[1]["content"]
    assert last[1]["content"].startswith(f"Instruction: {env.goal.instruction_text}\n")
    assert "mug 6" in last[1]["content"]
    assert "mug 0" not in last[1]["content"]


def test_the_window_of_tool_calls_is_cut_call_by_call(
    endpoint: Any, factory: Any, play: Any
) -> None:
    def script(request: Any, number: int) -> dict[str, Any]:
        function = {"name": "search", "arguments": json.dumps({"query": f"mug {number}"})}
        return {"content": "", "tool_calls": [{"id": "1", "function": function}]}

    endpoint.script = script
    env = ShopEnv(split="test", max_steps=6)
    play(factory("shop", env, calls="tools", window=4500), env)
    last = endpoint.requests[-1]["messages"]
    whole = len(endpoint.requests[0]["messages"]) + 2 * (len(endpoint.requests) - 1)
    assert len(last) < whole, "a call and its result for each step"
    assert "[earlier steps are left out]" in last[1]["content"]
    calls = {c["id"] for m in last if m["role"] == "assistant" for c in m["tool_calls"]}
    assert calls == {m["tool_call_id"] for m in last if m["role"] == "tool"}


def test_chosen_options_are_marked_one_an_option(endpoint: Any, factory: Any, play: Any) -> None:
    env = ShopEnv(split="test", max_steps=4)
    _, info = env.reset(options={"goal": 0})
    _, *_, info = env.step(f"search[{info['instruction']}]")
    product = next(iter(info["available_actions"]["clickables"][2:]))
    observation, *_, info = env.step(f"click[{product}]")
    choices = look(observation, info).choices
    [one, other] = [name for name in choices if choices[name] == next(iter(choices.values()))][:2]
    answers = [f"search[{info['instruction']}]", f"click[{product}]", f"click[{one}]"]
    endpoint.script = lambda request, number: [*answers, f"click[{other}]"][number]
    play(factory("shop", env), env, options={"goal": 0}, most=4)
    text = endpoint.requests[-1]["messages"][1]["content"].rpartition("Observation:\n")[2]
    assert f"[[{one}]]" in text
    assert f"[[{other}]]" not in text
    assert text.count("[[") == 1


def test_a_search_is_refused_where_the_environment_refuses_it(
    endpoint: Any, factory: Any, play: Any
) -> None:
    endpoint.script = lambda request, number: "search[mug]"
    for anywhere, told in ((False, True), (True, False)):
        env = ShopEnv(split="test", max_steps=3, search_anywhere=anywhere)
        play(factory("shop", env), env)
        text = endpoint.requests[-1]["messages"][1]["content"]
        assert ("Invalid action!" in text) is told


def test_fifty_at_once_share_one_client(endpoint: Any, factory: Any, play_many: Any) -> None:
    endpoint.script = by_prompt
    envs = [ShopEnv(split="test") for _ in range(50)]
    results = play_many(factory("shop", envs[0], style="act"), envs)
    assert all(played.terminated for played in results)
    alone = [play_many(factory("shop", envs[0], style="act"), [envs[0]])[0].moves]
    assert [move.action for move in results[0].moves] == [move.action for move in alone[0]]


def test_the_cap_ends_a_run_of_many(endpoint: Any, factory: Any, play_many: Any) -> None:
    endpoint.script = by_prompt
    envs = [ShopEnv(split="test") for _ in range(20)]
    made = factory("shop", envs[0], style="act", max_cost=0.006)
    results = play_many(made, envs)
    failed = [result for result in results if isinstance(result, EndOfRun)]
    assert failed
    assert all("spending cap" in str(failure) for failure in failed)
    assert 0.006 <= made.spent <= 0.006 + 20 * 0.00012 + 1e-9
    assert len(endpoint.requests) <= 50 + 20


def test_what_was_spent_before_counts(endpoint: Any, factory: Any, play: Any) -> None:
    env = ShopEnv(split="test")
    made = factory("shop", env, max_cost=1.0)
    made.charge(1.0)
    with pytest.raises(EndOfRun, match="spending cap"):
        play(made, env)
    assert not endpoint.requests


def test_a_second_run_is_the_same_without_calls(
    endpoint: Any, factory: Any, play: Any, tmp_path: Any
) -> None:
    endpoint.script = by_prompt
    env = ShopEnv(split="test")
    cache = str(tmp_path / "cache.sqlite")
    first = play(factory("shop", env, cache=cache), env, seed=3)
    calls = len(endpoint.requests)
    second = play(factory("shop", env, cache=cache), env, seed=3)
    assert len(endpoint.requests) == calls
    assert [(m.action, m.thought) for m in first.moves] == [
        (m.action, m.thought) for m in second.moves
    ]
    assert all(move.usage.cost == 0 and move.usage.cached == 1 for move in second.moves)


def test_a_window_without_room_is_refused(factory: Any) -> None:
    with pytest.raises(SettingError, match="raise window"):
        factory("shop", ShopEnv(), window=1200)


@pytest.mark.parametrize("observation", ["html", "url"])
def test_other_observations_are_shown_as_they_are(
    endpoint: Any, factory: Any, play: Any, observation: str
) -> None:
    env = ShopEnv(split="test", observation=observation, max_steps=1)
    shown, _ = env.reset(seed=0)
    play(factory("shop", env, window=0), env)
    assert shown[:200] in endpoint.requests[0]["messages"][1]["content"]
