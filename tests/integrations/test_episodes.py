"""The core that every framework's adapter is made of."""

import inspect
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Script

import errands
from errands.agents.llm import ShopTools, ToolError, TurkPointerTools, TurkTools, call_tool
from errands.agents.llm.prompts import load
from errands.errors import SettingError
from errands.integrations import open_episodes
from errands.integrations.episodes import ToolEpisodes, open_splits
from errands.runs.protocol import ProtocolError
from errands.runs.store.places import open_run
from errands.turk.pages.field import TEXTS

DOMAINS = ("shop", "forms")


@pytest.fixture(params=DOMAINS)
def script(request: pytest.FixtureRequest) -> Script:
    """The scripted model of each domain."""
    found: Script = request.getfixturevalue(
        {"shop": "shop_script", "forms": "form_script"}[request.param]
    )
    return found


def test_the_scripted_calls_earn_what_the_agent_earned_to_the_last_bit(script: Script) -> None:
    episodes = script.episodes
    rewards = []
    for number, played in enumerate(script.played):
        tools, _ = episodes.begin(number)
        assert tools.reward == 0
        assert tools.reward_parts == {}
        assert not tools.done
        for call in played.calls:
            call_tool(tools, call.name, call.arguments)
        assert tools.done
        assert tools.steps == len(played.calls)
        assert tools.reward_parts
        assert tools.get_reward() == tools.reward
        assert tools.success == (tools.reward >= 1)
        rewards.append(tools.reward)
    assert rewards == script.rewards
    assert 0 < sum(rewards) < len(rewards) or episodes.domain == "turk"


def test_errands_run_gives_the_same_rewards_and_key(script: Script, tmp_path: Path) -> None:
    episodes = script.episodes
    agent = "careful" if episodes.domain == "shop" else "oracle"
    result = errands.run(episodes.protocol.id, agent, episodes=12, out=tmp_path / "run")
    store = open_run(result.place)
    rewards = [row.reward for row in sorted(store.summaries(), key=lambda row: row.number)]
    store.close()
    assert rewards == script.rewards
    assert result.info.protocol_key == episodes.key
    assert "episodes=12" in episodes.key


def test_the_agent_llm_on_the_scripted_endpoint_gives_the_same_rewards(
    shop_script: Script, shop_endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="needs openai: pip install 'errands[llm]'")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    settings = {"model": "m", "base_url": shop_endpoint.url, "calls": "tools", "style": "act"}
    result = errands.run(
        "shop-demo", "llm", episodes=12, settings={**settings, "window": 0}, out=tmp_path / "run"
    )
    store = open_run(result.place)
    rewards = [row.reward for row in sorted(store.summaries(), key=lambda row: row.number)]
    store.close()
    assert rewards == shop_script.rewards
    assert result.info.protocol_key == shop_script.episodes.key


def test_an_episode_is_a_value_at_every_step(script: Script) -> None:
    episodes = script.episodes
    for number, played in enumerate(script.played[:6]):
        tools, _ = episodes.begin(number)
        for call in played.calls:
            again = episodes.at(json.loads(json.dumps(tools.state)))
            assert again.state == tools.state
            assert (again.done, again.steps, again.index) == (tools.done, tools.steps, tools.index)
            assert call_tool(again, call.name, call.arguments) == call_tool(
                tools, call.name, call.arguments
            )
        ended = episodes.at(tools.state)
        assert ended.done
        assert ended.reward == tools.reward
        assert ended.reward_parts == tools.reward_parts


def test_a_state_is_played_again_in_another_process(script: Script) -> None:
    episodes = script.episodes
    tools, _ = episodes.begin(0)
    for call in script.played[0].calls:
        call_tool(tools, call.name, call.arguments)
    program = (
        "import json, pickle, sys; data = sys.stdin.buffer.read();"
        "episodes, state = pickle.loads(data); tools = episodes.at(state);"
        "print(json.dumps([tools.reward, tools.done, episodes.key]))"
    )
    packed = pickle.dumps((episodes, tools.state))
    assert len(packed) < 6_000
    told = subprocess.run(
        [sys.executable, "-c", program], input=packed, stdout=subprocess.PIPE, check=True
    )
    assert json.loads(told.stdout) == [tools.reward, True, episodes.key]


def test_an_episode_that_is_left_gives_back_its_page(
    forms: ToolEpisodes, shop: ToolEpisodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []
    for episodes in (shop, forms):
        tools, _ = episodes.begin(0)
        if episodes is forms:
            kind = type(tools._env.page)  # type: ignore[attr-defined]
            monkeypatch.setattr(kind, "close", lambda page: closed.append(page))
        episodes.release(tools)
        episodes.release(tools)
        assert tools.reward == 0
    assert len(closed) == 1


def test_impossible_calls_are_steps_and_come_back_in_a_state(script: Script) -> None:
    episodes = script.episodes
    tools, _ = episodes.begin(1)
    wrong = (
        ("click", {"name": "nothing of that name"})
        if episodes.domain == "shop"
        else ("fill", {"name": "nothing of that name", "value": "x"})
    )
    for _ in range(2):
        with pytest.raises(ToolError):
            call_tool(tools, *wrong)
    assert tools.steps == 2
    again = episodes.at(tools.state)
    assert again.steps == 2
    for call in script.played[1].calls:
        assert call_tool(again, call.name, call.arguments) == call_tool(
            tools, call.name, call.arguments
        )
    assert again.reward == tools.reward == script.rewards[1]


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("buy", {}, "no tool 'buy'"),
        ("", {}, "no tool ''"),
        ("reset", {"goal": 3}, "no tool 'reset'"),
        ("get_reward", {}, "no tool 'get_reward'"),
        ("_begin", {}, "no tool '_begin'"),
        ("__init__", {}, "no tool '__init__'"),
        ("{tool}", {}, "needs the argument"),
        ("{tool}", [], "no object with names"),
        ("{tool}", "[1]", "no object with names"),
        ("{tool}", "{", "not JSON"),
        ("{tool}", {"{argument}": "a", "more": 1}, "no argument 'more'"),
    ],
)
def test_calls_that_name_the_wrong_thing_are_one_sentence_and_no_step(
    script: Script, name: str, arguments: Any, why: str
) -> None:
    shop = script.episodes.domain == "shop"
    tool, argument = ("search", "query") if shop else ("fill", "name")
    if isinstance(arguments, dict):
        arguments = {key.format(argument=argument): value for key, value in arguments.items()}
    tools, _ = script.episodes.begin(0)
    with pytest.raises(ToolError, match=why) as caught:
        call_tool(tools, name.format(tool=tool) if name == "{tool}" else name, arguments)
    assert "\n" not in str(caught.value)
    assert tools.steps == 0


@pytest.mark.parametrize(
    "calls", [[1], ["search"], [None], [{"name": 1}], [["a", "b", "c"]], ["xy"]]
)
def test_states_of_nonsense_are_one_sentence(script: Script, calls: list[Any]) -> None:
    with pytest.raises(ToolError):
        script.episodes.at({**script.episodes.row(0), "calls": calls})


@pytest.mark.parametrize("state", [None, 5, True, "goal", [["goal", 0]], b"goal"])
def test_a_state_that_is_no_object_is_one_sentence(script: Script, state: Any) -> None:
    with pytest.raises(ToolError, match="A state is an object with"):
        script.episodes.at(state)


@pytest.mark.parametrize("calls", [None, 5, True, 1.5])
def test_calls_that_are_no_list_are_one_sentence(script: Script, calls: Any) -> None:
    with pytest.raises(ToolError, match="calls of a state are a list"):
        script.episodes.at({**script.episodes.row(0), "calls": calls})


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        10**5_000,
        b"5",
        object(),
        {1, 2},
        {"a": {(1, 2): 3}},
        "\ud800",
        "x" * 200_000,
        True,
        7,
        7.0,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_json_can_hold_is_played_again_as_it_was(script: Script, value: Any) -> None:
    """A framework may hand over whatever its own reading made of a model's words."""
    episodes = script.episodes
    tools, _ = episodes.begin(0)
    shop = episodes.domain == "shop"
    if shop:
        calls = [("search", {"query": value}), ("click", {"name": value})]
    else:
        call_tool(tools, "fill", {"name": field_of_text(tools), "value": "before"})
        calls = [
            ("fill", {"name": field_of_text(tools), "value": value}),
            ("fill", {"name": value, "value": "x"}),
            ("read", {"name": value}),
        ]
    for name, arguments in calls:
        steps = tools.steps
        try:
            call_tool(tools, name, arguments).encode()
        except ToolError as error:
            str(error).encode()
        assert tools.steps == steps + 1
        written = json.dumps(tools.state, allow_nan=False, ensure_ascii=False).encode()
        assert len(written) < 500_000
        again = episodes.at(json.loads(written))
        assert again.state == tools.state
        if shop:
            assert isinstance(again, ShopTools)
            assert isinstance(tools, ShopTools)
            assert again.actions == tools.actions
        else:
            assert isinstance(again, TurkTools)
            assert isinstance(tools, TurkTools)
            assert again._env.page.html() == tools._env.page.html()


def field_of_text(tools: Any) -> str:
    return next(field.name for field in tools._env.page.fields() if field.type in TEXTS)


def test_who_edits_a_state_does_not_edit_the_episode(script: Script) -> None:
    tools, _ = script.episodes.begin(0)
    call = script.played[0].calls[0]
    call_tool(tools, call.name, call.arguments)
    state = tools.state
    for one in (*state["calls"], *tools.calls):
        one["arguments"].clear()
        one["name"] = "nothing"
    assert tools.state["calls"] == [{"name": call.name, "arguments": dict(call.arguments)}]


def test_a_state_ends_with_its_end(script: Script) -> None:
    calls = [*script.played[0].calls, script.played[0].calls[-1]]
    with pytest.raises(ToolError, match="after its end"):
        script.episodes.at({**script.episodes.row(0), "calls": calls})


def test_a_state_of_the_other_domain_says_what_it_lacks(
    shop: ToolEpisodes, forms: ToolEpisodes
) -> None:
    with pytest.raises(ToolError, match="lacks goal"):
        shop.at(forms.row(0))
    with pytest.raises(ToolError, match="lacks task"):
        forms.at(shop.row(0))


def public_methods(kind: type) -> list[str]:
    members = inspect.getmembers(kind, inspect.isfunction)
    return [name for name, _ in members if not name.startswith("_")]


def test_a_model_is_offered_these_tools_and_no_others() -> None:
    """Some frameworks make every public method a tool."""
    own = {"reset", "get_reward"}
    assert set(public_methods(ShopTools)) - own == {"search", "click"}
    assert set(public_methods(TurkTools)) - own == {"fill", "read", "submit"}
    pointer = {"click", "click_at", "type_text", "press_key", "drag", "select_text", "scroll"}
    assert set(public_methods(TurkPointerTools)) - own == {"fill", "read", "submit"} | pointer
    for kind in (ShopTools, TurkTools, TurkPointerTools):
        assert {spec.name for spec in kind.specs} == set(public_methods(kind)) - own


@pytest.mark.parametrize("kind", [ShopTools, TurkTools, TurkPointerTools])
def test_a_tool_is_described_once(kind: Any) -> None:
    """Docstring and signature, from which some frameworks make a schema, say what `specs` say."""
    types = {"string": str, "number": float, "integer": int}
    for spec in kind.specs:
        method = getattr(kind, spec.name)
        told = inspect.getdoc(method)
        assert told.splitlines()[0] == spec.description
        parameters = dict(list(inspect.signature(method).parameters.items())[1:])
        assert list(parameters) == list(spec.parameters["properties"])
        for name, parameter in parameters.items():
            described = spec.parameters["properties"][name]
            assert parameter.annotation is types[described["type"]]
            assert f"    {name}: {described['description']}" in told
            required = parameter.default is inspect.Parameter.empty
            assert required == (name in spec.parameters["required"])


def test_properties_are_on_both(shop: ToolEpisodes, forms: ToolEpisodes) -> None:
    for episodes in (shop, forms):
        tools = episodes.tools()
        for name in ("reward", "reward_parts", "success", "steps", "done"):
            getattr(tools, name)
        with pytest.raises(ToolError, match="call reset"):
            _ = tools.index
        with pytest.raises(ToolError, match="call reset"):
            _ = tools.state
        begun, _ = episodes.begin(2)
        assert isinstance(begun.index, int)


def test_results_name_the_protocol(script: Script) -> None:
    tools, _ = script.episodes.begin(0)
    for call in script.played[0].calls:
        call_tool(tools, call.name, call.arguments)
    result = script.episodes.result(tools)
    assert json.loads(json.dumps(result)) == result
    assert result["protocol"] == script.episodes.key
    assert result["reward"] == script.rewards[0]


def test_episodes_are_opened_once_and_shared() -> None:
    assert open_episodes("shop-demo", episodes=12) is open_episodes("shop-demo", episodes=12)
    again = pickle.loads(pickle.dumps(open_episodes("shop-demo", episodes=12)))
    assert again is open_episodes("shop-demo", episodes=12)
    assert open_episodes(**json.loads(json.dumps(again.options))) is again


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"protocol": "no-such"}, "no protocol 'no-such'"),
        ({"protocol": "shop-demo", "training": True}, "for testing.*disjoint-train"),
        ({"protocol": "turk-demo", "training": True}, "everything.*for testing.*'train'"),
        ({"protocol": "shop-demo", "split": "eval", "training": True}, "for testing"),
        ({"protocol": "shop-demo", "episodes": 0}, "1 or more"),
        ({"protocol": "shop-demo", "episodes": True}, "expected a whole number"),
        ({"protocol": "shop-demo", "episodes": 2.5}, "expected a whole number"),
        ({"protocol": "shop-demo", "split": ["test"]}, "expected a text"),
        ({"protocol": "turk-demo", "data": 5}, "expected a text"),
        ({"protocol": None}, "expected a text"),
        ({"protocol": "shop-demo", "driver": "dom"}, "TurkingBench"),
    ],
)
def test_wrong_options_are_one_sentence(options: dict[str, Any], why: str) -> None:
    with pytest.raises((SettingError, ProtocolError), match=why) as caught:
        open_episodes(**options)
    assert "\n" not in str(caught.value)


def test_training_takes_training_splits() -> None:
    assert len(open_episodes("shop-learn-train", training=True)) > 100
    assert len(open_episodes("turk", split="train", training=True)) > 10


@pytest.mark.parametrize("number", [-1, 12, 10**9, None, "1", 1.0])
def test_there_are_so_many_episodes(shop: ToolEpisodes, number: Any) -> None:
    with pytest.raises(SettingError, match="expected 0 to 11"):
        shop.row(number)


def test_clusters_tell_nothing_of_the_product(shop: ToolEpisodes) -> None:
    source: Any = shop.source
    for number in range(len(shop)):
        product = source.goals[shop.row(number)["goal"]].asin
        assert product.lower() not in shop.cluster(number).lower()
    assert len({shop.cluster(number) for number in range(len(shop))}) > 1


def test_the_page_runs() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "guides" / "integrations" / "index.md"
    [block] = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec(compile(block, str(page), "exec"), {})


def test_protocols_that_are_served_together_have_the_same_tools() -> None:
    splits = open_splits(["shop-demo", "shop-learn-train"], episodes=12)
    assert [episodes.purpose for episodes in splits.values()] == ["test", "train"]
    assert open_episodes("shop-demo", split="disjoint-eval", episodes=12).purpose == "validation"
    with pytest.raises(SettingError, match="do not have the same tools; serve them apart"):
        open_splits(["shop-demo", "turk-demo"])


def test_a_failure_that_is_not_the_models_is_no_reward(
    forms: ToolEpisodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools: Any = forms.begin(0)[0]
    with monkeypatch.context() as broken:
        broken.setattr(tools._env, "step", failing)
        with pytest.raises(OSError, match="the browser is gone"):
            tools.submit()
    assert tools.get_reward() is None
    tools.reset(**forms.row(0))
    assert tools.get_reward() == 0


def failing(action: Any) -> Any:
    raise OSError("the browser is gone")


def test_whether_it_is_for_training_can_be_asked_later() -> None:
    open_episodes("shop-demo", split="disjoint-train").check_training()
    open_episodes("turk", split="train").check_training()
    for name in ("shop-demo", "turk"):
        with pytest.raises(SettingError, match="for testing"):
            open_episodes(name).check_training()


def test_conversations_look_as_the_settings_say() -> None:
    settings = {"style": "react", "shots": 0, "top": "2"}
    episodes = open_episodes("shop-demo", episodes=2, settings=settings)
    assert [spec.name for spec in episodes.specs] == ["search", "click", "think"]
    tools, messages = episodes.conversation(0)
    prompt = load("shop-react-tools", "shop")
    assert messages[0]["content"] == prompt.parts["system"]
    page = call_tool(tools, "search", {"query": "high heel sandals"})
    assert len(re.findall(r"^\[B0\w+\]$", page, re.M)) == 2
    assert call_tool(tools, "think", {"thought": "The first."}) == "OK."
    again = pickle.loads(pickle.dumps(episodes)).at(tools.state)
    assert again.state == tools.state
    reopened = open_episodes(**json.loads(json.dumps(episodes.options)))
    assert reopened.messages() == episodes.messages()
    assert open_episodes("shop-demo", episodes=2).key == episodes.key


@pytest.mark.parametrize(
    ("protocol", "settings", "words"),
    [
        ("shop-demo", {"tops": 3}, "no setting 'tops': did you mean 'top'"),
        ("shop-demo", {"style": "act-2022"}, "style='act-2022': expected act or react"),
        ("shop-demo", {"calls": "text"}, "leave calls and window out"),
        ("shop-demo", {"window": 5000}, "leave calls and window out"),
        ("shop-demo", {"top": [1]}, r"top=\[1\]: expected a text or a whole number"),
        ("turk-demo", {"top": 3}, "'top' is for the shop"),
    ],
)
def test_settings_of_conversations_are_checked(
    protocol: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingError, match=words):
        open_episodes(protocol, settings=settings)
