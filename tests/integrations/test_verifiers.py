"""verifiers: the same scores through its tasksets, its tool server and its scoring."""

import asyncio
import contextlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from chat_endpoint import Endpoint
from scripted_model import Script

pytest.importorskip("verifiers", reason="needs verifiers: pip install 'errands[verifiers]'")
pytest.importorskip("errands_shop", reason="needs pip install packages/errands-shop")
pytest.importorskip("errands_forms", reason="needs pip install packages/errands-forms")

import verifiers.v1 as vf
from mcp.server.mcpserver import MCPServer
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.cli.replay import ReplayConfig, run_replay
from verifiers.v1.cli.validate import run_validate
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.configs.cli.validate import ValidateConfig
from verifiers.v1.state import state_cls

from errands import testing
from errands.errors import ErrandsError
from errands.integrations import IntegrationError, open_episodes
from errands.integrations.verifiers import EpisodesTaskset, EpisodeTask
from errands.integrations.verifiers_tools import (
    EpisodeState,
    EpisodeToolset,
    EpisodeToolsetConfig,
)
from errands.testing import AdapterConformance

# verifiers 0.4 asks tenacity for a delay under its older name.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated")
# In real use the tools are a server process of their own; `play` calls what it calls.
IN_PROCESS = False
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides" / "integrations" / "verifiers.md"
IDS = {"shop": "errands-shop", "turk": "errands-forms"}


def taskset_of(script: testing.ScriptedModel, **changes: Any) -> EpisodesTaskset:
    domain, protocol = script.episodes.domain, script.episodes.protocol
    options = {"episodes": protocol.episodes, "max_steps": protocol.max_steps, **changes}
    config = vf.taskset_config_type(IDS[domain])(id=IDS[domain], **options)
    taskset: EpisodesTaskset = vf.load_taskset(config)
    return taskset


def trace_of(task: EpisodeTask) -> Any:
    return vf.Trace(
        task=vf.TraceTask(type="EpisodeTask", data=task.data, key=task.key, hash=task.hash),
        state=state_cls(type(task))(),
        agent=vf.AgentInfo(config=vf.AgentConfig(), name="test", trainable=False),
    )


def play(script: testing.ScriptedModel) -> list[float]:
    """The script's calls through the taskset, the toolset and the tasks' scoring."""
    return asyncio.run(_play(script))


async def _play(script: testing.ScriptedModel) -> list[float]:
    taskset = taskset_of(script)
    [toolset] = taskset.toolsets(taskset.config)
    rewards = []
    tasks = list(taskset)
    for played in script.played:
        task = tasks[played.number]
        trace = trace_of(task)
        await task.setup(trace, None)
        toolset._inert_state = trace.state
        for call in played.calls:
            await toolset.call_tool(call.name, call.arguments)
        await task.finalize(trace, None)
        await task.score(trace)
        rewards.append(trace.reward)
    return rewards


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: testing.ScriptedModel) -> list[float]:
        return play(script)


@pytest.fixture(params=["shop", "turk"])
def script(request: pytest.FixtureRequest) -> Script:
    found: Script = request.getfixturevalue(
        {"shop": "shop_script", "turk": "form_script"}[request.param]
    )
    return found


@contextlib.contextmanager
def endpoint_of(script: Script) -> Iterator[Endpoint]:
    endpoint = script.endpoint()
    endpoint.script = strict(endpoint.script)
    try:
        yield endpoint
    finally:
        endpoint.close()


def strict(script: Any) -> Any:
    """Answers, at once or in pieces, with all that verifiers wants of them."""

    def answer(request: dict[str, Any], number: int) -> Any:
        said = script(request, number)
        message = {"role": "assistant", **(said if isinstance(said, dict) else {"content": said})}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": f"chat-{number}", "created": 1, "model": "scripted"}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return 200, {"Content-Type": "application/json"}, json.dumps(whole).encode()
        for index, call in enumerate(message.get("tool_calls", ())):
            call["index"] = index
        head["object"] = "chat.completion.chunk"
        pieces: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        texts = [*(json.dumps({**head, **piece}) for piece in pieces), "[DONE]"]
        body = "".join(f"data: {text}\n\n" for text in texts)
        return 200, {"Content-Type": "text/event-stream"}, body.encode()

    return answer


def evaluate(script: Script, out: Path, **harness: Any) -> tuple[list[Any], list[dict[str, Any]]]:
    """Rollouts by verifiers' own runner; their traces in the order of tasks, and what the model
    was asked."""
    with endpoint_of(script) as endpoint:
        config = EvalConfig.model_validate(
            {
                "env": {
                    "taskset": {"id": IDS[script.episodes.domain], "episodes": len(script)},
                    "agent": {"harness": {"id": "verifiers-harness", **harness}},
                },
                "model": "scripted",
                "client": {"base_url": endpoint.url, "api_key_var": "SCRIPTED_KEY"},
                "push": False,
                "rich": None,
                "output_dir": out,
                "run": {"name": "run"},
            }
        )
        episodes = asyncio.run(run_eval(config))
    traces = [trace for episode in episodes for trace in episode.traces]
    return sorted(traces, key=lambda trace: trace.task.data.idx), endpoint.requests


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "none")
    monkeypatch.delenv("PRIME_API_KEY", raising=False)


def test_verifiers_gives_the_same_rewards_to_the_last_bit(script: Script, tmp_path: Path) -> None:
    episodes = script.episodes
    traces, requests = evaluate(script, tmp_path)
    for trace in traces:
        assert trace.ok, trace.errors
        assert trace.stop_condition == "over"
        assert list(trace.rewards) == ["reward"]
    rewards = [trace.reward for trace in traces]
    assert rewards == script.rewards
    assert sum(rewards) / len(rewards) == sum(script.rewards) / len(script)
    firsts = [request for request in requests if len(request["messages"]) == 2]
    assert len(firsts) == len(script)
    for request in firsts:
        assert request["tools"] == [spec.function() for spec in episodes.specs]
    asked = sorted(json.dumps(request["messages"]) for request in firsts)
    opened = [episodes.conversation(number)[1] for number in range(len(episodes))]
    assert asked == sorted(map(json.dumps, opened))

    lines = (tmp_path / "run" / "traces.jsonl").read_text().splitlines()
    logged = [json.loads(line)["traces"][0] for line in lines]
    assert len(logged) == len(script)
    for one in logged:
        number = one["task"]["data"]["episode"]
        told = one["info"]["errands"]
        assert told["protocol"] == one["task"]["data"]["protocol"] == episodes.key
        assert told["reward"] == script.rewards[number]
        assert told["reward_parts"]
        assert one["metrics"] == {
            "success": float(script.rewards[number] >= 1),
            "done": 1.0,
            "steps": len(script.played[number].calls),
            "refused": 0.0,
        }

    # The log holds the episodes as values: verifiers scores them again without a model.
    config = ReplayConfig.model_validate(
        {"taskset": {"id": IDS[episodes.domain], "episodes": len(script)}, "rich": False}
    )
    again = asyncio.run(run_replay(config, tmp_path / "run", tmp_path / "again"))
    found = {trace.task.data.episode: trace.reward for trace in again}
    assert [found[number] for number in range(len(script))] == script.rewards


def test_play_gives_the_same_rewards(script: Script) -> None:
    assert play(script) == script.rewards


def test_calls_at_once_are_done_one_after_the_other(tmp_path: Path) -> None:
    script = Script(open_episodes("shop-demo", episodes=2))
    traces, _ = evaluate(script, tmp_path, burst=5)
    for trace, played in zip(traces, script.played, strict=True):
        assert trace.metrics["refused"] == 5
        assert trace.metrics["steps"] == 5 + len(played.calls)
        assert trace.reward == played.reward


def test_the_built_in_program_and_the_command_give_the_same(
    shop_script: Script, tmp_path: Path
) -> None:
    """Two episodes only: the harness's program is a process for each, of packages from an index."""
    bin_dir = Path(sys.executable).parent
    path = f"{bin_dir}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("uv", path=path) is None:
        pytest.skip("the harness's program is run by uv: pip install uv")
    with endpoint_of(shop_script) as endpoint:
        done = subprocess.run(
            [
                *(str(bin_dir / "vf-eval"), "errands-shop", "-m", "scripted", "-n", "2"),
                *("--env.taskset.episodes", "12", "--no-push", "--no-rich"),
                *("--client.base-url", endpoint.url, "--client.api-key-var", "SCRIPTED_KEY"),
                *("-o", str(tmp_path), "--run.name", "run"),
            ],
            env={**os.environ, "PATH": path},
            text=True,
            capture_output=True,
        )
    if "failed to prepare uv script" in done.stdout + done.stderr:
        pytest.skip("the packages of the harness's program cannot be had")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "run" / "traces.jsonl").read_text().splitlines()
    traces = [json.loads(line)["traces"][0] for line in lines]
    found = {trace["task"]["data"]["episode"]: trace for trace in traces}
    for number, reward in enumerate(shop_script.rewards[:2]):
        assert found[number]["rewards"]["reward"]["score"] == reward
        assert found[number]["stop_condition"] == "over"
        assert found[number]["info"]["errands"]["protocol"] == shop_script.episodes.key


@pytest.mark.parametrize("taskset", ["errands-shop", "errands-forms"])
def test_gold_and_no_op_checks_pass(taskset: str, tmp_path: Path) -> None:
    rows = validate(taskset, tmp_path)
    assert len(rows) == 5
    for row in rows:
        assert row["gold"]["valid"]
        assert row["noop"]["valid"]
        assert row["noop"]["rewards"] == {"reward": 0.0}


def test_a_task_that_cannot_be_solved_fails_its_check(tmp_path: Path) -> None:
    for row in validate("errands-shop", tmp_path, max_steps=2):
        assert not row["gold"]["valid"]
        assert row["gold"]["reason"] == "invalid"


def validate(taskset: str, out: Path, **options: Any) -> list[Any]:
    config = ValidateConfig.model_validate(
        {
            "taskset": {"id": taskset, **options},
            "runtime": {"type": "subprocess"},
            "select": {"limit": 5},
            "output_dir": out,
            "rich": False,
        }
    )
    return asyncio.run(run_validate(config))


def test_the_tools_are_those_of_the_episodes(script: Script) -> None:
    taskset = taskset_of(script)
    [toolset] = taskset.toolsets(taskset.config)
    server = MCPServer("test")
    toolset.register(server)
    tools = asyncio.run(server.list_tools())
    told = [(tool.name, tool.description, tool.input_schema) for tool in tools]
    assert told == [
        (spec.name, spec.description, spec.parameters) for spec in script.episodes.specs
    ]
    assert toolset.server_name == ""


@pytest.mark.parametrize(
    ("name", "arguments", "why", "steps"),
    [
        ("buy", {}, "There is no tool 'buy'", 0),
        ("reset", {"goal": 1}, "There is no tool 'reset'", 0),
        ("search", {}, "search needs the argument 'query'", 0),
        ("search", {"query": "x", "more": 1}, "search has no argument 'more'", 0),
        ("search", {"query": ["x"]}, "", 1),
        ("search", {"query": ""}, "", 1),
        ("click", {"name": "nothing of that name"}, "", 1),
        ("click", {"name": ["buy now"]}, "", 1),
    ],
)
def test_wrong_calls_are_told_to_the_model_and_do_not_end_the_episode(
    shop_script: Script, name: str, arguments: dict[str, Any], why: str, steps: int
) -> None:
    toolset = EpisodeToolset(EpisodeToolsetConfig(episodes=12))
    toolset._inert_state = state = EpisodeState(row=shop_script.episodes.row(1))
    answer = asyncio.run(toolset.call_tool(name, arguments))
    assert answer.is_error
    [content] = answer.content
    assert content.text.startswith(why)
    assert (len(state.calls), state.refused, state.done) == (steps, 1, False)
    for call in shop_script.played[1].calls:
        assert not asyncio.run(toolset.call_tool(call.name, call.arguments)).is_error
    assert state.done
    assert shop_script.episodes.at(state.episode).reward == shop_script.rewards[1]
    after = asyncio.run(toolset.call_tool("search", {"query": "more"}))
    assert after.is_error
    assert "over" in after.content[0].text


def test_a_state_that_was_tampered_with_is_a_failure_and_no_reward() -> None:
    toolset = EpisodeToolset(EpisodeToolsetConfig())
    toolset._inert_state = EpisodeState(row={"task": "of the other domain"})
    with pytest.raises(ErrandsError, match="lacks goal"):
        asyncio.run(toolset.call_tool("search", {"query": "x"}))


def test_tasks_hide_their_goals(shop_script: Script) -> None:
    for task in taskset_of(shop_script):
        goal = shop_script.episodes.source.goals[task.data.row["goal"]]
        told = task.data.model_dump_json()
        assert goal.instruction_text in task.data.prompt
        assert goal.asin not in told
        assert goal.asin.lower() not in told


def test_a_long_page_is_sent_as_a_message_not_as_an_argument(
    form_script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands.integrations.verifiers._ARGUMENT", 100)
    for number, task in enumerate(taskset_of(form_script)):
        [message] = task.data.prompt
        assert message.content == form_script.episodes.conversation(number)[1][-1]["content"]


@pytest.mark.parametrize(
    ("taskset", "options", "why"),
    [
        ("errands-shop", {"protocol": "shop-dmo"}, "shop-demo"),
        ("errands-shop", {"protocol": "turk-demo"}, "expected one of shop"),
        ("errands-forms", {"protocol": "shop-demo"}, "expected one of turk"),
        ("errands-shop", {"training": True}, "which is for testing"),
        ("errands-shop", {"split": "nonsense"}, "nonsense"),
        ("errands-shop", {"episodes": 0}, "episodes"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(
    taskset: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as caught:
        vf.taskset_config_type(taskset)(id=taskset, **options)
    [error] = caught.value.errors()  # type: ignore[attr-defined]
    assert "\n" not in error["msg"]


def test_training_goals_are_trained_on() -> None:
    kind = vf.taskset_config_type("errands-shop")
    taskset = vf.load_taskset(
        kind(id="errands-shop", protocol="shop-learn-train", training=True, episodes=3)
    )
    assert len(list(taskset)) == 3


@pytest.mark.parametrize("taskset", ["errands-shop", "errands-forms"])
def test_no_shell_and_no_account_by_default(taskset: str) -> None:
    """The model's program runs here, and has the tools alone: a shell could read the goals."""
    config = EvalConfig.model_validate({"env": {"taskset": {"id": taskset}}})
    [harness] = config.env.agent_harnesses().values()
    assert vf.load_harness(harness).EXECUTES_CODE is False
    assert config.env.agent.runtime.type == "subprocess"


def test_another_version_or_none_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "errands.integrations.verifiers_tools"

    def missing(distribution: str) -> str:
        raise metadata.PackageNotFoundError(distribution)

    for version, why in [(missing, "not installed"), (lambda _: "0.3.9", "needs 0.4 or newer")]:
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setattr(metadata, "version", version)
        with pytest.raises(IntegrationError, match=why) as caught:
            importlib.import_module(module)
        assert "pip install" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})
