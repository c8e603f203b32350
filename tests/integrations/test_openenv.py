"""OpenEnv: the adapter on OpenEnv's own server, clients, loop and validation."""

import pytest

pytest.importorskip("openenv.core", reason="needs OpenEnv: pip install 'errands[openenv]'")

import asyncio
import contextlib
import importlib.util
import json
import re
import runpy
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from openenv.core.env_server import mcp_types as wire
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.harness import rollout
from openenv.core.llm_client import LLMResponse, ToolCall
from openenv.core.mcp_client import MCPToolClient
from scripted_model import Script
from typer.testing import CliRunner, Result

from errands.integrations.episodes import ToolEpisodes, open_splits
from errands.integrations.openenv import ToolSession, app
from errands.runs.protocol import ProtocolError
from errands.testing.adapter import AdapterConformance, ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "errands-openenv"
PAGE = ROOT / "docs" / "guides" / "integrations" / "openenv.md"
IN_PROCESS = True


def play(script: ScriptedModel) -> list[float]:
    """The script's calls, on a session as the server holds it."""
    session = ToolSession({"all": script.episodes})
    rewards = []
    for played in script.played:
        session.reset(index=played.number)
        reward = 0.0
        for call in played.calls:
            seen = session.step(CallToolAction(tool_name=call.name, arguments=call.arguments))
            reward = seen.reward
            if seen.done:
                break
        rewards.append(reward)
    return rewards


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


@contextlib.contextmanager
def served(application: Any) -> Iterator[str]:
    """The address of a server in a thread."""
    config = uvicorn.Config(application, log_level="error", ws="websockets-sansio", lifespan="on")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture(scope="module")
def shop_url() -> Iterator[str]:
    with served(app("shop-demo", "shop-learn-train", episodes=12)) as url:
        yield url


@pytest.fixture(scope="module")
def form_url() -> Iterator[str]:
    with served(app("turk-demo", episodes=12)) as url:
        yield url


@pytest.fixture(params=["shop", "forms"])
def domain(request: pytest.FixtureRequest) -> tuple[str, Script]:
    url, script = {"shop": ("shop_url", "shop_script"), "forms": ("form_url", "form_script")}[
        request.param
    ]
    return request.getfixturevalue(url), request.getfixturevalue(script)


def request(url: str, path: str, body: Any = None) -> tuple[int, Any]:
    """A plain request of an address: status and JSON."""
    import httpx

    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    answer = (
        httpx.get(url + path)
        if data is None
        else httpx.post(url + path, content=data, headers={"content-type": "application/json"})
    )
    return answer.status_code, answer.json()


def model_step(script: Script) -> Any:
    """The scripted model as OpenEnv asks one."""

    def step(messages: list[Any], tools: list[Any], sampling: dict[str, Any]) -> Any:
        call = script.next(messages)
        made = [] if call is None else [ToolCall("call", call.name, call.arguments)]
        return rollout.ModelStepResult(LLMResponse(content="", tool_calls=made))

    return step


def test_openenvs_loop_gives_the_same_rewards_to_the_last_bit(domain: tuple[str, Script]) -> None:
    url, script = domain
    rewards = []
    for number in range(len(script)):
        client = MCPToolClient(base_url=url)
        session = rollout.StepEnvSessionAdapter(
            client,
            tool_specs=[
                wire.Tool(name=one.name, description=one.description, input_schema=one.parameters)
                for one in script.episodes.specs
            ],
            action_builder=lambda name, arguments: CallToolAction(
                tool_name=name, arguments=arguments
            ),
            initial_messages_builder=lambda result, task: result.observation.messages,
            tool_result_builder=lambda name, arguments, result, state: rollout.ToolResult(
                data=result.observation.result,
                done=result.done,
                metadata={"reward": result.reward, **result.metadata},
            ),
            reset_kwargs={"index": number},
        )
        limits = rollout.HarnessRunLimits(max_turns=100)
        played = rollout.MCPHarnessAdapter().run_white_box(model_step(script), session, limits)
        verified = session.verify(played.messages)
        rewards.append(rollout._resolve_env_reward(played, verified))
        last = played.tool_trace[-1].result
        session.close()
        assert played.done
        assert len(played.tool_trace) == len(script.played[number].calls)
        assert verified.metrics["step_count"] == len(script.played[number].calls)
        assert last.metadata["protocol"] == script.episodes.key
        assert last.metadata["success"] == (rewards[-1] >= 1)
        assert last.metadata["reward_parts"]
    assert rewards == script.rewards
    assert sum(rewards) / 12 == sum(script.rewards) / 12


def test_the_adapter_alone_gives_the_same_rewards(shop_script: Script, form_script: Script) -> None:
    assert play(shop_script) == shop_script.rewards
    assert play(form_script) == form_script.rewards


def test_a_client_sees_the_tools_as_they_are_described_and_none_is_reserved(
    domain: tuple[str, Script],
) -> None:
    url, script = domain
    with MCPToolClient(base_url=url).sync() as client:
        seen = client.list_tools()
        client.reset(index=0)
        stepped = client.step(ListToolsAction()).observation.tools
    told = [(one.name, one.description, one.input_schema) for one in seen]
    assert told == [(one.name, one.description, one.parameters) for one in script.episodes.specs]
    assert stepped == seen
    assert not {one.name for one in seen} & wire.RESERVED_TOOL_NAMES


def test_a_client_may_call_tools_by_name_and_ask_for_the_state(shop_url: str) -> None:
    with MCPToolClient(base_url=shop_url).sync() as client:
        begun = client.reset(split="shop-demo", index=2, episode_id="mine")
        assert begun.reward is None
        assert not begun.done
        assert [one["role"] for one in begun.observation.messages] == ["system", "user"]
        assert client.state().episode_id == "mine"
        assert client.state().step_count == 0
        page = client.call_tool("search", query="red shoes")
        assert "Page 1" in page["result"]
        assert page["reward"] == 0
        assert client.state().step_count == 1
        client.reset(index=3)
        assert client.state().step_count == 0
        assert client.state().episode_id != "mine"


WRONG = [
    ("buy", {}, "tool_not_found", 0),
    ("reset", {"index": 1}, "tool_not_found", 0),
    ("search", {}, "invalid_args", 0),
    ("search", {"query": "a", "more": 1}, "invalid_args", 0),
    ("click", {"name": "nothing of that name"}, "execution_error", 1),
    ("search", {"query": ["a", {"b": 1}]}, "execution_error", 1),
    ("search", {"query": None}, "execution_error", 1),
]


@pytest.mark.parametrize(("tool", "arguments", "kind", "steps"), WRONG)
def test_wrong_calls_are_read_by_the_model_and_end_nothing(
    shop_url: str, shop_script: Script, tool: str, arguments: dict[str, Any], kind: str, steps: int
) -> None:
    with MCPToolClient(base_url=shop_url).sync() as client:
        client.reset(index=1)
        told = client.step(CallToolAction(tool_name=tool, arguments=arguments))
        assert told.observation.error.error_type == kind
        assert told.observation.result == told.observation.error.message
        assert "\n" not in told.observation.result
        assert not told.done
        assert told.reward == (0 if steps else None)
        assert client.state().step_count == steps
        for call in shop_script.played[1].calls:
            told = client.step(CallToolAction(tool_name=call.name, arguments=call.arguments))
        assert told.done
        assert told.reward == shop_script.rewards[1]
        late = client.step(CallToolAction(tool_name="search", arguments={"query": "more"}))
        assert late.done
        assert late.reward is None
        assert "over" in late.observation.result
        assert late.metadata["reward"] == shop_script.rewards[1]


def test_no_step_before_a_reset(shop_url: str) -> None:
    with MCPToolClient(base_url=shop_url).sync() as client:
        told = client.step(CallToolAction(tool_name="search", arguments={"query": "a"}))
    assert "reset" in told.observation.result
    assert not told.done
    assert told.reward is None


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"split": "test"}, "no split 'test' here; expected 'shop-demo' or 'shop-learn-train'"),
        ({"split": 3}, "no split '3'"),
        ({"split": ["shop-demo"]}, "no split"),
        ({"index": 12}, "no episode 12"),
        ({"index": -1}, "no whole number"),
        ({"index": True}, "no whole number"),
        ({"index": "1"}, "no whole number"),
        ({"index": 1.0}, "no whole number"),
        ({"seed": -1}, "no whole number"),
        ({"seed": "x"}, "no whole number"),
        ({"episode_id": 4}, "at most 255"),
        ({"episode_id": "x" * 256}, "at most 255"),
        ({"goal": 4}, "no argument 'goal'"),
    ],
)
def test_a_reset_that_cannot_be_is_one_sentence_and_keeps_the_episode(
    shop_url: str, where: dict[str, Any], why: str
) -> None:
    with MCPToolClient(base_url=shop_url).sync() as client:
        client.reset(index=0, episode_id="kept")
        with pytest.raises(RuntimeError, match=re.escape(why)) as caught:
            client.reset(**where)
        assert "\n" not in str(caught.value)
        assert client.state().episode_id == "kept"
        assert not client.step(CallToolAction(tool_name="search", arguments={"query": "a"})).done


def test_a_seed_draws_an_episode_and_the_same_again(shop: ToolEpisodes) -> None:
    session = ToolSession({"shop-demo": shop})
    drawn = []
    for seed in (*range(40), None):
        session.reset(seed=seed)
        drawn.append(session.state.index)
        assert session.state.protocol == shop.key
        if seed is not None:
            session.reset(seed=seed)
            assert session.state.index == drawn[-1]
    assert len(set(drawn)) > 6


def test_tasks_are_listed_by_split_and_tell_nothing_of_a_goal(
    shop_url: str, shop: ToolEpisodes
) -> None:
    assert request(shop_url, "/list_environments") == (200, ["errands"])
    assert request(shop_url, "/errands/splits") == (
        200,
        [
            {"name": "shop-demo", "type": "test"},
            {"name": "shop-learn-train", "type": "train"},
        ],
    )
    where = {"split": "shop-demo"}
    assert request(shop_url, "/errands/num_tasks", where) == (200, {"num_tasks": 12})
    listed = request(shop_url, "/errands/tasks", where)[1]["tasks"]
    assert listed == [
        {"id": shop.name(number), "index": number, "plays": shop.row(number), **where}
        for number in range(12)
    ]
    assert request(shop_url, "/errands/task", {**where, "index": 3})[1]["task"] == listed[3]
    part = request(shop_url, "/errands/task_range", {**where, "start": 2, "stop": 5})[1]["tasks"]
    assert part == listed[2:5]
    last = request(shop_url, "/errands/task_range", {**where, "start": -2})[1]["tasks"]
    assert last == listed[-2:]
    assert request(shop_url, "/errands/task", {**where, "index": 12})[0] == 400
    assert request(shop_url, "/errands/task", {**where, "index": -1})[0] == 400
    status, told = request(shop_url, "/errands/num_tasks", {"split": "train"})
    assert status == 400
    assert "no split 'train'" in told["detail"]


def test_every_listed_task_can_be_reset_to(form_url: str, forms: ToolEpisodes) -> None:
    tasks = request(form_url, "/errands/tasks", {"split": "turk-demo"})[1]["tasks"]
    with MCPToolClient(base_url=form_url).sync() as client:
        for task in tasks:
            told = client.reset(split=task["split"], index=task["index"]).observation
            assert told.messages == forms.conversation(task["index"])[1]


def test_metadata_and_schemas_name_the_protocol(shop_url: str, shop: ToolEpisodes) -> None:
    status, told = request(shop_url, "/metadata")
    assert status == 200
    assert told["name"] == "errands"
    assert shop.key in told["description"]
    assert "messages" in request(shop_url, "/schema")[1]["reset_observation"]["properties"]


def test_requests_without_a_session_are_answered(shop_url: str) -> None:
    status, told = request(shop_url, "/reset", {"split": "shop-demo", "index": 0})
    assert status == 200
    assert told["observation"]["messages"]
    status, told = request(shop_url, "/reset", {"index": 99})
    assert status == 400
    assert "no episode 99" in told["detail"]
    action = {"type": "call_tool", "tool_name": "search", "arguments": {"query": "a"}}
    status, told = request(shop_url, "/step", {"action": action})
    assert status == 200
    assert "reset" in told["observation"]["result"]
    assert request(shop_url, "/state")[1]["step_count"] == 0


GARBAGE = [
    "",
    "{",
    "null",
    "[]",
    '"reset"',
    "{}",
    '{"type": "reset", "data": 7}',
    '{"type": "reset", "data": {"split": {"a": 1}}}',
    '{"type": "reset", "data": {"self": 1}}',
    '{"type": "step"}',
    '{"type": "step", "data": {}}',
    '{"type": "step", "data": {"tool_name": 5, "arguments": {}}}',
    '{"type": "step", "data": {"tool_name": "search", "arguments": "query"}}',
    '{"type": "step", "data": {"type": "code", "tool_name": "search"}}',
    '{"type": "mcp", "data": {"method": "tools/call"}}',
    '{"type": "mcp", "data": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}}',
    '{"type": "dance"}',
    "[" * 20_000,
]


def test_garbage_on_the_wire_is_an_error_and_hurts_nobody(shop_url: str) -> None:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    address = shop_url.replace("http", "ws") + "/ws"
    with MCPToolClient(base_url=shop_url).sync() as other:
        other.reset(index=0)
        for garbage in GARBAGE:
            with connect(address) as socket:
                socket.send(garbage)
                told = json.loads(socket.recv(10))
                wrong = told["type"] == "error" or "error" in told["data"]
                assert wrong, (garbage, told)
                with contextlib.suppress(ConnectionClosed):  # After what is no object.
                    socket.send('{"type": "reset", "data": {"index": 0}}')
                    assert json.loads(socket.recv(10))["type"] == "observation"
        with connect(address, max_size=None) as socket, contextlib.suppress(ConnectionClosed):
            socket.send(b"\x00\xff")
            socket.recv(10)
        assert not other.step(CallToolAction(tool_name="search", arguments={"query": "a"})).done


def test_requests_that_are_too_large_are_not_read(shop_url: str) -> None:
    large = b'{"split": "' + b"x" * 2_000_000 + b'"}'
    assert request(shop_url, "/errands/num_tasks", large)[0] == 400
    assert request(shop_url, "/reset", large)[0] == 400
    assert "error" in request(shop_url, "/mcp", large)[1]


def test_many_sessions_at_once_do_not_see_each_other(domain: tuple[str, Script]) -> None:
    url, script = domain

    async def episode(number: int) -> float:
        async with MCPToolClient(base_url=url) as client:
            await client.reset(index=number % 12)
            for call in script.played[number % 12].calls:
                action = CallToolAction(tool_name=call.name, arguments=call.arguments)
                told = await client.step(action)
            assert told.done
            return float(told.reward)

    async def all_of_them() -> list[float]:
        return await asyncio.gather(*map(episode, range(48)))

    assert asyncio.run(all_of_them()) == script.rewards * 4


def test_calls_of_one_session_at_once_are_done_in_turn(form_script: Script) -> None:
    """Which forms need, as they are played in threads."""
    session = ToolSession({"turk-demo": form_script.episodes})
    calls = form_script.played[0].calls

    async def at_once() -> list[Any]:
        await session.reset_async(index=0)
        actions = [CallToolAction(tool_name=call.name, arguments=call.arguments) for call in calls]
        return await asyncio.gather(*map(session.step_async, actions))

    told = asyncio.run(at_once())
    assert told[-1].reward == form_script.rewards[0]


def test_sessions_are_bounded_and_end_with_their_client() -> None:
    with served(app("shop-demo", episodes=12, sessions=2)) as url:
        with MCPToolClient(base_url=url).sync() as one, MCPToolClient(base_url=url).sync() as two:
            one.reset(index=0)
            two.reset(index=1)
            with (
                pytest.raises(RuntimeError, match=r"2/2|capacity"),
                MCPToolClient(base_url=url).sync(),
            ):
                pass
            assert not two.step(CallToolAction(tool_name="search", arguments={"query": "a"})).done
        with MCPToolClient(base_url=url).sync() as three:
            three.reset(index=2)


def test_one_process_has_no_thread_for_each_session(shop_url: str) -> None:
    with contextlib.ExitStack() as stack:
        before = None
        for number in range(24):
            client = stack.enter_context(MCPToolClient(base_url=shop_url).sync())
            client.reset(index=number % 12)
            running = sum("ThreadPoolExecutor" in one.name for one in threading.enumerate())
            before = before or running
        assert running <= before + 6


def test_a_protocol_that_is_unknown_is_one_sentence() -> None:
    with pytest.raises(ProtocolError, match="no protocol"):
        app("shop-dmo")


def test_the_key_says_what_was_changed() -> None:
    [episodes] = open_splits(["shop-demo"], episodes=5, max_steps=20).values()
    assert len(episodes) == 5
    assert "max_steps=20" in episodes.key


def openenv(*words: str) -> Result:
    """OpenEnv's command."""
    from openenv.cli.__main__ import app as command

    return CliRunner().invoke(command, words)


def test_openenv_validates_a_running_server(domain: tuple[str, Script]) -> None:
    url, _ = domain
    done = openenv("validate", "--url", url, "--json")
    report = json.loads(done.stdout)
    assert done.exit_code == 0, done.output
    assert report["summary"]["passed_count"] == report["summary"]["total_count"] == 6


def test_openenv_validates_the_package() -> None:
    done = openenv("validate", str(PACKAGE), "--level", "static", "--skip-build", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["verdict"] == "pass"


def manifest() -> dict[str, Any]:
    import yaml

    told: dict[str, Any] = yaml.safe_load((PACKAGE / "openenv.yaml").read_text())
    return told


@pytest.fixture(scope="module")
def package_url() -> Iterator[str]:
    """The package's own application."""
    spec = importlib.util.spec_from_file_location("server_app", PACKAGE / "server" / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with served(module.app) as url:
        yield url


def test_the_manifest_says_what_is_served(package_url: str) -> None:
    declared = manifest()["validation"]
    splits = request(package_url, "/errands/splits")[1]
    counts = {
        one["name"]: request(package_url, "/errands/num_tasks", {"split": one["name"]})[1][
            "num_tasks"
        ]
        for one in splits
    }
    assert declared["capabilities"]["declared_task_count"] == counts
    with MCPToolClient(base_url=package_url).sync() as client:
        tools = [one.name for one in client.list_tools()]
    assert declared["capabilities"]["declared_tools"] == tools
    dataset = declared["task_distribution"]["dataset_version"]
    assert f"data:{dataset}" in request(package_url, "/metadata")[1]["description"]
    assert (PACKAGE / declared["capabilities"]["oracle"]["location"]).is_file()


def test_the_probe_earns_the_whole_reward(package_url: str) -> None:
    from openenv.validation.runtime.contracts import RuntimePlan

    path = manifest()["validation"]["execution"]["probe_path"]
    plan = RuntimePlan.model_validate_json((PACKAGE / path).read_text())
    with MCPToolClient(base_url=package_url).sync() as client:
        client.reset(episode_id=plan.reset.episode_id, seed=plan.reset.seed, **plan.reset.options)
        for action in plan.actions:
            told = client.step(CallToolAction(**action))
        assert client.state().episode_id == plan.reset.episode_id
    assert told.done
    assert told.reward == 1


def test_the_oracle_earns_what_the_manifest_promises(
    package_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(PACKAGE / "validation" / "oracle.py"))["main"](package_url, "40")
    told = json.loads(capsys.readouterr().out)
    reward = manifest()["validation"]["reward"]
    assert told["episodes"] == 40
    assert told["mean"] >= reward["range"][1] - reward["oracle_tolerance"]


def test_the_pages_code_runs(shop_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for page in (PAGE, PACKAGE / "README.md"):
        [block] = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
        names: dict[str, Any] = {}
        exec(block.replace("http://127.0.0.1:8000", shop_url), names)
        assert "Page 1" in capsys.readouterr().out
        assert not names["told"].done
