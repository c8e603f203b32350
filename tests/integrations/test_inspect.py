"""Protocols as tasks of Inspect: its own loop, logs and command line."""

import asyncio
import contextlib
import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_endpoint import Endpoint
from effort import only_slow
from scripted_model import Script

pytest.importorskip("inspect_ai", reason="needs Inspect: pip install 'errands[inspect]'")

from inspect_ai import Task, score
from inspect_ai import eval as run_eval
from inspect_ai._eval.loader import scorer_from_spec
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelName,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Target
from inspect_ai.scorer._scorer import ScorerSpec
from inspect_ai.solver import TaskState, basic_agent, generate
from inspect_ai.tool import ToolDef, ToolError, ToolInfo
from inspect_ai.util._store import init_subtask_store

from errands.integrations.episodes import ToolEpisodes
from errands.integrations.inspect import (
    SampleEpisode,
    episode_score,
    turkingbench,
    webshop,
)
from errands.testing.adapter import AdapterConformance, ScriptedModel

IN_PROCESS = True
ROOT = Path(__file__).parents[2]
Reply = Callable[[list[ChatMessage], list[ToolInfo]], ModelOutput]


pytestmark = [  # of Inspect's own code
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
]


@pytest.fixture(autouse=True, scope="module")
def tidy() -> Iterator[None]:
    """Inspect leaves streams to the garbage collector, which would warn in any other test."""
    yield
    gc.collect()


def made(episodes: ToolEpisodes, **options: Any) -> Task:
    """The task that plays these episodes."""
    kind = webshop if episodes.domain == "shop" else turkingbench
    steps = {"max_steps": episodes.protocol.max_steps}
    task: Task = kind(episodes.protocol.id, episodes=len(episodes), **{**steps, **options})
    return task


def call(name: str, arguments: dict[str, Any]) -> ModelOutput:
    return ModelOutput.for_tool_call("mockllm/model", name, arguments)


def say(text: str) -> ModelOutput:
    return ModelOutput.from_content("mockllm/model", text)


def model(reply: Reply) -> Model:
    """A model that answers as it is told; it counts tokens itself, so that nothing is fetched."""

    def output(
        messages: list[ChatMessage], tools: list[ToolInfo], choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        answer = reply(messages, tools)
        answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return answer

    return get_model("mockllm/model", custom_outputs=output)


def scripted(script: Script) -> Reply:
    def reply(messages: list[ChatMessage], tools: list[ToolInfo]) -> ModelOutput:
        plain = [
            {"content": message.text, "tool_calls": getattr(message, "tool_calls", None)}
            for message in messages
        ]
        following = script.next(plain)
        return say("Done.") if following is None else call(following.name, following.arguments)

    return reply


def evaluated(task: Task, reply: Reply, logs: Path, **options: Any) -> EvalLog:
    [log] = run_eval(
        task, model=model(reply), log_dir=str(logs), display="none", log_level="error", **options
    )
    assert log.status == "success", log.error
    return log


def rewards(log: EvalLog) -> list[float]:
    return [value(sample)["reward"] for sample in log.samples or []]


def value(sample: Any) -> dict[str, float]:
    found: dict[str, float] = sample.scores["episode_score"].value
    return found


def metrics(log: EvalLog, name: str) -> dict[str, float]:
    assert log.results is not None
    [found] = [score for score in log.results.scores if score.name == name]
    return {key.rpartition("/")[2]: metric.value for key, metric in found.metrics.items()}


async def begun(task: Task, sample: Sample) -> tuple[TaskState, dict[str, Any]]:
    """A sample as its solver gets it, and its tools."""
    name = ModelName("mockllm/model")
    state = TaskState(name, sample.id or 0, 0, "", [], metadata=sample.metadata)
    init_subtask_store(state.store)
    setup: Any = task.setup
    state = await setup(state, None)
    return state, {one.name: one.tool for one in map(ToolDef, state.tools)}


def play(script: ScriptedModel) -> list[float]:
    """The script's calls through the tools and the scorer that a sample gets, without a model."""

    async def all_samples() -> list[float]:
        task = made(script.episodes)
        [scorer] = task.scorer or []
        told = []
        samples = {sample.id: sample for sample in task.dataset}
        for one in script.played:
            state, tools = await begun(task, samples[one.number])
            for following in one.calls:
                with contextlib.suppress(ToolError):
                    await tools[following.name](**following.arguments)
            scored: Any = await scorer(state, Target(""))
            told.append(scored.value["reward"])
        return told

    return asyncio.run(all_samples())


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


@pytest.mark.parametrize("name", ["shop_script", "form_script"])
def test_one_score_through_inspect(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    script: Script = request.getfixturevalue(name)
    episodes = script.episodes
    log = evaluated(made(episodes), scripted(script), tmp_path)
    assert rewards(log) == script.rewards
    assert log.eval.metadata == {"protocol": episodes.key}
    assert log.eval.task_version == episodes.protocol.version
    assert log.eval.dataset.name == episodes.protocol.id
    assert metrics(log, "reward")["mean"] == pytest.approx(
        sum(script.rewards) / len(script), abs=1e-15
    )
    for kind in ("reward", "success"):
        found = metrics(log, kind)
        lower, upper = found[f"{kind}_interval_lower"], found[f"{kind}_interval_upper"]
        assert 0 <= lower <= found["mean"] <= upper <= 1
        assert lower < upper
    stored = read_eval_log(log.location)
    for sample, one in zip(stored.samples or [], script.played, strict=True):
        # The model is not asked again after the end.
        assert sample.messages[-1].role == "tool"
        assert value(sample)["steps"] == len(one.calls)
        scored = (sample.scores or {})["episode_score"].metadata or {}
        assert scored["protocol"] == episodes.key
        assert scored["done"]
        assert scored["reward_parts"]
        kept = sample.store_as(SampleEpisode)
        assert episodes.at({**kept.row, "calls": kept.calls}).reward == one.reward


def test_the_calls_alone_give_the_same(shop_script: Script, form_script: Script) -> None:
    assert play(shop_script) == shop_script.rewards
    assert play(form_script) == form_script.rewards


def test_tools_and_samples_are_those_of_the_episodes(
    shop: ToolEpisodes, forms: ToolEpisodes, tmp_path: Path
) -> None:
    for episodes in (shop, forms):
        seen: list[list[ToolInfo]] = []

        def reply(
            messages: list[ChatMessage],
            tools: list[ToolInfo],
            seen: list[list[ToolInfo]] = seen,
            name: str = episodes.specs[-1].name,
        ) -> ModelOutput:
            seen.append(tools)
            return call(name, {"name": "x"} if name == "click" else {})

        task = made(episodes, max_steps=1)
        assert len(task.dataset) == len(episodes)
        assert task.message_limit == 4
        evaluated(task, reply, tmp_path, limit=1)
        assert [
            (tool.name, tool.description, tool.parameters.model_dump(exclude_none=True))
            for tool in seen[0]
        ] == [
            (spec.name, spec.description, {**spec.parameters, "additionalProperties": False})
            for spec in episodes.specs
        ]
        for number, sample in enumerate(task.dataset):
            assert sample.id == number
            _, messages = episodes.conversation(number)
            shown = [{"role": one.role, "content": one.content} for one in sample.input]
            assert shown == messages
            assert (sample.metadata or {})["episode"] == episodes.name(number)
    clusters = [(sample.metadata or {})["cluster"] for sample in made(shop).dataset]
    assert clusters == [shop.cluster(number) for number in range(len(shop))]


def test_without_a_worked_example(shop: ToolEpisodes) -> None:
    [with_shots, without] = [made(shop, shots=shots).dataset[0].input[0] for shots in (1, 0)]
    assert "An example." in with_shots.text
    assert "An example." not in without.text


def test_wrong_calls_are_shown_and_do_not_end_the_episode(
    shop_script: Script, tmp_path: Path
) -> None:
    """Also an answer without a call; what follows is the script, and earns what it earns."""
    wrong = [
        call("click", {"name": "nothing"}),
        call("search", {}),
        call("search", {"query": ["mug"]}),
        call("buy", {}),
        call("reset", {"goal": 3}),
        say("I would rather not."),
        call("search", {"query": "mug", "more": 1}),
    ]

    def reply(messages: list[ChatMessage], tools: list[ToolInfo]) -> ModelOutput:
        made = sum(message.role == "assistant" for message in messages)
        if made < len(wrong):
            return wrong[made].model_copy(deep=True)
        following = shop_script.after(messages[1].text, made - len(wrong))
        assert following is not None
        return call(following.name, following.arguments)

    log = evaluated(made(shop_script.episodes), reply, tmp_path, limit=2)
    assert rewards(log) == shop_script.rewards[:2]
    [sample, _] = log.samples or []
    errors = [message.error for message in sample.messages if message.role == "tool"]
    assert all(errors[: len(wrong) - 1])
    assert "There is nothing called 'nothing'" in errors[0].message
    assert not any(errors[len(wrong) - 1 :])
    assert "call a tool" in sample.messages[2 + 2 * 5 + 1].text
    assert value(sample)["steps"] == 1 + len(shop_script.played[0].calls)


def test_an_episode_ends_with_its_steps_and_a_sample_with_its_messages(
    shop: ToolEpisodes, tmp_path: Path
) -> None:
    def search(messages: list[ChatMessage], tools: list[ToolInfo]) -> ModelOutput:
        return call("search", {"query": "mug"})

    log = evaluated(made(shop, max_steps=3), search, tmp_path, limit=1)
    [sample] = log.samples or []
    assert sample.limit is None
    assert value(sample) == {"reward": 0, "success": 0, "steps": 3}
    assert "max_steps=3" in (log.eval.metadata or {})["protocol"]
    log = evaluated(made(shop, max_steps=3), lambda messages, tools: say("Hm."), tmp_path, limit=1)
    [sample] = log.samples or []
    assert sample.limit is not None
    assert sample.limit.type == "message"
    assert value(sample) == {"reward": 0, "success": 0, "steps": 0}


def test_calls_after_the_purchase_in_one_answer(shop_script: Script, tmp_path: Path) -> None:
    def reply(messages: list[ChatMessage], tools: list[ToolInfo]) -> ModelOutput:
        calls = [*shop_script.played[0].calls, shop_script.played[0].calls[-1]]
        outputs = [call(one.name, one.arguments) for one in calls]
        first = outputs[0]
        first.message.tool_calls = [
            each for one in outputs for each in one.message.tool_calls or []
        ]
        return first

    log = evaluated(made(shop_script.episodes), reply, tmp_path, limit=1)
    [sample] = log.samples or []
    assert rewards(log) == shop_script.rewards[:1]
    assert "The errand is over" in sample.messages[-1].error.message
    assert sum(message.role == "assistant" for message in sample.messages) == 1


def test_a_users_own_solver_plays_too(shop_script: Script, tmp_path: Path) -> None:
    """Inspect's loop asks once more after the end; the reward is the same."""
    for solver in (generate(), [basic_agent(message_limit=40)]):
        log = evaluated(
            made(shop_script.episodes), scripted(shop_script), tmp_path, solver=solver, limit=3
        )
        assert rewards(log) == shop_script.rewards[:3]


def test_a_changed_store_is_played_from_there(shop: ToolEpisodes) -> None:
    """The store is the truth: a sample whose calls were taken back goes on from what is left."""

    async def main() -> None:
        task = made(shop)
        state, tools = await begun(task, task.dataset[0])
        search = tools["search"]
        first = await search(query="red mug")
        kept = state.store_as(SampleEpisode)
        await search(query="blue mug")
        assert [one["arguments"]["query"] for one in kept.calls] == ["red mug", "blue mug"]
        kept.calls = []
        assert await search(query="red mug") == first
        assert [one["arguments"]["query"] for one in kept.calls] == ["red mug"]

    asyncio.run(main())


def test_epochs_begin_anew(shop_script: Script, tmp_path: Path) -> None:
    log = evaluated(made(shop_script.episodes), scripted(shop_script), tmp_path, epochs=2, limit=3)
    assert sorted(rewards(log)) == sorted(2 * shop_script.rewards[:3])
    assert metrics(log, "reward")["mean"] == pytest.approx(sum(shop_script.rewards[:3]) / 3)


def test_a_log_is_scored_again(shop_script: Script, tmp_path: Path) -> None:
    log = evaluated(made(shop_script.episodes), scripted(shop_script), tmp_path, limit=2)
    again = score(
        read_eval_log(log.location),
        episode_score("shop-demo", {"episodes": 12}),
        action="overwrite",
        display="none",
    )
    assert rewards(again) == shop_script.rewards[:2]


def test_a_scorer_by_name_needs_the_protocol_alone(shop_script: Script, tmp_path: Path) -> None:
    """As in `inspect score LOG --scorer errands/episode_score -S protocol=shop-demo`."""
    log = evaluated(made(shop_script.episodes), scripted(shop_script), tmp_path, limit=2)
    named = scorer_from_spec(ScorerSpec("errands/episode_score"), None, protocol="shop-demo")
    again = score(read_eval_log(log.location), named, action="overwrite", display="none")
    assert rewards(again) == shop_script.rewards[:2]
    with pytest.raises(PrerequisiteError, match="no protocol 'shop-dem'"):
        episode_score("shop-dem")


@pytest.mark.parametrize(
    ("task", "options", "why"),
    [
        (webshop, {"protocol": "no-such"}, "There is no protocol 'no-such'"),
        (webshop, {"protocol": "turk-demo"}, "errands/turkingbench -T protocol=turk-demo"),
        (turkingbench, {"protocol": "shop-demo"}, "errands/webshop -T protocol=shop-demo"),
        (webshop, {"protocol": 5}, "-T protocol=5: expected a text"),
        (webshop, {"data": ["a", "b"]}, "expected a text"),
        (webshop, {"data": "no-such"}, "needs the catalogue"),
        (webshop, {"split": "no-such"}, "no-such"),
        (webshop, {"episodes": "many"}, "-T episodes='many': expected a whole number"),
        (webshop, {"episodes": 0}, "1 or more"),
        (webshop, {"max_steps": True}, "expected a whole number"),
        (webshop, {"shots": 2}, "expected 0 or 1"),
        (turkingbench, {"per_task": -1}, "1 or more"),
        (turkingbench, {"driver": "no-such"}, "driver='no-such'"),
    ],
)
def test_wrong_options_are_one_sentence(task: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        task(**options)
    message = str(caught.value.message)
    assert why in message
    assert "\n" not in message


@only_slow
@pytest.mark.heavy
def test_the_command_line_and_the_page(
    shop_endpoint: Endpoint, shop_script: Script, tmp_path: Path
) -> None:
    """The command of docs/guides/integrations/inspect.md, against an endpoint that plays the
    script, and the page's program that reads the log."""
    shop_endpoint.usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    page = (ROOT / "docs" / "guides" / "integrations" / "inspect.md").read_text()
    [command] = re.findall(r"^\$ (inspect eval errands/webshop .*LOCAL.*)$", page, re.M)
    words = command.replace("shop-demo", "shop-demo -T episodes=12").split()
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("inspect")), *words[1:], "--display", "plain"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "LOCAL_BASE_URL": shop_endpoint.url,
            "LOCAL_API_KEY": "none",
        },
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr
    [program] = re.findall(r"```python\n(.*?)```", page, re.S)
    told: list[tuple[object, ...]] = []
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(program, {"print": lambda *values: told.append(values)})
    finally:
        os.chdir(before)
    assert told[0] == (shop_script.episodes.key,)
    assert [one[1] for one in told[1:]] == shop_script.rewards


@pytest.mark.heavy
def test_the_module_is_light() -> None:
    """Inspect imports it whenever it looks for extensions."""
    program = (
        "import sys, json, errands, inspect_ai.scorer, inspect_ai.dataset, inspect_ai.solver\n"
        "import inspect as standard\n"
        "before = set(sys.modules)\n"
        "import errands.integrations.inspect\n"
        "import inspect\n"
        "assert inspect is standard and hasattr(inspect, 'signature')\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        check=True,
    )
    added = json.loads(told.stdout)
    assert "errands.integrations.inspect" in added
    assert not {"numba", "selectolax", "errands.agents", "errands.runs"} & set(added)
