"""ORS: the adapter on openreward's own server and clients."""

import os

import pytest

os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"  # Which would ask an index.

pytest.importorskip("openreward", reason="needs openreward: pip install 'errands[ors]'")

import asyncio
import contextlib
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from openreward import AsyncOpenReward, OpenReward
from openreward.environments import Server
from scripted_model import Script

from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes
from errands.integrations.ors import OrsEpisode, environment
from errands.runs.protocol import ProtocolError
from errands.testing.adapter import AdapterConformance, ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides" / "integrations" / "ors.md"
IN_PROCESS = True


def play(script: ScriptedModel) -> list[float]:
    """The script's calls, on instances as the server makes them."""

    class Played(OrsEpisode):
        splits: ClassVar = {"all": script.episodes}

    async def all_of_them() -> list[float]:
        rewards = []
        for played in script.played:
            episode = Played({"split": "all", "index": played.number})
            episode.setup()
            reward = 0.0
            for call in played.calls:
                reward = (await episode.call(call.name, call.arguments)).reward or 0.0
            rewards.append(reward)
        return rewards

    return asyncio.run(all_of_them())


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


@contextlib.contextmanager
def served(*environments: Any) -> Iterator[str]:
    """The address of ORS's server, in a thread."""
    application = Server(list(environments)).app
    server = uvicorn.Server(uvicorn.Config(application, log_level="error", ws="none"))
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
def url() -> Iterator[str]:
    logging.getLogger("openreward").setLevel(logging.CRITICAL)
    shop = environment("shop-demo", "shop-learn-train", episodes=12)
    with served(shop, environment("turk-demo", episodes=12)) as address:
        yield address


@pytest.fixture(scope="module")
def client() -> Iterator[OpenReward]:
    client = OpenReward(api_key="none")
    yield client
    client.close()


@pytest.fixture(params=["shop", "turk"])
def domain(request: pytest.FixtureRequest, url: str, client: OpenReward) -> tuple[Any, str, Script]:
    script = request.getfixturevalue({"shop": "shop_script", "turk": "form_script"}[request.param])
    env = client.environments.get("errands", f"errands_{request.param}", base_url=url)
    return env, f"{request.param}-demo", script


def test_a_model_over_ors_gets_the_same_rewards_to_the_last_bit(
    domain: tuple[Any, str, Script],
) -> None:
    env, split, script = domain
    rewards = []
    for task in env.list_tasks(split):
        with env.session(task) as session:
            messages = session.get_messages(format="openai")
            made = 0
            while (call := script.after(str(messages[-1]["content"]), made)) is not None:
                told = session.call_tool(call.name, call.arguments)
                made += 1
                if told.finished:
                    break
        assert told.metadata["protocol"] == script.episodes.key
        assert told.metadata["steps"] == made
        assert told.metadata["reward_parts"]
        assert told.metadata["success"] == (told.reward >= 1)
        rewards.append(told.reward)
    assert rewards == script.rewards
    assert sum(rewards) / 12 == sum(script.rewards) / 12


def test_the_adapter_alone_gives_the_same_rewards(shop_script: Script, form_script: Script) -> None:
    assert play(shop_script) == shop_script.rewards
    assert play(form_script) == form_script.rewards


def test_tools_are_as_they_are_described(domain: tuple[Any, str, Script]) -> None:
    env, _, script = domain
    told = {one.name: (one.description, one.input_schema) for one in env.list_tools()}
    assert told == {one.name: (one.description, one.parameters) for one in script.episodes.specs}
    assert not env.is_assistant_message_final()


def test_splits_and_tasks(domain: tuple[Any, str, Script], shop: ToolEpisodes) -> None:
    env, split, script = domain
    assert env.list_splits()[0] == split
    assert env.num_tasks(split) == 12
    tasks = env.list_tasks(split)
    assert [task.task_spec for task in tasks] == [
        {"id": script.episodes.name(number), "split": split, "index": number}
        for number in range(12)
    ]
    assert env.get_task(split, 3).task_spec == tasks[3].task_spec
    kinds = environment("shop-demo", "shop-learn-train", episodes=12).list_splits()
    assert [(one.name, one.type) for one in kinds] == [
        ("shop-demo", "test"),
        ("shop-learn-train", "train"),
    ]


def test_the_prompt_is_what_every_framework_shows_first(
    domain: tuple[Any, str, Script],
) -> None:
    env, split, script = domain
    _, messages = script.episodes.conversation(2)
    with env.session(split=split, index=2) as session:
        told = session.get_messages()
        text = "\n".join(block.text for block in session.get_prompt())
    assert [(one.role, one.blocks[0].text) for one in told] == [
        (one["role"], one["content"]) for one in messages
    ]
    assert all(one["content"] in text for one in messages)


@pytest.mark.parametrize(
    ("tool", "arguments", "steps"),
    [
        ("search", {}, 0),
        ("search", {"query": "a", "more": 1}, 0),
        ("search", {"query": "a", "self": 1, "model_config": 2}, 0),
        ("click", {"name": "nothing of that name"}, 1),
        ("search", {"query": ["a", {"b": None}]}, 1),
        ("search", {"query": None}, 1),
    ],
)
def test_wrong_calls_are_read_by_the_model_and_end_nothing(
    url: str,
    client: OpenReward,
    shop_script: Script,
    tool: str,
    arguments: dict[str, Any],
    steps: int,
) -> None:
    env = client.environments.get("errands", "errands_shop", base_url=url)
    with env.session(split="shop-demo", index=1) as session:
        told = session.call_tool(tool, arguments)
        assert told.metadata["error"] == told.blocks[0].text
        assert "\n" not in told.blocks[0].text
        assert told.metadata["steps"] == steps
        assert told.reward == (0 if steps else None)
        assert not told.finished
        for call in shop_script.played[1].calls:
            told = session.call_tool(call.name, call.arguments)
        assert told.finished
        assert told.reward == shop_script.rewards[1]
        assert told.metadata["error"] is None
        with pytest.raises(Exception, match="finished"):
            session.call_tool("search", {"query": "more"})


@pytest.mark.parametrize("tool", ["buy", "setup", "call", "teardown", "_call", "__init__"])
def test_what_is_no_tool_cannot_be_called(url: str, client: OpenReward, tool: str) -> None:
    env = client.environments.get("errands", "errands_shop", base_url=url)
    with env.session(split="shop-demo", index=1) as session:
        with pytest.raises(Exception, match="not a valid tool"):
            session.call_tool(tool, {})
        assert not session.call_tool("search", {"query": "a"}).finished


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ({}, "no split 'None' here; expected 'shop-demo'"),
        ({"split": "train", "index": 0}, "no split 'train'"),
        ({"split": ["shop-demo"], "index": 0}, "no split"),
        ({"split": "shop-demo"}, "The index 'None'"),
        ({"split": "shop-demo", "index": 12}, "from 0 to 11"),
        ({"split": "shop-demo", "index": -1}, "The index '-1'"),
        ({"split": "shop-demo", "index": True}, "The index 'True'"),
        ({"split": "shop-demo", "index": "0"}, "from 0 to 11"),
    ],
)
def test_a_task_of_ones_own_is_refused_in_a_sentence(
    url: str, client: OpenReward, task: dict[str, Any], why: str
) -> None:
    kind = environment("shop-demo", episodes=12)
    with pytest.raises(SettingError, match=re.escape(why)) as caught:
        kind(task)
    assert "\n" not in str(caught.value)


def test_the_server_says_so_too(url: str, client: OpenReward) -> None:
    import json
    from urllib import error, request

    def post(body: dict[str, Any]) -> tuple[int, str]:
        headers = {"X-Session-ID": "mine", "content-type": "application/json"}
        asked = request.Request(f"{url}/create", json.dumps(body).encode(), headers)
        try:
            with request.urlopen(asked) as answer:
                return answer.status, answer.read().decode()
        except error.HTTPError as failure:
            with failure:
                return failure.code, failure.read().decode()

    status, told = post({"task_spec": {"split": "nope", "index": 0}})
    assert status == 500
    assert "no split 'nope' here" in told
    assert post({"split": "nope", "index": 0})[0] == 400
    assert post({"split": "shop-demo", "index": 99})[0] == 400
    assert post({"task_spec": 7})[0] == 422


def test_many_sessions_at_once_do_not_see_each_other(
    domain: tuple[Any, str, Script], url: str
) -> None:
    _, split, script = domain

    async def all_of_them() -> list[float]:
        async with AsyncOpenReward(api_key="none").environments as api:
            env = api.get("errands", f"errands_{script.episodes.domain}", base_url=url)

            async def episode(number: int) -> float:
                async with env.session(split=split, index=number % 12) as session:
                    for call in script.played[number % 12].calls:
                        told = await session.call_tool(call.name, call.arguments)
                    assert told.finished
                    return float(told.reward)

            return await asyncio.gather(*map(episode, range(24)))

    assert asyncio.run(all_of_them()) == script.rewards * 2


def test_a_session_that_ends_gives_back_its_page(
    forms: ToolEpisodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = []
    monkeypatch.setattr(ToolEpisodes, "release", lambda self, tools: released.append(tools))
    episode = environment("turk-demo", episodes=12)({"split": "turk-demo", "index": 0})
    episode.teardown()
    assert not released
    episode.setup()
    episode.teardown()
    assert len(released) == 1


def test_protocols_that_do_not_go_together_are_one_sentence() -> None:
    with pytest.raises(SettingError, match="do not have the same tools"):
        environment("shop-demo", "turk-demo")
    with pytest.raises(ProtocolError, match="no protocol"):
        environment("shop-dmo")


def test_the_page_runs(url: str, shop_script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block.replace("http://127.0.0.1:8080", url), names)
    assert "Page 1" in capsys.readouterr().out
    assert not names["told"].finished
